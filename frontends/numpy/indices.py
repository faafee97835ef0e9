"""Indices as the recording takes them: numbers that numpy made are numbers, lists with traced numbers are arrays."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...sizes import is_symbolic
from ...trees import iterate_structure
from .patches import recorded
from .traced import is_traced


def plain_index(index: Any) -> Any:
    """An index with plain numbers and arrays; bounds of slices that were traced become guards."""
    return tuple(map(_item, index)) if type(index) is tuple else _item(index)


def _item(item: Any) -> Any:
    if type(item) is slice:
        return slice(*map(_bound, (item.start, item.stop, item.step)))
    if isinstance(item, range):
        return list(item)
    if isinstance(item, list) and any(is_traced(part) or is_symbolic(part) for part in iterate_structure(item)):
        return recorded("array")(item)
    if is_traced(item) or is_symbolic(item):
        return item
    return item.item() if isinstance(item, (np.integer, np.bool_)) else item


def _bound(part: Any) -> Any:
    return part if part is None or is_symbolic(part) else operator.index(part)
