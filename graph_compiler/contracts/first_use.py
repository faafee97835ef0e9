"""What a frontend or backend has in files that are imported at their first use, for few programs need them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def at_first_use(package: str, path: str) -> Callable[[], Any]:
    """A function that gives ``module:name`` below a package.

    >>> at_first_use("json", "decoder:JSONDecoder")().__name__
    'JSONDecoder'
    """
    module, name = path.split(":")
    return lambda: getattr(import_module(f"{package}.{module}"), name)


def calls_at_first_use(package: str, path: str) -> Callable[..., Any]:
    """A function that calls ``module:name`` below a package.

    >>> calls_at_first_use("json", "decoder:JSONDecoder")().decode("[1]")
    [1]
    """
    found = at_first_use(package, path)

    def called(*args: Any) -> Any:
        return found()(*args)

    return called
