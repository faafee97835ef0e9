"""A frontend for toy_arrays: it runs a function once with arrays that record operations as canonical nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import toy_arrays

from graph_compiler import contracts
from graph_compiler.assumptions import NO_ARRAY, SameArray
from graph_compiler.frontends.common.lifter import input_names
from graph_compiler.ir import Builder, Graph
from graph_compiler.ops import ArraySpec
from graph_compiler.recording import (
    EnvironmentGuards,
    Reached,
    Recording,
    Request,
    facts_outside,
    refuse_escapes,
)
from graph_compiler.trees import call_of, flatten, plain_classes, static_objects


def is_array(item: Any) -> bool:
    return isinstance(item, toy_arrays.Array)


class Traced(toy_arrays.Array):
    """An array that records: an operation on it adds a node to the graph of ``build``. ``value`` is its value
    in the graph.
    """

    def __init__(self, build: Builder, value: Any) -> None:
        self.build, self.value = build, value
        self.shape, self.ndim, self.dtype = value.spec.shape, value.spec.ndim, value.dtype

    def recorder(self, name: str, operands: tuple[Any, ...], params: dict[str, Any]) -> Traced:
        return Traced(self.build, getattr(self.build, name)(*map(self.operand, operands), **params))

    def operand(self, item: Any) -> Any:
        """Return ``item`` as an operand: its value if it is traced, a constant of the graph for another
        array, else itself.
        """
        if isinstance(item, Traced):
            return item.value
        return (
            self.build.constant("constant", ArraySpec(item.shape, item.dtype), item)
            if is_array(item)
            else item
        )


class NoWeights(contracts.Weights):
    def live(self, names: Iterable[str]) -> contracts.Live:
        return Nothing()

    def owner_of(self, name: str) -> Any:
        return None

    def rebind(self, name: str, array: Any) -> None:
        raise NotImplementedError

    def set_elements(self, name: str, elements: Any, rebound: bool) -> Any:
        raise NotImplementedError

    def is_trained(self, name: str) -> bool:
        return False


class Nothing(contracts.Live):
    def __call__(self) -> Mapping[str, Any]:
        return {}


class Reference(contracts.Reference):
    """Access to the original function's arrays, for ``Graph.verify``."""

    def is_array(self, item: Any) -> bool:
        return is_array(item)

    def to_numpy(self, array: Any) -> Any:
        return array.elements

    def fresh(self, shape: Sequence[int], dtype: str, seen: tuple[float, float], seed: int) -> Any:
        return toy_arrays.Array(np.random.default_rng(seed).uniform(*seen, tuple(shape)), dtype)


class ArrayAccess(contracts.ArrayAccess):
    def is_own(self, item: Any) -> bool:
        return is_array(item)

    def own(self, elements: Any, dtype: str) -> Any:
        return toy_arrays.Array(elements, dtype)


class Frontend(contracts.Frontend):
    name = "toy_arrays"
    reference = Reference()
    array_access = ArrayAccess()

    def record(self, request: Request) -> Recording:
        leaves, tree = flatten((request.args, request.kwargs), is_array)
        tree, build = plain_classes(tree), Builder(Graph(request.name, "canonical"))
        names = input_names(request.function, request.args, tree)
        given = [
            Traced(build, build.input(name, ArraySpec(leaf.shape, leaf.dtype)))
            for name, leaf in zip(names, leaves)
        ]
        reached = Reached((request.function, *static_objects(tree)))
        args, kwargs = call_of(tree, given)
        found, output_tree = flatten(request.function(*args, **kwargs), is_array)
        refuse_escapes(request.name, output_tree, tree, is_array)
        graph = build.graph
        graph.outputs = [given[0].operand(leaf) for leaf in found]
        graph.input_tree, graph.output_tree = tree, output_tree
        # Arrays are immutable, so it does not matter whether two arguments are the same.
        graph.assume(SameArray((NO_ARRAY,) * len(leaves)))
        return Recording(graph, NoWeights(), EnvironmentGuards(facts_outside(reached)))


frontend = Frontend()
