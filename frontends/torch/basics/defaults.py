"""What torch's functions take where a call leaves an argument out, so that recorded calls need not say it."""

from __future__ import annotations

import functools
import inspect
from types import FunctionType
from typing import Any

import torch

from ..compat import OpOverloadPacket
from .names import row_key

_METHOD = "torch.Tensor."
_PLAIN = (type(None), bool, int, float, str)


def without_defaults(name: str, inputs: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call by its dotted name without those, from the last on, that are what they would be anyway.

    >>> without_defaults("torch.nn.functional.linear", (1.5, 2.5, None), {})
    ((1.5, 2.5), {})
    >>> without_defaults("torch.nn.functional.embedding", (1.5, 2.5), {"padding_idx": None, "norm_type": 1.0, "sparse": False})
    ((1.5, 2.5), {'norm_type': 1.0})
    """
    known = {} if name.startswith(_METHOD) else _defaults(name)
    params = {key: item for key, item in params.items() if not (key in known and _same(item, known[key][1]))}
    places = dict(known.values())
    while inputs and len(inputs) - 1 in places and _same(inputs[-1], places[len(inputs) - 1]):
        inputs = inputs[:-1]
    return inputs, params


def _same(item: Any, default: Any) -> bool:
    """Whether a plain argument is a default: a number of each axis may stand in a tuple or a list."""
    if isinstance(item, (tuple, list)) and isinstance(default, (tuple, list)):
        return len(item) == len(default) and all(map(_same, item, default))
    return isinstance(item, _PLAIN) and type(item) is type(default) and item == default


@functools.cache
def _defaults(name: str) -> dict[str, tuple[int, Any]]:
    """Argument -> its position (-1: by keyword only) and default. Of functions in C, by the schemas of the kernel of this name, where all
    of them say the same."""
    function: Any = torch
    for part in name.split(".")[1:]:
        function = getattr(function, part, None)
    if isinstance(function, FunctionType):
        given = enumerate(inspect.signature(function).parameters.values())
        return {p.name: (-1 if p.kind is p.KEYWORD_ONLY else place, p.default) for place, p in given if p.default is not p.empty}
    packet = getattr(torch.ops.aten, row_key(name), None)
    overloads = [one for one in packet.overloads() if not one.endswith("out")] if isinstance(packet, OpOverloadPacket) else []
    tables = [_of_schema(getattr(packet, one)._schema) for one in overloads]
    return {key: entry for key, entry in tables[0].items() if all(_agrees(table.get(key), entry) for table in tables)} if tables else {}


def _of_schema(schema: Any) -> dict[str, tuple[int, Any]]:
    given = enumerate(schema.arguments)
    return {one.name: (-1 if one.kwarg_only else place, one.default_value) for place, one in given if one.has_default_value()}


def _agrees(other: tuple[int, Any] | None, entry: tuple[int, Any]) -> bool:
    return other is not None and other[0] == entry[0] and _same(other[1], entry[1])
