"""Tests of the shape rules of operations without a framework."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from graph_compiler import ops
from graph_compiler.errors import InvalidGraph
from graph_compiler.ops.registry import ArraySpec, Unknown, get
from graph_compiler.sizes import Size, Symbol

X = ArraySpec((4, 5, 3), "float32")
COMPLEX = ArraySpec(X.shape, "complex64")
# Operands and parameters of the operations whose default axis is the last one, if one float array is too few.
OPERANDS = {
    **dict.fromkeys(("vecdot", "cross"), (X, X)),
    **dict.fromkeys(("irfft", "hfft"), (COMPLEX,)),
    "take_along_axis": (X, ArraySpec(X.shape, "int64")),
}
PARAMETERS = {"top_k": {"k": 2}, "kth_value": {"k": 2}}


def of_last_axis() -> list[str]:
    """Return the operations whose ``axis`` is -1 by default."""
    axes = {name: inspect.signature(get(name).infer).parameters.get("axis") for name in ops.all_ops()}
    return [name for name, axis in axes.items() if axis is not None and axis.default == -1]


@pytest.mark.parametrize("name", of_last_axis())
def test_the_default_axis_is_the_last_one(name: str) -> None:
    infer, operands, parameters = get(name).infer, OPERANDS.get(name, (X,)), PARAMETERS.get(name, {})
    assert infer(*operands, **parameters) == infer(*operands, **parameters, axis=2)


def test_points_of_an_integral_broadcast_from_the_last_axis() -> None:
    points = ArraySpec((2, 1, 5, 3), "float32")
    assert get("trapezoid").infer(X, points).shape == (2, 4, 5)
    assert get("cumulative_trapezoid").infer(X, points).shape == (2, 4, 5, 2)


@pytest.mark.parametrize(
    ("name", "count", "parameters"),
    [("top_k", 1, {"k": 1}), ("take_along_axis", 2, {}), ("take_along_axis", 2, {"axis": 0})],
)
def test_an_array_without_axes_is_refused(name: str, count: int, parameters: dict[str, Any]) -> None:
    scalar = ArraySpec((), "int64")
    with pytest.raises(InvalidGraph):
        get(name).infer(*[scalar] * count, **parameters)


def test_an_integral_of_no_element_is_empty() -> None:
    infer = get("cumulative_trapezoid").infer
    assert infer(ArraySpec((2, 0), "float32")).shape == (2, 0)
    assert infer(ArraySpec((2, 1), "float32")).shape == (2, 0)


CHANNELS, BYTES = ArraySpec((5,), "float32"), ArraySpec(X.shape, "uint8")
INDICES, MASK = ArraySpec((2,), "int64"), ArraySpec((5,), "bool")
# Operations with operands and parameters that fit axis 1 of X.
FROM_THE_FRONT: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "batch_norm": ((X, CHANNELS, CHANNELS), {"epsilon": 1e-5}),
    "group_norm": ((X,), {"groups": 5, "epsilon": 1e-5}),
    "instance_norm": ((X,), {"epsilon": 1e-5}),
    "boolean_mask": ((X, MASK), {}),
    "concat": ((X, X), {}),
    "packbits": ((X,), {}),
    "repeat": ((X, 2), {}),
    "sliding_window": ((X,), {"size": 2}),
    "split": ((X,), {"sizes": (2, 3)}),
    "stack": ((X, X), {}),
    "take": ((X, INDICES), {}),
    **dict.fromkeys(("unique_all", "unique_consecutive", "unique_values"), ((X,), {})),
    "unpackbits": ((BYTES,), {}),
    "unstack": ((X,), {"count": 5}),
}


@pytest.mark.parametrize("name", FROM_THE_FRONT)
def test_axes_are_counted_from_the_front(name: str) -> None:
    operands, parameters = FROM_THE_FRONT[name]
    get(name).infer(*operands, **parameters, axis=1)
    for axis in (-2, 4):
        with pytest.raises(InvalidGraph, match=f"axis {axis} "):
            get(name).infer(*operands, **parameters, axis=axis)


def test_a_clip_needs_a_bound() -> None:
    assert get("clip").infer(X, None, 1.0) == X
    with pytest.raises(InvalidGraph, match="a lower or an upper bound is needed"):
        get("clip").infer(X)


@pytest.mark.parametrize("axis", [-1, 3])
def test_several_axes_are_counted_from_the_front(axis: int) -> None:
    for axes in (((axis,), (0,)), ((0,), (axis,))):
        with pytest.raises(InvalidGraph, match=f"axis {axis} "):
            get("tensordot").infer(X, X, axes=axes)
    with pytest.raises(InvalidGraph, match=f"axis {axis} "):
        get("gather_nd").infer(X, INDICES, axes=(axis,))


@pytest.mark.parametrize(
    ("hints", "size", "is_one"),
    [((1, 5, 5), 5, False), ((5, 1, 5), 5, False), ((5, 5, 1), 5, False), ((5, 5, 5), 5, True), ((1, 1, 1), 1, True)],
)  # fmt: skip
def test_a_broadcast_size_is_one_of_several_only_if_all_were_equal(
    hints: tuple[int, ...], size: int, is_one: bool
) -> None:
    sizes = [Size.of(Symbol(f"x{place}", 0, hint)) for place, hint in enumerate(hints)]
    (found,) = get("where").infer(*(ArraySpec((size,), "bool") for size in sizes)).shape
    assert isinstance(found, Unknown) and found.hint == size
    assert found.if_equal == (tuple(sizes) if is_one else ())
