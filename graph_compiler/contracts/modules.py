"""Modules of frontends and backends: checks of their members, and parts that are imported at first use."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from types import FunctionType
from typing import Any, TypeVar

from ..errors import InvalidRegistration

# -------------------------------------------------------------------------------------------------- first use
# Deferred imports of parts of a frontend or backend that few programs need.


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


# ---------------------------------------------------------------------------------------------------- checked
# Check that an object implements a protocol, reporting each missing member with its purpose.

F = TypeVar("F", bound=Callable[..., Any])


def default(member: F) -> F:
    """Mark a member of a protocol that classes which inherit from the protocol need not define."""
    member.is_default = True  # type: ignore[attr-defined]
    return member


def require(contract: type, item: Any, what: str) -> None:
    """Raise ``InvalidRegistration`` with each member of ``contract`` that ``item`` lacks and its purpose.

    `what` names the item in the message. A purpose is the first paragraph of the member's docstring.

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
    if lacks := list(_missing(contract, item, "")):
        members = "\n    ".join(lacks)
        raise InvalidRegistration(
            f"{what} is no {contract.__name__}; it lacks\n    {members}\nMembers and defaults stand in "
            "graph_compiler.contracts, an example in docs/extending.md"
        )


def _missing(contract: type, item: Any, path: str) -> Iterator[str]:
    """Yield a line for each missing member, also of members that have a protocol of their own.

    If the class of ``item`` inherits from the contract, its defaults count as present. Methods that cannot
    be called count as missing.
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
    """Return methods and properties of a contract by name, those of its base protocols first.

    Names with a leading underscore are left out, except ``__call__``.
    """
    found = {name: item for base in reversed(contract.__mro__[:-1]) for name, item in vars(base).items()}
    return {
        name: item
        for name, item in found.items()
        if isinstance(item, (FunctionType, property)) and (name == "__call__" or not name.startswith("_"))
    }


def _purpose(function: Any) -> str:
    return " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())


def _contract_of(contract: type, function: Any) -> type | None:
    """Return the protocol that the return annotation of ``function`` names; None if that is no protocol."""
    annotation = getattr(function, "__annotations__", {}).get("return")
    found = (
        vars(sys.modules[contract.__module__]).get(annotation) if isinstance(annotation, str) else annotation
    )
    return found if isinstance(found, type) and getattr(found, "_is_protocol", False) else None
