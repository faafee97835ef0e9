"""What a function keeps in places outside of its arguments and changes (a count of steps, a list that grows): inputs and further results of
its graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...sizes import is_symbolic
from ...tracing.reach.containers import MISSING
from ...tracing.reach.namespaces import Names
from ...tracing.reach.world import Held
from ...tracing.state.append_only import ListShims
from ...tracing.state.places import Place, Replaced, State, outermost
from ...tracing.state.updates import Containers
from ...trees import AppendOnly, Branch, Fixed, Tree, flatten, unflatten
from ..open_numbers import DTYPES, holds_numbers
from .arguments import Inputs, is_array, typed


class Kept:
    """What is in the ``places`` that are known to change; which these are is found by recording."""

    def __init__(self, places: Sequence[Place]) -> None:
        self.places = outermost(places, is_array)
        self.values: tuple[Any, ...] = ()  # what the places hold while recording
        self._trees: tuple[Tree, ...] = ()

    def enter(self, inputs: Inputs, list_shims: ListShims) -> None:
        """The places hold traced arrays and symbolic numbers, which are inputs."""
        trees: list[Tree] = []
        values: list[Any] = []
        for place in self.places:
            if (growing := list_shims.put(place)) is not None:
                trees.append(AppendOnly(list, (), ()))
                values.append(growing)
                continue
            held, name = place.read(), place.name.removeprefix("self.") or "state"
            leaves, tree = flatten(held, _is_array_or_number if holds_numbers(held, place.whole) else is_array)
            made = [inputs.enter(name, leaf) for leaf in leaves]
            if made:
                place.write(unflatten(tree, made))
            trees.append(typed(tree, iter(leaves)))
            values.append(place.read())
        self.values, self._trees = tuple(values), tuple(trees)

    def recorded(self, containers: Containers) -> State:
        """For the graph: what is read, and what each place holds afterwards. Parts of a list are looked after as those of an argument."""
        tree = Branch(tuple, tuple(range(len(self.places))), self._trees)
        replaced = []
        for index, (place, before) in enumerate(zip(self.places, self.values)):
            now = place.read()
            if isinstance(now, frozenset):  # a set asks for hashes, so it holds for these sizes
                now = frozenset(item.number() if is_symbolic(item) else item for item in now)
            is_list = place.whole and not isinstance(now, (frozenset, Fixed))
            if now is not before and not is_list and not (isinstance(now, (frozenset, Fixed)) and now == before):
                replaced.append(Replaced(index, MISSING if now is MISSING else containers.place(now)))
        return State(self.places, tree, tuple(replaced))

    def parts(self) -> set[tuple[int, Any]]:
        """The containers and keys of the places."""
        return {key_of(place.held, None if place.whole else place.key) for place in self.places}


def _is_array_or_number(item: Any) -> bool:
    return type(item) in DTYPES or is_array(item)


def key_of(held: Held, key: Any) -> tuple[int, Any]:
    """Equal for what is the same part of a container."""
    return id(held.item.space if isinstance(held.item, Names) else held.item), key
