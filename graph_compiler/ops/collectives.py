"""What devices exchange, in the names of ``jax.lax``: each device of an axis has an array of one shape and
type; and how they lie.
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
"""The devices that an axis has while a function is recorded: more than one, for arrays of one row are broadcast."""

KERNELS = tuple(
    f"{name}_kernel" for name in (*REDUCTIONS, "all_gather")
)  # calls of torch under derivatives that are recorded

# Bare names of calls, those of JAX's primitives too, whose results the devices decide: they are no constants
# where their operands are.
DEPEND_ON_DEVICES = frozenset((*COLLECTIVES, *KERNELS, *(f"device_{name}_p" for name in COLLECTIVES)))


def _declare(name: str, meaning: str) -> None:
    def infer(x: Input, /, *, axis_name: Any) -> ArraySpec:
        spec = elementwise(x)
        if spec.dtype == "bool" or (name == "pmean" and not is_inexact(spec.dtype)):
            raise InvalidGraph(f"{name} of {spec.dtype}: convert the array first")
        return spec

    infer.__doc__ = meaning
    declare(_SECTION, name=name)(infer)


for _name, _meaning in REDUCTIONS.items():
    _declare(_name, _meaning)


@declare(_SECTION)
def all_gather(x: Input, /, *, axis_name: Any, size: Dim) -> ArraySpec:
    """The arrays of all devices of an axis, of which there are ``size``, along a new first axis."""
    spec = elementwise(x)
    return ArraySpec((size, *spec.shape), spec.dtype)


@declare(_SECTION)
def axis_index(*, axis_name: Any) -> ArraySpec:
    """The number of this device on an axis."""
    return ArraySpec((), "int32")


@declare(_SECTION)
def axis_indices(*, axis_name: Any) -> ArraySpec:
    """The numbers of all devices of an axis: 0, 1, 2 ... Its size is how many there are."""
    return ArraySpec((Unknown(RECORDED_DEVICES),), "int32")


@declare(_SECTION)
def sharding_hint(x: Input, /, *, layout: Any) -> ArraySpec:
    """The array; on a mesh of devices with each axis split over the axis that ``layout`` names."""
    return elementwise(x)


@decomposition("sharding_hint")
def _sharding_hint(build: Any, x: Any, *, layout: Any) -> Any:
    return x
