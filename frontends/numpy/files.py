"""Calls and objects of NumPy that a saved graph may contain."""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np

from ...errors import InvalidFile, UnsupportedOperation
from ...ir.graph import Graph
from ...ir.node import Node, every
from ...ops.control import has_regions
from . import calls as kinds
from . import draws
from .calls import METHOD, OPERATORS, NumpyCalls, name_of, resolve, row_key
from .patches import is_replaced

_NAME = re.compile(
    r"(numpy|scipy\.(special|linalg|fft|spatial\.distance))"
    r"(\.(linalg|fft|ndarray|lib\.stride_tricks))?(\.\w+){1,2}(\.__get__)?",
    re.ASCII,
)
_DTYPE = re.compile(r'np\.dtype\("(\w+)"\)|np\.(\w+)', re.ASCII)
# The class of functions that dispatch to other array classes, so that their calls can be recorded.
_DISPATCHED = type(np.sum)
_BUILTIN: dict[str, type] = {"bool": bool, "int": int, "float": float, "complex": complex}
# Public functions that a saved graph may not call, such as those that read files or run code.
_REFUSED = frozenset({
    "save", "savez", "savez_compressed", "savetxt", "load", "loadtxt", "genfromtxt", "fromfile", "memmap",
    "frombuffer", "fromregex", "fromstring", "fromiter", "fromfunction", "frompyfunc", "apply_along_axis",
    "apply_over_axes", "piecewise", "vectorize", "test", "info", "show_config", "show_runtime", "seterr",
    "seterrcall", "setbufsize", "set_printoptions", "printoptions", "errstate", "get_include", "from_dlpack",
})  # fmt: skip


def spell(item: Any) -> str | None:
    try:
        return NumpyCalls().spell(item)
    except (UnsupportedOperation, TypeError):
        return None


def read(text: str) -> Any:
    """Return the dtype or scalar class that ``text`` names, as :meth:`NumpyCalls.spell` writes it.

    Raise :class:`InvalidFile` for other text.

    >>> read('np.dtype("float32")'), read("np.int8"), read("float")
    (dtype('float32'), <class 'numpy.int8'>, <class 'float'>)
    """
    if text in _BUILTIN:
        return _BUILTIN[text]
    found = _DTYPE.fullmatch(text)
    scalar = getattr(np, found[1] or found[2], None) if found else None
    is_class = isinstance(scalar, type) and issubclass(scalar, np.generic)
    # Abstract classes, such as np.number, have no dtype.
    if found is None or not is_class or found[1] and scalar not in np.sctypeDict.values():
        raise InvalidFile(f"{text!r:.80} is no object that a saved numpy graph may hold")
    return np.dtype(scalar) if found[1] else scalar


def check(graph: Graph) -> None:
    for node in every(graph.nodes):
        if has_regions(node.op):
            continue
        if not _allowed(node.op):
            raise InvalidFile(f"a saved numpy graph may not call {node.op!r:.80}")
        _check_form(node)


def _check_form(node: Node) -> None:
    key = row_key(node.op)
    name = node.op.removeprefix(METHOD)
    least = {"__getitem__": 2, "__setitem__": 3}.get(key, 1 if node.op.startswith(METHOD) else 0)
    if name in OPERATORS:
        least = 1 if name in ("__neg__", "__pos__", "__abs__", "__invert__") else 2
    if len(node.inputs) < least:
        raise InvalidFile(f"{node.op} is called with {len(node.inputs)} arguments")


@functools.cache
def _allowed(op: str) -> bool:
    name = op.removeprefix(METHOD).removesuffix(".__get__")
    if op.startswith(draws.FUNCTION):
        return op.removeprefix(draws.METHOD).removeprefix(draws.FUNCTION) in draws.NAMES
    if op.startswith(METHOD):
        known = name in OPERATORS or name in ("__getitem__", "__setitem__") or name in kinds.GETTERS
        return known or hasattr(np.ndarray, name) and not name.startswith("_") and name not in kinds.REFUSED
    if not _NAME.fullmatch(op) or row_key(op) in _REFUSED:
        return False
    if op.startswith("scipy."):
        # `resolve` finds functions only in modules that are imported.
        import scipy.fft
        import scipy.linalg
        import scipy.spatial
        import scipy.special  # noqa: F401
    try:
        found = resolve(op)
    except AttributeError:
        return False
    if isinstance(getattr(found, "__self__", None), np.ufunc):
        return op.rpartition(".")[2] in ("reduce", "accumulate", "outer", "at", "reduceat")
    if isinstance(found, np.ufunc):
        return True
    return name_of(found) == op and (isinstance(found, _DISPATCHED) or is_replaced(found))
