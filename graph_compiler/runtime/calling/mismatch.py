"""Explanations of why a call does not fit a variant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...assumptions import in_order
from ...ir.node import Value, count_all
from ...ops.dtypes import dtype_name
from ...recording.state.places import StatePlace
from ...sizes import Symbol
from ...trees import Branch, Tree, leaves_at
from ..compilation import describe_compilation
from ..variant import Variant
from .matcher import narrows
from .structure import OUTSIDE, plural_s, structure_differences


def why_missed(
    variant: Variant, args: tuple[Any, ...], kwargs: dict[str, Any], given: Mapping[str, Any] | None = None
) -> str:
    """Return the first reason why a call does not fit ``variant``.

    If the call does match, return the first line of the variant's last failure, or "it fits". `given` maps
    names to state that replaces the current one.
    """
    if not variant.environment.holds():
        return variant.environment.reason()
    if given is None and variant.match(args, kwargs) is not None:
        # Only the first line: the rest of a framework's error is advice for its own users.
        return variant.last_failure.strip().partition("\n")[0] or "it fits"
    return next(
        _differences(variant, args, kwargs, given),
        "an object among the arguments has attributes of its own that it had not while recording",
    )


def _differences(
    variant: Variant, args: tuple[Any, ...], kwargs: dict[str, Any], given: Mapping[str, Any] | None
) -> Iterator[str]:
    held = [(place, old, (given or {}).get(place.name, item)) for place, old, item in _current_state(variant)]
    yield from structure_differences(
        variant.graph.input_tree, (args, kwargs), (), lambda item: variant.target.convert(item) is not None
    )
    yield from _state_differences(variant, held)
    # The structure is known to fit here: the callers stop at the first difference.
    leaves = leaves_at(variant.graph.input_tree, (args, kwargs))
    leaves += [leaf for _, old, item in held for leaf in leaves_at(old, item)]
    yield from _leaf_differences(variant, leaves)
    call = _MissedCall(variant, leaves, kwargs)
    for assumption in in_order(variant.graph):
        if why := assumption.broken_by(call):
            yield why


def why_outdated(variant: Variant) -> str:
    """Return why no call fits `variant` now, whatever its arguments; "" if outside state is unchanged."""
    if not variant.environment.holds():
        return variant.environment.reason()
    return next(_state_differences(variant, _current_state(variant)), "")


def _current_state(variant: Variant) -> list[tuple[StatePlace, Tree, Any]]:
    return [(place, old, place.read()) for place, old in _state_places(variant)]


def _state_differences(variant: Variant, held: list[tuple[StatePlace, Tree, Any]]) -> Iterator[str]:
    convert = variant.target.convert if variant.write_back is None else variant.write_back.convert
    for place, old, item in held:
        yield from structure_differences(
            old, item, (OUTSIDE, place.name), lambda part: convert(part) is not None
        )


def _state_places(variant: Variant) -> Iterator[tuple[StatePlace, Tree]]:
    if variant.state is not None and isinstance(variant.state.tree, Branch):
        yield from zip(variant.state.kept(), variant.state.tree.children)


def _leaf_differences(variant: Variant, leaves: list[Any]) -> Iterator[str]:
    for value, leaf in zip(variant.graph.inputs, leaves):
        native = variant.target.convert(leaf)
        # Numbers have no dtype or rank to compare.
        if native is None:
            continue
        if (axes := _rank(native)) is None:
            yield (
                f"how many axes {value.name} has is not known yet; it was recorded with "
                f"{value.ndim or 'none'}"
            )
        elif axes != value.ndim:
            yield (
                f"{value.name} has {axes or 'no'} ax{'i' if axes == 1 else 'e'}s and was recorded with "
                f"{value.ndim or 'none'}"
            )
        elif (dtype := variant.target.dtype(value.dtype)) is None or native.dtype != dtype:
            order = " in another order of bytes" if dtype_name(native) == value.dtype else ""
            yield f"{value.name} is {dtype_name(native)}{order} and was recorded as {value.dtype}"
        elif (
            variant.is_own is not None
            and narrows(variant.target)
            and variant.is_own(leaf)
            and dtype_name(leaf) != value.dtype
        ):
            yield f"{value.name} is {dtype_name(leaf)} and was recorded as {value.dtype}"


def _rank(array: Any) -> int | None:
    try:
        return len(array.shape)
    except ValueError:
        # TensorFlow raises this for an array of unknown rank inside a traced function.
        return None


@dataclass(frozen=True)
class _MissedCall:
    """Implementation of :class:`~graph_compiler.ir.assumption.MismatchedCall` for a call that did not fit.

    leaves: the leaves of the call, then those of the state.
    """

    variant: Variant
    leaves: Sequence[Any]
    kwargs: Mapping[str, Any]

    @property
    def inputs(self) -> Sequence[Value]:
        return self.variant.graph.inputs

    @property
    def undecided(self) -> tuple[type[Exception], ...]:
        return self.variant.target.undecided

    def size(self, symbol: Symbol) -> Any:
        leaf = self.leaves[self.inputs.index(symbol.source)]
        if symbol.kind == "size":
            return leaf.shape[symbol.axis]
        return leaf.stride(symbol.axis) if symbol.kind == "stride" else leaf

    def on_host(self, number: int) -> Any:
        target = self.variant.target
        return target.on_host(target.convert(self.leaves[number]))


def explain(
    name: str,
    variants: Sequence[Variant],
    refused: Iterable[str] = (),
    beyond: str = "",
    gave_up: Iterable[object] = (),
) -> str:
    """Return a text that describes all variants of a graph, one line a fact.

    refused: reasons of calls that were refused.
    beyond: text on calls beyond the limit of variants; "" if there were none.
    gave_up: optimizations given up that belong to no variant.
    """
    lines = [f"{name}: {len(variants)} variant{plural_s(len(variants))}"]
    for number, variant in enumerate(variants):
        graph = variant.graph
        lines.append(f"variant {number}, recorded because: {variant.why}")
        inputs = ", ".join(f"{value.name} {value.dtype}{list(value.spec.hints)}" for value in graph.inputs)
        lines.append(f"  inputs: {inputs or 'none'}")
        counts = {
            "operation": count_all(graph.nodes),
            "parameter": len(graph.parameters),
            "constant": len(graph.constants),
        }
        lines.append(f"  {', '.join(f'{count} {what}{plural_s(count)}' for what, count in counts.items())}")
        lines += [f"  runs {how}" for how in [describe_compilation(variant.called)] if how]
        lines += [f"  holds while: {guard}" for guard in graph.guards]
        lines += [f"  gave up: {each}" for each in variant.gave_up]
    lines += [
        *(f"gave up: {each}" for each in gave_up),
        *(f"refused: {why}" for why in refused),
        *([beyond] if beyond else []),
    ]
    return "\n".join(lines)
