"""Cache of the outcomes of calls, for calls that are like an earlier one of the recording.

A model of equal layers calls the same functions repeatedly, on tensors that differ in their elements alone.
"""

from __future__ import annotations

import functools
import operator
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Union

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

from ....errors import Signal
from ....forwarding import forward
from ....ir.node import Node
from ....ops.registry import ArraySpec
from ....sizes import Size
from ....trees import iterate_structure
from ...common.views import joins_axes
from ..basics import tensors as kinds
from ..basics.names import is_in_place, resolve
from ..basics.tensors import PLAIN, TENSORS, hints, version
from ..compat import is_any_autocast_enabled, is_grad_enabled, is_inference_mode_enabled
from ..memory.layouts import VIEWS_ONLY, StrideOrder, is_in_order, order_of
from ..sizes import is_symbolic
from .nodes import STRUCTURE

_CONTAINERS = frozenset({tuple, list, torch.Size})
# Outcomes of these calls are not cached. Some depend on elements, or need guards on sizes.
_SPECIAL = frozenset({*STRUCTURE, *kinds.DATA_SIZED, *kinds.DETACHING, "as_strided", "requires_grad_"}) - {
    "__getitem__"
}
# These use boolean operands as masks only, so elements of a mask do not change the outcome.
_MASKED = frozenset({"scaled_dot_product_attention", "masked_fill"})


@dataclass(frozen=True)
class CompletedCall:
    """A call that was made, with its result.

    name: dotted name of the function.
    key: bare name of the function.
    arguments: positional and keyword arguments as they are recorded.
    """

    name: str
    key: str
    arguments: tuple[Any, dict[str, Any]]
    operands: list[torch.Tensor]
    result: Any


@dataclass(frozen=True)
class OperandOutcome:
    """Outcome of a call that returns one of its operands and has no other effect.

    place: index of that operand.
    """

    place: int

    def fits(self, call: CompletedCall) -> bool:
        return call.result is call.operands[self.place]


@dataclass(frozen=True)
class TensorOutcome:
    """Outcome of a call that makes one tensor.

    name: name proposed for its value.
    is_view: True if the tensor shares the storage of the only operand.
    """

    name: str
    spec: ArraySpec
    strides: tuple[int, ...]
    needs_grad: bool
    is_view: bool
    order: StrideOrder

    def fits(self, call: CompletedCall) -> bool:
        result = call.result
        same = (
            _is_strided(result) and tuple(result.shape) == self.spec.shape and result.stride() == self.strides
        )
        return (
            same
            and result.requires_grad is self.needs_grad
            and all(result is not operand for operand in call.operands)
        )


Outcome = Union[OperandOutcome, TensorOutcome]


def _is_strided(item: Any) -> bool:
    return type(item) is torch.Tensor and item.layout is torch.strided


class _UnknownDependency(Signal):
    """Signal that it is unknown on which properties of an argument the outcome of a call depends."""


class CallOutcomes:
    """Cache of outcomes of calls of one recording, by key (:meth:`key_of`)."""

    def __init__(self) -> None:
        self._outcomes: dict[Any, Outcome] = {}

    def key_of(
        self,
        name: str,
        key: str,
        function: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        operands: list[torch.Tensor],
    ) -> Any:
        """Return a hashable key that only calls of the same outcome are expected to share, or None.

        Unless it is None, the tensors among the arguments were added to ``operands``.
        """
        # In-place calls have an effect, and autocast depends on more than the arguments.
        if key in _SPECIAL or is_in_place(key) or is_any_autocast_enabled() or not _is_public(function, name):
            return None
        try:
            is_masked = key in _MASKED
            keys = tuple([_outcome_key(item, operands, is_masked) for item in args])
            named = (
                tuple([(word, _outcome_key(item, operands, is_masked)) for word, item in kwargs.items()])
                if kwargs
                else ()
            )
        except _UnknownDependency:
            return None
        return function, name, is_grad_enabled(), is_inference_mode_enabled(), keys, named

    def outcome(self, key: Any) -> Outcome | None:
        return None if key is None else self._outcomes.get(key)

    def forget(self, key: Any) -> None:
        del self._outcomes[key]

    def note(self, key: Any, outcome: Outcome | None) -> Outcome | None:
        if key is None or outcome is None:
            return None
        self._outcomes[key] = outcome
        return outcome


@functools.lru_cache(maxsize=4096)
def _is_public(function: Any, name: str) -> bool:
    try:
        return not name.startswith("torch.ops.") and bool(resolve(name) == function)
    except AttributeError:
        return False


def _outcome_key(item: Any, operands: list[torch.Tensor], is_masked: bool) -> Any:
    cls = type(item)
    if cls in TENSORS:
        operands.append(item)
        return _tensor_key(item, is_masked)
    if cls in PLAIN:
        return cls, item
    if cls in _CONTAINERS:
        return cls, *[_outcome_key(part, operands, is_masked) for part in item]
    if cls is slice:
        return cls, *[_outcome_key(part, operands, is_masked) for part in (item.start, item.stop, item.step)]
    if is_symbolic(item):
        return cls, item.node.hint
    raise _UnknownDependency


def _tensor_key(tensor: torch.Tensor, is_masked: bool) -> Any:
    # Integers may be sizes, or too large for other frameworks.
    is_plain = tensor.is_floating_point() or is_masked and tensor.dtype is torch.bool
    if not is_plain or tensor.layout is not torch.strided or not tensor.is_cpu:
        raise _UnknownDependency
    flags = tensor.requires_grad, tensor.is_neg(), tensor.is_inference(), tensor._is_view()
    return type(tensor), tensor.dtype, tensor.shape, tensor.stride(), flags


def outcome_of(call: CompletedCall, node: Node | None) -> Outcome | None:
    """Return the outcome that calls like ``call`` are expected to have, or None if they may differ."""
    if node is None:
        reads_sizes = any(isinstance(item, Size) for item in iterate_structure(call.arguments))
        place = next((place for place, operand in enumerate(call.operands) if call.result is operand), None)
        return None if place is None or reads_sizes else OperandOutcome(place)
    result, is_view = call.result, bool(node.views)
    if (
        not _is_strided(result)
        or result.dtype is torch.int64
        or len(node.outputs) != 1
        or node.writes
        or node.is_random
    ):
        return None
    if (
        node.record is None
        or node.record.returns_operand
        or is_view
        and len(call.operands) > 1
        or call.key in VIEWS_ONLY
        and joins_axes(node)
    ):
        return None
    order = order_of(call.key, result, is_view, all(map(is_in_order, call.operands)))
    return TensorOutcome(
        node.outputs[0].name, node.outputs[0].spec, result.stride(), result.requires_grad, is_view, order
    )


# Results of these are stored even if their outcome is unknown, because they are nearly all that a large model
# computes.
_LARGE = frozenset(
    {F.linear, F.conv1d, F.conv2d, F.conv3d, F.scaled_dot_product_attention}
    | {torch.matmul, torch.mm, torch.bmm, torch.addmm, torch.baddbmm}
    | {torch.Tensor.matmul, torch.Tensor.__matmul__, torch.Tensor.mm, torch.Tensor.bmm, torch.Tensor.addmm}
)
# Results beyond this total are computed again in the second run.
_MOST_BYTES = 1 << 27
_FACTS = ("shape", "dtype", "layout", "device", "requires_grad")
# Tolerated units in the last place of the largest element: another kernel may have been selected.
_ROUNDING = 16


@dataclass(frozen=True, slots=True)
class _StoredCall:
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: torch.Tensor
    # The operands and the result.
    tensors: list[torch.Tensor]
    versions: list[int]

    @property
    def is_unwritten(self) -> bool:
        return self.versions == list(map(version, self.tensors))

    def is_made_by(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        if len(args) != len(self.args) or kwargs.keys() != self.kwargs.keys():
            return False
        # Most calls get the same objects as in the first run, and need no comparison.
        if not kwargs and all(map(operator.is_, args, self.args)):
            return True
        found, known = (
            list(iterate_structure((args, kwargs))),
            list(iterate_structure(hints((self.args, self.kwargs)))),
        )
        return len(found) == len(known) and all(map(_is_same, found, known))


class FirstRunResults:
    """Results of calls of a run, for reuse in a second run of the same function.

    wanted: function that returns True once results are to be stored.
    """

    def __init__(self, wanted: Callable[[], bool] = lambda: False) -> None:
        self.wanted = wanted
        self._made: dict[Callable[..., Any], deque[_StoredCall | None]] = defaultdict(deque)
        self._bytes = 0

    def note(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        operands: list[torch.Tensor],
        result: Any,
        outcome: Outcome | None = None,
    ) -> None:
        kept: _StoredCall | None = None
        if (isinstance(outcome, TensorOutcome) or function in _LARGE) and self._has_room(result):
            tensors = [*operands, result]
            kept = _StoredCall(args, kwargs, result, tensors, list(map(version, tensors)))
            self._bytes += 0 if isinstance(outcome, TensorOutcome) and outcome.is_view else result.nbytes
        self._made[function].append(kept)

    def _has_room(self, result: torch.Tensor) -> bool:
        return self.wanted() and self._bytes <= _MOST_BYTES and not result.is_inference()

    def take_result(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> torch.Tensor | None:
        """Remove the next result of ``function`` from the first run. Return it if it fits, else None."""
        calls = self._made.get(function)
        if not calls:
            return None
        call = calls.popleft()
        return (
            call.result if call is not None and call.is_unwritten and call.is_made_by(args, kwargs) else None
        )


class ResultReuse(TorchFunctionMode):
    """Function mode of the second run, in which a call may return its result of the first run."""

    def __init__(self, calls: FirstRunResults) -> None:
        super().__init__()
        self._calls = calls

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        known = self._calls.take_result(function, args, kwargs)
        return forward(function, *args, **kwargs) if known is None else known


def _is_same(found: Any, known: Any) -> bool:
    if found is known:
        return True
    if not isinstance(found, torch.Tensor) or not isinstance(known, torch.Tensor):
        return type(found) is type(known) and bool(found == known)
    if (
        any(getattr(found, fact) != getattr(known, fact) for fact in _FACTS)
        or found.is_conj() != known.is_conj()
        or found.is_neg() != known.is_neg()
    ):
        return False
    if found.data_ptr() == known.data_ptr() and found.stride() == known.stride() or torch.equal(found, known):
        return True
    if not found.is_floating_point():
        return False
    # Infinities and NaN have to be equal, and say nothing about the rounding of the finite elements.
    finite = known.detach().nan_to_num(0.0, 0.0, 0.0)
    rounding = _ROUNDING * torch.finfo(known.dtype).eps * finite.abs().max().item() if known.numel() else 0.0
    return torch.allclose(found, known, rtol=0, atol=rounding, equal_nan=True)
