"""The sizes in kernels with which ``torch.vmap`` brings arrays into line.

The batching rules of torch put axes of size 1 between others (``view``), repeat what is the same for the whole batch (``expand``), and make
arrays for every member of it (``new_ones``). They compute these sizes below anything that could be seen, as plain numbers. Where a number
is none that the user gave, and only one size comes into question, an axis that is there already or a level of vmap, it is that size.
Otherwise the recording is tied to all sizes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from ....errors import Signal
from ....sizes import Size, hint_of, hints
from ..compat import batch_axis, is_batched, is_wrapped, unwrapped
from ..numbers.sizes import expression_of, symbolic
from .running import Running

_OTHERS = frozenset({"torch.autograd", "torch.autograd.graph", "torch._functorch.eager_transforms"})


class _Tied(Signal):
    """More than one size comes into question."""


def levels(call: str | None) -> list[Any] | None:
    """The sizes of the levels of ``torch.vmap`` that run now; None where none does, or outside of public calls anything else that computes
    with sizes unseen."""
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


def physical_sizes(capture: Running, tensor: torch.Tensor) -> tuple[Any, ...]:
    """The sizes of a tensor as the body of ``torch.vmap`` sees it, or of another transform, which changes none."""
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
    """A kernel, what the call of the user's that it belongs to is and was given (none where it is vmap's own), and the sizes of the levels,
    the inner one first."""

    capture: Running
    function: Any
    args: tuple[Any, ...]
    call: str | None
    given: frozenset[Any]
    batch: Sequence[Any]

    @property
    def own(self) -> list[Any]:
        """The sizes of the array."""
        return [self.capture.size(self.capture.value(self.args[0]), axis) for axis in range(self.args[0].ndim)]

    @property
    def wanted(self) -> list[Any]:
        """The sizes that the kernel makes of them."""
        return [expression_of(size) for size in self.args[1]]

    def with_sizes(self) -> tuple[Any, ...] | None:
        """The arguments with the sizes that stand behind the numbers; None where that cannot be told."""
        try:
            return _RULES[self.function._schema.name](self)
        except (KeyError, _Tied):
            return None

    def making(self, sizes: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments with these sizes."""
        return (self.args[0], [symbolic(size, self.capture.decide) for size in sizes], *self.args[2:])


def _view(kernel: Kernel) -> tuple[Any, ...]:
    """Axes of size 1 come or go: the others are those of the array, in order."""
    own, kept = ([size for size in sizes if hint_of(size) != 1] for sizes in (kernel.own, kernel.wanted))
    _only_if(hints(own) == hints(kept) and kernel.given.isdisjoint(kept))
    for size in kernel.own:
        if isinstance(size, Size) and size.hint == 1:
            kernel.capture.decide(size)
    left = iter(own)
    return kernel.making([1 if _is_one(size) else next(left) for size in kernel.wanted])


def _expand(kernel: Kernel) -> tuple[Any, ...]:
    """What vmap gives back has its axis, whether the result depends on it or not. An array that has all sizes already (of a product) keeps
    them."""
    own, wanted, level = kernel.own, kernel.wanted, kernel.batch[0]
    if hints(own) == hints(wanted) and kernel.given.isdisjoint(size for size in wanted if not _is_one(size)):
        return kernel.making(own)
    _only_if(kernel.call is None and (hint_of(level) != 1 or _is_one(level)))
    pairs = list(zip([1] * (len(wanted) - len(own)) + own, wanted))
    _only_if(all(hint_of(size) == hint_of(there) if not _is_one(there) else hint_of(size) in (1, hint_of(level)) for there, size in pairs))
    return kernel.making([there if hint_of(there) == hint_of(size) else level for there, size in pairs])


def _made(kernel: Kernel) -> tuple[Any, ...]:
    """The axes of the levels that the array has, and what the user gave."""
    _only_if(kernel.call == kernel.function._schema.name.removeprefix("aten::"))
    return kernel.making([_own_or_given(kernel, size) for size in kernel.wanted])


def _own_or_given(kernel: Kernel, number: Any) -> Any:
    fitting = {size for size in kernel.own if hint_of(size) == number}
    _only_if(len(fitting) == (number not in kernel.given))
    return fitting.pop() if fitting else number


def _first(kernel: Kernel) -> tuple[Any, ...]:
    """The first of several elements, which is the first at every size; rules ask its type, and the user may write 0."""
    axis, index = kernel.args[1:3]
    _only_if(index == 0 and hint_of(kernel.own[axis]) > 1)
    return kernel.args


def _is_one(size: Any) -> bool:
    return type(size) is int and size == 1


def _only_if(holds: bool) -> None:
    if not holds:
        raise _Tied


_RULES: dict[str, Callable[[Kernel], tuple[Any, ...]]] = {
    "aten::view": _view,
    "aten::_unsafe_view": _view,
    "aten::expand": _expand,
    "aten::select": _first,
    "aten::new_empty": _made,
    "aten::new_ones": _made,
    "aten::new_zeros": _made,
}
