"""Kernels below public calls, tensors that no recorded call made, and runs that are not recorded."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode

from ....errors import TracingError
from ....forwarding import forward
from ....ir.node import CallRecord, Value
from ....ops.dtypes import is_inexact
from ....sizes import Size, apply, hint_of, hints
from ....trees import iterate_structure
from ..basics.names import name_of, row_key
from ..basics.refusals import refuse_operator
from ..basics.tensors import hints as hints_in
from ..basics.tensors import hints as hints_of
from ..basics.tensors import spec_of, storage
from ..compat import HigherOrderOperator, TorchDispatchMode, current_transform, no_torch_function
from ..gradients import run_portable_kernels
from ..memory.memory import is_shared
from ..numbers import decide_all
from ..sizes import symbolic
from .kernel_sizes import computing, given_numbers, is_sized
from .running import RunningTrace
from .unrolled import UNROLLED, flex_attention


class UnrecordedMode(TorchFunctionMode):
    """Torch function mode for runs that are not recorded, which unrolls or refuses higher-order operators."""

    def __init__(self, capture: RunningTrace) -> None:
        super().__init__()
        self.here = capture.here

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        args, kwargs = hints_of(args), hints_of(kwargs or {})
        if isinstance(function, HigherOrderOperator):
            key = row_key(name_of(function))
            if key == "flex_attention":
                return flex_attention(self, function, args, kwargs)
            return UNROLLED[key](self, args) if key in UNROLLED else refuse_operator(function, self.here)
        return forward(function, *args, **kwargs)


def run_unrecorded(capture: RunningTrace, call: Callable[[UnrecordedMode], Any]) -> Any:
    kernels = capture.kernels
    before, kernels.inside_call = kernels.inside_call, True
    try:
        return call(UnrecordedMode(capture))
    finally:
        kernels.inside_call = before


_WITHOUT_HISTORY = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)


def resolve_captured(capture: RunningTrace, tensor: torch.Tensor) -> Value:
    """Return a value for a tensor that the recording meets for the first time.

    Raise ``TracingError`` for a tensor that a graph cannot keep, such as the state of a generator.
    """
    if (owner := capture.kept_views.owner_of(tensor)) is not None:
        return capture.kept_views.record_view(capture, tensor, owner)
    name = capture.weights.name_of(tensor)
    if (
        name is None
        and (sharing := capture.memory.values_in(tensor))
        and not capture.is_weight(capture.recorder.base_of(next(iter(sharing.values()))))
    ):
        return _alias(capture, tensor)
    _refuse_unknown(capture, tensor, name)
    if is_shared(tensor):
        capture.exported.share(tensor, capture.here(), is_weight=name is not None)
    capture.memory.comes_from_outside(tensor)
    capture.gradients.add(tensor)
    if name is None or not capture.weights.places.is_persistent(name):
        value = capture.recorder.add_constant(
            name or capture.locator.name_of(tensor) or "constant", tensor, spec_of(tensor)
        )
        # A view that was made without gradients requires them like its weight. After a write to the weight,
        # torch refuses its views where gradients are enabled.
        if tensor.requires_grad:
            capture.history.add(value)
        return value
    value = capture.recorder.add_parameter(name, tensor, spec_of(tensor))
    capture.history.add(value)
    if hooks := tensor._backward_hooks:
        _follow_hooks(capture, tensor, list(hooks.values()))
        return capture.recorder.find(tensor) or value
    return value


def _refuse_unknown(capture: RunningTrace, tensor: torch.Tensor, name: str | None) -> None:
    if maker := capture.kernels.maker_of(tensor):
        capture.by_kernel.ask(maker)
        raise TracingError(
            f"{capture.here()}: a tensor is used here that was computed inside of another call and kept "
            "aside (by a hook, an autograd rule or a cache), so the recording did not see where it comes "
            "from. Return it from that call, or compute it with public functions"
        )
    if name is None and capture.has_started_threads:
        raise TracingError(
            f"{capture.here()}: a tensor may come from a thread that the function started, which cannot be "
            "recorded"
        )
    if capture.kernels.owns(tensor) and not (name is not None and capture.memory.values_in(tensor)):
        raise TracingError(
            f"{capture.here()}: a tensor is used here whose memory was written by this function, but which "
            "nothing that can be recorded has made of it (torch.nn.Parameter(...), a constructor of a "
            "subclass). Use the tensor that it was made of"
        )
    if capture.generators.has_state(tensor):
        raise TracingError(
            f"{capture.here()}: the state of a generator of random numbers is read, which is another at each "
            "call. A graph can keep it (get_rng_state) and put it back (set_rng_state); pass it as an "
            "argument where its elements matter"
        )
    if tensor.is_meta and name is None:
        raise TracingError(
            f"{capture.here()}: a tensor on the device meta is used here, which has no elements and is no "
            "parameter or buffer that load_weights could fill. Register it as a buffer of the module, or "
            "build it on the CPU"
        )


def _follow_hooks(capture: RunningTrace, tensor: torch.Tensor, hooks: list[Any]) -> None:
    # torch calls the hooks itself in a graph for torch.
    if capture.for_torch:
        graph = capture.recorder.graph
        graph.demand(
            source_only=(
                f"{graph.name} has a weight with hooks, which change its gradient, and was recorded for "
                "torch; record it for the other framework from the start"
            )
        )
        return
    with capture:
        for hook in hooks:
            capture.rules.follow_hook(tensor, hook, "a hook of a weight")


def _alias(capture: RunningTrace, tensor: torch.Tensor) -> Value:
    """Record a tensor that shares storage with a recorded value but was made by no recorded call."""
    seen = capture.memory.find_alias(tensor)
    if seen is None or (
        capture.recorder.maker(seen) is None and type(tensor) is torch.Tensor and not tensor.requires_grad
    ):
        capture.by_kernel.ask(capture.kernels.maker_of(tensor))
        inputs = (capture.recorder.kept(value) for value in capture.memory.values_in(tensor).values())
        # Of two arrays with the same elements, the first one is the owner, which has to be the input.
        capture.kept_views.ask([*(item for item in inputs if item is not None), tensor])
        raise TracingError(
            f"{capture.here()}: a tensor is used here that shares memory with one of the recording, but was "
            "made where the recording could not see it. Make it inside of the function with a function of "
            "torch, or keep a copy (clone)"
        )
    # torch makes another tensor of a result that it saved, with the history of the result.
    if type(tensor) is torch.Tensor and tensor.grad_fn is not None:
        return capture.recorder.keep(tensor, seen)
    record = CallRecord("detach", views={0: seen})
    made = capture.recorder.add_value(
        "torch.Tensor.detach", (seen,), capture.here(), ("alias", tensor, spec_of(tensor)), record
    )
    value = capture.recorder.keep(tensor, made)
    capture.memory.has_subclasses |= type(tensor) not in _WITHOUT_HISTORY
    comes_back = capture.memory.has_subclasses and type(tensor) is torch.Tensor
    # ``as_subclass`` keeps the autograd history, ``_make_subclass`` does not.
    if (comes_back or type(tensor) not in _WITHOUT_HISTORY) and is_inexact(value.dtype):
        capture.rules.refuse([tensor], (), f"a tensor that was made a {type(tensor).__name__}", (seen,))
        return capture.recorder.find(tensor) or value
    return value


_RESHAPES = frozenset({"aten::view", "aten::_unsafe_view", "aten::expand"})
# Calls whose kernels have no other sizes than those of the operands and products of these.
_PRODUCTS = frozenset({
    "linear", "matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "mv", "addmm", "baddbmm", "einsum",
    "tensordot", "inner", "outer", "bilinear",
    "scaled_dot_product_attention",
})  # fmt: skip


class KernelwiseSizes:
    """Finder of the numbers that are sizes in the kernels of a public call that :meth:`run` records."""

    def __init__(self, capture: RunningTrace) -> None:
        self.capture = capture
        self._shapes: list[tuple[Any, ...]] | None = None
        self._is_product = False
        self._given: frozenset[Any] = frozenset()

    def run(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        decide_all(self.capture, (args, kwargs))
        values = [
            self.capture.value(item)
            for item in iterate_structure((args, kwargs))
            if isinstance(item, torch.Tensor)
        ]
        shapes = [shape_of(self.capture, value) for value in values]
        guard_lengths(self.capture, shapes)
        before = self._shapes, self._given, self._is_product
        self._is_product = row_key(name_of(function)) in _PRODUCTS
        self._shapes = shapes
        self._given = given_numbers(function, hints_in((args, kwargs)))
        try:
            return run_portable_kernels(function, hints_in(args), hints_in(kwargs))
        finally:
            self._shapes, self._given, self._is_product = before

    def with_sizes(self, function: Any, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        if (
            self._shapes is None
            or function._schema.name not in _RESHAPES
            or not self._given.isdisjoint(args[1])
        ):
            return None
        shape = merged_sizes(
            shape_of(self.capture, self.capture.value(args[0])), args[1]
        ) or self._guarded_sizes(args[1], self._shapes)
        return (
            None
            if shape is None
            else (args[0], [symbolic(size, self.capture.decide) for size in shape], *args[2:])
        )

    def has_no_sizes(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        return (
            self._shapes is not None
            and not is_sized(function)
            and self._given.issuperset(computing(function, args, kwargs))
        )

    def _guarded_sizes(self, wanted: list[int], shapes: list[tuple[Any, ...]]) -> list[Any] | None:
        if not self._is_product and tuple(wanted) not in map(hints, shapes):
            return None
        found = [
            [1] if number == 1 else [size for shape in shapes for size in shape if hint_of(size) == number]
            for number in wanted
        ]
        return [guard_equal(self.capture, sizes) for sizes in found] if all(found) else None


def shape_of(capture: RunningTrace, value: Value) -> tuple[Any, ...]:
    return tuple(capture.size(value, axis) for axis in range(value.ndim))


def guard_equal(capture: RunningTrace, sizes: Sequence[Any]) -> Any:
    """Return the first of ``sizes``, all equal while recording, and guard that they stay equal."""
    for other in dict.fromkeys(sizes[1:]):
        condition = apply("eq", sizes[0], other)
        if isinstance(condition, Size):
            capture.decide(condition)
    return sizes[0]


def same_sizes(capture: RunningTrace, function: Any, args: tuple[Any, ...]) -> Any:
    same = capture.run(function, args, {})
    shapes = [shape_of(capture, capture.value(tensor)) for tensor in args]
    if same and hints(shapes[0]) == hints(shapes[1]):
        for pair in zip(*shapes):
            guard_equal(capture, pair)
    else:
        capture.fix_all_sizes()
    return same


def guard_lengths(capture: RunningTrace, shapes: Iterable[tuple[Any, ...]]) -> None:
    """Guard on which axes have length 0 and which have length 1, because torch's code branches on both."""
    for size in dict.fromkeys(size for shape in shapes for size in shape):
        if isinstance(size, Size):
            is_more: Any = apply("gt", size, 1)
            capture.decide(is_more if size.hint > 1 else size)


def merged_sizes(shape: Any, wanted: list[int]) -> list[Any] | None:
    """Return the sizes of a reshape of ``shape`` to ``wanted`` as products of sizes in ``shape``, or None."""
    left, found = [size for size in shape if hint_of(size) != 1], []
    for number in wanted:
        size: Any = 1
        while hint_of(size) < number and left:
            size = size * left.pop(0)
        found.append(size)
    return None if left or hints(found) != tuple(wanted) else found


class KernelMode(TorchDispatchMode):
    """Dispatch mode that records kernels as calls, or else notes the tensors that they make.

    inside_call: True while kernels are not recorded as calls of their own.
    """

    # torch calls the mode for higher-order operators only with this flag; they are refused here.
    supports_higher_order_operators = True

    def __init__(self, capture: RunningTrace) -> None:
        super().__init__()
        self.capture = capture
        self.inside_call = False
        self._hidden: dict[int, tuple[Any, str]] = {}
        self._memory: dict[int, Callable[[], bool]] = {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def maker_of(self, tensor: torch.Tensor) -> str | None:
        entry = self._hidden.get(id(tensor))
        return entry[1] if entry is not None and entry[0]() is tensor else None

    def note(self, tensor: torch.Tensor) -> None:
        place, is_gone = _storage_reference(tensor)
        self._memory[place] = is_gone

    def owns(self, tensor: torch.Tensor) -> bool:
        is_gone = self._memory.get(storage(tensor))
        return is_gone is not None and not is_gone()

    def _computes(self, function: Any, args: Any) -> Any:
        # torch also detaches tensors outside of the recording, wherever it saves one.
        if function is torch.ops.aten.detach.default:
            return self.capture.recorder.find(args[0]) is not None
        return function.namespace != "prim"

    def _size_finders(self) -> tuple[Any, ...]:
        return self.capture.vmapped, self.capture.backward_sizes, self.capture.kernelwise_sizes

    def _needs_fixed_sizes(self, function: Any, args: Any, kwargs: dict[str, Any]) -> bool:
        if function is torch.ops.aten.lift_fresh.default and current_transform() is None:
            return False
        return not any(known.has_no_sizes(function, args, kwargs) for known in self._size_finders())

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if isinstance(function, HigherOrderOperator):
            refuse_operator(function, self.capture.here)
        if not self.inside_call and self._computes(function, args):
            arguments = next(
                filter(None, (known.with_sizes(function, args) for known in self._size_finders())), None
            )
            if arguments is None:
                return self.capture.record_kernel(
                    function, args, kwargs, self._needs_fixed_sizes(function, args, kwargs)
                )
            # With torch functions enabled, the call would reach the mode above once more, without the sizes.
            with no_torch_function():
                return self.capture.record_kernel(function, arguments, kwargs, sized=False)
        result = forward(function, *args, **kwargs)
        for item in (result,) if isinstance(result, torch.Tensor) else iterate_structure(result):
            if isinstance(item, torch.Tensor):
                self._hide(item, args, kwargs)
        return result

    def _hide(self, made: torch.Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._hidden[id(made)] = (weakref.ref(made), self.capture.call)
        place, operands = (
            storage(made),
            (item for item in iterate_structure((args, kwargs)) if isinstance(item, torch.Tensor)),
        )
        # A view lies in the storage of an operand, which may come from outside.
        if not self.owns(made) and place not in map(storage, operands):
            self.note(made)


def _storage_reference(tensor: torch.Tensor) -> tuple[int, Callable[[], bool]]:
    """Return a number that identifies a tensor's memory, and a function that tells if it was freed."""
    try:
        with no_torch_function():
            held = tensor.untyped_storage()
        return held._cdata, StorageWeakRef(held).expired
    # Sparse tensors have no single storage.
    except (NotImplementedError, RuntimeError):
        reference = weakref.ref(tensor)
        return storage(tensor), lambda: reference() is None
