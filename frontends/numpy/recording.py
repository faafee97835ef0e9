"""One recording of a numpy function, from its arguments to a graph."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...errors import TracingError
from ...ir.graph import Effect, Graph
from ...passes.aliases import Aliases
from ...tracing import Reach, Recorder, Recording, Request, Surroundings, facts_outside, refuse_escapes
from ...tracing.alone import alone
from ...tracing.code_names import names_read
from ...tracing.conjunction import Fact
from ...tracing.host_random import DRAWS, host_state, restore_host_state
from ...tracing.iterators import refuse_outside
from ...tracing.overlap import NO_ARRAY, overlap
from ...tracing.places import Place
from ...tracing.updates import Containers
from ...trees import Branch, Item, Leaf, Tree, call_of, flatten, referred
from ..fleeting import refusals
from ..namespaces import GlobalReads, all_of
from ..setting_reads import SettingReads
from ..signatures import input_names
from .capture import Capture
from .draws import GENERATORS, bits_of, state_of
from .kept_numbers import KeptNumbers
from .parameters import Weights
from .patches import replaced, replacement_of
from .sizes import expression_of, is_symbolic
from .traced import is_traced

_INTERNAL = ("numpy", "scipy", "torch", "jax", "jaxlib", "tensorflow", "graph_compiler")


def record(request: Request) -> Recording:
    """Runs the function and records it; see :class:`graph_compiler.runtime.source_framework.SourceFramework`.

    Arrays that the function keeps outside of its arguments are parameters, and may be replaced or written to; other state is an error.
    """
    known = list(request.places)
    for _ in range(_MOST_ROUNDS):
        recording, found = _attempt(request, known)
        if not found:
            return recording
        known += found
    places = ", ".join(place.name for place in known[-5:])
    raise TracingError(f"{request.name} changes other numbers each time it is recorded: {places}")


_MOST_ROUNDS = 5


def _attempt(request: Request, places: Sequence[Place]) -> tuple[Recording, list[Place]]:
    """A recording, and the places of numbers that it shows to change although they are not among ``places``."""
    function, args, kwargs, stateful = request.function, request.args, request.kwargs, request.stateful
    leaves, tree = flatten((args, kwargs), lambda item: is_array(item) or isinstance(item, GENERATORS))
    tree = _typed(tree, iter(leaves))
    with alone:
        code = Reach((function, *referred(tree)), _INTERNAL, lambda item: isinstance(item, np.ndarray))
        refuse_outside(code.found())
        capture, weights = Capture(Recorder(request.name, "numpy")), Weights(function, code.functions, stateful.objects)
        before, numbers = _before(code), KeptNumbers(places)
        asked = _Asked(code)
        known: dict[int, Any] = {}
        names = input_names(function, args, tree)
        inputs = [_input(capture, leaf_name, leaf, known) for leaf_name, leaf in zip(names, map(as_array, leaves))]
        again_args, again_kwargs = call_of(tree, inputs)
        opened = stateful.arguments(again_args, again_kwargs)
        containers = Containers((again_args, again_kwargs, ()), is_traced, weights.world.knows, opened)
        try:
            weights.enter_numbers(numbers, capture)
            weights.enter(capture, known)
            with asked.globals, asked.settings:
                result = _run(function, again_args, again_kwargs, capture, weights, leaves, code)
            graph, found = _finish(capture, result, tree, containers, weights, numbers)
            _note_sharing(capture, graph, inputs)
        finally:
            weights.restore()
            capture.forget_arrays()
        if what := before.reason():
            raise TracingError(
                f"{request.name} changes what it does not get as an argument: {what.removesuffix(' since')}. Return it instead"
            )
    surroundings = _surroundings((function, *referred(tree)), asked, graph, weights, containers, numbers)
    return Recording(graph, weights, surroundings, numbers.places), found


def _before(code: Reach) -> Surroundings:
    """Everything that the function can reach and change, as it is before the recording."""
    return Surroundings([*all_of(code.functions), *facts_outside(code, contents=_elements)])


class _Settings(SettingReads):
    """Beside settings, numpy's code must not ask for random numbers of Python: no key of a graph gives these."""

    stand_ins = (*SettingReads.stand_ins, *refusals({random: DRAWS[random]}))


class _Asked:
    """What code asks for while it runs: globals by text, and settings of the process."""

    def __init__(self, code: Reach) -> None:
        self.globals = GlobalReads((function.__globals__, name) for function in code.functions for name in names_read(function.__code__))
        self.settings = _Settings(function.__globals__ for function in code.functions)


def _elements(item: Any) -> Any:
    return item.tobytes() if isinstance(item, np.ndarray) else None


def _run(function: Any, args: Any, kwargs: Any, capture: Capture, weights: Weights, given: list[Any], code: Reach) -> Any:
    generators = [item for held in weights.world.held for item in held.before.values() if isinstance(item, GENERATORS)]
    generators += [item for item in given if isinstance(item, GENERATORS)]
    before, states = host_state(), [state_of(item) for item in generators]
    capture.states.follow(generators)
    try:
        with replaced(capture, code.functions), capture.isolated():
            result = (replacement_of(function) or function)(*args, **kwargs)
        capture.states.check(capture)
    finally:
        restore_host_state(before)
        for item, state in zip(generators, states):
            bits_of(item).state = state
    return result


# ------------------------------------------------------------------------------------- arguments
def is_array(item: Any) -> bool:
    """Whether this is an array or scalar of numpy, or an array of another framework."""
    if isinstance(item, (np.ndarray, np.generic)):
        return True
    return not isinstance(item, type) and hasattr(item, "dtype") and hasattr(item, "shape") and hasattr(item, "__array__")


def as_array(item: Any) -> Any:
    """An array of any framework as one of numpy, sharing its memory where it can."""
    return (
        item if isinstance(item, (np.ndarray, np.generic, *GENERATORS)) else np.asarray(item.detach() if hasattr(item, "detach") else item)
    )


def _input(capture: Capture, name: str, array: Any, known: dict[int, Any]) -> Any:
    made = capture.add_generator(name, array) if isinstance(array, GENERATORS) else capture.add_input(name, array)
    return known.setdefault(id(array), made)


def _typed(tree: Tree, leaves: Iterator[Any]) -> Tree:
    """The tree with the classes of scalars at their places."""
    if isinstance(tree, Leaf):
        leaf = next(leaves)
        return Item(type(leaf)) if isinstance(leaf, (np.generic, *GENERATORS)) else tree
    return Branch(tree.type, tree.keys, tuple(_typed(child, leaves) for child in tree.children)) if isinstance(tree, Branch) else tree


# ------------------------------------------------------------------------------------- the graph
def _finish(
    capture: Capture, result: Any, tree: Tree, containers: Containers, weights: Weights, numbers: KeptNumbers
) -> tuple[Graph, list[Place]]:
    graph = capture.recorder.graph
    updates, state = containers.updates(), numbers.recorded(containers)
    if updates or state.replaced:
        graph.notes["updates"] = tuple(updates)
        result = (result, tuple(containers.new))
    if state.places:
        graph.notes["state"] = state
    changed, found = weights.changed()
    for place, now in changed:
        name = weights.name_of(place)
        if name is None or now._value.spec.shape != graph.parameters[name].spec.shape or now.dtype.name != graph.parameters[name].dtype:
            raise TracingError(
                f"{graph.name} puts an array of another shape or type in the place of {place.name}, so later calls would differ; return it instead"
            )
        graph.effects.append(Effect("buffer", name, now._value))
    leaves, output_tree = flatten(result, lambda item: is_traced(item) or is_symbolic(item) or isinstance(item, (np.ndarray, np.generic)))
    refuse_escapes(graph.name, output_tree, tree, lambda item: is_traced(item) or is_symbolic(item))
    graph.outputs = [_output(capture, leaf) for leaf in leaves]
    graph.input_tree, graph.output_tree = tree, output_tree
    return graph, found


def _output(capture: Capture, leaf: Any) -> Any:
    if is_symbolic(leaf):
        return expression_of(leaf)
    return leaf._value if is_traced(leaf) else capture.met(leaf)


def _note_sharing(capture: Capture, graph: Graph, inputs: list[Any]) -> None:
    """Which inputs are one object, and which are written to: these may share memory with no other array."""
    given = [id(item) for item in inputs]
    same = [given.index(number) for number in given]
    graph.notes["same_inputs"] = [*same, *(NO_ARRAY for _ in graph.inputs[len(inputs) :])]
    if len(graph.inputs) > len(inputs):
        graph.notes["call_inputs"] = len(inputs)
    aliases = Aliases(graph)
    graph.notes["matmul_precision"] = "highest"  # numpy has no other
    graph.notes["written_inputs"] = places = [index for index, value in enumerate(graph.inputs) if value in aliases.written]
    apart = sorted(set(same))
    held = [value for value in graph.parameters.values() if value in aliases.written]
    arrays = [
        *(getattr(inputs[index], "_seen", None) for index in apart),
        *(capture.recorder.kept(value)._seen for value in graph.parameters.values()),
    ]
    written = [apart.index(same[index]) for index in places]
    written += [len(apart) + index for index, value in enumerate(graph.parameters.values()) if value in held]
    if overlap(arrays, written):
        raise TracingError(
            f"{graph.name} writes to an array that shares memory with another one that it is given or keeps, or whose elements share memory, "
            "which cannot be recorded; pass a copy of it"
        )
    if any(aliases.is_written(value) for value in capture.by_strides):  # such a write reaches the argument, or a copy of it
        graph.notes["input_facts"] = {"is_contiguous": [bool(item._seen.flags.c_contiguous) for item in inputs]}


def _surroundings(
    objects: Sequence[Any], asked: _Asked, graph: Graph, weights: Weights, containers: Containers, numbers: KeptNumbers
) -> Surroundings:
    """What a recording relies on: everything the function refers to but its arrays, and the types of these."""
    parts = weights.parts() | numbers.parts()

    read_anew = set(map(id, weights.buffers()))

    def is_free(item: Any, key: Any) -> bool:
        return (id(item), key) in parts or containers.holds(item)

    def contents(item: Any) -> Any:
        return None if id(item) in read_anew else _elements(item)

    reach = Reach((*objects, *asked.globals.functions()), _INTERNAL, lambda item: isinstance(item, np.ndarray))
    facts = [*asked.globals.facts(), *asked.settings.facts(), *facts_outside(reach, contents=contents, free=is_free)]
    held = Fact("{}()", (weights.hold_types(graph),), "the shape or type of an array that the function keeps")
    return Surroundings([held, *facts] if graph.parameters else facts)
