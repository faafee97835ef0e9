"""Where torch's functions want an int (an axis, a count, a power), and take a tensor of no axes for it: from the schemas of their
kernels."""

from __future__ import annotations

import functools
from typing import Any

import torch

from ..compat import OpOverloadPacket

_INTEGERS = frozenset({"int", "Optional[int]", "List[int]", "Optional[List[int]]"})
_SILENT = frozenset({"bool", "Optional[bool]", "str", "Optional[str]", "List[str]"})  # in an overload that no tensor of integers is for


@functools.lru_cache(maxsize=1024)
def whole_numbers_of(key: str, is_method: bool) -> frozenset[int | str]:
    """Positions and keywords of a function, by its bare name, where every overload that has them wants an int; of a method its tensor is
    the first.

    >>> sorted(whole_numbers_of("multinomial", False), key=str)
    [1, 'num_samples']
    >>> 0 in whole_numbers_of("polygamma", False), 1 in whole_numbers_of("polygamma", True)
    (True, True)
    >>> whole_numbers_of("pow", False), whole_numbers_of("nothing", False)
    (frozenset(), frozenset())
    """
    packet = getattr(torch.ops.aten, key, None)
    if not isinstance(packet, OpOverloadPacket):
        return frozenset()
    kinds: dict[int | str, set[bool]] = {}
    for overload in packet.overloads():
        for place, argument in _places(getattr(packet, overload)._schema.arguments, is_method):
            if (kind := str(argument.type)) not in _SILENT:
                kinds.setdefault(place, set()).add(kind in _INTEGERS)
    return frozenset(place for place, found in kinds.items() if found == {True})


def _places(arguments: Any, is_method: bool) -> list[tuple[int | str, Any]]:
    given = [one for one in arguments if not one.kwarg_only]
    if is_method:  # polygamma(int n, Tensor self)
        given.sort(key=lambda one: one.name != "self")
    return [*enumerate(given), *((one.name, one) for one in arguments)]
