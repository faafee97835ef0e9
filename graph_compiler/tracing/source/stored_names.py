"""The variables that a call's result goes to, read from the instructions behind the call: ``gate, value = x.chunk(2)`` stores two."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from types import CodeType

_OPNAME = dis.opname
_CACHES = getattr(dis, "_inline_cache_entries", None)  # of Python 3.11 and newer: words of memory behind an instruction
_PAIRS = ("STORE_FAST_STORE_FAST",)  # of Python 3.13: two instructions in one


def stored_names(code: CodeType, instruction: int) -> tuple[str, ...]:
    """The names that the value which the instruction at this offset leaves is stored in; none where it goes on into an expression.

    >>> def f(a):
    ...     low, high = divmod(a, 2)
    ...     return low + high
    >>> calls = [step.offset for step in dis.get_instructions(f) if step.opname.startswith("CALL")]
    >>> stored_names(f.__code__, calls[-1])
    ('low', 'high')
    """
    steps = _after(code.co_code, instruction)
    name, arg = next(steps, ("", 0))
    if name == "UNPACK_SEQUENCE":
        found: list[str] = []
        for name, given in steps:
            stored = _stored(code, name, given)
            if not stored or len(found) >= arg:
                break
            found += stored
        return tuple(found) if len(found) == arg else ()
    return tuple(_stored(code, name, arg)[:1])


def _after(words: bytes, place: int) -> Iterator[tuple[str, int]]:
    """Names and arguments of the instructions behind one, in order."""
    place, extended = _next(words, place), 0
    while place < len(words):
        name, arg = _OPNAME[words[place]], words[place + 1] | extended
        if name == "EXTENDED_ARG":
            extended = arg << 8
        else:
            yield name, arg
            extended = 0
        place = _next(words, place)


def _next(words: bytes, place: int) -> int:
    if _CACHES is None:
        return place + 2
    count = _CACHES.get(_OPNAME[words[place]], 0) if isinstance(_CACHES, dict) else _CACHES[words[place]]
    return place + 2 + 2 * int(count)


def _stored(code: CodeType, name: str, arg: int) -> list[str]:
    if name in _PAIRS:
        return [code.co_varnames[arg >> 4], code.co_varnames[arg & 15]]
    if name == "STORE_FAST_LOAD_FAST":
        return [code.co_varnames[arg >> 4]]
    if name == "STORE_FAST":
        return [code.co_varnames[arg]]
    if name in ("STORE_NAME", "STORE_GLOBAL"):
        return [code.co_names[arg]]
    if name == "STORE_DEREF":
        cells = (*code.co_cellvars, *code.co_freevars)
        return [code._varname_from_oparg(arg) if sys.version_info >= (3, 11) else cells[arg]]  # type: ignore[attr-defined]
    return []
