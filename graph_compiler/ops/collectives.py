"""What devices exchange, in the names of ``jax.lax``: each device of an axis has an array of one shape and type; and how they lie."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidGraph
from .dtypes import is_inexact
from .registry import ArraySpec, declare, decomposition
from .rules import Input, elementwise

_SECTION = "collectives"
_MEANINGS = {
    "pmax": "The largest over the devices of an axis, element by element.",
    "pmean": "The mean over the devices of an axis, of real or complex numbers.",
    "pmin": "The smallest over the devices of an axis, element by element.",
    "psum": "The sum over the devices of an axis.",
}


def _declare(name: str, meaning: str) -> None:
    def infer(x: Input, /, *, axis_name: Any) -> ArraySpec:
        spec = elementwise(x)
        if spec.dtype == "bool" or (name == "pmean" and not is_inexact(spec.dtype)):
            raise InvalidGraph(f"{name} of {spec.dtype}: convert the array first")
        return spec

    infer.__doc__ = meaning
    declare(_SECTION, name=name)(infer)


for _name, _meaning in _MEANINGS.items():
    _declare(_name, _meaning)


@declare(_SECTION)
def sharding_hint(x: Input, /, *, layout: Any) -> ArraySpec:
    """The array; on a mesh of devices with each axis split over the axis that ``layout`` names."""
    return elementwise(x)


@decomposition("sharding_hint")
def _sharding_hint(build: Any, x: Any, *, layout: Any) -> Any:
    return x
