"""The sizes in kernels of a public call that is recorded kernel by kernel.

torch's code computes them from those of the arrays that the call is given, as plain numbers: axes become one for a matrix product and two
again behind it. A number that only one of these sizes can be is that size. Otherwise the recording is tied to all sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from ....ir.node import Value
from ....sizes import Size, apply, hint_of, hints
from ....trees import iterate_structure
from ..basics.names import name_of, row_key
from ..basics.tensors import hints as hints_in
from ..gradients.kernel_by_kernel import in_kernels
from ..numbers.numbers import decide_all
from ..numbers.sizes import symbolic
from .kernel_numbers import computing, given_numbers, is_sized
from .running import Running

_RESHAPES = frozenset({"aten::view", "aten::_unsafe_view", "aten::expand"})
# Calls whose sizes below are sizes of what they are given, and products of these: nothing is divided.
_PRODUCTS = frozenset({
    "linear", "matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "mv", "addmm", "baddbmm", "einsum", "tensordot", "inner", "outer",
    "bilinear",
    "scaled_dot_product_attention",
})  # fmt: skip


class Opened:
    """The call that is open: the sizes of what it was given, and its own numbers; None where none is."""

    def __init__(self, capture: Running) -> None:
        self.capture = capture
        self._shapes: list[tuple[Any, ...]] | None = None
        self._is_product = False
        self._given: frozenset[Any] = frozenset()

    def run(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call, with numbers for sizes; the kernels that come meanwhile are its own."""
        decide_all(self.capture, (args, kwargs))
        values = [self.capture.value(item) for item in iterate_structure((args, kwargs)) if isinstance(item, torch.Tensor)]
        shapes = [shape_of(self.capture, value) for value in values]
        hold_lengths(self.capture, shapes)
        before = self._shapes, self._given, self._is_product
        self._is_product = row_key(name_of(function)) in _PRODUCTS
        self._shapes = shapes
        self._given = given_numbers(function, hints_in((args, kwargs)))
        try:
            return in_kernels(function, hints_in(args), hints_in(kwargs))
        finally:
            self._shapes, self._given, self._is_product = before

    def told(self, function: Any, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The arguments of a kernel that makes sizes, with those that stand behind its numbers; None where that cannot be told."""
        if self._shapes is None or function._schema.name not in _RESHAPES or not self._given.isdisjoint(args[1]):
            return None
        shape = merged(shape_of(self.capture, self.capture.value(args[0])), args[1]) or self._told(args[1], self._shapes)
        return None if shape is None else (args[0], [symbolic(size, self.capture.decide) for size in shape], *args[2:])

    def explains(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether all numbers of a kernel are those of the public call."""
        return self._shapes is not None and not is_sized(function) and self._given.issuperset(computing(function, args, kwargs))

    def _told(self, wanted: list[int], shapes: list[tuple[Any, ...]]) -> list[Any] | None:
        if not self._is_product and tuple(wanted) not in map(hints, shapes):
            return None
        found = [[1] if number == 1 else [size for shape in shapes for size in shape if hint_of(size) == number] for number in wanted]
        return [one_of(self.capture, sizes) for sizes in found] if all(found) else None


def shape_of(capture: Running, value: Value) -> tuple[Any, ...]:
    """The sizes of a value."""
    return tuple(capture.size(value, axis) for axis in range(value.ndim))


def one_of(capture: Running, sizes: Sequence[Any]) -> Any:
    """One of several sizes that have the same number now; from here on they always have."""
    for other in dict.fromkeys(sizes[1:]):
        condition = apply("eq", sizes[0], other)
        if isinstance(condition, Size):
            capture.decide(condition)
    return sizes[0]


def same_sizes(capture: Running, function: Any, args: tuple[Any, ...]) -> Any:
    """Whether two tensors have the same sizes; from here on that stays so."""
    same = capture.run(function, args, {})
    shapes = [shape_of(capture, capture.value(tensor)) for tensor in args]
    if same and hints(shapes[0]) == hints(shapes[1]):
        for pair in zip(*shapes):
            one_of(capture, pair)
    else:
        capture.fix_all_sizes()
    return same


def hold_lengths(capture: Running, shapes: Iterable[tuple[Any, ...]]) -> None:
    """Guards which axes have length 1, and that none is empty: torch's code branches on both."""
    for size in dict.fromkeys(size for shape in shapes for size in shape):
        if isinstance(size, Size):
            is_more: Any = apply("gt", size, 1)
            capture.decide(is_more if size.hint > 1 else size)


def merged(shape: Any, wanted: list[int]) -> list[Any] | None:
    """The shape that has these numbers where neighbouring axes have become one, and axes of length 1 come or go; None where that is not
    what happened."""
    left, found = [size for size in shape if hint_of(size) != 1], []
    for number in wanted:
        size: Any = 1
        while hint_of(size) < number and left:
            size = size * left.pop(0)
        found.append(size)
    return None if left or hints(found) != tuple(wanted) else found
