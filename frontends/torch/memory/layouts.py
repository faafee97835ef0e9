"""In which order the elements of tensors lie in memory, where that decides what a call does.

``x.view(-1)`` is refused and ``x.reshape(-1)`` makes a copy where two axes that become one do not lie behind
each other. Other frameworks have no strides, so the recording holds only for arguments that lie in memory as
these do. Where slices and permutations of the function itself decide, and a write shows whether there is a
copy, it holds for these sizes. A view of the function's own slices that torch would refuse at other sizes
only gives there what a copy would give: to tie all views to sizes would record one in thirty models again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ....errors import TracingError
from ....ir.aliases import Aliases
from ....ir.graph import Graph
from ....ir.node import Node, Value
from ..basics import tensors as kinds
from ..basics.names import pure_key, row_key
from ..trace import Trace

VIEWS_ONLY = frozenset(
    {"view", "view_as", "unflatten", "view_as_complex"}
)  # refused where only a copy would do
# Calls whose result is in row-major order, whatever comes in.
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
# Views that are in row-major order where the tensor is.
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
class Order:
    """How a result lies in memory: ``is_fresh``, in row-major order whatever comes in; ``is_made``, in that
    order at every size where it is so at one; ``is_turned``, not in that order, or not at every size.
    """

    is_fresh: bool
    is_made: bool
    is_turned: bool


def order_of(key: str, tensor: torch.Tensor, is_view: bool, in_order: bool) -> Order:
    """How ``tensor`` lies, which a call of this bare name has made of tensors that lie ``in_order``."""
    is_fresh = key in _ROW_MAJOR
    is_made = not is_view and (key in kinds.BY_STRIDES or in_order or 1 not in tensor.shape)
    turns = not is_fresh and is_view and key not in _KEEPS_ORDER
    return Order(is_fresh, is_made, turns or not _is_row_major(tensor))


class Layouts:
    """What is known of the layouts of the values of one recording."""

    def __init__(self, capture: Trace) -> None:
        self.capture: Trace | None = capture
        self._follows_inputs: set[Value] = set()
        self._other: set[Value] = set()  # not, or not for all sizes, in row-major order where the inputs are
        self._operands: set[Value] = set()  # x.contiguous() that is x itself

    def add_input(self, value: Value, tensor: torch.Tensor) -> None:
        self._follows_inputs.add(value)
        if not _is_row_major(tensor):
            self._other.add(value)

    def follow(
        self, node: Node, key: str, made: Sequence[torch.Tensor], operands: Sequence[torch.Tensor]
    ) -> None:
        """Notes the layouts of the results of a call, and which layouts of ``operands`` it needs."""
        in_order = all(map(is_in_order, operands))
        for index, (tensor, value) in enumerate(zip(made, node.outputs)):
            self.note(value, node.uses, order_of(key, tensor, index in node.views, in_order))
            if id(tensor) in map(id, operands):
                self._operands.add(value)
        if key in VIEWS_ONLY and node.outputs and joins_axes(node):
            self._rely_on(node.uses[0], node)

    def note(self, value: Value, uses: Iterable[Value], order: Order) -> None:
        """Notes the layout of one result of a call."""
        is_other = order.is_turned
        if not order.is_fresh:
            if not self._follows_inputs.isdisjoint(uses):
                self._follows_inputs.add(value)
            is_other = is_other or not order.is_made and not self._other.isdisjoint(uses)
        if is_other:
            self._other.add(value)

    def rely_on_copies(self, graph: Graph) -> None:
        """Where a write shows whether ``x.reshape(-1)`` was a view or a copy, which it was is relied on."""
        aliases = Aliases(graph)
        if not aliases.written:
            return
        for place, node in enumerate(graph.nodes):
            key = node.key
            is_operand = not self._operands.isdisjoint(node.outputs)
            is_either = key in kinds.BY_STRIDES and node.outputs and (key == "contiguous" or joins_axes(node))
            if is_either and (
                is_operand and _is_written_later(graph, place, aliases) or _is_shown(graph, place, aliases)
            ):
                self._rely_on(node.uses[0], node, is_operand or _is_written_copy(graph, place, aliases))

    def _rely_on(self, value: Value, node: Node, in_torch_too: bool = False) -> None:
        """The value has the layout that it has now: a recording for torch that makes the same calls need not
        say so of sizes.
        """
        capture = self.capture
        assert capture is not None
        if value in self._follows_inputs:
            capture.note_fact("layout")
        if (
            value not in self._other or node.key in VIEWS_ONLY
        ):  # what is a view here is one at every size, or refused
            return
        if in_torch_too or not capture.for_torch:
            capture.fix_all_sizes(node.origin)
        else:
            problem = (
                f"{node.origin}: whether this is a view or a copy, which a write shows, depends on sizes; record the function for the "
                "other framework from the start"
            )
            graph = capture.recorder.graph
            graph.demand(source_only=graph.demands.source_only or problem)


def joins_axes(node: Node) -> bool:
    """Whether a change of shape makes one axis of several, as far as the sizes of the recording tell; or
    changes the type of the elements.

    An axis that is only split, or gets an axis of one element beside it, may have any stride.
    """
    source, result = node.uses[0].spec, node.outputs[0].spec
    if source.dtype != result.dtype:
        return True
    wanted = list(result.hints)
    for size in source.hints:
        found = wanted.pop(0) if wanted else 0
        while found < size and wanted and found:
            found *= wanted.pop(0)
        if found != size:
            return True
    return any(size != 1 for size in wanted)


def _is_written_later(graph: Graph, place: int, aliases: Aliases) -> bool:
    node = graph.nodes[place]
    written = {aliases.base_of(value) for later in graph.nodes[place + 1 :] for value in later.writes}
    return not written.isdisjoint({aliases.base_of(node.uses[0]), *node.outputs})


def _is_written_copy(graph: Graph, place: int, aliases: Aliases) -> bool:
    """Whether the call made a copy that is written to later: a graph leaves such writes out where nobody
    looks at the copy, and at other sizes it is a view.
    """
    made = set(graph.nodes[place].outputs)
    return any(aliases.base_of(value) in made for later in graph.nodes[place + 1 :] for value in later.writes)


def _is_shown(graph: Graph, place: int, aliases: Aliases) -> bool:
    """Whether memory of the call's source or of its result is written to later, and then looked at through
    the other one.
    """
    node = graph.nodes[place]
    source, made = aliases.base_of(node.uses[0]), set(node.outputs)
    written: set[bool] = set()  # through the result, or not
    if graph.maker(source) is None:
        return _is_written_later(graph, place, aliases)
    for later in graph.nodes[place + 1 :]:
        sides = _sides(later.uses, made, source, aliases)
        if any((not side) in written for side in sides):
            return True
        written |= _sides(later.writes, made, source, aliases)
        made.update(later.outputs[index] for index, viewed in later.views.items() if viewed in made)
    outputs = [item for item in graph.outputs if isinstance(item, Value)]
    return any((not side) in written for side in _sides(outputs, made, source, aliases))


def _sides(values: Iterable[Value], made: set[Value], source: Value, aliases: Aliases) -> set[bool]:
    return {value in made for value in values if value in made or aliases.base_of(value) is source}


def _is_row_major(tensor: torch.Tensor) -> bool:
    return tensor.layout != torch.strided or tensor.is_contiguous()


def is_in_order(tensor: torch.Tensor) -> bool:
    """Whether no axis lies within one that comes after it: what is computed from such tensors is in row-major
    order at every size.

    A transposed axis shows even where it has one element; a slice that takes all of this size may lie apart
    at others, but in order.
    """
    strides = list(filter(None, tensor.stride())) if tensor.layout == torch.strided else []
    return strides == sorted(strides, reverse=True)


VIEWS = frozenset({"squeeze_", "unsqueeze_", "transpose_", "t_", "swapaxes_", "swapdims_", "as_strided_"})
REFUSED = frozenset({"resize_", "resize_as_", "set_", "resize_as_sparse_"})


def reshape_in_place(capture: Trace, function: Any, args: Any, kwargs: Any) -> Any:
    """``x.t_()`` as ``x = x.t()``: other views of the same memory stay what they are."""
    tensor = args[0]
    if _was_there(capture, capture.value(tensor)):
        raise TracingError(
            f"{capture.here()}: {capture.call} changes the shape of an array that was not made by this function, which a graph cannot do; "
            f"use the call without the underscore and its result"
        )
    pure = pure_key(row_key(capture.call))
    capture.call = f"torch.Tensor.{pure}"
    with capture:
        view = getattr(tensor, pure)(*args[1:], **kwargs)
    capture.run(function, args, kwargs)
    capture.recorder.track(tensor, capture.value(view))
    return tensor


def _was_there(capture: Trace, value: Value) -> bool:
    """Whether the tensor was there before the function ran: ``x.contiguous()`` may be ``x`` itself."""
    while (
        (node := capture.recorder.maker(value)) is not None and node.record is not None and node.record.itself
    ):
        value = node.uses[0]
    return node is None


def refuse(capture: Trace, function: Any, args: Any, kwargs: Any) -> Any:
    raise TracingError(
        f"{capture.here()}: {capture.call} puts other memory under a tensor, which cannot be recorded; make a new tensor instead"
    )
