"""Sizes that reach kernels under ``torch.vmap`` as plain numbers, found by the public call that runs."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from ....errors import Signal
from ....forwarding import forward
from ....sizes import Size, hint_of, hints
from ....trees import iterate_structure
from ..basics import tensors as reads
from ..basics.names import name_of, row_key
from ..basics.tensors import hints as hints_of
from ..compat import batch_axis, is_batched, is_wrapped, unwrapped
from ..numbers import decide_all
from ..sizes import expression_of, symbolic
from .running import RunningTrace

# ATen operations that take sizes or positions as numbers. Inside of a transform, C++ code may have computed
# these from sizes.
_SIZED = frozenset(
    {
        "view",
        "_unsafe_view",
        "reshape",
        "expand",
        "slice",
        "select",
        "narrow",
        "as_strided",
        "repeat",
        "unfold",
        "split",
        "split_with_sizes",
    }
)
_SIZED_PREFIXES = ("new_", "zeros", "ones", "full", "empty", "arange", "slice_", "select_", "rand")
# Arguments whose names begin so are not sizes.
_NO_SIZES = ("dim", "axis", "reduction", "correction")


def is_sized(function: Any) -> bool:
    name = function._schema.name.partition("::")[2]
    return name in _SIZED or (name.startswith(_SIZED_PREFIXES) and not name.endswith("_like"))


def computing(kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    arguments = kernel._schema.arguments
    given = [
        *zip(arguments, args),
        *((argument, kwargs[argument.name]) for argument in arguments if argument.name in kwargs),
    ]
    return _numbers_in(
        [
            value
            for argument, value in given
            if not argument.name.startswith(_NO_SIZES) and not _is_default(argument, value)
        ]
    )


def given_numbers(function: Callable[..., Any], arguments: Any) -> frozenset[Any]:
    return frozenset(_numbers_in(arguments)) | _defaults(function)


def _numbers_in(structure: Any) -> list[Any]:
    return [item for item in iterate_structure(structure) if type(item) in (int, float)]


def _is_default(argument: Any, value: Any) -> bool:
    return argument.has_default_value() and type(value) in (int, float) and argument.default_value == value


@functools.lru_cache(maxsize=512)
def _defaults(function: Callable[..., Any]) -> frozenset[Any]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return frozenset()
    return frozenset(parameter.default for parameter in parameters if type(parameter.default) in (int, float))


_OTHERS = frozenset({"torch.autograd", "torch.autograd.graph", "torch._functorch.eager_transforms"})


class AmbiguousSize(Signal):
    """Signal that a rule raises if a number in a kernel may be several sizes, or none that is known."""


def batch_sizes_of_levels(call: str | None) -> list[Any] | None:
    """Return the batch sizes of the active levels of ``torch.vmap``, the innermost first, or None."""
    found: list[Any] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module in _OTHERS and call is None:
            return None
        if module == "torch._functorch.vmap" and frame.f_code.co_name in ("_flat_vmap", "inner"):
            found.append(expression_of(frame.f_locals["batch_size"]))
        frame = frame.f_back
    return found or None


def logical_sizes(capture: RunningTrace, tensor: torch.Tensor) -> tuple[Any, ...]:
    """Return the sizes of a tensor as the function under ``torch.vmap`` sees them, without batch axes."""
    batched: list[int] = []
    while is_wrapped(tensor):
        if is_batched(tensor):
            batched.append(batch_axis(tensor))
        tensor = unwrapped(tensor)
    value = capture.value(tensor)
    sizes = [capture.size(value, axis) for axis in range(value.ndim)]
    for axis in reversed(batched):
        del sizes[axis]
    return tuple(symbolic(size, capture.decide) for size in sizes)


@dataclass(frozen=True)
class Kernel:
    """A kernel under ``torch.vmap``, with the public call that it belongs to.

    call: bare name of the public call, or None if none runs.
    given: numbers among the arguments of the public call and the defaults of its function.
    batch: batch sizes of the active levels, the innermost first.
    """

    capture: RunningTrace
    function: Any
    args: tuple[Any, ...]
    call: str | None
    given: frozenset[Any]
    batch: Sequence[Any]

    @property
    def operand_sizes(self) -> list[Any]:
        return [
            self.capture.size(self.capture.value(self.args[0]), axis) for axis in range(self.args[0].ndim)
        ]

    @property
    def result_sizes(self) -> list[Any]:
        return [expression_of(size) for size in self.args[1]]

    def with_sizes(self) -> tuple[Any, ...] | None:
        try:
            return _RULES[self.function._schema.name](self)
        except (KeyError, AmbiguousSize):
            return None

    def with_result_sizes(self, sizes: Sequence[Any]) -> tuple[Any, ...]:
        return (self.args[0], [symbolic(size, self.capture.decide) for size in sizes], *self.args[2:])


def _view(kernel: Kernel) -> tuple[Any, ...]:
    own, kept = (
        [size for size in sizes if hint_of(size) != 1]
        for sizes in (kernel.operand_sizes, kernel.result_sizes)
    )
    _only_if(hints(own) == hints(kept) and kernel.given.isdisjoint(kept))
    for size in kernel.operand_sizes:
        if isinstance(size, Size) and size.hint == 1:
            kernel.capture.decide(size)
    left = iter(own)
    return kernel.with_result_sizes([1 if _is_one(size) else next(left) for size in kernel.result_sizes])


def _expand(kernel: Kernel) -> tuple[Any, ...]:
    own, wanted, level = kernel.operand_sizes, kernel.result_sizes, kernel.batch[0]
    if hints(own) == hints(wanted) and kernel.given.isdisjoint(size for size in wanted if not _is_one(size)):
        return kernel.with_result_sizes(own)
    _only_if(kernel.call is None and (hint_of(level) != 1 or _is_one(level)))
    pairs = list(zip([1] * (len(wanted) - len(own)) + own, wanted))
    _only_if(
        all(
            hint_of(size) == hint_of(there) if not _is_one(there) else hint_of(size) in (1, hint_of(level))
            for there, size in pairs
        )
    )
    return kernel.with_result_sizes(
        [there if hint_of(there) == hint_of(size) else level for there, size in pairs]
    )


def _made(kernel: Kernel) -> tuple[Any, ...]:
    _only_if(kernel.call == kernel.function._schema.name.removeprefix("aten::"))
    return kernel.with_result_sizes([_own_or_given(kernel, size) for size in kernel.result_sizes])


def _own_or_given(kernel: Kernel, number: Any) -> Any:
    fitting = {size for size in kernel.operand_sizes if hint_of(size) == number}
    _only_if(len(fitting) == (number not in kernel.given))
    return fitting.pop() if fitting else number


def _first(kernel: Kernel) -> tuple[Any, ...]:
    axis, index = kernel.args[1:3]
    _only_if(index == 0 and hint_of(kernel.operand_sizes[axis]) > 1)
    return kernel.args


def _is_one(size: Any) -> bool:
    return type(size) is int and size == 1


def _only_if(holds: bool) -> None:
    if not holds:
        raise AmbiguousSize


_RULES: dict[str, Callable[[Kernel], tuple[Any, ...]]] = {
    "aten::view": _view,
    "aten::_unsafe_view": _view,
    "aten::expand": _expand,
    "aten::select": _first,
    "aten::new_empty": _made,
    "aten::new_ones": _made,
    "aten::new_zeros": _made,
}


class Vmapped:
    """Finder of the numbers that are sizes in kernels under ``torch.vmap``, by the public call that runs."""

    def __init__(self, capture: RunningTrace) -> None:
        self.capture = capture
        self._call: str | None = None
        self._given: frozenset[Any] = frozenset()

    def run(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if name_of(function) in reads.BACKWARD:
            return self.capture.backward_sizes.run(function, args, kwargs)
        decide_all(self.capture, (args, kwargs))
        key = row_key(name_of(function))
        if key in reads.SIZES:
            if key in _TOLD:
                return _TOLD[key](
                    logical_sizes(self.capture, args[0]), *hints_of(args[1:]), **hints_of(kwargs)
                )
            self.capture.fix_all_sizes()
        before = self._call, self._given
        self._call, self._given = key, given_numbers(function, hints_of((args, kwargs)))
        try:
            result = forward(function, *hints_of(args), **hints_of(kwargs))
        finally:
            self._call, self._given = before
        self.capture.backward_sizes.note(
            [item for item in iterate_structure((result,)) if isinstance(item, torch.Tensor)]
        )
        return result

    def with_sizes(self, function: Any, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        batch = batch_sizes_of_levels(self._call)
        return (
            None
            if batch is None
            else Kernel(self.capture, function, args, self._call, self._given, batch).with_sizes()
        )

    def has_no_sizes(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        if is_sized(kernel) or self._call is None and batch_sizes_of_levels(None) is None:
            return False
        return self._given.issuperset(computing(kernel, args, kwargs))


def _size(sizes: tuple[Any, ...], dim: int | None = None) -> Any:
    return torch.Size(sizes) if dim is None else sizes[dim]


_TOLD: dict[str, Callable[..., Any]] = {"shape": _size, "size": _size}
