"""Who compares a size, and whether it is for the answer or to look something up in a table of JAX.

JAX keeps what it has traced in tables whose keys hold sizes, and looks into them from C, so that the frame is
that of whoever called it: of the user's code too. There a comparison must say "not known to be equal" and
assume nothing. A comparison written in Python, a set, a dict or a method of a tuple wants to know; told apart
by the instruction that runs and, where that is a call, by what is called. A method that compares two objects
by their parts, such as that of a dataclass, asks on behalf of whoever compares the objects.
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
# what looks sizes up among others, by its bare name
_CONTAINERS = frozenset({
    "set", "frozenset", "dict", "Counter", "OrderedDict", "defaultdict", "fromkeys", "count", "index", "get", "pop", "remove", "discard",
    "add", "update", "setdefault", "isdisjoint", "issubset", "issuperset", "union", "intersection", "difference", "symmetric_difference",
    "__contains__", "__getitem__", "hash", "eq", "ne", "contains", "countOf", "indexOf", "unique", "list", "tuple", "next", "sum", "any",
    "all", "",
})  # fmt: skip


_PARTS = frozenset({"__eq__", "__ne__", "__hash__"})  # methods that ask their parts what they are asked


def asker(frame: FrameType) -> FrameType:
    while frame.f_code.co_name in _PARTS and frame.f_back is not None:
        frame = frame.f_back
    return frame


def is_jax(frame: FrameType) -> bool:
    return _module(frame).startswith(("jax.", "jaxlib."))


def compares(frame: FrameType) -> bool:
    return frame.f_code.co_code[frame.f_lasti] in _COMPARES


def wants_answer(frame: FrameType) -> bool:
    """Whether code that is not JAX's wants to know, and does not merely call something that looks into tables
    of JAX.
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
    """The bare name of what an instruction calls; an empty text where the source does not tell."""
    if not hasattr(code, "co_positions"):  # Python 3.10
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
