"""Names for the arrays in the arguments of a call, of whatever framework they are."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType
from typing import Any

from ..naming import legal
from ..trees import Path, Tree, paths


def input_names(function: Callable[..., Any], args: tuple[Any, ...], tree: Tree) -> list[str]:
    """A name for every array in the arguments: the parameter's name, with the keys inside of containers."""
    positional = positional_names(function, len(args))
    return [name_at(path, positional) for path in paths(tree)]


def name_at(path: Path, positional: list[str]) -> str:
    """The name of what stands at a path of ``(args, kwargs)``."""
    where, first, *rest = path
    head = positional[first] if where == 0 else str(first)
    return legal("_".join([head, *map(str, rest)]))


def named_arguments(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[int, str]:
    """The names of what is given to a call, by identity."""
    return {**dict(zip(map(id, args), positional_names(function, len(args)))), **{id(item): name for name, item in kwargs.items()}}


def positional_names(function: Callable[..., Any], count: int) -> list[str]:
    """Names of the first ``count`` positional arguments.

    >>> positional_names(lambda x, *rest, scale: x, 3), positional_names(print, 1)
    (['x', 'rest_0', 'rest_1'], ['args_0'])
    """
    named, rest = _of_code(function.__code__) if type(function) is FunctionType and not vars(function) else _of_signature(function)
    return [*named[:count], *(f"{rest}_{i}" for i in range(count - len(named)))]


def _of_code(code: CodeType) -> tuple[tuple[str, ...], str]:
    """As :func:`_of_signature`, which takes ten times as long, of a function that nobody has wrapped."""
    has_rest = code.co_flags & inspect.CO_VARARGS
    return code.co_varnames[: code.co_argcount], code.co_varnames[code.co_argcount + code.co_kwonlyargcount] if has_rest else "arg"


def _of_signature(function: Callable[..., Any]) -> tuple[tuple[str, ...], str]:
    """The names of the positional parameters, and of the one for all further arguments."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    named = tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
    return named, next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "arg")
