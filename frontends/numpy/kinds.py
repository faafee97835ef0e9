"""Kinds of numpy's functions by name: which write, which only read metadata, which arguments are numbers."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import TracingError
from ...ops.dtypes import DTYPES
from ...trees import map_structure
from .layouts import Flags
from .names import METHOD, row_key
from .traced import TracedArray, TracedScalar, is_traced

# Attributes that are facts of shape and dtype.
FACTS: dict[str, Callable[[Any], Any]] = {
    "size": lambda x: functools.reduce(operator.mul, x.shape, 1),
    "itemsize": lambda x: int(x.dtype.itemsize),
    "nbytes": lambda x: x.size * int(x.dtype.itemsize),
    "strides": lambda x: x._capture.strides_of(x),
    "flags": Flags,
    "flat": lambda x: x._capture.flat(x),
    "device": lambda x: "cpu",  # NumPy has no other
}
GETTERS = frozenset({"T", "mT", "real", "imag"})
REFUSED = frozenset({
    "tobytes", "tofile", "dump", "dumps", "data", "ctypes", "base", "resize", "setflags", "setfield", "getfield", "byteswap",
    "newbyteorder", "to_device", "is_integer", "hex", "as_integer_ratio", "fromhex", "choose",
})  # fmt: skip
# Functions that write to their first argument.
_WRITERS = frozenset({
    f"{METHOD}__setitem__", f"{METHOD}fill", f"{METHOD}put", f"{METHOD}sort", f"{METHOD}partition", "numpy.copyto", "numpy.put",
    "numpy.place", "numpy.putmask", "numpy.fill_diagonal", "numpy.put_along_axis",
})  # fmt: skip
# Calls that give a view or a copy, as the strides of their argument say.
BY_STRIDES = frozenset({"reshape", "ravel", "ascontiguousarray", "asfortranarray", "asarray", "array", "require"})
# Functions whose numbers are operands, whose dtype counts; in all others a numpy integer is a number like any.
_OPERANDS = frozenset(
    {"where", "full", "full_like", "array", "asarray", "clip", "append", "select", "interp", "digitize", "searchsorted", "isin"}
)
_OUT_PLACES = {"dot": 2, "concatenate": 2}
_TAKES_FUNCTIONS = (type(lambda: None), type(len), functools.partial)


@functools.cache
def wish(key: str) -> str:
    """The name that the result of a call would like to have."""
    last = key.rpartition(".")[2] if not key.endswith((".reduce", ".accumulate", ".outer")) else key.partition(".")[0]
    return last.strip("_")


def is_operand_call(key: str) -> bool:
    """Whether all arguments are operands: ufuncs and operators, and functions that treat them so."""
    return key in _OPERANDS or isinstance(getattr(np, key.partition(".")[0], None), np.ufunc) or key == "__setitem__"


def settled(capture: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with ``out`` as a keyword, and with plain numbers where a call wants numbers: those that were traced become guards."""
    key = row_key(name)
    place = _out_place(key)
    if place is not None and len(args) > place:
        args, kwargs = args[:place] + args[place + 1 :], {**kwargs, "out": args[place]}
    if any(isinstance(item, _TAKES_FUNCTIONS) for item in (*args, *kwargs.values())):
        raise TracingError(f"{capture.here()}: {name} calls a function of Python for each element, which cannot be recorded; use ufuncs")
    if is_operand_call(key) or key == "__getitem__" or name.startswith("scipy."):
        return args, kwargs

    def number(item: Any) -> Any:
        is_whole = isinstance(item, np.integer) and not isinstance(item, np.timedelta64)
        return operator.index(item) if is_whole and (type(item) is TracedScalar or not is_traced(item)) else item

    first = 0 if key in _NUMBERS_ONLY else 1
    return (*args[:first], *map_structure(number, args[first:])), map_structure(number, kwargs)


_NUMBERS_ONLY = frozenset({"zeros", "ones", "empty", "eye", "identity", "arange", "tri", "indices", "fft.fftfreq", "fft.rfftfreq"})


@functools.cache
def _out_place(key: str) -> int | None:
    """The position of ``out`` among the arguments of a function (or of the method of its name)."""
    if key in _OUT_PLACES:
        return _OUT_PLACES[key]
    try:
        parameters = inspect.signature(functools.reduce(getattr, key.split("."), np)).parameters.values()  # type: ignore[arg-type]
    except (AttributeError, TypeError, ValueError):
        return None
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return names.index("out") if "out" in names and not any(p.kind is p.VAR_POSITIONAL for p in parameters) else None


def written(capture: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arrays that a call writes to; ``TracingError`` where the recording does not follow one of them."""
    out = kwargs.get("out")
    targets = [item for item in (out if isinstance(out, tuple) else (out,)) if item is not None]
    in_place = name in _WRITERS or name.endswith(".at") or row_key(name) == "nan_to_num" and kwargs.get("copy", True) is False
    targets += args[:1] if in_place else ()
    for item in targets:
        if type(item) is not TracedArray:
            raise TracingError(
                f"{capture.here()}: {name} writes to an array that the recording does not follow: it was made outside of the function, or "
                "by a function that was imported by name. Make it in the function with numpy (np.zeros), or pass it as an argument"
            )
    return targets


@functools.cache
def dtype_name(dtype: Any) -> str | None:
    """The name of a data type that a target has; None of others."""
    return dtype.name if dtype.name in DTYPES and dtype.isnative else None


def as_scalar(capture: Any, number: Any) -> Any:
    """Return a number of Python's as NumPy's scalar; raise ``TracingError`` for a whole number that no type of NumPy holds."""
    scalar: Any = np.asarray(number)[()]
    if not isinstance(scalar, np.generic):
        raise TracingError(f"{capture.here()}: {number} is larger than any whole number of an array, so it cannot be computed with as one")
    return scalar


def errstate() -> tuple[tuple[str, str], ...]:
    """Return the settings of `numpy.errstate` that differ from the default, as (kind, action) pairs."""
    found = np.geterr()
    if found == _DEFAULT_ERRSTATE:
        return ()
    return tuple((kind, str(how)) for kind, how in found.items() if how != _DEFAULT_ERRSTATE[kind])


_DEFAULT_ERRSTATE = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
