"""How functions of Python's ``math`` and ``cmath`` are recorded on numbers that were read from arrays, as calls of a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...trees import iterate_structure
from .reading import fits_everywhere, number_in
from .traced import TracedScalar, is_traced

_OF_ONE = (
    "sqrt", "cbrt", "exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
    "tanh", "asinh", "acosh", "atanh", "degrees", "radians", "fabs", "erf", "erfc", "gamma", "lgamma", "floor", "ceil", "trunc",
)  # fmt: skip
_ROUNDING = frozenset({"math.floor", "math.ceil", "math.trunc"})
_OF_TWO = ("atan2", "copysign", "fmod", "remainder", "pow")
_OF_COMPLEX = (
    "sqrt", "exp", "log", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "phase",
)  # fmt: skip
# Functions that become calls, by how many numbers they are given.
_COUNTS: dict[str, tuple[int, ...]] = {
    **{f"math.{name}": (1,) for name in _OF_ONE},
    **{f"math.{name}": (2,) for name in _OF_TWO},
    "math.hypot": (2,),
    "math.log": (1, 2),
    **{f"cmath.{name}": (1,) for name in _OF_COMPLEX},
    "cmath.log": (1, 2),
    "cmath.rect": (2,),
    "builtins.complex": (1, 2),
}


def is_number(item: Any) -> bool:
    """Return True if a traced item is a number of Python."""
    return type(item) is TracedScalar and item._value in item._capture.weak


def call(current: Callable[[], Any], name: str, original: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Record ``original(*args)`` in the recording that runs, or return NotImplemented where it is none of the functions that can be."""
    capture = current()
    if capture is None or not all(isinstance(leaf, (int, float, complex)) for leaf in iterate_structure(args)):
        return NotImplemented
    if name in _ROUNDING and not fits_everywhere(args[0]):
        return NotImplemented
    if name in _BY_UFUNCS:
        return _BY_UFUNCS[name](*args)
    if name == "builtins.complex" and any(isinstance(item, complex) for item in args):
        return args[0] if len(args) == 1 else NotImplemented
    if name == "math.fsum":
        return _recorded(capture, name, original, args)
    return _recorded(capture, name, original, args) if len(args) in _COUNTS.get(name, ()) else NotImplemented


def _recorded(capture: Any, name: str, original: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    return capture.record(name, original, args, {}, lambda: True, reads=True)


def _as_number(item: Any) -> Any:
    number = number_in(item._capture, item) if is_traced(item) else None
    return item if number is None else number


def _modf(x: Any) -> Any:
    return tuple(map(_as_number, np.modf(x)))


def _frexp(x: Any) -> Any:
    return tuple(map(_as_number, np.frexp(x)))


def _polar(x: Any) -> Any:
    import cmath  # the shim of the module is looked up when it is called

    return abs(x), cmath.phase(x)


# Functions with several results, or that numpy computes alike.
_BY_UFUNCS: dict[str, Callable[..., Any]] = {
    "math.modf": _modf,
    "math.frexp": _frexp,
    "math.nextafter": lambda x, y: _as_number(np.nextafter(x, y)),
    "math.ulp": lambda x: _as_number(np.spacing(np.abs(x))),
    "math.ldexp": lambda x, exponent: _as_number(np.ldexp(x, exponent)),
    "cmath.polar": _polar,
}
