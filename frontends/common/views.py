"""Views, and writes through them: compute the owner's new value after a write into a view."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import accumulate
from operator import mul
from typing import Any, Generic, NamedTuple, TypeVar, Union

from ...assumptions import may_share_memory
from ...errors import UnsupportedOperation
from ...ir import Node, Value
from ...ir.graph import Aliases, Graph
from ...recording.environment_guards import EnvironmentGuard
from ...sizes import product
from .builder import LiftingBuilder
from .indexing import along, without_leading_ones

# ------------------------------------------------------------------------------------------------------ steps
# One view in a chain of views, stored so that it can be taken again and inverted.


@dataclass(frozen=True)
class ViewStep:
    """Recorded call that takes a view. Calling the step takes the same view of another array.

    key: name of the call in the lifting table.
    args: positional arguments after the viewed array.
    """

    key: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    again: Callable[[Any], Any]

    def __call__(self, array: Any) -> Any:
        return self.again(array)


# ------------------------------------------------------------------------------------------------------ views
Replay = Union[Callable[[Any], Any], Sequence[Callable[[Any], Any]]]


# Views that an array of positions does not have.
_REINTERPRETING = frozenset({"view_as_complex", "view_as_real", "complex", "real", "imag", "bitcast"})


def write_through(b: LiftingBuilder, base: Value, replay: Replay, value: Any) -> Value:
    """Return ``base`` after ``value``, a number or an array that broadcasts, was written into a view of it.

    ``replay(array)`` takes the view of an array of the shape of ``base``; in a sequence of functions each
    takes a view of the result of the previous one.
    """
    view = _taken(replay, base)
    value = b.operand(value, view.dtype)
    steps = _steps(b, base, view)
    if steps is not None:
        if isinstance(value, Value) and value.shape != view.shape:
            value = b.broadcast_to(without_leading_ones(b, value, view.ndim), shape=view.shape)
        for node, index in steps:
            value = _INVERSES[node.op](b, node, index, value)
        return _whole(b, value, base)
    places = b.reshape(b.arange(start=0, stop=product(base.shape), step=1, dtype="int64"), shape=base.shape)
    before = len(b.graph.nodes)
    positions = _taken(replay, places)
    if positions.dtype != "int64" or any(node.op in _REINTERPRETING for node in b.graph.nodes[before:]):
        raise UnsupportedOperation(
            "a write through a view that reads memory as complex numbers, or as another dtype, cannot be "
            "translated"
        )
    if _is_conjugated(b, base, view):
        value = b.conj(_whole(b, value, view))
    flat = b.reshape(base, shape=(product(base.shape),))
    written = b.scatter_nd(flat, without_leading_ones(b, value, positions.ndim), positions, axes=(0,))
    return b.reshape(written, shape=base.shape)


def _taken(replay: Replay, array: Any) -> Any:
    return replay(array) if callable(replay) else reduce(lambda viewed, step: step(viewed), replay, array)


def _whole(b: LiftingBuilder, value: Any, base: Value) -> Value:
    if isinstance(value, Value):
        return b.broadcast_to(value, shape=base.shape)
    return b.full(shape=base.shape, fill_value=value, dtype=base.dtype)


def _steps(b: LiftingBuilder, base: Value, view: Value) -> list[tuple[Node, int]] | None:
    """Return the nodes from ``view`` back to ``base``, with the index of the view in each, or None."""
    steps = []
    while view is not base:
        node = b.maker(view)
        if (
            node is None
            or node.op not in _INVERSES
            or (node.op in _LOOKED_UP and any(place.ndim for place in node.inputs[1:]))
        ):
            return None
        steps.append((node, node.outputs.index(view)))
        view = node.inputs[0]
    return steps


def _is_conjugated(b: LiftingBuilder, base: Value, view: Value) -> bool:
    odd = False
    while view is not base and (node := b.maker(view)) is not None:
        odd ^= node.op == "conj"
        view = node.inputs[0]
    return odd


# ---------------------------------------------------------------------------------------------- inverse views
def _permute(b: LiftingBuilder, node: Node, index: int, value: Any) -> Any:
    axes = node.params["axes"]
    return (
        b.permute_dims(value, axes=tuple(map(axes.index, range(len(axes)))))
        if isinstance(value, Value)
        else value
    )


def _split(b: LiftingBuilder, node: Node, index: int, value: Any) -> Any:
    sizes, axis = node.params["sizes"], node.params["axis"]
    start = sum(sizes[:index])
    stop = None if index == len(sizes) - 1 else start + sizes[index]
    return b.setitem(node.inputs[0], value, key=along(axis, (start if index else None, stop, 1)))


def _bitcast(b: LiftingBuilder, node: Node, index: int, value: Any) -> Any:
    same = (
        value
        if isinstance(value, Value)
        else b.full(shape=node.outputs[0].shape, fill_value=value, dtype=node.outputs[0].dtype)
    )
    return b.bitcast(same, dtype=node.inputs[0].dtype)


def _real(b: LiftingBuilder, node: Node, index: int, value: Any) -> Any:
    base = node.inputs[0]
    return b.complex(_spread(b, value, node), b.imag(base))


def _imag(b: LiftingBuilder, node: Node, index: int, value: Any) -> Any:
    base = node.inputs[0]
    return b.complex(b.real(base), _spread(b, value, node))


def _spread(b: LiftingBuilder, value: Any, node: Node) -> Any:
    made = node.outputs[0]
    return value if isinstance(value, Value) else b.full(shape=made.shape, fill_value=value, dtype=made.dtype)


def _looked_up(b: LiftingBuilder, node: Node, index: int, value: Any) -> Any:
    axes = node.params["axes"] if node.op == "gather_nd" else (node.params["axis"],)
    return b.scatter_nd(node.inputs[0], value, *node.inputs[1:], axes=axes)


# Operations that are views only if all indices are 0-d arrays.
_LOOKED_UP = frozenset({"take", "gather_nd"})
_INVERSES: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(_LOOKED_UP, _looked_up),
    "reshape": lambda b, node, index, value: (
        b.reshape(value, shape=node.inputs[0].shape) if isinstance(value, Value) else value
    ),
    "copy": lambda b, node, index, value: value,
    "permute_dims": _permute,
    "getitem": lambda b, node, index, value: b.setitem(node.inputs[0], value, key=node.params["key"]),
    "unstack": lambda b, node, index, value: b.setitem(
        node.inputs[0], value, key=along(node.params["axis"], index)
    ),
    "split": _split,
    "bitcast": _bitcast,
    # A number needs no inverse, because every element of the view gets it.
    "flip": lambda b, node, index, value: (
        b.flip(value, axis=node.params["axis"]) if isinstance(value, Value) else value
    ),
    "conj": lambda b, node, index, value: b.conj(_spread(b, value, node)),
    "stop_gradient": lambda b, node, index, value: value,
    "real": _real,
    "imag": _imag,
}


Array = TypeVar("Array")
# Returns the current object of a place.
Reader = Callable[[], Any]

# A view that the function creates in each call is another array in each attempt, so attempts are limited.
_MOST_ATTEMPTS = 4


class StoredViews(Generic[Array]):
    """Views that earlier attempts at one recording have found, with their owners.

    For instance, a module that stores ``self.row = self.table[0]`` has two names for one memory.

    >>> import numpy as np
    >>> class Views(StoredViews):
    ...     is_view = lambda self, array, owner: array.base is owner
    ...     rank = lambda self, array: array.size
    >>> table, views = np.zeros((3, 4)), Views()
    >>> row = table[1]
    >>> views.ask([row, table]), views.next_attempt(), views.next_attempt()
    (None, True, False)
    >>> views.owner_of(row) is table, views.owner_of(table)
    (True, None)
    """

    words = "an array"

    def __init__(self) -> None:
        self._owners: dict[int, tuple[Array, Array]] = {}
        self._asked: dict[int, tuple[Array, Array]] = {}
        self._known: set[int] = set()
        self._attempts = 0

    # ------------------------------------------------------------------------------ framework hooks
    def is_view(self, array: Array, owner: Array) -> bool:
        raise NotImplementedError

    def geometry_of(self, array: Array, owner: Array) -> Any:
        raise NotImplementedError

    def rank(self, array: Array) -> Any:
        raise NotImplementedError

    # ------------------------------------------------------------------------------ between attempts
    def ask(self, arrays: Sequence[Array]) -> None:
        self._asked = {**views_among(arrays, self.is_view, self.rank), **self._asked}

    def next_attempt(self) -> bool:
        """Use the views that :meth:`ask` found from now on; return True to record again."""
        new = self._attempts < _MOST_ATTEMPTS and not self._asked.keys() <= self._known
        self._attempts += new
        self._known |= self._asked.keys()
        self._owners.update(self._asked)
        return new

    # ------------------------------------------------------------------------------ within an attempt
    @property
    def any(self) -> bool:
        return bool(self._owners)

    def owner_of(self, array: Any) -> Array | None:
        entry = self._owners.get(id(array))
        return entry[1] if entry is not None and entry[0] is array else None

    def lies_still(self, array: Array, owner: Array, view_now: Reader, owner_now: Reader) -> EnvironmentGuard:
        """Return a guard that ``view_now()`` is a view of ``owner_now()``, as ``array`` is of ``owner``."""
        still = partial(self._still, type(owner), view_now, owner_now, self.geometry_of(array, owner))
        return EnvironmentGuard(
            "{}()", (still,), f"{self.words} that was a view of another one, which is written to,"
        )

    def _still(self, cls: Any, view: Reader, owner: Reader, geometry: Any) -> bool:
        now, of = view(), owner()
        return (
            isinstance(now, cls)
            and isinstance(of, cls)
            and self.is_view(now, of)
            and bool(self.geometry_of(now, of) == geometry)
        )


# ---------------------------------------------------------------------------------------------- view recipes
# Views of arrays in memory, found by their strides and addresses.


class ViewRecipe(NamedTuple):
    """Operations that take a view of a contiguous array: indexing, transposition, and reshape.

    key: index, or None for the whole array.
    order: permutation of the axes, or None if they stay in order.
    shape: final shape, or None if the result already has it.
    """

    key: tuple[Any, ...] | None
    order: tuple[int, ...] | None
    shape: tuple[int, ...] | None


def view_recipe(
    shape: Sequence[int], steps: Sequence[int], offset: int, whole: Sequence[int]
) -> ViewRecipe | None:
    """Return the operations that take a view from a contiguous array of shape ``whole``, or None.

    The strides ``steps`` and the ``offset`` of the first element are counted in elements.

    >>> view_recipe((3,), (6,), 8, (4, 6))
    ViewRecipe(key=(slice(1, 4, 1), 2), order=None, shape=None)
    >>> view_recipe((6, 4), (1, 6), 0, (4, 6))
    ViewRecipe(key=None, order=(1, 0), shape=None)
    """
    jumps = [*accumulate(reversed(whole[1:]), mul, initial=1)][::-1] if whole else []
    start = _start(offset, jumps)
    # An axis of size 1 may have any stride.
    axes = [axis for axis, size in enumerate(shape) if size != 1]
    found = {
        axis: of
        for axis in axes
        if (of := _axis_of(shape[axis], steps[axis], whole, jumps, start)) is not None
    }
    if len(set(found.values())) != len(axes):
        return None
    index: list[Any] = list(start)
    for axis, of in found.items():
        step = steps[axis] // jumps[of]
        index[of] = slice(start[of], start[of] + (shape[axis] - 1) * step + 1, step)
    kept = sorted(found.values())
    order = tuple(kept.index(found[axis]) for axis in axes)
    all_kept = len(kept) == len(whole) and all(shape[axis] == whole[of] for axis, of in found.items())
    return ViewRecipe(
        None if all_kept else tuple(index),
        order if order != tuple(range(len(order))) else None,
        tuple(shape) if len(axes) != len(shape) else None,
    )


def views_among(
    arrays: Sequence[Any], is_view: Callable[[Any, Any], bool], rank: Callable[[Any], Any]
) -> dict[int, tuple[Any, Any]]:
    """Map the ``id`` of each array that is found to be a view of another one to it and its owner.

    Arrays of higher ``rank`` are tried as owners first.
    """
    found: dict[int, tuple[Any, Any]] = {}
    for owner in sorted(arrays, key=rank, reverse=True):
        if id(owner) not in found:
            around = [item for item in arrays if item is not owner and may_share_memory(item, owner)]
            if all(is_view(item, owner) for item in around):
                found.update({id(item): (item, owner) for item in around if id(item) not in found})
    return found


def _start(offset: int, jumps: list[int]) -> list[int]:
    start = []
    for jump in jumps:
        start.append(offset // jump)
        offset %= jump
    return start


def _axis_of(size: int, step: int, whole: Sequence[int], jumps: list[int], start: list[int]) -> int | None:
    fitting = (of for of, jump in enumerate(jumps) if step > 0 and step % jump == 0 and whole[of] != 1)
    return next((of for of in fitting if start[of] + (size - 1) * (step // jumps[of]) < whole[of]), None)


# ----------------------------------------------------------------------------------------- copies or views
# Calls that return a view or a copy: does a later write show which one it is?


def joins_axes(node: Node) -> bool:
    """Return True if the reshape ``node`` may merge axes at the recorded sizes, or changes the dtype."""
    source, result = node.uses[0].spec, node.outputs[0].spec
    if source.dtype != result.dtype:
        return True
    wanted = list(result.hints)
    for size in source.hints:
        found = wanted.pop(0) if wanted else 0
        while found < size and wanted and found:
            found *= wanted.pop(0)
        if found != size:
            return True
    return any(size != 1 for size in wanted)


def is_written_later(graph: Graph, place: int, aliases: Aliases) -> bool:
    node = graph.nodes[place]
    written = {aliases.base_of(value) for later in graph.nodes[place + 1 :] for value in later.writes}
    return not written.isdisjoint({aliases.base_of(node.uses[0]), *node.outputs})


def is_written_copy(graph: Graph, place: int, aliases: Aliases) -> bool:
    # A graph omits writes to a copy that nothing reads, but at other sizes the result may be a view.
    made = set(graph.nodes[place].outputs)
    return any(aliases.base_of(value) in made for later in graph.nodes[place + 1 :] for value in later.writes)


def is_shown(graph: Graph, place: int, aliases: Aliases) -> bool:
    node = graph.nodes[place]
    source, made = aliases.base_of(node.uses[0]), set(node.outputs)
    # True if written through the result, False if through another tensor.
    written: set[bool] = set()
    # The caller may read memory that comes from outside.
    if graph.maker(source) is None:
        return is_written_later(graph, place, aliases)
    for later in graph.nodes[place + 1 :]:
        sides = _sides(later.uses, made, source, aliases)
        if any((not side) in written for side in sides):
            return True
        written |= _sides(later.writes, made, source, aliases)
        made.update(later.outputs[index] for index, viewed in later.views.items() if viewed in made)
    outputs = [item for item in graph.outputs if isinstance(item, Value)]
    return any((not side) in written for side in _sides(outputs, made, source, aliases))


def _sides(values: Iterable[Value], made: set[Value], source: Value, aliases: Aliases) -> set[bool]:
    return {value in made for value in values if value in made or aliases.base_of(value) is source}
