"""Why a call fits a variant or not, in words."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..ir.graph import Guard
from ..ir.node import Value
from ..ops.dtypes import dtype_name
from ..sizes import Size, Symbol, substitute
from ..tracing.attributes import attribute_of
from ..tracing.overlap import NO_ARRAY, fact_of, overlap
from ..tracing.places import Place
from ..trees import Branch, Tree, leaves_at
from .bounds import lies_within
from .matching import narrows
from .structure import OUTSIDE, s, structure_differences
from .variant import Variant

# fact of an array -> what is said where it is another one than while recording
_FACTS = {
    "layout": "lies in memory in another order than while recording, by which torch decided",
    "is_contiguous": "is contiguous, or is not, other than while recording",
    "requires_grad": "requires a gradient, or does not, other than while recording",
    "is_leaf": "was computed from arrays that require gradients, or was not, other than while recording",
    "is_parameter": "is a parameter of a module, or is none, other than while recording",
    "has_grad": "has a gradient, or has none, other than while recording",
    "storage_offset": "begins at another place of its memory than while recording",
    "weak_type": "is of a weak type, or is not, other than while recording",
}


def why_missed(variant: Variant, args: tuple[Any, ...], kwargs: dict[str, Any], given: Mapping[str, Any] | None = None) -> str:
    """The first reason why a call does not fit a variant; ``given`` is state by name, instead of what the places hold."""
    if not variant.surroundings.holds():
        return variant.surroundings.reason()
    if given is None and variant.match(args, kwargs) is not None:
        return variant.last_failure.strip().partition("\n")[0] or "it fits"  # the rest of a framework's error is advice for its own users
    return next(
        _differences(variant, args, kwargs, given),
        "an object among the arguments has attributes of its own that it had not while recording",
    )


def _differences(variant: Variant, args: tuple[Any, ...], kwargs: dict[str, Any], given: Mapping[str, Any] | None) -> Iterator[str]:
    """All reasons; each is asked for only where those before it found nothing."""
    held = [(place, old, (given or {}).get(place.name, item)) for place, old, item in _held(variant)]
    yield from structure_differences(variant.graph.input_tree, (args, kwargs), (), lambda item: variant.target.convert(item) is not None)
    yield from _state_differences(variant, held)
    leaves = leaves_at(variant.graph.input_tree, (args, kwargs))
    leaves += [leaf for _, old, item in held for leaf in leaves_at(old, item)]
    for differences in (_leaf_differences, _guard_differences, _bound_differences, _identity_differences, _fact_differences):
        yield from differences(variant, leaves)


def outdated(variant: Variant) -> str:
    """Why no call fits now, whatever its arguments: what is read outside of them is another, ``None`` may have become an array. Empty where calls may fit."""
    if not variant.surroundings.holds():
        return variant.surroundings.reason()
    return next(_state_differences(variant, _held(variant)), "")


def _held(variant: Variant) -> list[tuple[Place, Tree, Any]]:
    """The places that a variant reads, with the structure of what they held and what they hold now."""
    return [(place, old, place.read()) for place, old in _places(variant)]


def _state_differences(variant: Variant, held: list[tuple[Place, Tree, Any]]) -> Iterator[str]:
    convert = variant.target.convert if variant.leaving is None else variant.leaving.convert
    for place, old, item in held:
        yield from structure_differences(old, item, (OUTSIDE, place.name), lambda part: convert(part) is not None)


def _places(variant: Variant) -> Iterator[tuple[Place, Tree]]:
    """The places outside of the arguments that a variant reads, with the structure of what they held."""
    if variant.state is not None and isinstance(variant.state.tree, Branch):
        yield from zip(variant.state.kept(), variant.state.tree.children)


def _leaf_differences(variant: Variant, leaves: list[Any]) -> Iterator[str]:
    for value, leaf in zip(variant.graph.inputs, leaves):
        native = variant.target.convert(leaf)
        if native is None:  # a number
            continue
        if (axes := _rank(native)) is None:
            yield f"how many axes {value.name} has is not known yet; it was recorded with {value.ndim or 'none'}"
        elif axes != value.ndim:
            yield f"{value.name} has {axes or 'no'} ax{'i' if axes == 1 else 'e'}s and was recorded with {value.ndim or 'none'}"
        elif (dtype := variant.target.dtype(value.dtype)) is None or native.dtype != dtype:
            order = " in another order of bytes" if dtype_name(native) == value.dtype else ""
            yield f"{value.name} is {dtype_name(native)}{order} and was recorded as {value.dtype}"
        elif variant.is_own is not None and narrows(variant.target) and variant.is_own(leaf) and dtype_name(leaf) != value.dtype:
            yield f"{value.name} is {dtype_name(leaf)} and was recorded as {value.dtype}"


def _rank(array: Any) -> int | None:
    try:
        return len(array.shape)
    except ValueError:  # of TensorFlow, inside of a function that it traces
        return None


def _reader(variant: Variant, leaves: list[Any]) -> Callable[[Symbol], Any]:
    """What a symbol stands for in a call: a size or a step of one of its arrays, or one of its numbers."""
    given = dict(zip(variant.graph.inputs, leaves))

    def read(symbol: Symbol) -> Any:
        leaf = given[symbol.source]
        if symbol.kind == "size":
            return leaf.shape[symbol.axis]
        return leaf.stride(symbol.axis) if symbol.kind == "stride" else leaf

    return read


def _guard_differences(variant: Variant, leaves: list[Any]) -> Iterator[str]:
    given, read = variant.graph.inputs[: len(leaves)], _reader(variant, leaves)  # others are numbers that a call draws
    for guard in variant.graph.entry_guards():
        if isinstance(guard.condition, Size) and all(symbol.source in given for symbol in guard.condition.symbols()):
            if any(read(symbol) is None for symbol in guard.condition.symbols()):
                yield f"{guard_text(guard)} cannot be told of sizes that are unknown yet"
                continue
            try:
                holds = substitute(guard.condition, read)
            except variant.target.undecided as problem:
                yield f"{guard_text(guard)} cannot be told of sizes that are unknown yet ({str(problem).partition(chr(10))[0]} Say it in their constraints)"
            else:
                if not holds:
                    yield f"{guard_text(guard)} does not hold"


def _bound_differences(variant: Variant, leaves: list[Any]) -> Iterator[str]:
    arrays, read = dict(zip(variant.graph.inputs, map(variant.target.convert, leaves))), _reader(variant, leaves)
    for given, *bounds in variant.graph.notes.get("bounds", ()):
        low, high, besides = (substitute(item, read) for item in bounds)
        elements = variant.target.on_host(arrays[given])
        if elements is not None and not lies_within(elements, low, high, besides):
            yield f"the indices {given.name} do not lie in [{low}, {high})"


def _identity_differences(variant: Variant, leaves: list[Any]) -> Iterator[str]:
    inputs = variant.graph.inputs
    recorded = variant.graph.notes.get("same_inputs") or list(range(len(inputs)))
    arrays = [index for index, first in enumerate(recorded[: len(leaves)]) if first != NO_ARRAY]
    for index, other in itertools.combinations(arrays, 2):
        if (is_one := leaves[index] is leaves[other]) != (recorded[index] == recorded[other]):
            yield f"{inputs[index].name} and {inputs[other].name} are {'one array' if is_one else 'two arrays'} and were {'two' if is_one else 'one'} while recording"
    apart = [index for index in arrays if recorded[index] == index]
    written = [apart.index(recorded[index]) for index in variant.graph.notes.get("written_inputs", ())]
    if written and overlap([leaves[index] for index in apart], written):
        yield "an array that is written to shares memory with another one, or its elements with each other"


def _fact_differences(variant: Variant, leaves: list[Any]) -> Iterator[str]:
    for fact, expected in variant.graph.notes.get("input_facts", {}).items():
        for value, leaf, wanted in zip(variant.graph.inputs, leaves, expected):
            if fact_of(leaf, fact) != wanted:
                yield f"{value.name} {_FACTS[fact]}"
    for index, attribute, held in variant.graph.notes.get("input_attributes", ()):
        if index < len(leaves) and (now := attribute_of(leaves[index], attribute)) != held:  # the others stand in places
            yield f"{variant.graph.inputs[index].name} has {now or 'no'} .{attribute} and was recorded with {held or 'none'}"


def guard_text(guard: Guard) -> str:
    """A guard as a sentence."""
    if isinstance(guard.condition, Value):
        return f"the elements of {guard.condition.name} are {guard.expected!r}, read by {guard.origin}"
    return f"{guard.condition!r}, assumed by {guard.origin}"


def explain(name: str, variants: Sequence[Variant], refused: Iterable[str] = (), beyond: str = "") -> str:
    """All variants in words, the calls that were ``refused``, and what is said of those ``beyond`` the limit."""
    lines = [f"{name}: {len(variants)} variant{s(len(variants))}"]
    for number, variant in enumerate(variants):
        graph = variant.graph
        lines.append(f"variant {number}, recorded because: {variant.why}")
        lines.append(f"  inputs: {', '.join(f'{value.name} {value.dtype}{list(value.spec.hints)}' for value in graph.inputs) or 'none'}")
        counts = {"operation": len(graph.nodes), "parameter": len(graph.parameters), "constant": len(graph.constants)}
        lines.append(f"  {', '.join(f'{count} {what}{s(count)}' for what, count in counts.items())}")
        lines += [f"  holds while: {guard_text(guard)}" for guard in graph.guards]
    lines += [*(f"refused: {why}" for why in refused), *([beyond] if beyond else [])]
    return "\n".join(lines)
