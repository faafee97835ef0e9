"""Deferred imports of parts of a frontend or backend that few programs need."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def at_first_use(package: str, path: str) -> Callable[[], Any]:
    """Return a function that imports and returns ``path``, a ``module:name`` in ``package``.

    >>> at_first_use("json", "decoder:JSONDecoder")().__name__
    'JSONDecoder'
    """
    module, name = path.split(":")
    return lambda: getattr(import_module(f"{package}.{module}"), name)


def calls_at_first_use(package: str, path: str) -> Callable[..., Any]:
    """Return a function that calls ``path``, a ``module:name`` in ``package``.

    The module is imported at the first call.

    >>> calls_at_first_use("json", "decoder:JSONDecoder")().decode("[1]")
    [1]
    """
    found = at_first_use(package, path)

    def called(*args: Any) -> Any:
        return found()(*args)

    return called
