"""Collectives in a function that is recorded: primitives, which stand for what the devices of an axis will exchange.

While a function is recorded there is one device, and they give what they are given.
"""

from __future__ import annotations

from typing import Any

from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir


def _primitive(name: str, is_linear: bool) -> Primitive:
    """``transpose`` of a sum over devices is the sum of the cotangents."""
    made = Primitive(f"device_{name}")
    made.def_impl(lambda x, **params: x)
    made.def_abstract_eval(lambda x, **params: x.update(weak_type=False))
    mlir.register_lowering(made, lambda context, x, **params: [x])
    batching.defvectorized(made)
    if is_linear:
        ad.deflinear2(made, lambda cotangent, x, **params: [made.bind(cotangent, **params)])
    return made


_PRIMITIVES = {name: _primitive(name, name not in ("pmax", "pmin")) for name in ("hint", "pmax", "pmean", "pmin", "psum")}


def recorded(name: str, array: Any, **params: Any) -> Any:
    """The array that stands for the result."""
    return _PRIMITIVES[name].bind(array, **params)


__all__ = ["recorded"]
