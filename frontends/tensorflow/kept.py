"""State of a function outside of variables: attributes, closures, globals and containers that it changes,
such as the masks of dropout that a cell of Keras keeps from step to step. They become inputs and further
results of its graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import keras
import tensorflow as tf
from keras.src.utils.tracking import TrackedList
from tensorflow.python.framework import ops
from tensorflow.python.trackable.data_structures import ListWrapper

from ...recording.reachability.containers import MISSING, is_whole
from ...recording.reachability.free_parts import FreeParts, free_parts
from ...recording.reachability.snapshot import Change, World
from ...recording.state.container_updates import Containers
from ...recording.state.places import Place, Replaced, State, outermost, place_at
from ...sizes import is_symbolic
from ...trees import Branch, Fixed, Tree, flatten, leaves_at, register_container, unflatten
from ..common.read_numbers import holds_numbers, with_numbers
from .outside import HIDDEN, is_bookkeeping
from .tracing import is_array, opens

_FLAGS = (type(MISSING), type(None), bool)
_MADE = (
    tf.Variable,
    keras.Variable,
    tf.Module,
    keras.Layer,
    keras.optimizers.Optimizer,
    keras.metrics.Metric,
)
Enter = Callable[[str, Any], Any]
# Lists of layers and modules, whose attributes tell who tracks the variables in them.
for _tracked in (TrackedList, ListWrapper):
    register_container(_tracked, enumerate, lambda cls, keys, parts: cls(list(parts)))


class _Everywhere:
    """A container of all paths."""

    def __contains__(self, path: object) -> bool:
        return True


class Kept:
    """What a function and ``layers`` of Keras hold before a recording, and the ``places`` that are known to
    be state.
    """

    def __init__(
        self, function: Any, layers: Iterable[Any], places: Sequence[Place] = (), numbers: bool = True
    ) -> None:
        layers, owner = list(layers), getattr(function, "__self__", None)
        roots = (
            [("", owner)] if owner is not None else [] if hasattr(function, "__code__") else [("", function)]
        )
        self.world = World((*roots, *((layer.name, layer) for layer in layers)), HIDDEN, layers, [function])
        # What variables note of themselves is no state: what they hold are parameters.
        parts = (part for held in self.world.held for part in held.before.values())
        of_variables = {id(vars(part)) for part in parts if isinstance(part, (tf.Variable, keras.Variable))}
        self.world.held = [held for held in self.world.held if id(held.item) not in of_variables]
        owners = self.world.owners()  # objects that earlier calls were given are out of reach
        self.places = outermost([place for place in places if id(place.held.owner) in owners], is_array)
        self._numbers = numbers
        self.values: tuple[Any, ...] = ()
        self._trees: tuple[Tree, ...] = ()

    def may_change(self, owner: Any) -> bool:
        return id(owner) in self.world.owners()

    # ------------------------------------------------------------------------------ before the call
    def enter(self, enter: Enter) -> None:
        """Put into each place what ``enter`` makes of its arrays and numbers, by the name of the place:
        inputs of the graph.
        """
        trees, values = list[Tree](), list[Any]()
        for place in self.places:
            held, name = place.read(), place.name.removeprefix("self.") or "state"
            tree = flatten(held, _is_tensor, opens)[1]
            if self._numbers and holds_numbers(held, place.whole):
                tree = with_numbers(tree, _Everywhere())
            if made := [enter(name, leaf) for leaf in leaves_at(tree, held)]:
                place.write(unflatten(tree, made))
            trees.append(tree)
            values.append(place.read())
        self.values, self._trees = tuple(values), tuple(trees)

    # ------------------------------------------------------------------------------ after the call
    def recorded(self, containers: Containers) -> State:
        """Return what is read, and what each place holds after the call.

        Parts of a list are looked after as those of an argument.
        """
        tree = Branch(tuple, tuple(range(len(self.places))), self._trees)
        replaced = []
        for index, (place, before) in enumerate(zip(self.places, self.values)):
            now = place.read()
            is_list = place.whole and not isinstance(now, (frozenset, Fixed))
            if (
                now is not before
                and not is_list
                and not (isinstance(now, (frozenset, Fixed)) and now == before)
            ):
                replaced.append(Replaced(index, MISSING if now is MISSING else containers.place(now)))
        return State(self.places, tree, tuple(replaced))

    def found(self, containers: Containers) -> list[Place]:
        """Return the places that changed and were not known to."""
        known = {place.identity for place in self.places}
        found: dict[tuple[int, Any], Place] = {}
        for change in self._changes():
            place = place_at(change.held, change.key)
            if place.identity not in known and not containers.holds(change.held.item):
                found.setdefault(place.identity, place)
        return list(found.values())

    @staticmethod
    def is_changed_by(found: Iterable[Place], functions: Iterable[Any]) -> bool:
        owners = World((), called=functions).owners()
        return any(id(place.held.owner) in owners for place in found)

    def _changes(self) -> Iterator[Change]:
        return (change for change in self.world.changes() if not is_bookkeeping(change.held.item, change.key))

    def restore(self, everything: bool) -> None:
        """Put back what was there: everything, or, where the call has made layers or variables that stay, all
        but what was set first.
        """
        if everything:
            return self.world.restore()
        for change in list(self._changes()):
            held = change.held
            if _is_made(change):
                continue
            if is_whole(held.item):
                held.kind.refill(held.item, held.before)
            else:
                held.kind.put(held.item, change.key, change.before)
        return None

    def free(self, is_given: Callable[[Any], bool] = lambda item: False) -> FreeParts:
        return free_parts(
            ((id(place.held.owner), None if place.whole else place.key) for place in self.places), is_given
        )


def _is_tensor(item: Any) -> bool:
    return is_array(item) and not isinstance(item, tf.Variable)


def _is_traced(item: Any) -> bool:
    return isinstance(item, ops.SymbolicTensor) or is_symbolic(item)


def _is_made(change: Change) -> bool:
    """Return True if a change belongs to what a first call makes: variables and layers, and attributes that
    were not set, or were flags.
    """
    if flatten(change.now, _is_traced, opens)[0]:
        return False
    is_first = type(change.before) in _FLAGS
    return (
        is_first
        and not is_whole(change.held.item)
        or bool(flatten(change.now, lambda item: isinstance(item, _MADE), opens)[0])
    )
