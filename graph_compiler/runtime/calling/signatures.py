"""Parameters of a callable, as far as its signature is known."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from ...errors import CallMismatch
from ...registration import entry_method


def positional(function: Callable[..., Any]) -> list[str]:
    """Return the names of the parameters that may be passed by position, in order; none if unknown.

    >>> positional(lambda x, /, y, *, z: None)
    ['x', 'y']
    """
    return [p.name for p in _parameters(function) if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def is_open_ended(function: Callable[..., Any]) -> bool:
    parameters = _parameters(function)
    return not parameters or any(p.kind is p.VAR_POSITIONAL for p in parameters)


def known_names(function: Callable[..., Any]) -> list[str] | None:
    """Return the parameter names of ``function``; None if it takes ``**kwargs`` or they are unknown."""
    parameters = _parameters(function)
    if not parameters or any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return [p.name for p in parameters]


def require_arguments(function: Callable[..., Any], option: str, names: Iterable[str]) -> None:
    """Raise ``CallMismatch``, which names `option`, if one of `names` is no parameter of `function`.

    Do nothing if the parameters are unknown or include ``**kwargs``.
    """
    known = known_names(function)
    unknown = [name for name in names if known is not None and name not in known]
    if unknown:
        raise CallMismatch(
            f"{option}: the function has no argument {', '.join(map(repr, unknown))}; it has "
            f"{', '.join(known or ())}"
        )


def signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    """Return the signature of a function, or of a model's entry method; None if unknown.

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
