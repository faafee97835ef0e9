"""Construction of a recorded graph (``Recorder``): values of arrays, calls that were made, and guards.

A value represents an array *object* or a number of the user's program. A node may write to values
(``record.writes``), and its outputs may be views of other values (``record.views``: output index -> value).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import TracingError
from ..ir.assumption import Assumption
from ..ir.graph import Graph, Guard, check
from ..ir.node import CallRecord, Makers, Node, Origin, Region, Value, values_in
from ..ops.registry import ArraySpec
from ..sizes import Size, SymbolicNumber, apply, negate
from ..trees import iterate_structure, map_structure
from .lock import stage
from .request import AbandonedWay, log_abandoned_way

if TYPE_CHECKING:
    from .loop_marks import LoopMarker


@dataclass(frozen=True)
class Savepoint:
    """Guards and assumptions of a recording at one moment, restored by :meth:`Recorder.give_up`.

    guards: number of guards of the graph.
    keys: keys of the guards, and of the checks in open blocks.
    """

    guards: int
    keys: frozenset[Any]
    assumptions: tuple[Assumption, ...]


class LengthAsked(TracingError):
    """Error of an associative scan whose combine function may read how many pairs it combines at once.

    The block recorded from that function must work for any number of pairs.
    """


class Recorder:
    """Graph of a recording in progress, with the values of the arrays that the user's code holds.

    varying: values that may differ between calls.
    numbers: inputs that are Python numbers.
    arguments: inputs of all open blocks.
    loops: marker of the iterations of loops; None if loops are not marked.
    gave_up: failed attempts to record parts of the function.
    """

    def __init__(self, name: str, dialect: str) -> None:
        self.graph = Graph(name, dialect)
        # The display of the progress shows the length of this list.
        stage.calls = self.graph.nodes
        self.varying: set[Value] = set()
        self.numbers: set[Value] = set()
        self._random: set[Value] = set()
        self._values: dict[int, tuple[Any, Value]] = {}
        self._guards: set[Any] = set()
        self._base: dict[Value, Value] = {}
        self._kept: dict[Value, Any] = {}
        self.arguments: set[Value] = set()
        # Inputs of each open block.
        self._inputs: list[set[Value]] = []
        # Inputs of each open block that have as many rows as there are pairs.
        self._pairs: list[set[Value]] = []
        # Nodes outside each open block, outermost first.
        self._around: list[tuple[list[Node], Makers]] = []
        self.loops: LoopMarker | None = None
        self.gave_up: list[AbandonedWay] = []
        # Keys of guards that became checks in each open block. They guard nothing outside of it.
        self._checked: list[set[Any]] = []

    # ------------------------------------------------------------------------------ arrays
    def find(self, array: Any) -> Value | None:
        entry = self._values.get(id(array))
        # The id may belong to another object that was made after the first was collected.
        return entry[1] if entry is not None and entry[0]() is array else None

    def track(self, array: Any, value: Value) -> Value:
        """Register ``array`` as the object of ``value``, and return ``value``.

        The array is not kept alive if it supports weak references.
        """
        # Intermediate arrays are freed when the user's code drops them, as they are without a recording.
        self._values[id(array)] = (_weak_reference(array), value)
        return value

    def keep(self, array: Any, value: Value) -> Value:
        """Register ``array`` as the object of ``value``, and return ``value``.

        The array is kept alive until :meth:`forget_arrays`.
        """
        self._values[id(array)] = (lambda: array, value)
        self._kept[value] = array
        return value

    def kept(self, value: Value) -> Any:
        return self._kept.get(value)

    def array_of(self, value: Value) -> Any:
        return next((entry[0]() for entry in self._values.values() if entry[1] is value), None)

    def tracked(self) -> Iterator[tuple[Any, Value]]:
        return ((array, value) for ref, value in [*self._values.values()] if (array := ref()) is not None)

    def forget_arrays(self) -> None:
        self.loops = None
        self._values.clear()
        self._kept.clear()

    def add_input(self, name: str, array: Any, spec: ArraySpec) -> Value:
        value = Value(name, spec)
        self.graph.inputs.append(value)
        self.varying.add(value)
        return self.keep(array, value)

    def add_number(self, name: str, dtype: str) -> Value:
        # A number is no array that could be looked up, so a new object is registered for it.
        value: Value = self.add_input(name, object(), ArraySpec((), dtype))
        self.numbers.add(value)
        return value

    def add_parameter(self, name: str, array: Any, spec: ArraySpec) -> Value:
        value = self.graph.parameters[name] = Value(name, spec)
        self.varying.add(value)
        return self.keep(array, value)

    def add_constant(self, name: str, array: Any, spec: ArraySpec) -> Value:
        constants = self.graph.constants
        wanted, number = name, len(constants)
        # The name with a number may be that of another constant of the user.
        while name in constants:
            name, number = f"{wanted}_{number}", number + 1
        value = Value(name, spec)
        constants[name] = (value, array)
        return self.keep(array, value)

    # ------------------------------------------------------------------------------ calls
    def new_values(self, made: list[tuple[str, Any, ArraySpec]]) -> tuple[Value, ...]:
        return tuple(self.track(array, Value(name, spec)) for name, array, spec in made)

    def add_call(
        self,
        op: str,
        inputs: tuple[Any, ...],
        params: dict[str, Any],
        origin: Origin,
        outputs: tuple[Value, ...],
        record: CallRecord,
        regions: tuple[Region, ...] = (),
    ) -> Node:
        """Append a node that computes ``outputs`` to the current block, and return it."""
        classes = set(map(type, iterate_structure((inputs, params))))
        if not classes <= _PLAIN:
            inputs, params = map_structure(as_builtin, (inputs, params))
        node = Node(op, inputs, params, origin, outputs, record, regions)
        if (
            not self.varying.isdisjoint(node.uses)
            or node.is_random
            or node.depends_on_devices
            or Size in classes
        ):
            self.varying.update(outputs)
            self.varying.update(map(self.base_of, node.writes))
            self.varying.update(node.writes)
        if node.is_random or self._random and any(map(self.is_random, node.uses)):
            self._random.update((*outputs, *node.writes), map(self.base_of, node.writes))
        for index, viewed in node.views.items():
            self.set_base(outputs[index], viewed)
        self.graph.nodes.append(node)
        return node

    def add_value(
        self,
        op: str,
        inputs: tuple[Any, ...],
        origin: Origin,
        made: tuple[str, Any, ArraySpec],
        record: CallRecord,
    ) -> Value:
        (value,) = self.new_values([made])
        self.add_call(op, inputs, {}, origin, (value,), replace(record, result=value))
        return value

    def maker(self, value: Value) -> Node | None:
        found = self.graph.maker(value)
        if found is not None or not self._around:
            return found
        # Most values are made nearby, so the innermost enclosing block is searched first.
        return next(filter(None, (makers.of(value, nodes) for nodes, makers in reversed(self._around))), None)

    def set_base(self, view: Value, base: Value) -> None:
        self._base[view] = self.base_of(base)

    def base_of(self, value: Value) -> Value:
        return self._base.get(value, value)

    def varies(self, value: Value) -> bool:
        return value in self.varying or self.base_of(value) in self.varying

    def is_random(self, value: Value) -> bool:
        return value in self._random or self.base_of(value) in self._random

    def note_given_up(self, way: str, problem: BaseException) -> None:
        self.gave_up.append(log_abandoned_way(self.graph.name, way, problem))

    # ------------------------------------------------------------------------------ blocks
    @contextmanager
    def block(self, arguments: Iterable[Value], of_pairs: bool = False) -> Iterator[list[Node]]:
        """Open a block: calls inside the context append their nodes to the list that is yielded.

        After the context, arrays of its inputs and of the results of its nodes are no longer tracked.

        arguments: inputs of the block.
        of_pairs: True if an axis of each of ``arguments`` counts the pairs of an associative scan. No guard
            may fix its size.
        """
        graph, arguments = self.graph, set(arguments)
        outside, nodes = graph.nodes, list[Node]()
        self._around.append((outside, Makers()))
        self._inputs.append(arguments)
        self._pairs.append(arguments if of_pairs else set())
        self._checked.append(set())
        self.arguments |= arguments
        self.varying |= arguments
        graph.nodes = nodes
        try:
            yield nodes
        finally:
            graph.nodes = outside
            self._around.pop()
            self._inputs.pop()
            self._pairs.pop()
            # A check is tested only if its block runs, so the same condition outside needs a guard of its
            # own.
            self._guards -= self._checked.pop()
            self.arguments -= arguments
            inner = arguments.union(value for node in nodes for value in node.outputs)
            # An array made in the block has no value outside it.
            self._values = {key: entry for key, entry in self._values.items() if entry[1] not in inner}

    @property
    def in_block(self) -> bool:
        return bool(self._around)

    def is_inside(self, value: Value) -> bool:
        if not self._around or value in self.arguments:
            return bool(self._around)
        nodes, makers = self._around[0]
        return makers.of(value, nodes) is None and self.maker(value) is not None

    def is_made_here(self, value: Value) -> bool:
        return self.graph.maker(value) is not None

    def is_given_here(self, value: Value) -> bool:
        return bool(self._inputs) and value in self._inputs[-1]

    def all_nodes(self) -> Iterator[Node]:
        return chain(*(nodes for nodes, _ in self._around), self.graph.nodes)

    # ------------------------------------------------------------------------------ assumptions
    def decide_size(self, size: Size, origin: Origin) -> Any:
        """Return the value that ``size`` has in this recording, and add a guard on it if needed.

        Raise ``LengthAsked`` for a number that depends on the number of pairs of an open block.
        """
        if self.loops is not None and self.loops.needs_no_guard(size, origin):
            return size.hint
        # A guard cannot read a loop index, so its number is used instead, and the loop stays unrolled.
        size = size if self.loops is None else self.loops.with_numbers(size)
        if not isinstance(size, Size):
            return size
        # The body must work for any number of pairs, so their number may not become a guard.
        if any(symbol.source in pairs for pairs in self._pairs for symbol in size.symbols()):
            if size.type is not bool:
                raise LengthAsked(f"{origin}: the number of pairs is asked for")
            return size.hint
        condition = (
            (size if size.hint else negate(size)) if size.type is bool else apply("eq", size, size.hint)
        )
        if isinstance(condition, Size):
            self._guard(Guard(condition, True, origin), condition)
        return size.hint

    def refuse_any_length(self) -> None:
        # Code that runs next could read the number unseen.
        if any(self._pairs):
            raise LengthAsked("the number of pairs has gone into code that cannot be seen")

    def decide_value(self, value: Value, seen: Any, origin: Origin, *, in_place: bool = False) -> None:
        """Guard that ``value`` has the elements ``seen``, if it may vary between calls.

        With ``in_place``, an open block checks this at the current node.
        """
        # A value that does not vary is the same at every call, so it needs no guard.
        if self.varies(value):
            self._guard(Guard(value, seen, origin), (value, len(self.graph.nodes)), in_place)

    def decide_number(self, number: Value, seen: Any, origin: Origin) -> None:
        self._guard(Guard(number, seen, origin), number)

    def savepoint(self) -> Savepoint:
        return Savepoint(len(self.graph.guards), frozenset(self._guards), self.graph.assumptions)

    def give_up(self, since: Savepoint) -> None:
        """Restore the guards and assumptions of the graph to those at ``since``; checks in blocks remain."""
        del self.graph.guards[since.guards :]
        self._guards, self.graph.assumptions = set(since.keys), since.assumptions

    def _guard(self, guard: Guard, key: Any, in_place: bool = False) -> None:
        if key in self._guards:
            return
        self._guards.add(key)
        # A guard at the start of the graph can only read values that exist there.
        if in_place and self.in_block or any(map(self.is_inside, values_in((guard.condition,)))):
            self._checked[-1].add(key)
            # Sizes of a block are known only inside it, and elements differ between iterations.
            self.graph.nodes.append(check(guard, is_recorded=True))
        else:
            self.graph.guards.append(guard)


def is_subclassed(item: Any) -> bool:
    """Return True for an instance of a proper subclass of int, float, complex or str.

    Bools, NumPy's scalars and symbolic numbers are excepted.
    """
    cls = type(item)
    return (
        cls not in _BUILTINS
        and issubclass(cls, (int, float, complex, str))
        and not issubclass(cls, (bool, np.generic, SymbolicNumber))
    )


def as_builtin(item: Any) -> Any:
    if not is_subclassed(item):
        return item
    return next(convert(item) for cls, convert in _BUILTINS.items() if isinstance(item, cls))


# Classes of most operands.
_PLAIN = frozenset({Value, Size, bool, int, float, complex, str, type(None), type(Ellipsis)})
# class: conversion of an instance of a subclass to it. The methods of the class itself ignore those that the
# subclass overrides, such as ``__str__`` of an ``Enum``, as frameworks do.
_BUILTINS: dict[type, Callable[[Any], Any]] = {
    int: int.__int__,
    float: float.__float__,
    complex: complex.__pos__,
    str: str.__str__,
}


def _weak_reference(array: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(array)
    except TypeError:
        # Generators of torch before 2.12 have no weak references.
        return lambda: array
