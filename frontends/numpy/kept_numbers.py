"""Python numbers that a function changes outside of its arguments (a count of steps): inputs and further results of its graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import TracingError
from ...sizes import Size, Symbol
from ...tracing.namespaces import Names
from ...tracing.places import Place, Replaced, State
from ...tracing.updates import Containers
from ...trees import Branch, Item
from .sizes import symbolic

DTYPES: dict[type, str] = {int: "int64", float: "float64"}


class KeptNumbers:
    """The numbers in the ``places`` that are known to change; which these are is found by recording."""

    def __init__(self, places: Sequence[Place]) -> None:
        self.places = tuple(places)
        self._put: list[tuple[Any, Any]] = []  # the number, and what stands for it

    def enter(self, capture: Any) -> dict[tuple[int, Any], Any]:
        """The places hold symbolic numbers; gives what was put where."""
        for place in self.places:
            number = place.read()
            if type(number) not in DTYPES:
                raise TracingError(f"{place.name} held a number and holds {number!r:.60} now, which cannot be kept from call to call")
            value = capture.add_number(place.name.removeprefix("self.") or "state", DTYPES[type(number)])
            self._put.append((number, symbolic(capture, Size.of(Symbol(value, 0, number, "item")))))
            place.write(self._put[-1][1])
        return {place.identity: symbol for place, (_, symbol) in zip(self.places, self._put)}

    def recorded(self, containers: Containers) -> State:
        """For the graph: what is read, and what each place holds afterwards."""
        tree = Branch(tuple, tuple(range(len(self.places))), tuple(Item(type(number)) for number, _ in self._put))
        now = [place.read() for place in self.places]
        changed = [number for number, (held, (_, symbol)) in enumerate(zip(now, self._put)) if held is not symbol]
        return State(self.places, tree, tuple(Replaced(number, containers.place(now[number])) for number in changed))

    def parts(self) -> set[tuple[int, Any]]:
        """The containers and keys of the places."""
        owners = (place.held.item.space if isinstance(place.held.item, Names) else place.held.item for place in self.places)
        return {(id(owner), place.key) for owner, place in zip(owners, self.places)}
