"""Statistics of the modules of a graph. Each module includes its submodules."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..contracts import Weights
from ..errors import UnsupportedOperation
from ..ir.graph import Graph as IRGraph
from ..ir.node import Value, count_all, values_in
from ..passes import without_checks
from ..runtime.graph import Graph
from ..runtime.recorded import VariantRecording
from ..runtime.variant import Variant
from .multiply_adds import multiply_adds


def modules_of(graph: IRGraph) -> list[str]:
    """Return the path of the module for each operation; empty for operations outside of modules.

    Some frameworks do not report the running module. Then an operation belongs to the module whose
    parameters it reads, and an operation that only combines results of one module, such as the addition of
    a bias, belongs to that module.
    """
    told = [node.origin.module for node in graph.nodes]
    if any(told) or not graph.parameters:
        return told
    # Values that are computed from parameters alone are added below.
    weights: dict[Value, str] = {value: name.rpartition(".")[0] for name, value in graph.parameters.items()}
    of: dict[Value, str] = {}
    paths = []
    for node in graph.nodes:
        own = [weights[value] for value in node.uses if value in weights]
        others = {weights.get(value, of.get(value, "")) for value in node.uses}
        path = _shared(own) if own else others.pop() if len(others) == 1 and len(node.uses) > 1 else ""
        made = weights if own and len(own) == len(node.uses) else of
        made.update((value, path) for value in node.outputs)
        paths.append(path)
    return paths


def _shared(paths: Sequence[str]) -> str:
    """Return the path of the innermost module that contains all of `paths`.

    >>> _shared(["layers.0.query", "layers.0.key"]), _shared(["a", "b"])
    ('layers.0', '')
    """
    together = itertools.takewhile(
        lambda parts: len(set(parts)) == 1, zip(*(path.split(".") for path in paths))
    )
    return ".".join(parts[0] for parts in together)


_MOST_OUTPUTS = 3


@dataclass(frozen=True)
class ModuleRow:
    """Statistics of one module.

    path: path of the module; empty for the whole graph.
    kind: name of its class.
    depth: number of modules that contain it.
    operations: number of operations. Those in loops and branches count once.
    outputs: arrays that are used outside of the module, as `"float32[2, 4]"`.
    parameters: number of elements of its parameters and buffers.
    trained: number of elements of trainable parameters.
    multiply_adds: None if the graph cannot be lifted, or if the module contains products in a
        `while_loop`.
    """

    path: str
    kind: str
    depth: int
    operations: int
    outputs: tuple[str, ...]
    parameters: int
    trained: int
    multiply_adds: int | None

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]


def rows_of(graph: Graph, variant: Variant) -> list[ModuleRow]:
    """Return the rows of the whole graph and of each module, each after the module that contains it.

    Modules without operations have no row.
    """
    program, counted = without_checks(variant.graph), _multiply_adds(graph, variant)
    modules = modules_of(program)
    operations = _sum_submodules(_operations(program, modules))
    outputs, arrays = _outputs(program, modules), _parameters(program, variant.recording)
    rows = []
    for path in _in_order(modules):
        inside = [found for name, found in arrays.items() if not path or f"{name}.".startswith(f"{path}.")]
        elements, trained = (
            sum(size for size, _ in inside),
            sum(size for size, is_trained in inside if is_trained),
        )
        shapes = outputs.get(path, ())
        depth = path.count(".") + 1 if path else 0
        kind = _kind_of(graph.pipeline.function, path)
        rows.append(
            ModuleRow(
                path,
                kind,
                depth,
                operations[path],
                shapes,
                elements,
                trained,
                None if counted is None else counted.get(path, 0),
            )
        )
    return rows


def _prefixes(path: str) -> list[str]:
    parts = path.split(".") if path else []
    return [".".join(parts[:depth]) for depth in range(len(parts) + 1)]


def _in_order(modules: Sequence[str]) -> list[str]:
    """Return the paths of all modules, each after the module that contains it, by their first operations."""
    tree: dict[str, Any] = {}
    for path in dict.fromkeys(modules):
        place = tree
        for part in path.split(".") if path else ():
            place = place.setdefault(part, {})

    def walk(place: Mapping[str, Any], path: str) -> Iterator[str]:
        yield path
        for part, inner in place.items():
            yield from walk(inner, f"{path}.{part}" if path else part)

    return list(walk(tree, ""))


def _sum_submodules(counts: Mapping[str, int]) -> Counter[str]:
    total: Counter[str] = Counter()
    for path, count in counts.items():
        total.update(dict.fromkeys(_prefixes(path), count))
    return total


def _operations(graph: IRGraph, modules: Sequence[str]) -> Counter[str]:
    """Return the number of operations per module.

    Operations in regions belong to the module of their node.
    """
    counts: Counter[str] = Counter()
    for node, path in zip(graph.nodes, modules):
        counts[path] += count_all([node])
    return counts


def _multiply_adds(graph: Graph, variant: Variant) -> Mapping[str, int | None] | None:
    """Return the multiply-adds per module, or None if the graph cannot be lifted to canonical operations.

    A module whose products cannot be counted has None.
    """
    recorded = variant.recording.graph if variant.recording is not None else variant.graph
    try:
        canonical = (
            recorded if recorded.dialect == "canonical" else graph.pipeline.frontend.lift_graph(recorded)
        )
    except UnsupportedOperation:
        return None
    canonical = without_checks(canonical)
    counts: Counter[str] = Counter()
    unknown: set[str] = set()
    for node, path in zip(canonical.nodes, modules_of(canonical)):
        count = multiply_adds(node)
        if count is None:
            unknown.update(_prefixes(path))
        counts[path] += count or 0
    return {**_sum_submodules(counts), **dict.fromkeys(unknown)}


def _outputs(graph: IRGraph, modules: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return, per module, the values that operations outside of it use or the graph returns, as strings."""
    found: dict[str, dict[Value, None]] = {"": dict.fromkeys(values_in(graph.outputs))}
    of = dict(zip(graph.nodes, modules))
    made_in = {value: path for node, path in of.items() for value in node.outputs}
    uses = [(path, node.uses) for node, path in of.items()] + [("", tuple(values_in(graph.outputs)))]
    for user, values in uses:
        inside = set(_prefixes(user))
        for value in values:
            for path in _prefixes(made_in[value]) if value in made_in else ():
                if path not in inside:
                    found.setdefault(path, {})[value] = None
    return {path: _format_specs(values) for path, values in found.items()}


def _format_specs(values: Mapping[Value, None]) -> tuple[str, ...]:
    shapes = list(dict.fromkeys(f"{value.dtype}{list(value.spec.hints)}" for value in values))
    return tuple(shapes[:_MOST_OUTPUTS]) + (("…",) if len(shapes) > _MOST_OUTPUTS else ())


def _parameters(graph: IRGraph, recording: VariantRecording | None) -> dict[str, tuple[int, bool]]:
    weights = None if recording is None else recording.weights
    return {
        # Without a recording, nothing tells parameters from buffers.
        name: (math.prod(value.spec.hints), weights is None or _is_trained(weights, name))
        for name, value in graph.parameters.items()
    }


def _is_trained(weights: Weights, name: str) -> bool:
    return weights.is_trained(name) and not weights.is_frozen(name)


def _kind_of(function: Any, path: str) -> str:
    """Return the class name of the module at `path` of the original, or an empty string.

    The string is empty for a function, and if no such attribute exists.
    """
    found = getattr(function, "__self__", function)
    for part in path.split(".") if path else ():
        found = (
            getattr(found, part, None) if not isinstance(found, (list, tuple, dict)) else _item(found, part)
        )
        if found is None:
            return ""
    # The class of a function says nothing.
    return "" if hasattr(found, "__name__") or not path and found is not function else type(found).__name__


def _item(held: Any, part: str) -> Any:
    try:
        return held[part] if isinstance(held, dict) else held[int(part)]
    except (KeyError, IndexError, ValueError):
        return None
