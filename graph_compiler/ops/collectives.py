"""Collective operations between devices, most of them named as in ``jax.lax``, and sharding hints.

Each device along a mesh axis holds an array of the same shape and dtype.
"""

from __future__ import annotations

from typing import Any

from ..errors import InvalidGraph
from ..sizes import Dim
from .dtypes import is_inexact
from .registry import ArraySpec, Unknown, declare, decomposition
from .rules import Input, elementwise

_SECTION = "collectives"
REDUCTIONS = {
    "pmax": "The largest over the devices of an axis, element by element.",
    "pmean": "The mean over the devices of an axis, of real or complex numbers.",
    "pmin": "The smallest over the devices of an axis, element by element.",
    "psum": "The sum over the devices of an axis.",
}
COLLECTIVES = (*REDUCTIONS, "all_gather", "axis_index", "axis_indices")
RECORDED_DEVICES = 3
"""Number of devices on an axis while recording. It is not 1, because arrays of size 1 broadcast."""

# Names of the calls that torch records when it differentiates collectives.
KERNELS = tuple(f"{name}_kernel" for name in (*REDUCTIONS, "all_gather"))

# Bare names of calls, also of JAX's primitives, whose results depend on the device. Constant folding must not
# evaluate them, even if their operands are constants.
DEPEND_ON_DEVICES = frozenset((*COLLECTIVES, *KERNELS, *(f"device_{name}_p" for name in COLLECTIVES)))


def _declare(name: str, meaning: str) -> None:
    # Each operation needs a function of its own, because the docstring belongs to the function.
    def infer(x: Input, /, *, axis_name: Any) -> ArraySpec:
        spec = elementwise(x)
        if name == "psum" and spec.dtype == "bool" or name == "pmean" and not is_inexact(spec.dtype):
            raise InvalidGraph(f"{name} of {spec.dtype}: convert the array first")
        return spec

    infer.__doc__ = meaning
    declare(_SECTION, name=name)(infer)


for _name, _meaning in REDUCTIONS.items():
    _declare(_name, _meaning)


@declare(_SECTION)
def all_gather(x: Input, /, *, axis_name: Any, size: Dim) -> ArraySpec:
    """Stack the arrays of all ``size`` devices of a mesh axis along a new first axis."""
    spec = elementwise(x)
    # The operand does not tell the number of devices, so it is a parameter.
    return ArraySpec((size, *spec.shape), spec.dtype)


@declare(_SECTION)
def axis_index(*, axis_name: Any) -> ArraySpec:
    """Return the index of this device on a mesh axis."""
    return ArraySpec((), "int32")


@declare(_SECTION)
def axis_indices(*, axis_name: Any) -> ArraySpec:
    """Return the indices 0, 1, 2 ... of all devices on a mesh axis, as a vector."""
    return ArraySpec((Unknown(RECORDED_DEVICES),), "int32")


@declare(_SECTION)
def sharding_hint(x: Input, /, *, layout: Any) -> ArraySpec:
    """Return ``x``; on a mesh of devices, shard its axes over the mesh axes in ``layout``.

    Item ``i`` of the layout is the name of a mesh axis, a tuple of names, or None if axis ``i`` of ``x`` is
    not sharded. Axes beyond its end are not sharded. Without a mesh the layout is ignored.
    """
    return elementwise(x)


@decomposition("sharding_hint")
def _sharding_hint(build: Any, x: Any, *, layout: Any) -> Any:
    return x
