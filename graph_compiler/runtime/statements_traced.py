"""General variants of functions with loops, recorded once a second call fits no variant.

A recording holds for the loop exits and branches that it took. If a second call with the same dtypes misses,
the function is recorded with its statements converted to traced control flow (:func:`trace`). Such a variant
holds for all values and trip counts. It replaces the specific variants that it covers, if its result for the
call agrees with the original's. Otherwise the function is recorded as it runs. The first recording is
replaced in the same way if one of its lines was unrolled too often.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ..errors import GraphCompilerError, NotCompilable
from ..ir.magnitudes import outgrows
from ..ir.node import Node, Value, every
from ..ops.dtypes import dtype_name, is_inexact
from ..recording.code.syntax import definition_of
from ..recording.control_flow import trace
from ..recording.control_flow.conversion import is_converted
from ..recording.faults import is_fault
from ..registration import backends
from ..trees import Branch, Static, Tree, TypedLeaf, leaves_at, leaves_of, unflatten
from .pipeline import Pipeline
from .variant import Variant
from .verify.comparison import Tolerance
from .verify.synthetic_inputs import synthetic_leaves
from .verify.verify import Verification

if TYPE_CHECKING:
    from .graph import Graph

# If this many do not cover all calls, one more does not either.
_MOST = 3
# Number of nodes recorded for one line above which its loops count as unrolled.
LONG = 128
_LOOPS = (ast.For, ast.While)
_NUMBERS = (bool, int, float, complex)


class TracedStatementVariants:
    """Variants of one graph that were recorded with traced statements, and the number that may still be."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._added, self._left = graph, list[Variant](), _MOST

    def variant(self, args: tuple[Any, ...], kwargs: dict[str, Any], why: str) -> Variant | None:
        """Record a variant with traced statements. Return None if that fails or is not worth trying.

        A failure is noted in ``gave_up``. After ``_MOST`` attempts, or one that failed with an error of
        this package, a graph with variants tries no more.
        """
        if not self._left or not self._is_worth_tracing(args, kwargs):
            return None
        is_first = not self._graph.variants
        self._left -= not is_first
        try:
            self._added.append(
                self._checked_against_original(self._pipeline()(args, kwargs, why), args, kwargs)
            )
        # The user's code may raise anything while its statements are traced. Then it is recorded as it runs.
        except Exception as problem:
            if is_fault(problem):
                raise
            self._graph._note_given_up("tracing statements", problem)
            self._left = 0 if isinstance(problem, GraphCompilerError) and not is_first else self._left
            return None
        return self._added[-1]

    def _checked_against_original(
        self, made: Variant, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Variant:
        """Return `made` if its result agrees with the original's; otherwise raise ``GraphCompilerError``.

        If the original returns Python numbers, the variant is returned as a copy that converts its results
        to them.
        """
        assert made.recording is not None
        graph, recorded = self._graph, made.recording.graph
        if outgrows(
            recorded if recorded.dialect == "canonical" else graph.pipeline.frontend.lift_graph(recorded)
        ):
            raise NotCompilable("a whole number of Python may become larger than those of arrays")
        if self._loses_gradients(made):
            raise NotCompilable("a loop would be one that has no gradient")
        verification = Verification(graph.name, graph.pipeline, made, Tolerance())
        leaves = verification.leaves(args, kwargs)
        expected = verification.original(leaves, 0)
        given = leaves_at(made.graph.output_tree, expected.result)
        numbers = tuple(place for place, leaf in enumerate(given) if type(leaf) in (bool, int, float))
        if numbers:
            recording = replace(made.recording, graph=recorded.derive(number_outputs=numbers))
            made = replace(made, graph=made.graph.derive(number_outputs=numbers), recording=recording)
        if not Verification(graph.name, graph.pipeline, made, Tolerance()).agrees(expected, leaves, 0):
            raise NotCompilable("a guard fails on the very call that was recorded")
        return made

    def _loses_gradients(self, made: Variant) -> bool:
        """Return True if ``made`` cannot be differentiated in reverse mode although unrolled variants can.

        That is so if the target differentiates an unbounded ``while_loop`` in forward mode only (JAX),
        ``made`` carries floats through one, and no recorded variant does. If the graph has variants already,
        this counts only if the source framework has derivatives.
        """
        pipeline, is_first = self._graph.pipeline, not self._graph.variants
        if not pipeline.target.rows.forward_while or not (
            is_first or backends.get(pipeline.frontend.name).has_derivatives
        ):
            return False
        return _has_unbounded_loop(made) and not any(map(_has_unbounded_loop, self._graph.variants))

    def without_covered(self, variant: Variant, variants: Sequence[Variant]) -> list[Variant]:
        if not self._is_own(variant):
            return list(variants)
        return [one for one in variants if self._is_own(one) or not self._covers(variant, one)]

    def _is_own(self, variant: Variant) -> bool:
        return any(variant is one for one in self._added)

    def _covers(self, new: Variant, old: Variant) -> bool:
        """Return True if ``new`` accepts arguments of the dtypes and sizes that ``old`` was recorded for."""
        same_types = list(map(_type_of, _arrays(new))) == list(map(_type_of, _arrays(old)))
        if (
            old.recording is None
            or not same_types
            or not _is_as_general(new.graph.input_tree, old.graph.input_tree)
        ):
            return False
        leaves = synthetic_leaves(old.recording, self._graph.pipeline.frontend.reference, {}, 0)
        return new.match(*unflatten(old.graph.input_tree, leaves)) is not None

    def _is_worth_tracing(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Return True if the function has loops, and no variant yet or one of the same dtypes and ranks.

        Always False if the user has set ``trace_control_flow`` or ``roll="never"``, or there is no
        original.
        """
        graph = self._graph
        if not graph.pipeline.has_original or not _has_loops(graph.pipeline.function):
            return False
        if graph.pipeline.options.traces_statements is not None or graph.pipeline.options.roll == "never":
            return False
        if not graph.variants:
            return True
        given = [
            (dtype_name(array), len(array.shape))
            for array in graph.pipeline.frontend.reference.leaves(args, kwargs)
        ]
        # Variants whose environment does not hold miss for other reasons than the call's arguments.
        known = (one for one in graph.variants if one.environment.holds())
        return any(given == [_type_of(value) for value in _arrays(one)] for one in known)

    def _pipeline(self) -> Pipeline:
        return replace(self._graph.pipeline, function=trace(self._graph.pipeline.function))


def is_unrolled(function: Any, nodes: Sequence[Node]) -> bool:
    """Return True if one line of `function` made more than ``LONG`` of the nodes.

    Its loops then count as unrolled.
    """
    if not isinstance(function, FunctionType):
        return False
    lines = Counter(node.origin.line for node in nodes if node.origin.file == function.__code__.co_filename)
    return max(lines.values(), default=0) > LONG


def _has_unbounded_loop(variant: Variant) -> bool:
    loops = (
        node
        for node in every(variant.graph.nodes)
        if node.op == "while_loop" and node.params.get("most") is None
    )
    return any(is_inexact(value.dtype) for node in loops for value in node.outputs)


def _has_loops(function: Callable[..., Any]) -> bool:
    if not isinstance(function, FunctionType) or is_converted(function):
        return False
    definition = definition_of(function.__code__)
    return definition is not None and any(isinstance(node, _LOOPS) for node in ast.walk(definition))


def _arrays(variant: Variant) -> list[Value]:
    assert variant.recording is not None
    leaves, values = leaves_of(variant.graph.input_tree), variant.graph.inputs_of_call
    return [
        value
        for leaf, value in zip(leaves, values)
        if not isinstance(leaf, TypedLeaf) or leaf.type not in _NUMBERS
    ]


def _type_of(value: Value) -> tuple[str, int]:
    return value.dtype, len(value.shape)


def _is_as_general(new: Tree, old: Tree) -> bool:
    if isinstance(new, Branch) and isinstance(old, Branch):
        return (
            new.type is old.type
            and new.keys == old.keys
            and all(map(_is_as_general, new.children, old.children))
        )
    if isinstance(new, TypedLeaf) and isinstance(old, Static):
        return type(old.value) is new.type
    return new == old
