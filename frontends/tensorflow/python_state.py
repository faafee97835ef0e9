"""State of a function outside of variables: attributes, closures, globals and containers that it changes.

An example is the dropout mask that a Keras cell stores between time steps. Such state becomes further
inputs and results of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import keras
import tensorflow as tf
from keras.src.utils.tracking import TrackedList
from tensorflow.python.framework import ops
from tensorflow.python.trackable.data_structures import ListWrapper

from ...recording.reachability.containers import ALL_PARTS, MISSING, FreeParts, free_parts, is_whole
from ...recording.reachability.snapshot import Change, ObjectSnapshot
from ...recording.state.container_updates import Containers
from ...recording.state.places import ExternalState, ReplacedPlace, StatePlace, outermost_places, place_at
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


class _AllPaths:
    def __contains__(self, path: object) -> bool:
        return True


class PythonState:
    """State outside of variables that a function and Keras ``layers`` refer to, before and after a call.

    world: snapshot of the objects in reach.
    places: those of the places given to the constructor that are in reach, without places inside others.
    values: what the places hold after :meth:`enter`.
    """

    def __init__(
        self, function: Any, layers: Iterable[Any], places: Sequence[StatePlace] = (), numbers: bool = True
    ) -> None:
        layers, owner = list(layers), getattr(function, "__self__", None)
        roots = (
            [("", owner)] if owner is not None else [] if hasattr(function, "__code__") else [("", function)]
        )
        self.world = ObjectSnapshot(
            (*roots, *((layer.name, layer) for layer in layers)), HIDDEN, layers, [function]
        )
        # The attributes of variables are no state, and their values are parameters.
        parts = (part for held in self.world.held for part in held.before.values())
        of_variables = {id(vars(part)) for part in parts if isinstance(part, (tf.Variable, keras.Variable))}
        self.world.held = [held for held in self.world.held if id(held.item) not in of_variables]
        # Arguments of earlier calls, which may own some of the places, are not reachable now.
        owners = self.world.owners()
        self.places = outermost_places(
            [place for place in places if id(place.held.owner) in owners], is_array
        )
        self._numbers = numbers
        self.values: tuple[Any, ...] = ()
        self._trees: tuple[Tree, ...] = ()

    def may_change(self, owner: Any) -> bool:
        return id(owner) in self.world.owners()

    # ------------------------------------------------------------------------------ before the call
    def enter(self, enter: Enter) -> None:
        """Replace arrays, and numbers if they count as state, in the places by ``enter(name, leaf)``."""
        trees, values = list[Tree](), list[Any]()
        for place in self.places:
            held, name = place.read(), place.name.removeprefix("self.") or "state"
            tree = flatten(held, _is_tensor, opens)[1]
            if self._numbers and holds_numbers(held, place.whole):
                tree = with_numbers(tree, _AllPaths())
            if made := [enter(name, leaf) for leaf in leaves_at(tree, held)]:
                place.write(unflatten(tree, made))
            trees.append(tree)
            values.append(place.read())
        self.values, self._trees = tuple(values), tuple(trees)

    # ------------------------------------------------------------------------------ after the call
    def recorded(self, containers: Containers) -> ExternalState:
        """Return the places, the tree of their values, and what replaced places refer to after the call.

        :meth:`enter` must have run.
        """
        tree = Branch(tuple, tuple(range(len(self.places))), self._trees)
        replaced = []
        for index, (place, before) in enumerate(zip(self.places, self.values)):
            now = place.read()
            # Changes inside of lists are found like those of arguments.
            is_list = place.whole and not isinstance(now, (frozenset, Fixed))
            if (
                now is not before
                and not is_list
                and not (isinstance(now, (frozenset, Fixed)) and now == before)
            ):
                replaced.append(ReplacedPlace(index, MISSING if now is MISSING else containers.classify(now)))
        return ExternalState(self.places, tree, tuple(replaced))

    def found(self, containers: Containers) -> list[StatePlace]:
        """Return further places that the call changed, outside of ``containers`` and of bookkeeping."""
        known = {place.identity for place in self.places}
        found: dict[tuple[int, Any], StatePlace] = {}
        for change in self._changes():
            place = place_at(change.held, change.key)
            if place.identity not in known and not containers.holds(change.held.item):
                found.setdefault(place.identity, place)
        return list(found.values())

    @staticmethod
    def is_changed_by(found: Iterable[StatePlace], functions: Iterable[Any]) -> bool:
        owners = ObjectSnapshot((), called=functions).owners()
        return any(id(place.held.owner) in owners for place in found)

    def _changes(self) -> Iterator[Change]:
        return (change for change in self.world.changes() if not is_bookkeeping(change.held.item, change.key))

    def restore(self, everything: bool) -> None:
        """Undo the changes of the call.

        If ``everything`` is False, keep what looks like setup for later calls, and records of TensorFlow and
        Keras.
        """
        if everything:
            return self.world.restore()
        for change in list(self._changes()):
            held = change.held
            if _is_first_setup(change):
                continue
            if is_whole(held.item):
                held.kind.refill(held.item, held.before)
            else:
                held.kind.put(held.item, change.key, change.before)
        return None

    def free(self, is_given: Callable[[Any], bool] = lambda item: False) -> FreeParts:
        return free_parts(
            ((id(place.held.owner), ALL_PARTS if place.whole else place.key) for place in self.places),
            is_given,
        )


def _is_tensor(item: Any) -> bool:
    return is_array(item) and not isinstance(item, tf.Variable)


def _is_traced(item: Any) -> bool:
    return isinstance(item, ops.SymbolicTensor) or is_symbolic(item)


def _is_first_setup(change: Change) -> bool:
    """Return True if a change looks like setup that a first call does for later ones."""
    if flatten(change.now, _is_traced, opens)[0]:
        return False
    is_first = type(change.before) in _FLAGS
    # An item of a list or a set needs a variable or the like.
    return (
        is_first
        and not is_whole(change.held.item)
        or bool(flatten(change.now, lambda item: isinstance(item, _MADE), opens)[0])
    )
