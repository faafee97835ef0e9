"""Lookup of the framework and the parallel engine of a function or of arrays."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from typing import Any

from ..contracts import Parallelism
from ..errors import NotCompilable
from ..registration import backends
from ..runtime.frameworks import backend_of
from ..transforms.functions import framework_for, graph_of, name_of, owner_of, target_of
from ..trees import iterate_structure


def engine_named(framework: str, what: str) -> Parallelism:
    """Return the parallel engine of ``framework``, or raise ``NotCompilable`` if it runs on one device only.

    ``what`` begins the message.
    """
    found = backend_of(framework).parallelism()
    if found is None:
        others = [
            entry.name
            for entry in backends.own.values()
            if entry.has_derivatives and importlib.util.find_spec(entry.packages[0])
        ]
        instead = ", ".join(f"graph_compiler.transpile(f, to={name!r})" for name in others)
        raise NotCompilable(
            f"{what}: {framework} runs on one device; use {instead or 'a framework that runs on many'}"
        )
    return found


def framework_of_call(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return the framework that a graph is written for, or that a function runs in for these arguments.

    Raise ``NotCompilable`` if ``function`` is not callable.
    """
    if not callable(function):
        raise NotCompilable(
            f"{function!r} cannot run on many devices: a function, a graph or a model is needed"
        )
    graph = graph_of(function)
    return target_of(graph, args, kwargs) if graph is not None else framework_for(function, args, kwargs)


def engine_of_arrays(value: Any, what: str) -> Parallelism:
    """Return the parallel engine for the first array in ``value``.

    Raise ``NotCompilable`` if that is NumPy's, or if there is no array.
    """
    owners = (owner for item in iterate_structure(value) if (owner := owner_of(item)) is not None)
    return engine_named(next(owners, "numpy"), what)


def loaded_engines() -> Iterator[Parallelism]:
    for entry in backends.known().values():
        # A framework that is not imported runs nothing, and importing it would take seconds.
        if entry.packages[0] in sys.modules and (found := backend_of(entry.name).parallelism()) is not None:
            yield found


__all__ = [
    "engine_named",
    "engine_of_arrays",
    "framework_of_call",
    "graph_of",
    "loaded_engines",
    "name_of",
    "owner_of",
]
