"""The names that code reads, told from its instructions."""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Iterable, Iterator
from itertools import pairwise

_READS = ("LOAD", "IMPORT_FROM")
_BY_TEXT = frozenset({"getattr", "hasattr", "attrgetter", "methodcaller"})
_ANYTHING = frozenset({"vars", "__dict__", "eval", "exec", "globals", "__getattribute__"})

_MOST_CODES = 32768  # a large package has some ten thousand functions
HANDLERS = frozenset({"PUSH_EXC_INFO", "SETUP_FINALLY"})


@functools.lru_cache(maxsize=_MOST_CODES)
def names_read(code: types.CodeType) -> frozenset[str]:
    """The names of globals and attributes that code reads, functions inside of it included.

    >>> sorted(names_read((lambda x: x.scale * FACTOR).__code__))
    ['FACTOR', 'scale']
    """
    read = (step.argval for step in _steps(code) if step.opcode in dis.hasname and step.opname.startswith(_READS))
    return frozenset(read).union(*map(names_read, _inner(code)))


@functools.lru_cache(maxsize=_MOST_CODES)
def attributes_set(code: types.CodeType) -> frozenset[str]:
    """The names of attributes that code sets or deletes, functions inside of it included.

    >>> def function(x):
    ...     x.scale = x.shift
    >>> sorted(attributes_set(function.__code__))
    ['scale']
    """
    changed = (step.argval for step in _steps(code) if step.opname in ("STORE_ATTR", "DELETE_ATTR"))
    return frozenset(changed).union(*map(attributes_set, _inner(code)))


@functools.lru_cache(maxsize=_MOST_CODES)
def compares_identities(code: types.CodeType) -> bool:
    """Whether code, functions inside of it included, asks whether two objects are one (``a is b``, ``id(a)``).

    >>> compares_identities((lambda a, b: a is b).__code__), compares_identities((lambda a: a is None).__code__)
    (True, False)
    """
    asks = _has(code, {"IS_OP"}) and any(
        step.opname == "IS_OP" and before.opname != "LOAD_CONST" for before, step in pairwise(_steps(code))
    )
    return asks or "id" in names_read(code) or any(map(compares_identities, _inner(code)))


@functools.lru_cache(maxsize=_MOST_CODES)
def imports_of(code: types.CodeType) -> frozenset[str]:
    """The modules that code imports when it runs, functions inside of it included, without those that are named from where it stands.

    >>> def function():
    ...     import os.path
    >>> sorted(imports_of(function.__code__))
    ['os', 'os.path']
    """
    wholes = [step.argval for step in _steps(code) if step.opname == "IMPORT_NAME"] if _has(code, {"IMPORT_NAME"}) else []
    return frozenset(part for whole in wholes for part in (whole, whole.partition(".")[0])).union(*map(imports_of, _inner(code)))


@functools.lru_cache(maxsize=_MOST_CODES)
def globals_read(code: types.CodeType) -> frozenset[str]:
    """The names of globals, and of Python's own functions, that code reads, functions inside of it included.

    >>> sorted(globals_read((lambda x: x.scale * FACTOR).__code__))
    ['FACTOR']
    """
    read = (step.argval for step in _steps(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    return frozenset(read).union(*map(globals_read, _inner(code)))


@functools.lru_cache(maxsize=_MOST_CODES)
def texts_of(code: types.CodeType) -> frozenset[str]:
    """The texts in code, functions inside of it included.

    >>> sorted(texts_of((lambda x: x["scale"] if "shift" in x else 0).__code__))
    ['scale', 'shift']
    """
    return frozenset(item for item in code.co_consts if isinstance(item, str)).union(*map(texts_of, _inner(code)))


@functools.lru_cache(maxsize=_MOST_CODES)
def fragments_read(code: types.CodeType) -> frozenset[str]:
    """Parts of the names of attributes that code reads by text; the empty part, which every name has, where nothing is known of them.

    >>> fragments_read((lambda x, i: getattr(x, f"layer_{i}")).__code__)
    frozenset({'layer_'})
    >>> fragments_read((lambda x, name: getattr(x, name)).__code__)
    frozenset({''})
    """
    found: frozenset[str] = frozenset().union(*map(fragments_read, _inner(code)))
    if not _ANYTHING.isdisjoint(code.co_names):
        return found | {""}
    if _BY_TEXT.isdisjoint(code.co_names):
        return found
    texts = (item for item in code.co_consts[1:] if isinstance(item, str) and item.isidentifier())
    return found | (frozenset(texts) or {""})


@functools.lru_cache(maxsize=_MOST_CODES)
def catches(code: types.CodeType) -> bool:
    """Whether code may go on after an exception: ``try``, or ``contextlib.suppress``.

    >>> from contextlib import nullcontext
    >>> def within(x):
    ...     with nullcontext():
    ...         return x.a
    >>> def tries(x):
    ...     try:
    ...         return x.a
    ...     except AttributeError:
    ...         return None
    >>> catches(within.__code__), catches(tries.__code__)
    (False, True)
    """
    steps = [step.opname for step in _steps(code)] if _has(code, HANDLERS) else []
    handles = any(step in HANDLERS and after != "WITH_EXCEPT_START" for step, after in pairwise(steps))
    return handles or "suppress" in code.co_names or any(map(catches, _inner(code)))


@functools.lru_cache(maxsize=16)  # several questions are asked about a code, one after the other
def _steps(code: types.CodeType) -> tuple[dis.Instruction, ...]:
    return tuple(dis.get_instructions(code))


def _has(code: types.CodeType, operations: Iterable[str]) -> bool:
    """Whether one of these may be among the instructions: every second byte is the number of one, or belongs to one before it."""
    numbers = {dis.opmap[name] for name in operations if name in dis.opmap}
    return not numbers.isdisjoint(code.co_code[::2])


def _inner(code: types.CodeType) -> Iterator[types.CodeType]:
    return (item for item in code.co_consts if isinstance(item, types.CodeType))
