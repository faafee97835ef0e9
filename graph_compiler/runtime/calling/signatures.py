"""Which arguments a callable has, as far as it says."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from ...errors import CallMismatch
from ...registration import entry_method


def positional(function: Callable[..., Any]) -> list[str]:
    """Names of the arguments that may be given by position, in order.

    >>> positional(lambda x, /, y, *, z: None)
    ['x', 'y']
    """
    return [p.name for p in _parameters(function) if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def is_open_ended(function: Callable[..., Any]) -> bool:
    parameters = _parameters(function)
    return not parameters or any(p.kind is p.VAR_POSITIONAL for p in parameters)


def known_names(function: Callable[..., Any]) -> list[str] | None:
    """Names of its arguments; None where it takes any (``**kwargs``), or does not say which."""
    parameters = _parameters(function)
    if not parameters or any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return [p.name for p in parameters]


def require_arguments(function: Callable[..., Any], option: str, names: Iterable[str]) -> None:
    """Raises ``CallMismatch`` where an ``option`` names an argument that the function has not."""
    known = known_names(function)
    unknown = [name for name in names if known is not None and name not in known]
    if unknown:
        raise CallMismatch(
            f"{option}: the function has no argument {', '.join(map(repr, unknown))}; it has {', '.join(known or ())}"
        )


def signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    """The signature of a function, or of a model's entry method; None where it has none that can be told.

    >>> signature_of(lambda x, *, y=2: None), signature_of(dict)
    (<Signature (x, *, y=2)>, None)
    """
    try:
        return inspect.signature(entry_method(function, function))
    except (TypeError, ValueError):
        return None


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    found = signature_of(function)
    return list(found.parameters.values()) if found else []
