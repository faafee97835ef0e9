"""Stride order of tensors, where it decides whether a call returns a view, returns a copy or raises.

``x.view(-1)`` raises and ``x.reshape(-1)`` makes a copy if the merged axes are not contiguous.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ....errors import TracingError
from ....ir.graph import Aliases, Graph
from ....ir.node import Node, Value
from ...common.views import is_shown, is_written_copy, is_written_later, joins_axes
from ..basics import tensors as kinds
from ..basics.names import pure_key, row_key
from ..trace import Trace

# torch refuses these calls if only a copy would do.
VIEWS_ONLY = frozenset({"view", "view_as", "unflatten", "view_as_complex"})
# Calls whose result has the same stride order, by default row-major, for any strides of their operands.
_ROW_MAJOR = frozenset(
    {
        "linear",
        "embedding",
        "layer_norm",
        "softmax",
        "log_softmax",
        "contiguous",
        "mm",
        "bmm",
        "addmm",
        "baddbmm",
        "gather",
        "one_hot",
        "repeat",
        "tile",
    }
)
# Views that are in row-major order if their operand is.
_KEEPS_ORDER = frozenset(
    {
        "view",
        "view_as",
        "reshape",
        "flatten",
        "ravel",
        "unflatten",
        "unsqueeze",
        "squeeze",
        "detach",
        "reshape_as",
    }
)


@dataclass(frozen=True)
class StrideOrder:
    """Stride order of the result of a call.

    is_fresh: True if the result is known not to take its stride order from the operands.
    is_size_independent: True if the order is assumed to be the same at other sizes.
    may_be_permuted: True if the result is not row-major, or is a view that may have another order than its
        operand.
    """

    is_fresh: bool
    is_size_independent: bool
    may_be_permuted: bool


def order_of(key: str, tensor: torch.Tensor, is_view: bool, in_order: bool) -> StrideOrder:
    is_fresh = key in _ROW_MAJOR
    is_size_independent = not is_view and (key in kinds.BY_STRIDES or in_order or 1 not in tensor.shape)
    turns = not is_fresh and is_view and key not in _KEEPS_ORDER
    return StrideOrder(is_fresh, is_size_independent, turns or not _is_row_major(tensor))


class Layouts:
    """Tracker of the stride orders of recorded values, to guard those that matter."""

    def __init__(self, capture: Trace) -> None:
        self.capture: Trace | None = capture
        self._follows_inputs: set[Value] = set()
        # Values that are not row-major at every size even if the inputs are.
        self._not_row_major: set[Value] = set()
        # Results that are an operand itself, such as ``x.contiguous()`` of a contiguous ``x``.
        self._operands: set[Value] = set()

    def add_input(self, value: Value, tensor: torch.Tensor) -> None:
        self._follows_inputs.add(value)
        if not _is_row_major(tensor):
            self._not_row_major.add(value)

    def follow(
        self, node: Node, key: str, made: Sequence[torch.Tensor], operands: Sequence[torch.Tensor]
    ) -> None:
        in_order = all(map(is_in_order, operands))
        for index, (tensor, value) in enumerate(zip(made, node.outputs)):
            self.note(value, node.uses, order_of(key, tensor, index in node.views, in_order))
            if id(tensor) in map(id, operands):
                self._operands.add(value)
        if key in VIEWS_ONLY and node.outputs and joins_axes(node):
            self._rely_on(node.uses[0], node)

    def note(self, value: Value, uses: Iterable[Value], order: StrideOrder) -> None:
        is_not_row_major = order.may_be_permuted
        if not order.is_fresh:
            if not self._follows_inputs.isdisjoint(uses):
                self._follows_inputs.add(value)
            is_not_row_major = (
                is_not_row_major or not order.is_size_independent and not self._not_row_major.isdisjoint(uses)
            )
        if is_not_row_major:
            self._not_row_major.add(value)

    def rely_on_copies(self, graph: Graph) -> None:
        aliases = Aliases(graph)
        if not aliases.written:
            return
        for place, node in enumerate(graph.nodes):
            key = node.key
            is_operand = not self._operands.isdisjoint(node.outputs)
            is_either = key in kinds.BY_STRIDES and node.outputs and (key == "contiguous" or joins_axes(node))
            if is_either and (
                is_operand and is_written_later(graph, place, aliases) or is_shown(graph, place, aliases)
            ):
                self._rely_on(node.uses[0], node, is_operand or is_written_copy(graph, place, aliases))

    def _rely_on(self, value: Value, node: Node, in_torch_too: bool = False) -> None:
        capture = self.capture
        assert capture is not None
        if value in self._follows_inputs:
            capture.note_fact("layout")
        # A call that returns a view here returns one at every size, or is refused.
        if value not in self._not_row_major or node.key in VIEWS_ONLY:
            return
        if in_torch_too or not capture.for_torch:
            capture.fix_all_sizes(node.origin)
        else:
            # A graph for torch makes the same calls, so it needs no guards on sizes.
            problem = (
                f"{node.origin}: whether this is a view or a copy, which a write shows, depends on sizes; "
                "record the function for the other framework from the start"
            )
            graph = capture.recorder.graph
            graph.demand(source_only=graph.demands.source_only or problem)


def _is_row_major(tensor: torch.Tensor) -> bool:
    return tensor.layout != torch.strided or tensor.is_contiguous()


def is_in_order(tensor: torch.Tensor) -> bool:
    # Axes of size 1 are compared, too, because a transposed axis of size 1 may be longer at another call.
    strides = list(filter(None, tensor.stride())) if tensor.layout == torch.strided else []
    return strides == sorted(strides, reverse=True)


VIEWS = frozenset({"squeeze_", "unsqueeze_", "transpose_", "t_", "swapaxes_", "swapdims_", "as_strided_"})
REFUSED = frozenset({"resize_", "resize_as_", "set_", "resize_as_sparse_"})


def reshape_in_place(capture: Trace, function: Any, args: Any, kwargs: Any) -> Any:
    """Record ``x.t_()`` and similar calls as ``x = x.t()``, and return ``x``."""
    tensor = args[0]
    if _was_there(capture, capture.value(tensor)):
        raise TracingError(
            f"{capture.here()}: {capture.call} changes the shape of an array that was not made by this "
            f"function, which a graph cannot do; use the call without the underscore and its result"
        )
    pure = pure_key(row_key(capture.call))
    capture.call = f"torch.Tensor.{pure}"
    with capture:
        view = getattr(tensor, pure)(*args[1:], **kwargs)
    capture.run(function, args, kwargs)
    capture.recorder.track(tensor, capture.value(view))
    return tensor


def _was_there(capture: Trace, value: Value) -> bool:
    # Calls that return their operand do not count, since ``x.contiguous()`` may be ``x`` itself.
    while (
        (node := capture.recorder.maker(value)) is not None
        and node.record is not None
        and node.record.returns_operand
    ):
        value = node.uses[0]
    return node is None


def refuse(capture: Trace, function: Any, args: Any, kwargs: Any) -> Any:
    raise TracingError(
        f"{capture.here()}: {capture.call} puts other memory under a tensor, which cannot be recorded; make "
        "a new tensor instead"
    )
