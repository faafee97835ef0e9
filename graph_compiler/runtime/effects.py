"""Effects of a call: arrays that its generated function writes to, and changes to the user's objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..assumptions import first_of_each
from ..codegen import Program
from ..contracts import Target
from ..errors import GuardFailed
from ..ir.graph import Graph as IRGraph
from ..recording.state.container_updates import apply_updates, put
from ..recording.state.places import planned_places
from ..trees import Tree, leaves_at, paths, unflatten
from .foreign_objects import ProxyClasses
from .foreign_state import WriteBack
from .traits import arrays_written, has_inner_checks, write_argument


@dataclass(frozen=True)
class UserObjects:
    """Access to the user's objects that calls of a variant read and change.

    saved(array): returns a function that restores an array that the generated function writes to; None if the
        source framework has no such function, as for immutable arrays.
    store(name, value): writes the new value of a buffer.
    write_back: access to state in the user's objects, which converts arrays; None if the graph keeps the
        recorded calls or has no such state.
    keeps_calls: True if the graph keeps the recorded calls, unless it had to be lifted.
    is_foreign: True if the source framework is not the target.
    watch(arrays): returns a function that returns True while no array of ``arrays`` was written to; None if
        writes are not detected.
    proxies: proxy classes for objects that hold arrays of the target, or None.
    """

    saved: Callable[[Any], Callable[[], None]] | None = None
    store: Callable[[str, Any], None] = lambda name, value: None
    write_back: WriteBack | None = None
    keeps_calls: bool = True
    is_foreign: bool = False
    watch: Callable[[Sequence[Any]], Callable[[], bool]] | None = None
    proxies: ProxyClasses | None = None

    def output_tree(self, graph: IRGraph) -> Tree:
        return graph.output_tree if self.proxies is None else self.proxies.tree(graph.output_tree)


# ----------------------------------------------------------------------------------------------------- writes
_Arrays = tuple[Any, ...]


class WrittenArrays:
    """Arrays that a generated function writes to.

    keys: ``(kind, key)`` of each array (:func:`arrays_written`).
    are_restored: True if a guard may fail after the writes, which must then be undone.
    are_watched: True if there are such arrays and writes to them are detected.
    may_remain: True if there are such arrays and they are not restored.
    in_places: positions of written arrays among the state inputs, which follow the inputs of the call.
    """

    def __init__(self, graph: IRGraph, program: Program, target: Target, objects: UserObjects) -> None:
        self._arguments, self._target, self._objects = program.arguments, target, objects
        count = len(graph.inputs_of_call)
        self.keys = arrays_written(graph)
        self.in_places = [key - count for kind, key in self.keys if kind == "inputs" and key >= count]
        self._named = [key for key in self.keys if key[0] != "inputs" or key[1] < count]
        # Guards are checked after the function has run, so its writes may have to be undone.
        self.are_restored = bool(self.keys and (program.checks or has_inner_checks(graph)))
        self.are_watched = bool(self.keys) and objects.watch is not None
        self.may_remain = bool(self.keys) and not self.are_restored

    def _of(self, leading: _Arrays, leaves: _Arrays) -> list[Any]:
        held = dict(zip(self._arguments, leading))
        return [leaves[key] if kind == "inputs" else held[kind][key] for kind, key in self.keys]

    def saved(self, leading: _Arrays, leaves: _Arrays) -> list[Callable[[], None]]:
        saved = self._objects.saved
        if saved is None or not self.are_restored:
            return []
        return [saved(array) for array in self._of(leading, leaves)]

    def watched(self, leading: _Arrays, leaves: _Arrays) -> Callable[[], bool] | None:
        """Return a function that returns True until an array is written to; None if writes go undetected."""
        watch = self._objects.watch
        return watch(self._of(leading, leaves)) if self.are_watched and watch is not None else None

    def copied(self, leading: _Arrays, leaves: _Arrays) -> tuple[_Arrays, _Arrays, dict[Any, Any]]:
        """Return ``leading`` and ``leaves`` with copies of written arrays, and copies by index or name."""
        # One copy for each object, because arguments that are one array must remain one.
        arrays = dict(zip(self.keys, self._of(leading, leaves)))
        copies = {id(array): self._target.copy(array) for array in arrays.values()}
        held = tuple(
            {name: copies.get(id(array), array) for name, array in given.items()} for given in leading
        )
        return (
            held,
            tuple(copies.get(id(leaf), leaf) for leaf in leaves),
            {key[1]: copies[id(arrays[key])] for key in self._named},
        )


# ---------------------------------------------------------------------------------------------------- effects
class Effects:
    """Changes that a call makes to the user's objects after the generated function has returned.

    any: True if there are such changes.
    """

    def __init__(
        self, graph: IRGraph, target: Target, constants: Mapping[str, Any], objects: UserObjects
    ) -> None:
        self._graph, self._target, self._constants, self._objects = graph, target, constants, objects
        self._state = graph.state.places
        # None if a call changes neither a container nor a place; at least () otherwise.
        self._updates = graph.state.updates
        proxies = objects.proxies
        self._set_proxy_classes = proxies.taking(self._updates) if proxies and self._updates else None
        self.any = bool(graph.effects or self._updates is not None)

    def write(
        self,
        values: tuple[Any, ...],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        held: tuple[Any, ...],
    ) -> None:
        """Write the values of effects to arguments, buffers, constants, and arrays in the state ``held``.

        An array among the arguments that cannot be written to may be replaced in its container.
        """
        written = [effect for effect in self._graph.effects if effect.kind == "argument"]
        given = leaves_at(self._graph.input_tree, (args, kwargs)) if written else []
        for effect, value in zip(self._graph.effects, values):
            if effect.kind == "argument":
                self._write_argument(effect.target, given[effect.target], value, (args, kwargs))
            elif effect.kind == "buffer":
                self._objects.store(effect.target, value)
            elif effect.kind == "place":
                assert self._objects.write_back is not None
                self._objects.write_back.write(effect.target, value, held)
            else:
                self._constants[effect.target] = value  # type: ignore[index]

    def _write_argument(self, index: int, array: Any, value: Any, arguments: Any) -> None:
        try:
            write_argument(self._graph, self._target, index, array, value)
        except GuardFailed:
            # The array is replaced only if no other argument is the same array. Of NumPy's arrays only
            # read-only ones cannot be written to, as in the original.
            may_replace = first_of_each(self._graph).count(index) < 2 and not isinstance(array, np.ndarray)
            if not (may_replace and put(arguments, list(paths(self._graph.input_tree))[index], value)):
                raise

    def update(self, outcome: Any, arguments: tuple[Any, Any, Any]) -> Any:
        """Apply the call's updates to containers and to state outside the arguments, and return its result.

        outcome: the result; with updates, a pair of the result and the new items.
        arguments: the call's ``args`` and ``kwargs``, and the state before it.
        """
        if self._updates is None:
            return outcome
        result, new = outcome
        if self._objects.write_back is not None:
            self._objects.write_back.apply_updates(new, arguments)
        else:
            planned = planned_places(self._state, new, arguments) if self._state else []
            apply_updates(self._updates, new, arguments)
            for place, item in planned:
                place.write(item)
        if self._set_proxy_classes is not None:
            self._set_proxy_classes(arguments[:2])
        return result

    def named(
        self,
        outcome: Any,
        effects: tuple[Any, ...],
        leaves: _Arrays,
        held: tuple[Any, ...],
        written: Sequence[int] = (),
    ) -> tuple[Any, dict[str, Any]]:
        """Return the result of a pure call, and a dict of the new state.

        The keys of the dict are names of state and indices of changed arguments, and ``"arguments"`` for the
        new items of changed containers.

        leaves: the arrays of the call, then those of the state outside the arguments.
        held: the objects that hold this state before the call.
        written: indices of the arrays that the call has written to, among those of this state.
        """
        state: dict[str, Any] = {"arguments": outcome[1]} if self._updates else {}
        count, new = len(self._graph.inputs_of_call), {}
        for effect, value in zip(self._graph.effects, effects):
            if effect.kind != "place":
                state[effect.target] = value
            if effect.kind in ("argument", "place"):
                new[effect.target] = value
        if self._state is not None:
            arrays = [new.get(number, leaf) for number, leaf in enumerate(leaves)]
            numbers = {*written, *(number - count for number in new if number >= count)}
            after = self._state.with_arrays(held, arrays[count:], numbers)
            state.update(self._state.changed(held, after))
            if self._updates is not None:
                state.update(self._state.named((*self._given(arrays), after), outcome[1]))
        return outcome[0] if self._updates is not None else outcome, state

    def _given(self, arrays: Sequence[Any]) -> tuple[Any, Any]:
        assert self._state is not None
        args, kwargs = unflatten(self._graph.input_tree, arrays) if self._state.takes_arguments else ((), {})
        return args, kwargs

    def state_now(self) -> dict[str, Any]:
        write_back = self._objects.write_back
        to_native = write_back.to_native if write_back is not None else lambda held: held
        return {place.name: to_native(place.read()) for place in self._state.kept()} if self._state else {}
