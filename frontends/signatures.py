"""Names for the arrays in the arguments of a call, of whatever framework they are."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
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
    """Names of the first ``count`` positional arguments."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "arg")
    return named[:count] + [f"{rest}_{i}" for i in range(count - len(named))]
