"""State outside of the arguments: places that a function changes become inputs and outputs of its graph.

The places are found by recording: whatever has changed after the run is state, and the function is recorded
again with it as input.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from ....errors import TracingError
from ....ir.graph import Aliases, Effect
from ....ops.dtypes import is_inexact
from ....recording import Request
from ....recording.reachability.containers import (
    ALL_PARTS,
    COMPILED,
    MISSING,
    ContainerKind,
    FreeParts,
    free_parts,
    is_whole,
)
from ....recording.reachability.snapshot import Change, ObjectSnapshot, TrackedContainer, tuple_parts
from ....recording.state.append_only import ListShims
from ....recording.state.auto_dynamic import AutoDynamic
from ....recording.state.container_updates import Containers
from ....recording.state.contents import iterators_in, refuse_outside
from ....recording.state.places import ExternalState as RecordedState
from ....recording.state.places import ReplacedPlace, StatePlace, place_at
from ....sizes import Size, Symbol
from ....trees import AppendOnly, Branch, Fixed, Tree, flatten, map_structure, unflatten
from ...common.read_numbers import DTYPES, holds_numbers
from ..basics.arguments import is_array, opens, to_tensor
from ..basics.tensors import dtype_name, is_leaf, storage, version
from ..memory.memory import is_shared
from ..memory.watching import pieces_of
from ..numbers import type_leaves
from ..sizes import expression_of, is_symbolic, symbolic
from ..trace import Trace
from .parameters import TorchWeights

# ----------------------------------------------------------------------------------------------------- places
# Gradients as state, and weights on the device ``meta``, which are replaced by zeros while recording.

_KEY, _WANTED = "grad", "requires_grad"


def _pairs(tensor: torch.Tensor) -> dict[Any, Any]:
    held = tensor.grad if is_leaf(tensor) else None
    wanted = {_WANTED: is_leaf(tensor) and tensor.requires_grad}
    return wanted if held is None else {_KEY: held, **wanted}


def _put(tensor: torch.Tensor, key: Any, value: Any) -> None:
    if key == _KEY:
        tensor.grad = None if value is MISSING else value
    elif is_leaf(tensor):
        tensor.requires_grad_(value)


GRADIENT = ContainerKind(_pairs, _put, dotted=True)


def gradients_in(world: ObjectSnapshot, weights: TorchWeights) -> list[TrackedContainer]:
    """Return a container for the gradient of each leaf tensor in ``world`` that may have one.

    >>> weight = torch.ones(2, requires_grad=True)
    >>> [held] = gradients_in(ObjectSnapshot([("kept", {"weight": weight})]), TorchWeights(abs))
    >>> held.name_of("grad"), held.kind.pairs(weight)
    ("kept['weight'].grad", {'requires_grad': True})
    """
    found: dict[int, TrackedContainer] = {}
    for held, key, item in world.parts:
        for tensor in _trainable(item) if isinstance(item, (torch.Tensor, tuple)) else ():
            name = weights.name_of(tensor) or held.name_of(key)
            found.setdefault(id(tensor), TrackedContainer(name, tensor, GRADIENT, _pairs(tensor)))
    return list(found.values())


def _trainable(item: Any) -> Iterator[torch.Tensor]:
    if isinstance(item, tuple):
        for part in item:
            yield from _trainable(part)
    elif isinstance(item, torch.Tensor) and is_leaf(item) and is_inexact(dtype_name(item.dtype)):
        yield item


@contextmanager
def substitute_zeros(weights: TorchWeights) -> Iterator[None]:
    """Replace weights on ``meta`` by zeros inside of the ``with`` block, and restore them afterwards."""
    names = weights.without_elements()
    places = [place for name in names for place in weights.places.places_of(name)]
    before = [holder[key] for holder, key in places]
    # The zeros of buffers that are not persistent would otherwise become constants. A list, because the sets
    # change inside of the block.
    fleeting = list(_fleeting(weights))
    try:
        for name in names:
            weights.places.put(name, zeros_like(weights.places.array_of(name)))
        for keys, key in fleeting:
            keys.discard(key)
        yield
    finally:
        for (holder, key), tensor in zip(places, before):
            holder[key] = tensor
        for keys, key in fleeting:
            keys.add(key)


def _fleeting(weights: TorchWeights) -> Iterator[tuple[set[str], str]]:
    for module in weights.modules:
        keys: set[str] = getattr(module, "_non_persistent_buffers_set", set())
        yield from (
            (keys, key)
            for key in list(keys)
            if (held := module._buffers.get(key)) is not None and held.is_meta
        )


def zeros_like(tensor: torch.Tensor) -> torch.Tensor:
    """Return zeros on the CPU with the shape, strides and dtype of ``tensor``.

    >>> zeros_like(torch.empty(2, dtype=torch.bfloat16, device="meta"))
    tensor([0., 0.], dtype=torch.bfloat16)
    """
    count = tensor.untyped_storage().nbytes() // tensor.itemsize
    # The operating system allocates such memory of NumPy only when it is written to.
    plain = torch.from_numpy(np.zeros(count * tensor.itemsize, np.uint8)).view(tensor.dtype)
    return plain.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


def with_elements(structure: Any) -> Any:
    return map_structure(
        lambda item: _example(item) if isinstance(item, torch.Tensor) and item.is_meta else item, structure
    )


def _example(tensor: torch.Tensor) -> torch.Tensor:
    return zeros_like(tensor.detach()).requires_grad_(tensor.requires_grad)


# ------------------------------------------------------------------------------------------------------ state
# Attributes of modules that are no state of the forward pass, or that other code handles.
_BOOKKEEPING = frozenset({
    "_backward_hooks", "_backward_pre_hooks", "_state_dict_hooks", "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks", "_non_persistent_buffers_set",
})  # fmt: skip


class ReachableState:
    """Snapshot of what a function can reach, to find and restore what a recording of it changes.

    gradients: containers for the gradients of leaf tensors, which are part of ``world``.
    places: the places that become inputs.
    values: contents of the places right after :meth:`enter`; empty before.
    replaced: places whose object was replaced in the run.
    list_shims: lists that are assumed to be appended to only; None without this assumption.
    """

    def __init__(
        self,
        weights: TorchWeights,
        places: Sequence[StatePlace] = (),
        stateful: Sequence[Any] = (),
        numbers: bool = True,
    ) -> None:
        self.world = ObjectSnapshot(()) if weights.are_none and not stateful else _world_of(weights, stateful)
        self.gradients: list[TrackedContainer] = []
        if self.world.held:
            _refuse_iterators(weights, self.world)
            self.gradients = gradients_in(self.world, weights)
            self.world.held += self.gradients
        self.weights, self.places, self._numbers = weights, tuple(places), numbers
        self._trees: tuple[Tree, ...] = ()
        self.values: tuple[Any, ...] = ()
        self.replaced: list[ReplacedPlace] = []
        self.list_shims: ListShims | None = None

    @functools.cached_property
    def _owners(self) -> set[int]:
        return self.world.owners()

    def may_change(self, owner: Any) -> bool:
        return is_array(owner) or self.weights.holds(owner) or id(owner) in self._owners

    # ------------------------------------------------------------------------------ before
    def enter(self, capture: Trace) -> tuple[Any, ...]:
        """Make the state in the known places inputs of the graph, and return what the places then hold."""
        trees: list[Tree] = []
        values: list[Any] = []
        for place in self.places:
            tree, value = self._input(capture, place)
            trees.append(tree)
            values.append(value)
        self.values, self._trees = tuple(values), tuple(trees)
        return self.values

    def _input(self, capture: Trace, place: StatePlace) -> tuple[Tree, Any]:
        if self.list_shims is not None and (growing := self.list_shims.put(place)) is not None:
            return AppendOnly(list, (), ()), growing
        held = place.read()
        has_numbers = self._numbers and holds_numbers(held, place.whole)
        leaves, tree = flatten(
            held, lambda item: is_array(item) or has_numbers and type(item) in DTYPES, opens
        )
        name = place.name.replace("self.", "") or "state"
        inputs = [
            _number(capture, name, leaf) if type(leaf) in DTYPES else _array(capture, name, leaf)
            for leaf in leaves
        ]
        if any(new is not old for new, old in zip(inputs, leaves)):
            place.write(unflatten(tree, inputs))
            held = place.read()
        return type_leaves(tree, iter(leaves)), held

    # ------------------------------------------------------------------------------ after
    def finish(self, capture: Trace, containers: Containers) -> list[StatePlace]:
        """Return newly found places of state. Replaced buffers may become effects of the graph instead."""
        if self.list_shims is not None:
            self.list_shims.take_out()
        known = {place.identity for place in self.places}
        found: dict[tuple[int, Any], StatePlace] = {}
        for change in list(self.world.changes()):
            # Compiled methods that torch stores on objects are no state of the user's.
            if isinstance(change.key, str) and change.key.startswith(COMPILED):
                continue
            place = place_at(change.held, change.key)
            self._refuse_shared(capture, change)
            if place.identity in known or is_given(change.held, containers):
                continue
            if self._is_buffer(capture, change):
                name = self.weights.name_of(change.before) or ""
                capture.recorder.graph.effects.append(Effect("buffer", name, capture.value(change.now)))
            else:
                found.setdefault(place.identity, place)
        for place in self._written(capture) if capture.recorder.graph.constants else ():
            if place.identity not in known and not is_given(place.held, containers):
                found.setdefault(place.identity, place)
        if self.places:
            self._note_replaced(capture, containers)
        return list(found.values())

    def _written(self, capture: Trace) -> Iterator[StatePlace]:
        """Yield places of arrays that were recorded as constants and that the function writes to."""
        arrays, alone = _constants_written(capture)
        entries = (
            (held, key, part)
            for held in self.world.held
            for key, item in held.before.items()
            for part in tuple_parts(item)
        )
        placed = (
            [(held, key, id(part)) for held, key, part in entries if id(part) in arrays] if arrays else []
        )
        for held, key, identity in placed:
            if identity in alone:
                yield place_at(held, key)
        for identity in arrays.keys() - {identity for _, _, identity in placed}:
            if not capture.for_torch or is_shared(arrays[identity]):
                raise TracingError(
                    f"{capture.recorder.graph.name} writes to a tensor of the shape "
                    f"{list(arrays[identity].shape)} that comes from outside of torch, or is kept where "
                    "nobody finds it, so what it holds at the next call is not known. Write to a copy "
                    "(clone), or name the object that holds it with stateful="
                )

    def _refuse_shared(self, capture: Trace, change: Change) -> None:
        # The recording does not know which elements torch read from the memory of such an array, and when.
        if not isinstance(change.held.item, np.ndarray):
            return
        for _, tensor in capture.recorder.graph.constants.values():
            if is_shared(tensor) and np.shares_memory(tensor.detach().numpy(), change.held.item):
                raise TracingError(
                    f"{capture.recorder.graph.name}: {change.held.name}, an array of numpy, is written to by "
                    "the function and read by torch, which cannot be recorded. Keep a tensor instead, and "
                    "write to it with torch"
                )

    def _note_replaced(self, capture: Trace, containers: Containers) -> None:
        arrays = capture.rewritten_state()
        for number, (place, before) in enumerate(zip(self.places, self.values)):
            now = place.read()
            rewritten = arrays | _tuples_with(now, arrays)
            if place.whole and not isinstance(now, (frozenset, Fixed)):
                # Changes inside of a container are noted like those inside of an argument.
                continue
            if not _same(now, before) or id(now) in rewritten:
                item = MISSING if now is MISSING else containers.classify(now, rewritten)
                self.replaced.append(ReplacedPlace(number, item))

    def _is_buffer(self, capture: Trace, change: Change) -> bool:
        was, now = change.before, change.now
        if not (isinstance(was, torch.Tensor) and isinstance(now, torch.Tensor)) or not self.weights.holds(
            change.held.item
        ):
            return False
        name = self.weights.name_of(was)
        same = tuple(was.shape) == tuple(now.shape) and was.dtype == now.dtype
        return (
            name is not None
            and self.weights.places.is_persistent(name)
            and same
            and not isinstance(was, torch.nn.Parameter)
        )

    def recorded(self, capture: Trace, containers: Containers) -> RecordedState:
        draws = capture.host_draws
        tree = Branch(tuple, tuple(range(len(self.places) + len(draws.trees))), (*self._trees, *draws.trees))
        return RecordedState(
            (*self.places, *draws.draws), tree, tuple(self.replaced), tuple(containers.written.items())
        )

    def free(self, is_compared: Callable[[Any], bool]) -> FreeParts:
        parts = {(id(place.held.owner), ALL_PARTS if place.whole else place.key) for place in self.places}

        return free_parts(
            parts, is_compared, lambda item: vars(item) if isinstance(item, torch.Tensor) else item
        )

    def restore(self) -> None:
        self.world.restore()


def _world_of(weights: TorchWeights, stateful: Sequence[Any]) -> ObjectSnapshot:
    modules = list(weights.modules)
    paths = [(weights.modules.path_of(module) or "", module) for module in modules]
    named = [(type(item).__name__, item) for item in stateful]
    objects = [(name, root) for name, root in weights.roots() if not isinstance(root, torch.nn.Module)]
    called = (
        ()
        if weights.are_none
        else (weights.function, *filter(callable, weights.given), *dict.fromkeys(map(type, modules)))
    )
    names = {id(root): name for name, root in weights.roots()}
    return ObjectSnapshot(
        (*paths, *named, *objects),
        _BOOKKEEPING,
        (*modules, *stateful),
        called,
        # An optimizer keeps its state in a dict by parameter.
        lambda key: weights.name_of(key) or names.get(id(key)),
    )


def _refuse_iterators(weights: TorchWeights, world: ObjectSnapshot) -> None:
    parts = {id(part): (held, key, part) for held, key, part in world.parts if not held.kind.dotted}.values()
    held = ((held.name_of(key), part) for held, key, part in parts if any(iterators_in((part,))))
    for name, part in (*weights.roots(), *held):
        refuse_outside(() if is_array(part) else (part,), name)


def is_given(held: TrackedContainer, containers: Containers) -> bool:
    return held.kind is not GRADIENT and containers.holds(held.item)


def _tuples_with(item: Any, arrays: frozenset[int]) -> frozenset[int]:
    tuples = (part for part in tuple_parts(item) if isinstance(part, tuple))
    return frozenset(id(part) for part in tuples if any(id(array) in arrays for array in tuple_parts(part)))


def _constants_written(capture: Trace) -> tuple[dict[int, torch.Tensor], set[int]]:
    """Return the constants that are written to, by id, and the ids of those that may become inputs."""
    graph = capture.recorder.graph
    written = Aliases(graph).written
    memory = (
        Counter(storage(array) for _, array in graph.constants.values())
        if capture.for_torch
        else Counter[int]()
    )
    arrays = [array for value, array in graph.constants.values() if value in written]
    return {id(array): array for array in arrays}, {
        id(array) for array in arrays if memory[storage(array)] < 2
    }


def _array(capture: Trace, name: str, leaf: Any) -> torch.Tensor:
    # An array of another framework that is in several places is one tensor.
    tensor: torch.Tensor = capture.arrays.setdefault(
        id(leaf), leaf if isinstance(leaf, torch.Tensor) else to_tensor(leaf)
    )
    capture.add_input(name, tensor)
    return tensor


def enter(capture: Trace, name: str, given: Any) -> Any:
    """Make ``given`` an input of the graph, and return the symbol for a number, or ``given`` itself."""
    if type(given) in DTYPES:
        return _number(capture, name, given)
    capture.add_input(name, given)
    return given


def _number(capture: Trace, name: str, leaf: Any) -> Any:
    value = capture.add_number(name, leaf)
    return symbolic(Size.of(Symbol(value, 0, leaf, "item")), capture.decide)


def _same(now: Any, before: Any) -> bool:
    if now is before:
        return True
    if is_symbolic(now) or is_symbolic(before):
        return bool(expression_of(now) == expression_of(before)) and type(now) is type(before)
    return isinstance(now, (frozenset, Fixed)) and now == before


# ----------------------------------------------------------------------------------------------- known places
# Places that are state before the recording starts, because of earlier recordings or changes by the user.


def foreign_places(request: Request) -> list[StatePlace]:
    """Return places in stateful objects that hold arrays of other frameworks, except those of ``request``.

    Return an empty list if the graph is for torch.
    """
    if not request.stateful.objects:
        return []
    known = {place.identity for place in request.places}
    world = ObjectSnapshot(
        [(type(item).__name__, item) for item in request.stateful.objects], own=request.stateful.objects
    )
    parts = ((held, key, item) for held in world.held for key, item in held.before.items())
    places = [
        StatePlace(held, None if is_whole(held.item) else key, is_whole(held.item))
        for held, key, item in parts
        if is_array(item) and not (request.same_framework or isinstance(item, torch.Tensor))
    ]
    return list({place.identity: place for place in places if place.identity not in known}.values())


def changed_often(request: Request) -> list[StatePlace]:
    """Return places, other than those of ``request``, that have changed often between recordings."""
    if request.auto_dynamic is None or request.auto_dynamic.is_new:
        return []
    weights = TorchWeights(request.function)
    found = note_changes(
        request.auto_dynamic, weights, ReachableState(weights, stateful=request.stateful.objects)
    )
    known = {place.identity for place in request.places}
    return list({place.identity: place for place in found if place.identity not in known}.values())


def note_changes(auto_dynamic: AutoDynamic, weights: TorchWeights, state: ReachableState) -> list[StatePlace]:
    """Note the contents of what the function can reach, and return places that have changed often."""

    def mark_of(held: TrackedContainer, item: Any) -> Any:
        if (
            not isinstance(item, torch.Tensor)
            or weights.name_of(item)
            or weights.holds(held.item)
            or held.kind is GRADIENT
        ):
            return None
        # NumPy may write to the memory without incrementing the version, so the contents are compared, too.
        pieces = pieces_of(item)
        return (id(item), version(item), hash(tuple(map(bytes, pieces.before))) if pieces else 0)

    return auto_dynamic.changed_places(state.world, mark_of)


def drop_nested(known: Sequence[StatePlace]) -> tuple[StatePlace, ...]:
    """Drop places whose contents another place holds, so that each change belongs to one place."""
    if len(known) < 2:
        return tuple(known)
    held = _held_by(known)
    outer = [place for place in known if not _is_inside(place, held)]
    held = _held_by(outer)
    for place in known:
        # Places that contain one another were all dropped above, and the first of them is added again.
        if place not in outer and not _is_inside(place, held):
            outer.append(place)
            held = _held_by(outer)
    return tuple(outer)


def _held_by(places: Sequence[StatePlace]) -> Containers:
    return Containers(((), {}, tuple(place.read() for place in places)), is_array)


def _is_inside(place: StatePlace, held: Containers) -> bool:
    return is_given(place.held, held) and not (place.whole and held.is_outer(place.held.item))
