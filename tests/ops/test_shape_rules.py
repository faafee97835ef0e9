"""Tests of the shape rules of operations without a framework."""

from __future__ import annotations

import inspect

import pytest

from graph_compiler import ops
from graph_compiler.errors import InvalidGraph
from graph_compiler.ops.registry import ArraySpec, get

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


NORMALISATIONS: dict[str, tuple[tuple[ArraySpec, ...], dict[str, int]]] = {
    "batch_norm": ((X, ArraySpec((5,), "float32"), ArraySpec((5,), "float32")), {}),
    "group_norm": ((X,), {"groups": 5}),
    "instance_norm": ((X,), {}),
}


@pytest.mark.parametrize("name", NORMALISATIONS)
def test_channels_are_counted_from_the_front(name: str) -> None:
    operands, parameters = NORMALISATIONS[name]
    assert get(name).infer(*operands, **parameters, epsilon=1e-5, axis=1) == X
    for axis in (-2, 3):
        with pytest.raises(InvalidGraph, match="the axis of channels"):
            get(name).infer(*operands, **parameters, epsilon=1e-5, axis=axis)
