"""Where a function keeps arrays outside of its arguments: in globals, closures and attributes, and in lists, dicts and tuples there."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import TracingError
from ...tracing.conjunction import Fact, conjunction
from ...tracing.holders import MISSING, Kind
from ...tracing.namespaces import Names
from ...tracing.places import Place as NumberPlace
from ...tracing.roots import reach
from ...tracing.world import Held, World
from .draws import GENERATORS
from .keeping import Watch, own, write
from .kept_numbers import DTYPES, KeptNumbers
from .patches import replacement_of
from .sizes import is_symbolic
from .traced import is_traced

Key = tuple[int, Any]
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Place:
    """Where one array is: a part of a container, and below it the path through tuples."""

    held: Held
    key: Any
    path: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """The place in words."""
        whole = self.held.name_of(self.key).removeprefix("self.") + "".join(f"[{index}]" for index in self.path)
        return re.sub(r"[\[\]'\"\\]+", ".", whole).strip(".")  # layers[0]['bias'] is layers.0.bias

    def read(self) -> Any:
        """What is there now."""
        found = self.held.kind.pairs(self.held.item).get(self.key, MISSING)
        for index in self.path:
            found = found[index] if isinstance(found, tuple) and index < len(found) else MISSING
        return found

    def holds(self, array: Any) -> Fact:
        """That this very array is there now, of the shape and type that it has now."""
        kept = "{}[{}] is {}"
        space = getattr(self.held.item, "space", None) if isinstance(self.held.item, Names) else getattr(self.held.item, "__dict__", None)
        if not self.path and isinstance(space, dict) and space.get(self.key) is array:
            items: tuple[Any, ...] = (space, self.key, array)
        elif not self.path and isinstance(self.held.item, (dict, list)):
            items = (self.held.item, self.key, array)
        else:
            kept, items = "{}() is {}", (self.read, array)
        return Fact(f"{kept} and {{}}.shape == {{}} and {{}}.dtype is {{}}", (*items, array, array.shape, array, array.dtype), self.name)

    def write(self, array: Any) -> None:
        """Puts another array there."""
        whole = self.held.kind.pairs(self.held.item).get(self.key)
        self.held.kind.put(self.held.item, self.key, _with(whole, self.path, array))


def _with(whole: Any, path: tuple[int, ...], item: Any) -> Any:
    if not path:
        return item
    parts = list(whole)
    parts[path[0]] = _with(parts[path[0]], path[1:], item)
    return type(whole)(*parts) if hasattr(whole, "_fields") else type(whole)(parts)


def _defaults(function: types.FunctionType) -> dict[str, Any]:
    """The defaults of a function by the names of its arguments."""
    given, count = function.__defaults__ or (), function.__code__.co_argcount
    return {**dict(zip(function.__code__.co_varnames[count - len(given) : count], given)), **_keyword_defaults(function)}


def _keyword_defaults(function: types.FunctionType) -> dict[str, Any]:
    return function.__kwdefaults__ or {}


def _put_default(function: types.FunctionType, name: str, value: Any) -> None:
    if name in _keyword_defaults(function):
        function.__kwdefaults__ = {**_keyword_defaults(function), name: value}
    else:
        names = list(_defaults(function))
        function.__defaults__ = tuple(value if own == name else old for own, old in zip(names, function.__defaults__ or ()))


def _refill_defaults(function: types.FunctionType, before: dict[str, Any]) -> None:
    for name, value in before.items():
        _put_default(function, name, value)


_DEFAULTS = Kind(_defaults, _put_default, _refill_defaults)


class LiveArrays:
    """Called, the arrays that stand in these places at the moment: the very dict of before while none was replaced."""

    def __init__(self, places: dict[str, Place]) -> None:
        self._places = places
        self._read()

    def _read(self) -> None:
        self._found = {name: place.read() for name, place in self._places.items()}
        self._unchanged = conjunction(place.holds(self._found[name]) for name, place in self._places.items())

    def __call__(self) -> dict[str, Any]:
        if not self._unchanged():
            self._read()
        return self._found

    def watch(self, names: Iterable[str]) -> Watch:
        """A watch over the arrays that these places held when they were last read."""
        return Watch([self._found[name] for name in names])


class Weights:
    """The arrays that a function can reach, by the names of their places; an array in two places has the name of the first."""

    def __init__(self, function: Any, functions: Iterable[types.FunctionType] = (), stateful: Iterable[Any] = ()) -> None:
        owner = getattr(function, "__self__", None)
        objects = [("", owner)] if owner is not None else [("", function)] if not hasattr(function, "__code__") else []
        self.world = World((*objects, *((type(item).__name__, item) for item in stateful), *reach([function])), own=stateful)
        own_defaults = [one for one in functions if _defaults(one)]
        self.world.held += [Held(one.__name__, one, _DEFAULTS, _defaults(one)) for one in own_defaults]
        self._tuples = [(one, one.__defaults__, one.__kwdefaults__) for one in own_defaults]
        self.places: dict[str, Place] = {}
        self._put: dict[Key, Any] = {}
        self.numbers: tuple[NumberPlace, ...] = ()  # places of Python numbers that calls change

    # ------------------------------------------------------------------------------ while recording
    def enter(self, capture: Any, known: dict[int, Any]) -> None:
        """Puts traced arrays in the place of all arrays, and recorded functions in that of those imported by name. ``known``: array -> traced."""
        for held in self.world.held:
            for key, item in held.before.items():
                new = self._traced(capture, Place(held, key), item, known)
                if new is not item:
                    held.kind.put(held.item, key, new)
                    self._put[NumberPlace(held, key).identity] = new

    def _traced(self, capture: Any, place: Place, item: Any, known: dict[int, Any]) -> Any:
        if type(item) in (np.ndarray, np.memmap) and item.dtype.kind in "biufc" and item.dtype.isnative:
            if id(item) not in known:
                name = place.name
                while name in self.places:
                    name += "_"
                self.places[name] = place
                known[id(item)] = capture.add_parameter(name, item)
            return known[id(item)]
        if type(item) is tuple or isinstance(item, tuple) and hasattr(item, "_fields"):
            parts = [self._traced(capture, Place(place.held, place.key, (*place.path, i)), part, known) for i, part in enumerate(item)]
            changed = any(new is not old for new, old in zip(parts, item))
            return (type(item)(*parts) if hasattr(item, "_fields") else tuple(parts)) if changed else item
        if isinstance(item, GENERATORS):
            if id(item) not in known:
                known[id(item)] = capture.kept_generator(item)
            return known[id(item)]
        new = replacement_of(item)
        return item if new is None else new

    def enter_numbers(self, numbers: KeptNumbers, capture: Any) -> None:
        """Puts symbolic numbers in the places that are known to change."""
        self.numbers = numbers.places
        self._put.update(numbers.enter(capture))

    def changed(self) -> tuple[list[tuple[Place, Any]], list[NumberPlace]]:
        """The places that hold another array of the recording than was put there; and those of numbers that are not known to change."""
        found, numbers = [], []
        known = {place.identity for place in self.numbers}
        for change in self.world.changes():
            now, kept = change.now, NumberPlace(change.held, change.key)
            if kept.identity in known or now is self._put.get(kept.identity, MISSING):
                continue
            known.add(kept.identity)  # several functions may name one global
            if type(change.before) in DTYPES and (is_symbolic(now) or type(now) in DTYPES):
                numbers.append(kept)
                continue
            place = Place(change.held, change.key)
            if not (is_traced(now) and isinstance(change.before, np.ndarray)):
                raise TracingError(
                    f"the function changes {place.name or 'what it keeps'} outside of its arguments (from {change.before!r:.60} on), and of a numpy "
                    "function only arrays that stay arrays and numbers that stay numbers can be kept from call to call. Return it instead"
                )
            found.append((place, now))
        return found, numbers

    def name_of(self, place: Place) -> str | None:
        """The name of a place that holds an array."""
        same = (
            known
            for known, other in self.places.items()
            if other.held.item is place.held.item and other.key == place.key and not other.path
        )
        return next(same, None)

    def restore(self) -> None:
        """Puts everything back; of defaults the very tuples."""
        self.world.restore()
        for function, positional, keywords in self._tuples:
            function.__defaults__, function.__kwdefaults__ = positional, keywords

    # ------------------------------------------------------------------------------ beside a graph
    def live(self, names: Iterable[str]) -> LiveArrays:
        """A function that gives the arrays that stand in these places at the moment."""
        return LiveArrays({name: self.places[name] for name in names})

    def hold_types(self, graph: Any) -> Callable[[], bool]:
        """Whether the places hold arrays of the recorded types."""
        expected = [(self.places[name], value.spec.shape, np.dtype(value.dtype)) for name, value in graph.parameters.items()]
        unchanged = conjunction(place.holds(place.read()) for place, _, _ in expected)
        return lambda: unchanged() or all(_is_like(place.read(), shape, dtype) for place, shape, dtype in expected)

    def parts(self) -> set[Key]:
        """The containers and keys of the places."""
        items = (
            (place.held.item.space if isinstance(place.held.item, Names) else place.held.item, place.key) for place in self.places.values()
        )
        return {(id(item), key) for item, key in items}

    def buffers(self) -> list[Any]:
        """The arrays, any of which calls may write to."""
        return [place.read() for place in self.places.values()]

    def rebind(self, name: str, array: Any) -> None:
        """Puts another array in a place."""
        self.places[name].write(np.asarray(array))

    def leave(self, name: str, elements: Array, rebound: bool) -> Array:
        """Gives an array other elements, or (``rebound``) puts a new one of them in its place; the array that is there then."""
        held: Array = self.places[name].read()
        if rebound:
            held = own(elements, held.dtype.name)
            self.places[name].write(held)
        else:
            write(held, elements)
        return held

    def is_trained(self, name: str) -> bool:
        """Any array may be: numpy does not tell weights from buffers."""
        return True


def _is_like(array: Any, shape: tuple[int, ...], dtype: Any) -> bool:
    return type(array) in (np.ndarray, np.memmap) and array.shape == shape and array.dtype == dtype
