"""Conversion and write-back of state and arrays in the user's objects, for a graph in another framework."""

from __future__ import annotations

import random
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ..contracts import ArrayAccess, Stamp, Target
from ..errors import CallMismatch, NotCompilable
from ..ir.graph import Graph as IRGraph
from ..ir.node import Value
from ..ops.dtypes import dtype_name
from ..recording.state.container_updates import (
    ContainerUpdate,
    NewObject,
    apply_updates,
    at,
    item_of,
)
from ..recording.state.places import ExternalState, StatePlace, replaced_places
from ..trees import Branch, Leaf, Tree, count_leaves, flatten, leaves_at, unflatten

# ------------------------------------------------------------------------------------------- conversion cache
# Caches of arrays converted from the user's framework to the target's.


def convert_array(array: Any, convert: Callable[[Any], Any]) -> Any:
    conversion = convert(array)
    if conversion is None:
        raise NotCompilable(
            f"the function holds a {type(array).__name__}, a class of arrays of its own; let it hold "
            "np.asarray of it"
        )
    return conversion


@dataclass(frozen=True)
class _CachedConversion:
    array: weakref.ref[Any]
    stamp: Stamp
    native: Any


class ConversionCache:
    """Cache of arrays converted to another framework, keyed by the identity of the source array.

    An entry is valid while its source array is alive and its stamp fits.

    >>> from graph_compiler.frontends.numpy.array_access import Stamp
    >>> import numpy as np
    >>> converted, array = ConversionCache(lambda array: array.tolist(), Stamp), np.ones(2)
    >>> converted.get_or_convert(array), converted.get_or_convert(array) is converted.get_or_convert(array)
    ([1.0, 1.0], True)
    >>> array[0] = 5
    >>> converted.get_or_convert(array)
    [5.0, 1.0]
    """

    def __init__(self, convert: Callable[[Any], Any], stamp: Callable[[Any], Stamp]) -> None:
        self._convert, self._stamp = convert, stamp
        self._conversions: dict[int, _CachedConversion] = {}

    def lookup(self, array: Any) -> Any:
        conversion = self._conversions.get(id(array))
        return (
            conversion.native
            if conversion is not None and conversion.array() is array and conversion.stamp.fits(array)
            else None
        )

    def get_or_convert(self, array: Any) -> Any:
        known = self.lookup(array)
        return self.store(array, convert_array(array, self._convert)) if known is None else known

    def store(self, array: Any, native: Any) -> Any:
        number, conversions = id(array), self._conversions

        def forget(reference: weakref.ref[Any]) -> None:
            conversion = conversions.get(number)
            if conversion is not None and conversion.array is reference:
                del conversions[number]

        if native is not None and native is not array:
            conversions[number] = _CachedConversion(weakref.ref(array, forget), self._stamp(array), native)
        return native

    def drop(self, array: Any) -> None:
        conversion = self._conversions.get(id(array))
        if conversion is not None and conversion.array() is array:
            del self._conversions[id(array)]


class UncachedConversion(ConversionCache):
    """Conversion without a cache: each lookup converts again."""

    def lookup(self, array: Any) -> Any:
        # Converting again costs less than checking a stamp.
        return convert_array(array, self._convert)

    def store(self, array: Any, native: Any) -> Any:
        return native


# ----------------------------------------------------------------------------------------------- state owners
# Objects that hold the state of a variant; calls that change the same object wait for each other.

# Kind and key of the arrays that the flat function itself writes to.
Written = Iterable[tuple[str, Any]]


class OwnerLookup(Protocol):
    """Lookup of the objects that hold the arrays of the user's model."""

    def owner_of(self, name: str) -> Any: ...


def owners_of(
    graph: IRGraph, written: Written, weights: OwnerLookup | None, constants: Mapping[str, Any]
) -> list[Any]:
    """Return the objects that a call has to lock, because they hold state that it reads or changes."""
    if not (written or graph.effects or graph.state.places):
        return []
    changed = [*written, *((f"{effect.kind}s", effect.target) for effect in graph.effects)]
    places = () if graph.state.places is None else _of_state(graph.state.places)
    return [*(_of_arrays(graph, changed, weights, constants) if changed else ()), *places]


def _of_arrays(
    graph: IRGraph, changed: Written, weights: OwnerLookup | None, constants: Mapping[str, Any]
) -> Iterator[Any]:
    if weights is not None:
        yield from map(
            weights.owner_of,
            dict.fromkeys(name for kind, name in changed if kind in ("parameters", "buffers")),
        )
    if captured := dict.fromkeys(name for kind, name in changed if kind == "constants"):
        yield from (graph.constants[name][1] for name in captured)
        yield constants


def _of_state(state: ExternalState) -> Iterator[Any]:
    for place in state.places:
        yield place.held.owner if isinstance(place, StatePlace) else random


# ------------------------------------------------------------------------------------------------- write back
# State of a graph for another framework, which stays in the user's objects as arrays of their framework.

# Index of the state in ``(args, kwargs, state)``.
_STATE = 2


class _OutputForm(NamedTuple):
    """Form in which an output of a graph is written back to the user's objects.

    first: index of the first output that was the same object while recording.
    dtype: dtype of the array; None if the output is no array.
    is_scalar: True for a NumPy scalar.
    """

    first: int
    dtype: str | None
    is_scalar: bool


class WriteBack:
    """Access to a graph's state in the user's objects: converts the state, and writes new state back."""

    def __init__(
        self, graph: IRGraph, array_access: ArrayAccess, target: Target, copied: ConversionCache
    ) -> None:
        self._array_access, self._target, self._copied = array_access, target, copied
        assert graph.state.places is not None
        self._state: ExternalState = graph.state.places
        self._updates: Sequence[ContainerUpdate] = graph.state.updates or ()
        self._forms = list(_forms(graph)) if graph.state.updates is not None else []
        self._written = dict(self._state.written)
        self._children = self._state.tree.children if isinstance(self._state.tree, Branch) else ()
        # Index of the first input that is state.
        self._first = len(graph.inputs_of_call)

    def convert(self, array: Any) -> Any:
        return (
            self._copied.get_or_convert(array)
            if self._array_access.is_own(array)
            else self._target.convert(array)
        )

    def to_native(self, held: Any) -> Any:
        leaves, tree = flatten(
            held, lambda item: self._array_access.is_own(item) or isinstance(item, self._target.array_types)
        )
        return unflatten(tree, map(self.convert, leaves)) if leaves else held

    def apply_updates(self, new: Sequence[Any], arguments: Any) -> None:
        """Apply the updates of a call to containers and places of the user's objects.

        new: the new objects that the graph has returned.
        arguments: ``(args, kwargs, state)`` of the call.
        """
        made: dict[int, Any] = {}
        # Objects are identified by their index, because two arrays of the original may be one object in a
        # framework with immutable arrays.
        left = [self._converted_back(number, item, made, arguments) for number, item in enumerate(new)]
        own: dict[int, Any] = {}

        def placed(item: Any) -> Any:
            if isinstance(item, NewObject):
                return left[item.index]
            held = item_of(arguments, item, ())
            return own.setdefault(id(held), self._to_user_array(held))

        # Computed before the first change, because items may refer to objects from before the call.
        planned = [(place, placed(item)) for place, item in replaced_places(self._state)]
        apply_updates(
            self._updates,
            new,
            arguments,
            lambda path, item: placed(item) if path[0] == _STATE else item_of(arguments, item, new),
        )
        for place, item in planned:
            place.write(item)

    def write(self, number: int, native: Any, held: tuple[Any, ...]) -> None:
        arrays = [leaf for tree, item in zip(self._children, held) for leaf in leaves_at(tree, item)]
        self._write_values(arrays[number - self._first], native)

    def _converted_back(self, number: int, item: Any, made: dict[int, Any], arguments: Any) -> Any:
        path = self._written.get(number)
        if path is not None:
            return self._write_into(number, item, at(arguments, path))
        tree, forms = self._forms[number]
        arrays = [self._array(leaf, form, made) for leaf, form in zip(leaves_at(tree, item), forms)]
        return arrays[0] if isinstance(tree, Leaf) else unflatten(tree, arrays)

    def _array(self, item: Any, form: _OutputForm, made: dict[int, Any]) -> Any:
        if form.dtype is None:
            return item
        # Outputs that are one object in the original become one array.
        if form.first not in made:
            array = self._new_user_array(item, form.dtype)
            # The index ``()`` makes a NumPy scalar of a 0-d array.
            made[form.first] = array[()] if form.is_scalar else array
        return made[form.first]

    def _to_user_array(self, item: Any) -> Any:
        native = None if self._array_access.is_own(item) else self._target.convert(item)
        return item if native is None else self._new_user_array(native, dtype_name(item))

    def _new_user_array(self, native: Any, dtype: str) -> Any:
        array = self._array_access.own(numpy_values(self._target, native), dtype)
        self._copied.store(array, native)
        return array

    def _write_into(self, number: int, item: Any, held: Any) -> Any:
        tree, forms = self._forms[number]
        for array, native, form in zip(leaves_at(tree, held), leaves_at(tree, item), forms):
            if form.dtype is not None:
                self._write_values(array, native)
        return held

    def _write_values(self, array: Any, native: Any) -> None:
        self._array_access.write(array, numpy_values(self._target, native))
        self._copied.store(array, native)


def numpy_values(target: Target, native: Any) -> Any:
    """Return ``native`` as a NumPy array. Raise ``CallMismatch`` if it has no values because it is traced."""
    try:
        return target.to_numpy(native)
    # Each framework has exceptions of its own for arrays without elements.
    except Exception as problem:
        if not target.is_traced(native):
            raise
        raise CallMismatch(
            "a call of this graph leaves state in the objects of the original, which it cannot while "
            f"{target.name} traces a function; use graph.functional, which gives the state back beside the "
            "result"
        ) from problem


def _forms(graph: IRGraph) -> Iterator[tuple[Tree, list[_OutputForm]]]:
    assert isinstance(graph.output_tree, Branch)
    result, new = graph.output_tree.children
    is_array = [
        isinstance(item, Value) and place not in graph.number_outputs
        for place, item in enumerate(graph.outputs)
    ]
    firsts = graph.state.same_outputs
    scalars = graph.state.scalar_outputs
    forms = (
        _OutputForm(first, item.dtype if known else None, place in scalars)
        for place, (first, known, item) in enumerate(zip(firsts, is_array, graph.outputs))
    )
    for _ in range(count_leaves(result)):
        next(forms)
    for child in new.children if isinstance(new, Branch) else ():
        yield child, [next(forms) for _ in range(count_leaves(child))]
