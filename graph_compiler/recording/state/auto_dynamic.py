"""Detection of numbers and arrays that the user changes between calls, which then become inputs of graphs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

from ...trees import Path, Tree, is_plain_nest, static_paths
from ..reachability.containers import is_whole
from ..reachability.references import NamespacePart
from ..reachability.snapshot import ObjectSnapshot, TrackedContainer
from .append_only import ListLengths
from .places import StatePlace

# Number of changes after which an input is made.
_ENOUGH = 2


class AutoDynamic:
    """Counts of how often arrays and numbers within reach of a function changed between its recordings.

    Those that changed repeatedly are recorded as inputs.

    is_new: True until :meth:`changed_places` is called.
    lengths: the lengths of lists.

    >>> settings, auto_dynamic = {"rate": 1.0, "name": "a"}, AutoDynamic()
    >>> for rate in (0.5, 0.25, 0.125):
    ...     settings["rate"] = rate
    ...     world = ObjectSnapshot([("settings", settings)])
    ...     print([place.name for place in auto_dynamic.changed_places(world, lambda held, item: None)])
    []
    []
    ["settings['rate']"]
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[int, Any], Any] = {}
        self._changes: Counter[tuple[int, Any]] = Counter()
        self._given: defaultdict[Path, set[Any]] = defaultdict(set)
        self.is_new = True
        self.lengths = ListLengths()

    def numbers_given(self, tree: Tree) -> frozenset[Path]:
        """Note static numbers of calls, and return the paths of those that have had more than two values.

        ``tree`` is the structure of ``(args, kwargs)``. Inside an argument, numbers count that have a name.

        >>> from ...trees import flatten
        >>> auto_dynamic = AutoDynamic()
        >>> for step in range(3):
        ...     _, tree = flatten(((2.5,), {"cache": {"length": step}}), lambda item: False)
        ...     print(sorted(auto_dynamic.numbers_given(tree)))
        []
        []
        [(1, 'cache', 'length')]
        """
        # Calls of arrays alone are frequent and have nothing to note.
        if is_plain_nest(tree):
            return frozenset()
        numbers = {
            path: value
            for path, value in static_paths(tree)
            if type(value) in (int, float) and _is_alone(path)
        }
        for path, number in numbers.items():
            # ``repr`` makes NaN equal to itself and tells 0.0 from -0.0.
            self._given[path].add((type(number), repr(number)))
        return frozenset(path for path in numbers if len(self._given[path]) > _ENOUGH)

    def changed_places(
        self, world: ObjectSnapshot, mark_of: Callable[[TrackedContainer, Any], Any]
    ) -> list[StatePlace]:
        """Note arrays and numbers in ``world``; return the places of those that have changed at least twice.

        ``is_new`` is set to False.

        mark_of(container, item): returns an object that compares unequal after a change; None for an item
            that is ignored.
        """
        self.is_new = False
        marks = {
            _identity(held, key): (mark, held, key)
            for held, key, item in world.parts
            if (mark := _mark(held, item, mark_of))
        }
        seen, self._seen = self._seen, {identity: mark for identity, (mark, _, _) in marks.items()}
        self._changes.update(
            identity for identity, mark in self._seen.items() if seen.get(identity, mark) != mark
        )
        often = [
            (held, key) for identity, (_, held, key) in marks.items() if self._changes[identity] >= _ENOUGH
        ]
        return [
            StatePlace(held, whole=True) if is_whole(held.item) else StatePlace(held, key)
            for held, key in often
        ]


def _is_alone(path: Path) -> bool:
    return len(path) == 2 or isinstance(path[-1], str)


def _mark(held: TrackedContainer, item: Any, mark_of: Callable[[TrackedContainer, Any], Any]) -> Any:
    if type(item) in (int, float):
        return None if is_whole(held.item) else (type(item), repr(item))
    return mark_of(held, item)


def _identity(held: TrackedContainer, key: Any) -> tuple[int, Any]:
    # Each snapshot makes new ``NamespacePart``, but the namespace behind them stays.
    return id(held.item.space if isinstance(held.item, NamespacePart) else held.item), key
