"""Tests whether a comparison of sizes needs the answer, or is a cache lookup of JAX.

JAX keys caches by sizes and compares keys from C, so the calling frame is whoever called JAX, including
user code. Such a comparison must answer "not known to be equal" without a guard. A comparison in Python
source, and a lookup in a set, dict or tuple, needs the answer. The current instruction, and the name it
calls, tell these apart. A method that compares two objects by their parts (of a dataclass) asks on behalf
of its caller.
"""

from __future__ import annotations

import ast
import dis
import functools
import linecache
from types import CodeType, FrameType

_INTERNAL = ("jax.", "jaxlib.", "graph_compiler.", "opt_einsum.", "functools.", "weakref.", "flax.core.lift.")
_COMPARES = frozenset(dis.opmap[name] for name in ("COMPARE_OP", "CONTAINS_OP"))
_CALLS = frozenset(code for name, code in dis.opmap.items() if name.startswith("CALL"))
# Bare names of functions that look up a size among others.
_CONTAINERS = frozenset({
    "set", "frozenset", "dict", "Counter", "OrderedDict", "defaultdict", "fromkeys", "count", "index", "get",
    "pop", "remove", "discard", "add", "update", "setdefault", "isdisjoint", "issubset", "issuperset",
    "union", "intersection", "difference", "symmetric_difference", "__contains__", "__getitem__", "hash",
    "eq", "ne", "contains", "countOf", "indexOf", "unique", "list", "tuple", "next", "sum", "any", "all", "",
})  # fmt: skip


# Dataclasses and containers compare and hash their parts by the same method, so their caller decides whether
# the answer is needed.
_PARTS = frozenset({"__eq__", "__ne__", "__hash__"})


def asking_frame(frame: FrameType) -> FrameType:
    while frame.f_code.co_name in _PARTS and frame.f_back is not None:
        frame = frame.f_back
    return frame


def is_jax(frame: FrameType) -> bool:
    return _module(frame).startswith(("jax.", "jaxlib."))


def compares(frame: FrameType) -> bool:
    return frame.f_code.co_code[frame.f_lasti] in _COMPARES


def wants_answer(frame: FrameType) -> bool:
    """Return True if code outside of JAX is comparing sizes in ``frame``, rather than calling JAX.

    Return False in modules of JAX and of the libraries in ``_INTERNAL``. A call counts as a comparison if
    it is one of a function in ``_CONTAINERS``, or if its name is unknown.
    """
    if _module(frame).startswith(_INTERNAL):
        return False
    return (
        frame.f_code.co_code[frame.f_lasti] not in _CALLS
        or _called(frame.f_code, frame.f_lasti) in _CONTAINERS
    )


def _module(frame: FrameType) -> str:
    return f"{frame.f_globals.get('__name__', '')}."


@functools.lru_cache(maxsize=4096)
def _called(code: CodeType, place: int) -> str:
    """Return the last part of the name that the instruction at ``place`` calls.

    This is ``index`` for ``sizes.index(n)``. Return an empty string if the instruction calls no name, or
    if its source is not found (always on Python 3.10).
    """
    # Python 3.10 has no column positions.
    if not hasattr(code, "co_positions"):
        return ""
    line, end, column, stop = list(code.co_positions())[place // 2]
    if line is None or end is None or column is None or stop is None:
        return ""
    lines = [linecache.getline(code.co_filename, number).encode() for number in range(line, end + 1)]
    if not all(lines):
        return ""
    lines[-1] = lines[-1][:stop]
    lines[0] = lines[0][column:]
    try:
        call = ast.parse(b"(" + b"".join(lines) + b")", mode="eval").body
    except SyntaxError:
        return ""
    function = getattr(call, "func", None)
    return str(getattr(function, "attr", None) or getattr(function, "id", ""))
