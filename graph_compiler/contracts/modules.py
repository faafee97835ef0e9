"""Check of an object against its protocol (``require``), and deferred imports for frontends and backends."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from types import FunctionType
from typing import Any, TypeVar

from ..errors import InvalidRegistration

# ------------------------------------------------------------------------------------------- deferred imports
# Few programs need these parts of a frontend or backend.


def at_first_use(package: str, path: str) -> Callable[[], Any]:
    """Return a function that imports and returns ``path``, a ``module:name`` in ``package``.

    >>> at_first_use("json", "decoder:JSONDecoder")().__name__
    'JSONDecoder'
    """
    module, name = path.split(":")
    return lambda: getattr(import_module(f"{package}.{module}"), name)


def calls_at_first_use(package: str, path: str) -> Callable[..., Any]:
    """Return a function that imports ``path``, a ``module:name`` in ``package``, and calls it.

    Its arguments are positional.

    >>> calls_at_first_use("json", "decoder:JSONDecoder")().decode("[1]")
    [1]
    """
    found = at_first_use(package, path)

    def called(*args: Any) -> Any:
        return found()(*args)

    return called


# -------------------------------------------------------------------------------------------- missing members

F = TypeVar("F", bound=Callable[..., Any])


def default(member: F) -> F:
    """Mark ``member`` of a protocol as a default, which subclasses of the protocol need not define."""
    member.is_default = True  # type: ignore[attr-defined]
    return member


def require(contract: type, item: Any, what: str) -> None:
    """Check ``item`` against the protocol ``contract``.

    Raise ``InvalidRegistration`` for a class, or for missing members. ``what`` names the item in the message.

    >>> class Named:
    ...     @property
    ...     def name(self) -> str:
    ...         '''What it is called.'''
    >>> require(Named, object(), "the object")
    Traceback (most recent call last):
    graph_compiler.errors.InvalidRegistration: the object is no Named; it lacks
        name: What it is called.
    Members and defaults stand in graph_compiler.contracts, an example in docs/extending.md
    """
    if isinstance(item, type):
        raise InvalidRegistration(
            f"{what} is the class {item.__name__}, and has to be an instance of it; write {item.__name__}()"
        )
    if lacks := list(_missing(contract, item, "")):
        members = "\n    ".join(lacks)
        raise InvalidRegistration(
            f"{what} is no {contract.__name__}; it lacks\n    {members}\nMembers and defaults stand in "
            "graph_compiler.contracts, an example in docs/extending.md"
        )


def _missing(contract: type, item: Any, path: str) -> Iterator[str]:
    """Yield lines about missing members of ``contract``, and about methods that cannot be called.

    ``path`` is a prefix of names.
    """
    derives = contract in type(item).__mro__
    for name, member in _members(contract).items():
        function = member.fget if isinstance(member, property) else member
        is_inherited = (
            derives
            and inspect.getattr_static(type(item), name) is member
            # An instance may have the member as an attribute.
            and name not in getattr(item, "__dict__", {})
        )
        if is_inherited and getattr(function, "is_default", False):
            continue
        # The members of a protocol have no code, so an inherited one without a default is missing.
        if is_inherited or not hasattr(item, name):
            yield f"{path}{name}: {_purpose(function)}"
        elif member is function and not callable(getattr(item, name)):
            yield f"{path}{name}: it is there, and cannot be called: {_purpose(function)}"
        elif isinstance(member, property) and (part := _contract_of(contract, function)) is not None:
            yield from _missing(part, getattr(item, name), f"{path}{name}.")


def _members(contract: type) -> dict[str, Any]:
    """Return public methods and properties of a contract by name, including ``__call__``."""
    found = {name: item for base in reversed(contract.__mro__[:-1]) for name, item in vars(base).items()}
    return {
        name: item
        for name, item in found.items()
        if isinstance(item, (FunctionType, property)) and (name == "__call__" or not name.startswith("_"))
    }


def _purpose(function: Any) -> str:
    return " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())


def _contract_of(contract: type, function: Any) -> type | None:
    """Return the protocol that ``function`` has as its return annotation, or None if none is found."""
    annotation = getattr(function, "__annotations__", {}).get("return")
    found = (
        vars(sys.modules[contract.__module__]).get(annotation) if isinstance(annotation, str) else annotation
    )
    return found if isinstance(found, type) and getattr(found, "_is_protocol", False) else None
