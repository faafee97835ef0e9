"""Functions that refer to nothing but functions of frameworks: walks of what a function reaches, changes or is steered by end at them."""

from __future__ import annotations

import dis
import functools
import types
from typing import Any

from ..source.code_names import HANDLERS
from .origin import owner_of, package_of

_READS = frozenset({"LOAD_ATTR", "LOAD_METHOD"})


def is_self_contained(function: Any) -> bool:
    """Whether this is a function that has no defaults, closure or attributes, and whose code has no functions, imports, handlers or
    writes to names, and reads no globals but modules of frameworks, of which it names functions alone.

    Attributes of its arguments are whatever they are: their names are in its code.

    >>> import numpy as np
    >>> scale = 2
    >>> is_self_contained(lambda x: np.sqrt(x.T) * 2), is_self_contained(lambda x: x * scale), is_self_contained(lambda x: len(x) * np.pi)
    (True, False, False)
    """
    if type(function) is not types.FunctionType:
        return False
    if function.__defaults__ or function.__kwdefaults__ or function.__dict__ or (names := _plain_names(function.__code__)) is None:
        return False
    for name in names[0]:
        module = function.__globals__.get(name)
        if type(module) is not types.ModuleType or owner_of(module) != "framework":
            return False
        held = vars(module)
        for member in names[1]:
            if member in held and (not callable(item := held[member]) or isinstance(item, type)):
                return False
    return True


def packages_named(function: types.FunctionType) -> list[str]:
    """The packages of the modules that a self-contained function names."""
    names = _plain_names(function.__code__)
    return [package_of(function.__globals__[name].__name__) for name in names[0]] if names else []


@functools.lru_cache(maxsize=4096)
def _plain_names(code: types.CodeType) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The globals and the attributes that code reads, where it does nothing else with names."""
    if code.co_freevars or code.co_cellvars:
        return None
    globals_read, others = dict[str, None](), dict[str, None]()
    for step in dis.get_instructions(code):
        if step.opname in HANDLERS or type(step.argval) is types.CodeType:
            return None
        if step.opname == "LOAD_GLOBAL":
            globals_read[step.argval] = None
        elif step.opcode in dis.hasname:
            if step.opname not in _READS or step.argval.startswith("_"):
                return None
            others[step.argval] = None
    return tuple(globals_read), tuple(others)
