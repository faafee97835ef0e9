"""What the functions and methods of numpy are called, and what a name in a graph stands for."""

from __future__ import annotations

import builtins
import cmath
import functools
import math
import sys
from typing import Any

import numpy as np
import numpy.fft
import numpy.lib.stride_tricks
import numpy.linalg

from ..collectives import CALLS
from .traced import BINARY, COMPARISONS, UNARY

METHOD = "numpy.ndarray."
_HOST = (math.__name__, cmath.__name__, builtins.__name__)
HOST_MATH = tuple(f"{name}." for name in _HOST)  # functions of Python that raise where they have no result
_MODULES = ("numpy", "numpy.linalg", "numpy.fft", "numpy.lib.stride_tricks", "scipy.special", "numpy.lib.scimath", *_HOST)
PYTHON_MODULES = "numpy.polynomial."  # what these do is recorded, as in code of the user's own
# Operators share the rows of the ufuncs that they are.
_OPERATORS = {
    **{f"__{name}__": ufunc.__name__ for name, (_, ufunc) in BINARY.items()},
    "__eq__": "equal", "__ne__": "not_equal", "__lt__": "less", "__le__": "less_equal", "__gt__": "greater", "__ge__": "greater_equal",
    "__neg__": "negative", "__pos__": "positive", "__abs__": "absolute", "__invert__": "invert",
}  # fmt: skip
OPERATORS = {f"__{name}__": compute for name, (compute, _) in BINARY.items()} | {
    f"__{name}__": compute for name, compute in {**COMPARISONS, **UNARY}.items()
}


@functools.cache
def _names() -> dict[int, str]:
    """Identity of every public function -> its name; the shortest where there are several."""
    found: dict[int, str] = {}
    for module in _MODULES[:4]:
        public = dict(vars(sys.modules[module]))
        for name, item in public.items():
            if callable(item) and not isinstance(item, type) and not name.startswith("_"):
                own = str(getattr(item, "__name__", name))  # of several names the function's own
                found.setdefault(id(item), f"{module}.{own if public.get(own) is item else name}")
    return found


def name_of(function: Any) -> str | None:
    """``numpy.linalg.norm``; of ufuncs of scipy ``scipy.special.erf``; None for what no name of a public module stands for."""
    name = _names().get(id(function))
    if name is not None or not isinstance(function, np.ufunc):
        return name
    own: str = function.__name__
    return f"scipy.special.{own}" if getattr(sys.modules.get("scipy.special"), own, None) is function else None


@functools.cache
def row_key(op: str) -> str:
    """The bare name that rows go by.

    >>> row_key("numpy.linalg.norm"), row_key("numpy.add.reduce"), row_key("numpy.ndarray.__rshift__"), row_key("numpy.ndarray.T.__get__")
    ('linalg.norm', 'add.reduce', 'right_shift', 'T')
    """
    op = op.removesuffix(".__get__").removeprefix(METHOD)
    if op.startswith("__"):
        return _OPERATORS.get(op, op)
    for prefix in ("numpy.lib.stride_tricks.", "numpy.", "scipy.special.", CALLS):
        op = op.removeprefix(prefix)
    return op


def resolve(op: str) -> Any:
    """What a name stands for; ``AttributeError`` where it stands for nothing."""
    if op.startswith(METHOD):
        name = op.removeprefix(METHOD).removesuffix(".__get__")
        return OPERATORS[name] if name in OPERATORS else getattr(np.ndarray, name)
    path, item = op.split("."), None
    for count in range(len(path) - 1, 0, -1):
        if (module := ".".join(path[:count])) in _MODULES:
            item = functools.reduce(getattr, path[count:], sys.modules[module])
            break
    if item is None:
        raise AttributeError(op)
    return item
