"""Verification of a graph against its original, and search for the first recorded call that differs."""

from __future__ import annotations

import functools
import logging
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ..assumptions import InputFact, first_of_each
from ..codegen import load, write
from ..errors import GuardFailed, NotTraced, VerificationFailed
from ..forwarding import forward
from ..ir.graph import Graph as IRGraph
from ..ir.node import Node, Value, draws
from ..ops.dtypes import ITEMSIZE, NARROWED, dtype_name, is_inexact, real_of
from ..recording.faults import is_fault
from ..recording.patches.host_random import host_state_kept, host_state_seeded
from ..sizes import Size
from ..trees import (
    Branch,
    Leaf,
    TypedLeaf,
    call_of,
    flatten,
    iterate_structure,
    leaves_at,
    leaves_of,
    plain_classes,
    terminals,
    unflatten,
)
from .calling.matcher import child_text
from .calling.mismatch import why_outdated
from .pipeline import Pipeline
from .recorded_graph import RecordedGraph, with_recorded_types
from .variant import Variant, VariantRecording

# ------------------------------------------------------------------------------------------- synthetic inputs
# Random arguments like those that a variant was recorded with.


def recorded_inputs(recorded: VariantRecording) -> list[Value]:
    return recorded.graph.inputs_of_call


def has_ranges(variant: Variant) -> bool:
    # Files hold no ranges.
    return variant.recording is not None and (bool(variant.recording.ranges) or variant.why != "loaded")


def synthetic_leaves(
    recorded: VariantRecording, reference: Any, sizes: Mapping[int, int], seed: int
) -> list[Any]:
    """Return random arrays like the recorded ones, and the recorded Python numbers.

    sizes: the sizes to use instead of recorded ones, by recorded size.
    """
    graph, ranges = recorded.graph, iter(recorded.ranges)
    kinds = leaves_of(graph.input_tree)
    numbers, firsts, facts = graph.debug.numbers, first_of_each(graph), graph.assumed(InputFact)
    leaves: list[Any] = []
    for i, value in enumerate(recorded_inputs(recorded)):
        if value in numbers:
            leaves.append(numbers[value])
            continue
        shape = tuple(sizes.get(size, size) for size in value.spec.hints)
        own = {one.fact: one.expected[i] for one in facts if i < len(one.expected)}
        leaf = reference.with_facts(reference.fresh(shape, value.dtype, next(ranges), seed * 100 + i), own)
        kind = kinds[i]
        # NumPy scalars were recorded with their class.
        leaf = kind.type(leaf) if isinstance(kind, TypedLeaf) else leaf
        # Arguments that were one array while recording stay one.
        leaves.append(leaves[firsts[i]] if firsts[i] < i else leaf)
    return leaves


def synthetic_call(variant: Variant, reference: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    assert variant.recording is not None
    return call_of(variant.graph.input_tree, synthetic_leaves(variant.recording, reference, {}, 0))


# -------------------------------------------------------------------------------------------------- precision
# Lowest floating-point precision on the way to each value of a recorded graph.

WIDEST = 8


def width_of(dtype: str) -> int:
    return ITEMSIZE[real_of(dtype)] if is_inexact(dtype) else WIDEST


def widths_of(graph: IRGraph) -> dict[Value, int]:
    """Return the item size in bytes of the narrowest float that is computed on the way to a value, by value.

    A value that is missing in the result has the width ``WIDEST``.
    """
    widths: dict[Value, int] = {}
    # A write also lowers the widths of the values that the written array was made of, so the widths are
    # computed until none changes.
    while _lower(graph.nodes, widths):
        pass
    return widths


def outputs_of(graph: IRGraph, widths: dict[Value, int]) -> list[int]:
    """Return the widths of the arrays and floats in the result, in their order."""
    outputs = iter(graph.outputs)
    items = [next(outputs) if isinstance(part, Leaf) else part.value for part in terminals(graph.output_tree)]
    return [_narrowest([item], widths) for item in items if isinstance(item, Value) or _is_float(item)]


def effects_of(graph: IRGraph, widths: dict[Value, int], kind: str) -> dict[Any, int]:
    return {
        effect.target: _narrowest([effect.value], widths) for effect in graph.effects if effect.kind == kind
    }


def _is_float(item: Any) -> bool:
    return type(item) is float or isinstance(item, Size) and item.type is float


def _lower(nodes: Iterable[Node], widths: dict[Value, int]) -> bool:
    changed = False
    sources: dict[Value, set[Value]] = {}
    for node in nodes:
        operands = set(_operands((node.inputs, node.params)))
        given = _narrowest(operands, widths)
        for place, value in enumerate(node.outputs):
            is_view = node.record is not None and place in node.record.views
            width = min(given, WIDEST if is_view else _computed_width(node, value))
            changed |= widths.get(value, WIDEST) > width
            widths[value] = min(widths.get(value, WIDEST), width)
            sources[value] = operands.union(*(sources.get(item, ()) for item in operands))
        for written in node.writes:
            lowest = min(given, width_of(written.dtype))
            for value in (written, *sources.get(written, ())):
                changed |= widths.get(value, WIDEST) > lowest
                widths[value] = min(widths.get(value, WIDEST), lowest)
    return changed


def _computed_width(node: Node, value: Value) -> int:
    inner = (
        made.dtype for region in node.regions for part in region.block.nodes for made in _outputs_within(part)
    )
    return min(width_of(value.dtype), *map(width_of, inner), WIDEST)


def _outputs_within(node: Node) -> Iterator[Value]:
    yield from node.outputs
    for region in node.regions:
        for part in region.block.nodes:
            yield from _outputs_within(part)


def _narrowest(items: Iterable[Any], widths: dict[Value, int]) -> int:
    return min((widths.get(value, WIDEST) for value in _operands(list(items))), default=WIDEST)


def _operands(structure: Any) -> Iterator[Value]:
    for item in iterate_structure(structure):
        if isinstance(item, Value):
            yield item
        elif isinstance(item, Size):
            yield from (symbol.source for symbol in item.symbols() if symbol.kind == "number")


# ------------------------------------------------------------------------------------------------- comparison
# Comparison of two results within rounding.

# Item size of a real dtype -> relative tolerance, and absolute tolerance as a fraction of the largest value.
_BY_WIDTH = {2: (2e-2, 2e-2), 4: (1e-4, 2e-5), 8: (1e-7, 1e-9)}
_WIDEST = 8
# NumPy holds values of this dtype as float32.
_TAKEN_FOR_WIDER = "bfloat16"


@dataclass(frozen=True)
class Tolerance:
    """Tolerance of a comparison of inexact arrays: ``|actual - expected| <= atol + rtol * |expected|``.

    Integers and bools have to be equal.

    rtol: relative tolerance; None for that of the least precise dtype involved.
    atol: absolute tolerance; None for a fraction, which depends on that dtype, of the largest finite
        magnitude expected.
    """

    rtol: float | None = None
    atol: float | None = None

    def allowed(self, actual: Any, expected: Any, width: int) -> Any:
        """Return the largest allowed difference of each element.

        width: item size in bytes of the least precise dtype that the arrays were computed with.
        """
        import numpy as np

        width = min(width, *(np.real(array).dtype.itemsize for array in (actual, expected)))
        rtol, part = _BY_WIDTH.get(width, _BY_WIDTH[_WIDEST])
        size = np.abs(expected)
        largest = float(np.max(size, where=np.isfinite(size), initial=0.0))
        atol = part * largest if self.atol is None else self.atol
        return atol + (rtol if self.rtol is None else self.rtol) * size


class Dtypes(dict[str, str]):
    """Names of the dtypes of an outcome's arrays, by label.

    An expected dtype agrees with the one that a target without 64-bit dtypes narrows it to.
    """

    def difference(self, expected: Dtypes) -> str:
        for label, wanted in expected.items():
            if self.get(label) not in (wanted, NARROWED.get(wanted)):
                return f"of {label} is {self.get(label)} where the original gives {wanted}"
        return ""


def difference(
    actual: dict[str, Any],
    expected: dict[str, Any],
    tolerance: Tolerance,
    numbers: bool,
    widths: Mapping[str, int] = MappingProxyType({}),
) -> str:
    """Describe the first difference of two outcomes; return "" if there is none.

    actual, expected: parts of the outcomes (:class:`Outcome`) by label.
    numbers: True to compare values, False to compare only structure, shapes and dtypes.
    widths: item size of the narrowest float computed on the way to a part, by label.
    """
    if actual.keys() != expected.keys():
        counts = [sum(hasattr(part, "shape") for part in parts.values()) for parts in (actual, expected)]
        return f"it gives {counts[0]} arrays where the original gives {counts[1]}"
    types = [kinds for parts in (actual, expected) if isinstance(kinds := parts.get("the type"), Dtypes)]
    for label, wanted in expected.items():
        width = (
            2 if any(kinds.get(label) == _TAKEN_FOR_WIDER for kinds in types) else widths.get(label, _WIDEST)
        )
        found = _part(actual[label], wanted, tolerance, numbers, width)
        if found:
            return f"{label} {found}"
    return ""


def _tree_difference(actual: Any, expected: Any, path: str) -> str:
    if actual == expected:
        return ""
    if isinstance(actual, Branch) and isinstance(expected, Branch):
        if actual.type is expected.type and actual.keys == expected.keys:
            for place, key in enumerate(expected.keys):
                inner = path + child_text(expected.type, "", place, key)
                if found := _tree_difference(actual.children[place], expected.children[place], inner):
                    return found
        elif repr(actual) == repr(expected):
            actual, expected = actual.type, expected.type
    return f"{path and f'of {path} '}is {actual!r} where the original gives {expected!r}"


def as_float32(number: float) -> Any:
    import numpy as np

    with np.errstate(over="ignore"):
        narrow = np.float32(number)
    # All numbers beyond float32 would be equal infinities.
    return np.float64(number) if np.isinf(narrow) else narrow


def _part(actual: Any, expected: Any, tolerance: Tolerance, numbers: bool, width: int) -> str:
    if isinstance(expected, Dtypes):
        return str(actual.difference(expected))
    if not hasattr(expected, "shape"):
        return _tree_difference(actual, expected, "")
    if actual.shape != expected.shape:
        return f"has the shape {list(actual.shape)} where the original gives {list(expected.shape)}"
    if actual.dtype.kind != expected.dtype.kind:
        return f"is {actual.dtype} where the original gives {expected.dtype}"
    return _elements(actual, expected, tolerance, width) if numbers else ""


def _elements(actual: Any, expected: Any, tolerance: Tolerance, width: int) -> str:
    import numpy as np

    if expected.dtype.kind in "biu":
        wrong = int(np.count_nonzero(actual != expected))
        return f"differs in {wrong} of {expected.size} elements" if wrong else ""
    # The difference of two equal infinities is NaN, so these are compared by ``==``.
    with np.errstate(invalid="ignore"):
        close = np.abs(actual - expected) <= tolerance.allowed(actual, expected, width)
        same = close | (actual == expected) | (np.isnan(actual) & np.isnan(expected))
        if same.all():
            return ""
        largest = np.nanmax(np.abs(actual - expected)[~same], initial=0.0)
    return f"differs in {int(np.count_nonzero(~same))} of {expected.size} elements, by up to {largest:.3g}"


# ----------------------------------------------------------------------------------------------------- verify
log = logging.getLogger("graph_compiler")
Sizes = dict[int, int]
_NUMBERS = (int, float)
_SIGN = "its vectors are unique only up to a sign, or a phase for complex numbers"
# Operations whose results may differ between frameworks, with both being right.
_FREEDOMS = {
    "eigh": _SIGN,
    "eig": f"the order of its eigenvalues is open, and {_SIGN}",
    "eigvals": "the order of its eigenvalues is open",
    "svd": _SIGN,
    "qr": "the rows of R are unique only up to a sign, or a phase for complex numbers",
}


@dataclass(frozen=True)
class VerificationSummary:
    """Result of a verification.

    runs: number of comparisons in which graph and original agree.
    skipped: number of random inputs that the original, the matcher or the graph's guards rejected.
    sizes: recorded sizes that could be changed.
    numbers: False if the values of a variant were not compared, because its random numbers may differ.
    """

    runs: int
    skipped: int
    sizes: tuple[int, ...]
    numbers: bool


class Verification:
    """Verification of one variant.

    runs: number of inputs so far for which graph and original agree.
    skipped: number of inputs of :meth:`run` that could not be compared.
    numbers: True to compare values, False to compare only structure, shapes and dtypes.
    """

    def __init__(self, name: str, pipeline: Pipeline, variant: Variant, tolerance: Tolerance) -> None:
        assert variant.recording is not None
        self.name, self.pipeline, self.variant, self.tolerance = name, pipeline, variant, tolerance
        self.recording: VariantRecording = variant.recording
        self.reference = pipeline.frontend.reference
        self.runs = self.skipped = 0
        is_repeatable = all(self.reference.RANDOM_STATE) or not draws(self.recording.graph.nodes)
        self.numbers = is_repeatable and (pipeline.keeps_calls or not variant.is_random)

    # --------------------------------------------------------------------- precision of results
    @functools.cached_property
    def widths(self) -> dict[Value, int]:
        return widths_of(self.recording.graph)

    @functools.cached_property
    def narrowest_of_parts(self) -> dict[str, int]:
        """Lower bound of the item size of floats computed on the way to a part of an outcome, by label."""
        graph = self.recording.graph
        results = outputs_of(graph, self.widths)
        labels = [_label_of_result(place, len(results)) for place in range(len(results))]
        arguments = min(effects_of(graph, self.widths, "argument").values(), default=WIDEST)
        changed = {_label_of_argument(place): arguments for place in range(len(graph.inputs))}
        buffers = effects_of(graph, self.widths, "buffer")
        return {
            **dict(zip(labels, results)),
            **changed,
            **{_label_of_parameter(name): width for name, width in buffers.items()},
        }

    # -------------------------------------------------------------------------- choice of inputs
    def run(self, runs: int, seed: int) -> VerificationSummary:
        """Verify with ``runs`` random inputs at the recorded sizes, and with inputs of other sizes.

        Raise ``GuardFailed`` if none of these inputs could be compared.
        """
        before = self.runs
        specs = [value.spec.hints for value in recorded_inputs(self.recording)]
        known = sorted({size for shape in specs for size in shape})
        # One size at a time, to find those that may differ.
        movable = [
            size
            for number, size in enumerate(known)
            if self.try_sizes({size: _changed_size(size, known, 1)}, seed + number)
        ]
        self.try_sizes({size: size * 2 for size in known}, seed + 1000)
        draw = random.Random(seed)
        for number in range(runs):
            self.try_sizes({}, seed + number)
            changed = {size: _changed_size(size, known, draw.randint(1, 3)) for size in movable}
            self.try_sizes(changed, seed + 2000 + number)
        if self.runs == before:
            raise GuardFailed(
                f"{self.name} could not be verified: no random input meets the guards and is taken by the "
                "original; pass args="
            )
        return VerificationSummary(self.runs - before, self.skipped, tuple(movable), self.numbers)

    def try_sizes(self, sizes: Sizes, seed: int) -> bool:
        leaves = synthetic_leaves(self.recording, self.reference, sizes, seed)
        fits = self.check(leaves, seed)
        self.skipped += not fits
        return fits

    # ----------------------------------------------------------------------- one comparison
    def check(self, leaves: list[Any], seed: int) -> bool:
        """Compare the graph with the original for ``leaves``; return False if they cannot be compared.

        Raise ``VerificationFailed`` if they differ, or only the graph fails.
        """
        if self._match(leaves) is None:
            return False
        try:
            expected = self.original(leaves, seed)
        # The original may raise anything for inputs that it does not take.
        except Exception as problem:
            if is_fault(problem):
                raise
            return False
        return self.agrees(expected, leaves, seed)

    def agrees(self, expected: Outcome, leaves: list[Any], seed: int) -> bool:
        """Compare a run of the graph with the original's outcome; return False if a guard fails.

        Raise ``VerificationFailed`` if they differ, or the graph fails otherwise.
        """
        try:
            actual = self._graph(leaves, seed)
        except GuardFailed:
            return False
        # Generated code calls the target, which may raise anything.
        except Exception as problem:
            if is_fault(problem):
                raise
            raise VerificationFailed(
                f"{self.name}: the graph alone raises {type(problem).__name__}: {problem}\n  with "
                f"{_describe_leaves(leaves)}"
            ) from problem
        found = difference(actual, expected.parts, self.tolerance, self.numbers, self.narrowest_of_parts)
        if found:
            raise VerificationFailed(
                f"{self.name}: graph and original differ: {found}\n  with {_describe_leaves(leaves)}\n  "
                f"{self._blame(leaves, seed)}"
            )
        self.runs += 1
        return True

    def check_call(self, args: tuple[Any, ...], kwargs: dict[str, Any], seed: int) -> bool:
        return self.variant.matching.match(args, kwargs) is not None and self.check(
            self.leaves(args, kwargs), seed
        )

    def leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        arrays = iter(self.reference.leaves(args, kwargs))
        given = leaves_at(self.variant.graph.input_tree, (args, kwargs))
        return [leaf if type(leaf) in _NUMBERS else next(arrays) for leaf in given]

    def _copy_leaves(self, leaves: list[Any]) -> list[Any]:
        # Arguments that are one array must stay one.
        apart = {id(leaf): leaf for leaf in leaves if type(leaf) not in _NUMBERS}
        copies = dict(zip(apart, self.reference.copied(list(apart.values()))))
        return [copies.get(id(leaf), leaf) for leaf in leaves]

    def _call(self, leaves: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return call_of(self.variant.graph.input_tree, leaves)

    def _match(self, leaves: list[Any]) -> Any:
        args, kwargs = unflatten(self.variant.graph.input_tree, leaves)
        return self.variant.matching.match(args, kwargs)

    def original(self, leaves: list[Any], seed: int) -> Outcome:
        mine = self._copy_leaves(leaves)
        args, kwargs = self._call(mine)
        with host_state_seeded(seed), self.reference.restoring_state(self.recording.weights, seed):
            result = forward(self.pipeline.function, *args, **kwargs)
            names = list(self.variant.graph.parameters)
            after = _label(mine, self.recording.weights.live(names)())
            return Outcome(result, after, self.reference.is_array, self.reference.to_numpy)

    def _graph(self, leaves: list[Any], seed: int) -> dict[str, Any]:
        variant, target = self.variant, self.variant.target
        # Host random numbers are drawn while a call is matched.
        with host_state_seeded(seed):
            mine = list(self._match(self._copy_leaves(leaves)))
        parameters, constants = (
            self._current_weights(list(variant.graph.parameters)),
            self._constants(variant),
        )
        with self.reference.restoring_state(self.recording.weights, seed):
            outcome = variant.executable.function(
                *_leading_arguments(variant, parameters, constants),
                *mine,
                *([target.next_key()] if variant.is_random else []),
            )
        # With effects or checks the flat function returns a triple.
        plain = not (variant.graph.effects or variant.program.checks)
        result, effects, checks = (outcome, (), ()) if plain else outcome
        result = variant.as_numbers(result)
        result = result[0] if variant.graph.state.updates is not None else result
        for guard, value in zip(variant.program.checks, checks):
            guard.require(target.elements(value))
        same = first_of_each(variant.graph)
        for effect, value in zip(variant.graph.effects, effects):
            if effect.kind == "argument":
                # Arguments that are one array show the new values under each of their positions.
                mine = [value if first == same[effect.target] else item for item, first in zip(mine, same)]
            elif effect.kind == "buffer":
                parameters[effect.target] = value
        after = _label(mine[: len(leaves)], parameters)
        return Outcome(
            result,
            after,
            lambda item: target.convert(item) is not None or self.reference.is_array(item),
            target.to_numpy,
        ).parts

    def _current_weights(self, names: list[str]) -> dict[str, Any]:
        live, own = (
            self.recording.weights.live(names)(),
            {id(tensor) for tensor in self.recording.weights.buffers()},
        )
        adopt = self.variant.target.adopt
        return {
            # Buffers are copied, because the flat function may write to them.
            name: adopt(self.reference.copied([array])[0] if id(array) in own else array)
            for name, array in live.items()
        }

    def _constants(self, variant: Variant) -> dict[str, Any]:
        # The flat function may write to constants, which later calls of the variant read.
        return {name: variant.target.copy(array) for name, array in variant.constants.items()}

    # ----------------------------------------------------------------------------- first difference
    def _blame(self, leaves: list[Any], seed: int) -> str:
        try:
            pairs = self._pairs(leaves, seed)
            for value, actual, expected, written in pairs:
                types = Dtypes(it=value.dtype)
                width = {"it": self.widths.get(value, WIDEST)}
                mine, theirs = {"the type": types, "it": actual}, {"the type": types, "it": expected}
                if difference(mine, theirs, self.tolerance, self.numbers, width):
                    call = self.recording.graph.maker(value)
                    assert call is not None
                    return f"the first call that differs is {call.origin}{written}"
        # The message about the mismatch matters more than where it is, and tells what went wrong here.
        except Exception as problem:
            return f"the call where it begins could not be found ({type(problem).__name__}: {problem})"
        return (
            "every call agrees by itself: what differs is the form, an effect, or a value taken over from "
            "the recording"
        )

    def _pairs(self, leaves: list[Any], seed: int) -> Iterator[tuple[Value, Any, Any, str]]:
        if self.pipeline.keeps_calls:
            yield from self._observed_pairs(leaves, seed)
        else:
            yield from self._lifted_pairs(leaves, seed)
            yield from self._observed_pairs(leaves, seed)

    def _intermediate_values(self, leaves: list[Any], seed: int) -> dict[Value, Any]:
        graph, values = self.reference.with_intermediates(self.recording.graph)
        program = self.pipeline.source_text(graph, "Intermediate results.")
        live = self.recording.weights.live(list(graph.parameters))()
        held = {
            "parameters": live,
            "constants": {name: array for name, (_, array) in graph.constants.items()},
        }
        with host_state_seeded(seed), self.reference.restoring_state(self.recording.weights, seed):
            arrays = load(program)(*(held[name] for name in program.arguments), *self._copy_leaves(leaves))
        return {value: self.reference.to_numpy(array) for value, array in zip(values, arrays)}

    def _lifted_pairs(self, leaves: list[Any], seed: int) -> Iterator[tuple[Value, Any, Any, str]]:
        """Yield ``(value, actual, expected, text)`` for recorded values that the lifted graph has, too."""
        recorded = self._intermediate_values(leaves, seed)
        graph, target = self.variant.graph, self.variant.target
        lifted = graph.debug.lifted
        made = {value for node in graph.nodes for value in node.outputs}
        wanted = [(old, lifted[old]) for old in recorded if lifted.get(old) in made]
        program = write(
            _with_outputs(graph, [new for _, new in wanted]),
            self.pipeline.target.dialect,
            "Intermediate results.",
        )
        held = {
            "parameters": self._current_weights(list(graph.parameters)),
            "constants": self._constants(self.variant),
        }
        key = [target.next_key()] if self.variant.is_random else []
        arrays = load(program)(*(held[name] for name in program.arguments), *self._match(leaves), *key)
        for (old, new), array in zip(wanted, arrays):
            maker = graph.maker(new)
            ops = dict.fromkeys(
                node.op for node in graph.nodes if maker is not None and node.origin == maker.origin
            )
            yield (
                old,
                target.to_numpy(array),
                recorded[old],
                f", written as {', '.join(ops)}{_freedom_of(ops)}",
            )

    def _observed_pairs(self, leaves: list[Any], seed: int) -> Iterator[tuple[Value, Any, Any, str]]:
        """Yield ``(value, actual, expected, text)`` for the results of recorded calls.

        End at the first recorded call that is not found among those of the original.
        """
        recorded = self._intermediate_values(leaves, seed)
        args, kwargs = self._call(self._copy_leaves(leaves))
        with host_state_seeded(seed), self.reference.restoring_state(self.recording.weights, seed):
            calls = iter(self.reference.observe(self.pipeline.function, args, kwargs))
        for node in self.recording.graph.nodes:
            # Results that are numbers were not recorded as arrays.
            if node.outputs and recorded.keys().isdisjoint(node.outputs):
                continue
            # The original also makes calls that the recording no longer has, such as those whose result is
            # constant.
            seen = next((arrays for name, arrays in calls if name == node.op), None)
            if seen is None:
                return
            for value, array in zip(node.outputs, seen):
                yield value, recorded[value], self.reference.to_numpy(array), ", as it was recorded"


def verify_graph(
    graph: RecordedGraph, runs: int, tolerance: Tolerance, seed: int, args: Any, kwargs: Any
) -> VerificationSummary:
    if args is not None or kwargs is not None:
        args, kwargs = tuple(args or ()), dict(kwargs or {})
        if not any(variant.matching.fits(args, kwargs) for variant in graph.variants):
            args, kwargs = graph._alternative_calls.with_recorded_form(graph.variants, args, kwargs)
        args, kwargs = with_recorded_types(graph.variants, args, kwargs)
    with host_state_kept():
        done = _verify_variants(graph, runs, tolerance, seed, args, kwargs)
    if not done:
        outside = "; ".join(
            f"variant {i}: {why_outdated(variant)}" for i, variant in enumerate(graph.variants)
        )
        why = outside if args is None and kwargs is None else graph._why_missed(args, kwargs)
        raise GuardFailed(f"{graph.name} could not be verified: {why}")
    sizes = tuple(sorted({size for one in done for size in one.sizes}))
    return VerificationSummary(
        sum(one.runs for one in done),
        sum(one.skipped for one in done),
        sizes,
        all(one.numbers for one in done),
    )


def _verify_variants(
    graph: RecordedGraph, runs: int, tolerance: Tolerance, seed: int, args: Any, kwargs: Any
) -> list[VerificationSummary]:
    done: list[VerificationSummary] = []
    for variant in graph.variants:
        if not has_ranges(variant):
            raise NotTraced(f"{graph.name} was loaded from a file: there is no original to verify it against")
        verification = Verification(graph.name, graph._pipeline, variant, tolerance)
        if args is None and kwargs is None:
            if not why_outdated(variant):
                done.append(verification.run(runs, seed))
        elif not why_outdated(variant) and verification.check_call(args, kwargs, seed):
            done.append(VerificationSummary(1, 0, (), verification.numbers))
    return done


def verify_variant(
    graph: RecordedGraph, variant: Variant, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    verification = Verification(graph.name, graph._pipeline, variant, Tolerance())
    is_checked = verification.check_call(args, kwargs, 0)
    try:
        verification.run(1, 0)
    except GuardFailed:
        done = "only the arguments it was recorded with" if is_checked else "no arguments"
        log.info("%s: %s could be verified", graph.name, done)


class Outcome:
    """Result of a call, and its arguments and the parameters after it, for comparison.

    parts: the structure of the result, the dtypes, NumPy copies of arrays, and NumPy floats, by label.
    """

    def __init__(
        self,
        result: Any,
        after: dict[str, Any],
        is_array: Callable[[Any], bool],
        to_numpy: Callable[[Any], Any],
    ) -> None:
        self.result = result
        # Floats are compared within the tolerance, as arrays are. Other numbers must be equal, as part of the
        # tree.
        leaves, tree = flatten(result, lambda item: type(item) is float or is_array(item))
        found = {_label_of_result(i, len(leaves)): leaf for i, leaf in enumerate(leaves)} | after
        arrays = {label: leaf for label, leaf in found.items() if type(leaf) is not float}
        types = Dtypes((label, dtype_name(array)) for label, array in arrays.items())
        # Objects with methods are proxies in results of a graph for another framework.
        self.parts: dict[str, Any] = {"structure": plain_classes(tree), "the type": types}
        # The arrays may share memory with state that is restored after the run.
        self.parts.update((label, to_numpy(array).copy()) for label, array in arrays.items())
        self.parts.update((label, as_float32(leaf)) for label, leaf in found.items() if label not in arrays)


def _freedom_of(ops: Iterable[str]) -> str:
    found = [freedom for op, freedom in _FREEDOMS.items() if op in ops]
    return f" ({found[0]}, which each framework chooses by itself: see the known limits)" if found else ""


def _label_of_result(place: int, count: int) -> str:
    return f"result {place}" if count > 1 else "the result"


def _label_of_argument(place: int) -> str:
    return f"argument {place} after the call"


def _label_of_parameter(name: str) -> str:
    return f"{name} after the call"


def _label(leaves: list[Any], parameters: Any) -> dict[str, Any]:
    return {
        **{_label_of_argument(i): leaf for i, leaf in enumerate(leaves) if type(leaf) not in _NUMBERS},
        **{_label_of_parameter(name): a for name, a in parameters.items()},
    }


def _leading_arguments(variant: Variant, parameters: Any, constants: Any) -> tuple[Any, ...]:
    held = {"parameters": parameters, "constants": constants}
    return tuple(held[name] for name in variant.program.arguments)


def _with_outputs(graph: IRGraph, values: list[Value]) -> IRGraph:
    tree = Branch(tuple, tuple(range(len(values))), (Leaf(),) * len(values))
    return graph.derive(outputs=values, output_tree=tree, guards=[], effects=[])


def _changed_size(size: int, known: list[int], step: int) -> int:
    while size + step in known:
        step += 1
    return size + step


def _describe_leaves(leaves: list[Any]) -> str:
    return (
        ", ".join(
            repr(leaf) if type(leaf) in _NUMBERS else f"{dtype_name(leaf)}{list(leaf.shape)}"
            for leaf in leaves
        )
        or "no arrays"
    )
