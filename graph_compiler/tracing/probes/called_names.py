"""Code whose calls of a global name look up another name, so that a shim stands there and the name itself can still be passed on."""

from __future__ import annotations

import dis
import sys
import types
from collections.abc import Iterable

_LOWEST_BIT_SAYS_CALLED = sys.version_info >= (3, 11)
_MOST_NAMES = 128  # beyond, an instruction needs another one before it, which would move all that follow


def alias_of(name: str) -> str:
    """Return the global name under which calls of ``name`` are looked up; no code of a user's can have it.

    >>> alias_of("int")
    'int(...)'
    """
    return f"{name}(...)"


def with_aliases(code: types.CodeType, names: Iterable[str]) -> types.CodeType:
    """Return code whose calls of these globals look up their aliases, functions inside of it included; ``code`` itself without such calls.

    Instructions keep their places, lines and number.

    >>> def whole(x): return x.astype(int) + int(x)
    >>> with_aliases(whole.__code__, ["int"]).co_names
    ('astype', 'int', 'int(...)')
    """
    if not _LOWEST_BIT_SAYS_CALLED:
        return code
    consts = tuple(with_aliases(item, names) if isinstance(item, types.CodeType) else item for item in code.co_consts)
    own, text = list(code.co_names), bytearray(code.co_code)
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_GLOBAL" and instruction.argval in names and (instruction.arg or 0) & 1:
            alias = alias_of(instruction.argval)
            place = own.index(alias) if alias in own else len(own)
            if place >= _MOST_NAMES or (instruction.arg or 0) > 0xFF:
                continue
            if place == len(own):
                own.append(alias)
            text[instruction.offset + 1] = place << 1 | 1
    if len(own) == len(code.co_names) and all(map(_is, consts, code.co_consts)):
        return code
    return code.replace(co_names=tuple(own), co_consts=consts, co_code=bytes(text))


def _is(item: object, other: object) -> bool:
    return item is other
