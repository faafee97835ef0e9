"""Whether the tensors that were put into a module still stand there."""

from __future__ import annotations

from collections.abc import Iterable
from operator import is_
from typing import Any


class Standing:
    """Places in a module's dicts of parameters and buffers, by name, and the tensors that were put there."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self._dicts: list[Any] = []
        self._keys: list[Any] = []
        self._tensors: list[Any] = []

    def note(self, name: str, held: dict[str, Any], key: str) -> None:
        """What stands under this key now is what is to stand there."""
        if name not in self._index:
            self._index[name] = len(self._tensors)
            for column, item in ((self._dicts, held), (self._keys, key), (self._tensors, None)):
                column.append(item)
        place = self._index[name]
        self._dicts[place], self._tensors[place] = held, held[key]

    @property
    def names(self) -> Iterable[str]:
        """All names that were noted."""
        return self._index.keys()

    def changed(self) -> bool:
        """Whether another tensor stands in one of the places, or none: ``functional_call``, a parametrisation or an assignment took it
        away."""
        return not all(map(is_, map(dict.get, self._dicts, self._keys), self._tensors))
