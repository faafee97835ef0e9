"""Arrays that a function stores in globals, closures, attributes, and in containers there."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from ... import contracts
from ...errors import GuardFailed, TracingError
from ...recording.environment_guards import EnvironmentGuard, conjunction
from ...recording.reachability.containers import ALL_PARTS, MISSING, ContainerKind
from ...recording.reachability.references import NamespacePart
from ...recording.reachability.snapshot import ORDER, Change, ObjectSnapshot, TrackedContainer
from ...recording.state.append_only import ListShims
from ...recording.state.container_updates import Containers
from ...recording.state.places import ExternalState, ReplacedPlace, StatePlace, outermost_places, place_at
from ...sizes import is_symbolic
from ...trees import AppendOnly, Branch, Fixed, Tree, flatten, unflatten
from ..common import views as kept_views
from ..common.read_numbers import DTYPES, holds_numbers
from .array_access import ElementWatch, own, write
from .calls import Inputs, is_array, with_leaf_types
from .draws import GENERATORS
from .patches import replacement_of
from .traced import is_traced


class ChangedState:
    """State outside the arguments that becomes inputs of the graph.

    places: locations of the state, except those inside of an object at another location.
    values: the objects at ``places`` right after :meth:`enter`.
    """

    def __init__(self, places: Sequence[StatePlace]) -> None:
        self.places = outermost_places(places, is_array)
        self.values: tuple[Any, ...] = ()
        self._trees: tuple[Tree, ...] = ()

    def enter(self, inputs: Inputs, list_shims: ListShims) -> None:
        """Put traced inputs and shims of lists into the locations, and set ``values``."""
        trees: list[Tree] = []
        values: list[Any] = []
        for place in self.places:
            if (growing := list_shims.put(place)) is not None:
                trees.append(AppendOnly(list, (), ()))
                values.append(growing)
                continue
            held, name = place.read(), place.name.removeprefix("self.") or "state"
            leaves, tree = flatten(
                held, _is_array_or_number if holds_numbers(held, place.whole) else is_array
            )
            made = [inputs.enter(name, leaf) for leaf in leaves]
            if made:
                place.write(unflatten(tree, made))
            trees.append(with_leaf_types(tree, iter(leaves)))
            values.append(place.read())
        self.values, self._trees = tuple(values), tuple(trees)

    def recorded(self, containers: Containers) -> ExternalState:
        """Return the state for the graph: its locations, and what is new there."""
        tree = Branch(tuple, tuple(range(len(self.places))), self._trees)
        replaced = []
        for index, (place, before) in enumerate(zip(self.places, self.values)):
            now = place.read()
            # Sets need hashes, so their numbers are guarded.
            if isinstance(now, frozenset):
                now = frozenset(item.number() if is_symbolic(item) else item for item in now)
            is_list = place.whole and not isinstance(now, (frozenset, Fixed))
            if (
                now is not before
                and not is_list
                and not (isinstance(now, (frozenset, Fixed)) and now == before)
            ):
                replaced.append(ReplacedPlace(index, MISSING if now is MISSING else containers.classify(now)))
        return ExternalState(self.places, tree, tuple(replaced))

    def parts(self) -> set[tuple[int, Any]]:
        return {key_of(place.held, ALL_PARTS if place.whole else place.key) for place in self.places}


def _is_array_or_number(item: Any) -> bool:
    return type(item) in DTYPES or is_array(item)


def key_of(held: TrackedContainer, key: Any) -> tuple[int, Any]:
    return id(held.item.space if isinstance(held.item, NamespacePart) else held.item), key


Array = np.ndarray[Any, Any]


class ArrayLocation(Protocol):
    """Protocol of a location of an array. ``read`` returns the object that is there now."""

    def read(self) -> Any: ...


class _ViewPosition(NamedTuple):
    """Shape of the array that a view is a part of, and the operations that make the view from it.

    taken: these operations, or None if they are not found.
    """

    shape: tuple[int, ...]
    taken: kept_views.ViewRecipe | None


class StoredArrayViews(kept_views.StoredViews[Array]):
    """Views among the stored arrays, and the locations where the current attempt found them."""

    def __init__(self) -> None:
        super().__init__()
        self._placed: dict[int, tuple[Array, ArrayLocation]] = {}
        self._taken: list[tuple[Array, ArrayLocation, Array]] = []

    def is_view(self, array: Array, owner: Array) -> bool:
        plain = array.dtype == owner.dtype and owner.flags.c_contiguous and array.flags.writeable
        return bool(plain) and self.geometry_of(array, owner).taken is not None

    def geometry_of(self, array: Array, owner: Array) -> _ViewPosition:
        size, start, first = (
            owner.itemsize,
            array.__array_interface__["data"][0],
            owner.__array_interface__["data"][0],
        )
        steps = tuple(step // size for step in array.strides)
        inside = 0 <= start - first < owner.nbytes and (start - first) % size == 0
        return _ViewPosition(
            owner.shape,
            kept_views.view_recipe(array.shape, steps, (start - first) // size, owner.shape)
            if inside
            else None,
        )

    def rank(self, array: Array) -> int:
        return array.size

    @property
    def places(self) -> list[Any]:
        return [place for _, place, _ in self._taken]

    def begin(self, given: Container[int]) -> None:
        # These owners are arguments, and other calls pass other arrays.
        self._owners = {name: pair for name, pair in self._owners.items() if id(pair[1]) not in given}
        self._placed.clear()
        self._taken.clear()

    def note(self, array: Any, place: ArrayLocation) -> None:
        self._placed[id(array)] = (array, place)

    def record_view(self, capture: Any, place: ArrayLocation, array: Any, known: dict[int, Any]) -> Any:
        """Return the view of the traced owner of ``array``, or ``array`` itself.

        ``known`` maps ids to traced arrays; the view is added.
        """
        owner = self._owners[id(array)][1]
        found = self.geometry_of(array, owner).taken
        if id(owner) not in known or found is None:
            return array
        made = known[id(owner)]
        # Calls are recorded only inside of this context, which the function itself enters later.
        with capture.isolated():
            made = made if found.key is None else made[found.key]
            made = made if found.order is None else made.transpose(found.order)
            made = made if found.shape is None else made.reshape(found.shape)
        self._taken.append((array, place, owner))
        return known.setdefault(id(array), made)

    def guards(self) -> Iterator[EnvironmentGuard]:
        for array, place, owner in self._taken:
            yield self.lies_still(array, owner, place.read, self._placed[id(owner)][1].read)


Key = tuple[int, Any]


@dataclass(frozen=True, eq=False)
class ArrayPlace(StatePlace):
    """Location of one array: a key of a container, and indices into tuples there.

    path: the indices, outermost first.
    """

    path: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        whole = super().name.removeprefix("self.") + "".join(f"[{index}]" for index in self.path)
        # layers[0]['bias'] becomes layers.0.bias
        return re.sub(r"[\[\]'\"\\]+", ".", whole).strip(".")

    def read(self) -> Any:
        found = super().read()
        for index in self.path:
            found = found[index] if isinstance(found, tuple) and index < len(found) else MISSING
        return found

    def holds(self, array: Any) -> EnvironmentGuard:
        """Return a guard that this location has the object ``array``, with its current shape and dtype."""
        kept = "{}[{}] is {}"
        space = (
            getattr(self.held.item, "space", None)
            if isinstance(self.held.item, NamespacePart)
            else getattr(self.held.item, "__dict__", None)
        )
        if not self.path and isinstance(space, dict) and space.get(self.key) is array:
            items: tuple[Any, ...] = (space, self.key, array)
        elif not self.path and isinstance(self.held.item, (dict, list)):
            items = (self.held.item, self.key, array)
        else:
            kept, items = "{}() is {}", (self.read, array)
        return EnvironmentGuard(
            f"{kept} and {{}}.shape == {{}} and {{}}.dtype is {{}}",
            (*items, array, array.shape, array, array.dtype),
            self.name,
        )

    def write(self, array: Any) -> None:
        super().write(_with_item(super().read(), self.path, array))


def _with_item(whole: Any, path: tuple[int, ...], item: Any) -> Any:
    if not path:
        return item
    parts = list(whole)
    parts[path[0]] = _with_item(parts[path[0]], path[1:], item)
    return type(whole)(*parts) if hasattr(whole, "_fields") else type(whole)(parts)


def _defaults(function: types.FunctionType) -> dict[str, Any]:
    given, count = function.__defaults__ or (), function.__code__.co_argcount
    return {
        **dict(zip(function.__code__.co_varnames[count - len(given) : count], given)),
        **_keyword_defaults(function),
    }


def _keyword_defaults(function: types.FunctionType) -> dict[str, Any]:
    return function.__kwdefaults__ or {}


def _put_default(function: types.FunctionType, name: str, value: Any) -> None:
    if name in _keyword_defaults(function):
        function.__kwdefaults__ = {**_keyword_defaults(function), name: value}
    else:
        names = list(_defaults(function))
        function.__defaults__ = tuple(
            value if own == name else old for own, old in zip(names, function.__defaults__ or ())
        )


_DEFAULTS = ContainerKind(_defaults, _put_default)


class LiveArrays(contracts.Live):
    """Callable that returns the current arrays at ``places`` by name.

    It returns the same dict until an array is replaced or changes its shape or dtype.
    """

    def __init__(self, places: dict[str, ArrayPlace]) -> None:
        self._places = places
        self._held = self._read()

    def _read(self) -> tuple[dict[str, Any], Callable[[], bool]]:
        found = {name: place.read() for name, place in self._places.items()}
        if any(map(is_traced, found.values())):
            raise GuardFailed("another thread records a function that keeps the same arrays")
        return found, conjunction(place.holds(found[name]) for name, place in self._places.items())

    def __call__(self) -> dict[str, Any]:
        found, are_there = self._held
        if not are_there():
            found, _ = self._held = self._read()
        return found

    def watch(self, names: Iterable[str], whole: bool = False) -> ElementWatch:
        return ElementWatch([self._held[0][name] for name in names])


def _is_in(containers: Containers, item: Any) -> bool:
    return item is not _EMPTY and containers.holds(item)


_EMPTY: tuple[Any, ...] = ()


class NumpyWeights(contracts.Weights):
    """Arrays that a function can reach outside its arguments, named by the first location of each.

    world: the objects that the function can reach, with their contents before the recording.
    places: locations of the parameters, by name.
    views: stored arrays that are views of others.
    kept: state that becomes inputs.
    """

    def __init__(
        self,
        function: Any,
        functions: Iterable[types.FunctionType] = (),
        stateful: Iterable[Any] = (),
        views: StoredArrayViews | None = None,
    ) -> None:
        owner = getattr(function, "__self__", None)
        objects = (
            [("", owner)]
            if owner is not None
            else [("", function)]
            if not hasattr(function, "__code__")
            else []
        )
        self.world = ObjectSnapshot(
            (*objects, *((type(item).__name__, item) for item in stateful)), own=stateful, called=[function]
        )
        own_defaults = [one for one in functions if _defaults(one)]
        self.world.held += [
            TrackedContainer(one.__name__, one, _DEFAULTS, _defaults(one)) for one in own_defaults
        ]
        self._tuples = [(one, one.__defaults__, one.__kwdefaults__) for one in own_defaults]
        self.places: dict[str, ArrayPlace] = {}
        self.views = views or StoredArrayViews()
        self._put: dict[Key, Any] = {}
        self.kept = ChangedState(())
        self._shared: list[StatePlace] = []
        self._list_shims = ListShims(self.world, (), (), frozenset())

    def may_change(self, owner: Any) -> bool:
        return is_array(owner) or id(owner) in self.world.owners()

    # ------------------------------------------------------------------------------ while recording
    def enter(self, capture: Any, kept: ChangedState, inputs: Inputs, list_shims: ListShims) -> None:
        """Replace reachable objects, such as arrays and generators, by ones that record their use.

        Raise :class:`TracingError` if ``kept`` shares containers with other locations in a way that
        cannot be recorded.
        """
        self.kept, self._list_shims = kept, list_shims
        own, inside = (
            kept.parts(),
            Containers(((), {}, tuple(place.read() for place in kept.places)), is_array),
        )
        outside = [held for held in self.world.held if not _is_in(inside, held.item)]
        parts = [
            (held, key, item)
            for held in outside
            for key, item in held.before.items()
            if key_of(held, key) not in own
        ]
        if twice := [
            held.name_of(key)
            for held, key, item in parts
            if _is_in(inside, item) and not is_array(item) and (id(item), ALL_PARTS) not in own
        ]:
            raise TracingError(
                f"{', '.join(twice)} is, or is part of, what is also kept in "
                f"{', '.join(place.name for place in kept.places)}, which the "
                "function changes: of such state it cannot be told what a write changes. Keep it in one place"
            )
        kept.enter(inputs, list_shims)
        self.views.begin(inputs.known)
        known: dict[int, Any] = {}
        # If there are views, a second pass takes them of their owners, which may come later.
        for held, key, item in (*parts, *(parts if self.views.any else ())):
            new = self._traced(capture, ArrayPlace(held, key), item, known, inputs)
            if new is not item:
                held.kind.put(held.item, key, new)
                self._put[StatePlace(held, key).identity] = new

    def _traced(
        self, capture: Any, place: ArrayPlace, item: Any, known: dict[int, Any], inputs: Inputs
    ) -> Any:
        # The array is also an argument, or state in another place. In later calls these may be two arrays.
        if id(item) in inputs.known:
            self._shared.append(StatePlace(place.held, place.key))
            return inputs.known[id(item)]
        if type(item) in (np.ndarray, np.memmap) and item.dtype.kind in "biufc" and item.dtype.isnative:
            if id(item) not in known and self.views.owner_of(item) is not None:
                return self.views.record_view(capture, place, item, known)
            if id(item) not in known:
                name = place.name
                # Two locations may have the same name, such as those in two objects of one class.
                while name in self.places:
                    name += "_"
                self.places[name] = place
                self.views.note(item, place)
                known[id(item)] = capture.add_parameter(name, item)
            return known[id(item)]
        if type(item) is tuple or isinstance(item, tuple) and hasattr(item, "_fields"):
            each = ((replace(place, path=(*place.path, i)), part) for i, part in enumerate(item))
            parts = [self._traced(capture, one, part, known, inputs) for one, part in each]
            changed = any(new is not old for new, old in zip(parts, item))
            return (type(item)(*parts) if hasattr(item, "_fields") else tuple(parts)) if changed else item
        if isinstance(item, GENERATORS):
            if id(item) not in known:
                known[id(item)] = capture.kept_generator(item)
            return known[id(item)]
        new = replacement_of(item)
        return item if new is None else new

    def changed(self, is_given: Callable[[Any], bool]) -> tuple[dict[str, Any], list[StatePlace]]:
        """Put lists back; return the new arrays of parameters, by name, and the locations of new state."""
        self._list_shims.take_out()
        arrays: dict[str, Any] = {}
        found = {place.identity: place for place in (*self.kept.places, *self._shared)}
        for change in self.world.changes():
            # An array with the shape and dtype of the old one is a new array of the parameter. Any other
            # change is state.
            is_part = change.key is not ORDER
            if (
                is_given(change.held.item)
                or is_part
                and change.now is self._put.get(StatePlace(change.held, change.key).identity, MISSING)
            ):
                continue
            name = self._name_of(change)
            place = place_at(change.held, change.key)
            if name is None or place.identity in found:
                found.setdefault(place.identity, place)
            else:
                arrays[name] = change.now
        return arrays, list(found.values())[len(self.kept.places) :]

    def _name_of(self, change: Change) -> str | None:
        old, new = change.before, change.now
        if not (
            is_traced(new)
            and isinstance(old, np.ndarray)
            and new._seen.shape == old.shape
            and new.dtype == old.dtype
        ):
            return None
        same = (
            name
            for name, one in self.places.items()
            if one.held.item is change.held.item and one.key == change.key and not one.path
        )
        return next(same, None)

    def restore(self) -> None:
        self.world.restore()
        # Traced arrays were put into new tuples and dicts of defaults.
        for function, positional, keywords in self._tuples:
            function.__defaults__, function.__kwdefaults__ = positional, keywords

    # ------------------------------------------------------------------------------ current arrays
    def live(self, names: Iterable[str]) -> LiveArrays:
        return LiveArrays({name: self.places[name] for name in names})

    def hold_types(self, graph: Any) -> Callable[[], bool]:
        expected = [
            (self.places[name], value.spec.shape, np.dtype(value.dtype))
            for name, value in graph.parameters.items()
        ]
        # The arrays are almost always the same objects, which is the cheaper test.
        unchanged = conjunction(place.holds(place.read()) for place, _, _ in expected)
        return lambda: (
            unchanged() or all(_is_like(place.read(), shape, dtype) for place, shape, dtype in expected)
        )

    def parts(self) -> set[Key]:
        items = (
            (
                place.held.item.space if isinstance(place.held.item, NamespacePart) else place.held.item,
                place.key,
            )
            for place in (*self.places.values(), *self.views.places)
        )
        return {(id(item), key) for item, key in items}

    def buffers(self) -> list[Any]:
        return [place.read() for place in (*self.places.values(), *self.views.places)]

    def owner_of(self, name: str) -> Any:
        return self.places[name].held.owner

    def rebind(self, name: str, array: Any) -> None:
        self.places[name].write(np.asarray(array))

    def set_elements(self, name: str, elements: Array, rebound: bool) -> Array:
        held: Array = self.places[name].read()
        if rebound:
            held = own(elements, held.dtype.name)
            self.places[name].write(held)
        else:
            write(held, elements)
        return held

    def is_trained(self, name: str) -> bool:
        return True

    @property
    def tells_buffers(self) -> bool:
        return False


def _is_like(array: Any, shape: tuple[int, ...], dtype: Any) -> bool:
    return type(array) in (np.ndarray, np.memmap) and array.shape == shape and array.dtype == dtype
