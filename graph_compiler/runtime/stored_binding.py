"""The parameters of an original as a file keeps them: names, kinds, and those defaults that are plain numbers, texts or None."""

from __future__ import annotations

import inspect
import math
from typing import Any

from ..errors import InvalidFile
from ..ir.serialisation import NAME, matching
from .spelling import Binding

_PARAMETER = inspect.Parameter
_KINDS = {
    kind.name: kind
    for kind in (
        _PARAMETER.POSITIONAL_ONLY,
        _PARAMETER.POSITIONAL_OR_KEYWORD,
        _PARAMETER.VAR_POSITIONAL,
        _PARAMETER.KEYWORD_ONLY,
        _PARAMETER.VAR_KEYWORD,
    )
}
_PLAIN = (bool, int, float, str, type(None))


class _Unknown:
    """A default that the file does not hold: no argument is equal to it, and no call can be filled with it."""

    def __repr__(self) -> str:
        return "..."


UNKNOWN = _Unknown()


def binding_to_json(binding: Binding | None) -> Any:
    """``[[name, kind, default?], ...]`` and the names that something looks at; None where calls have one spelling only."""
    if binding is None:
        return None
    return {"parameters": [_to_json(parameter) for parameter in binding.parameters], "seen": sorted(binding.seen)}


def binding_from_json(data: Any) -> Binding | None:
    """What :func:`binding_to_json` wrote. ``InvalidFile`` for what it does not write."""
    if data is None:
        return None
    parameters = tuple(_from_json(entry) for entry in data["parameters"])
    inspect.Signature(parameters)  # in an order that Python takes, and none twice
    return Binding(parameters, frozenset(matching(NAME, name) for name in data["seen"]))


def _to_json(parameter: inspect.Parameter) -> list[Any]:
    entry = [parameter.name, parameter.kind.name]
    return entry if parameter.default is parameter.empty else [*entry, [parameter.default] if _is_plain(parameter.default) else []]


def _from_json(entry: Any) -> inspect.Parameter:
    name, kind, *defaults = entry
    default = inspect.Parameter.empty if not defaults else next(iter(defaults[0]), UNKNOWN)
    if default not in (inspect.Parameter.empty, UNKNOWN) and not _is_plain(default):
        raise InvalidFile(f"{default!r:.80} is no default of a parameter")
    return inspect.Parameter(matching(NAME, name), _KINDS[kind], default=default)


def _is_plain(item: Any) -> bool:
    return type(item) in _PLAIN and not (type(item) is float and not math.isfinite(item))
