"""Why a call fits a variant or not, in words."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..ir.graph import Guard, Value
from ..ops.dtypes import dtype_name
from ..sizes import Size, Symbol, substitute
from ..tracing.attributes import attribute_of
from ..tracing.overlap import fact_of
from ..trees import Branch, Leaf, Path, Static, Tree, flatten, unfixed
from .bounds import lies_within
from .variant import Variant

# fact of an array -> what is said where it is another one than while recording
_FACTS = {
    "layout": "lies in memory in another order than while recording, by which torch decided",
    "is_contiguous": "is contiguous, or is not, other than while recording",
    "requires_grad": "requires a gradient, or does not, other than while recording",
    "is_leaf": "was computed from arrays that require gradients, or was not, other than while recording",
    "has_grad": "has a gradient, or has none, other than while recording",
    "storage_offset": "begins at another place of its memory than while recording",
    "weak_type": "is of a weak type, or is not, other than while recording",
}


def why_missed(variant: Variant, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The first reason why a call does not fit a variant."""
    if not variant.surroundings.holds():
        return variant.surroundings.reason()
    if variant.match(args, kwargs) is not None:
        return variant.last_failure or "it fits"
    target = variant.target
    leaves, tree = flatten((args, kwargs), lambda item: target.convert(item) is not None)
    differences = itertools.chain(  # each can be asked for only where those before it found nothing
        _tree_differences(variant.graph.input_tree, tree, ()),
        _leaf_differences(variant, leaves),
        _guard_differences(variant, leaves),
        _bound_differences(variant, leaves),
        _fact_differences(variant, leaves),
    )
    return next(differences, "an argument is of another class")


def _tree_differences(old: Tree, new: Tree, path: Path) -> Iterator[str]:
    if isinstance(old, Branch) and isinstance(new, Branch):
        if old.type is not new.type or old.keys != new.keys:
            yield _of_other_structure(path, old, new)
            return
        for key, left, right in zip(old.keys, old.children, new.children):
            yield from _tree_differences(left, right, (*path, key))
    elif old != new:
        yield f"{_place(path)} is {_describe(new)} and was recorded as {_describe(old)}"


def _of_other_structure(path: Path, old: Branch, new: Branch) -> str:
    if path == (0,):
        return (
            f"the call has {len(new.keys) or 'no'} positional argument{_s(len(new.keys))} and was recorded with {len(old.keys) or 'none'}"
        )
    if path == (1,):
        now, before = (", ".join(map(str, branch.keys)) for branch in (new, old))
        return f"the call has {f'the keywords {now}' if now else 'no keywords'} and was recorded with {before or 'none'}"
    return f"{_place(path)} has the structure {_keys(new)} and was recorded with {_keys(old)}"


def _place(path: Path) -> str:
    """An argument, or what is inside of one: the path begins with 0 and a position, or with 1 and a keyword."""
    if len(path) < 2:
        return f"what is given by {'keyword' if path == (1,) else 'position'}"
    return f"argument {path[1]}{''.join(f'[{key!r}]' for key in path[2:])}"


def _keys(branch: Branch) -> str:
    return f"{branch.type.__name__}({', '.join(map(str, branch.keys))})"


def _describe(tree: Tree) -> str:
    return "an array" if isinstance(tree, Leaf) else repr(unfixed(tree.value)) if isinstance(tree, Static) else _keys(tree)


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _leaf_differences(variant: Variant, leaves: list[Any]) -> Iterator[str]:
    for value, leaf in zip(variant.graph.inputs, leaves):
        native = variant.target.convert(leaf)
        if (axes := len(native.shape)) != value.ndim:
            yield f"{value.name} has {axes or 'no'} ax{'i' if axes == 1 else 'e'}s and was recorded with {value.ndim or 'none'}"
        elif not eval(f"dtype == {variant.target.dtype_text(value.dtype)}", {"dtype": native.dtype, "dtypes": variant.target.dtypes()}):
            yield f"{value.name} is {dtype_name(native)} and was recorded as {value.dtype}"
        elif variant.is_own is not None and variant.is_own(leaf) and dtype_name(leaf) != value.dtype:
            yield f"{value.name} is {dtype_name(leaf)} and was recorded as {value.dtype}"


def _guard_differences(variant: Variant, leaves: list[Any]) -> Iterator[str]:
    arrays = dict(zip(variant.graph.inputs, leaves))

    def read(symbol: Symbol) -> Any:
        return arrays[symbol.source].shape[symbol.axis]

    for guard in variant.graph.entry_guards():
        if isinstance(guard.condition, Size) and all(symbol.source in arrays for symbol in guard.condition.symbols()):
            if any(read(symbol) is None for symbol in guard.condition.symbols()):
                yield f"{guard_text(guard)} cannot be told of sizes that are unknown yet"
            elif not substitute(guard.condition, read):
                yield f"{guard_text(guard)} does not hold"


def _bound_differences(variant: Variant, leaves: list[Any]) -> Iterator[str]:
    arrays = dict(zip(variant.graph.inputs, map(variant.target.convert, leaves)))

    def read(symbol: Symbol) -> int:
        return int(arrays[symbol.source].shape[symbol.axis])

    for given, *bounds in variant.graph.notes.get("bounds", ()):
        low, high, besides = (substitute(item, read) for item in bounds)
        elements = variant.target.on_host(arrays[given])
        if elements is not None and not lies_within(elements, low, high, besides):
            yield f"the indices {given.name} do not lie in [{low}, {high})"


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


def explain(name: str, variants: Sequence[Variant], refused: Iterable[str] = ()) -> str:
    """All variants in words, and the calls that were ``refused``."""
    lines = [f"{name}: {len(variants)} variant{_s(len(variants))}"]
    for number, variant in enumerate(variants):
        graph = variant.graph
        lines.append(f"variant {number}, recorded because: {variant.why}")
        lines.append(f"  inputs: {', '.join(f'{value.name} {value.dtype}{list(value.spec.hints)}' for value in graph.inputs) or 'none'}")
        counts = {"operation": len(graph.nodes), "parameter": len(graph.parameters), "constant": len(graph.constants)}
        lines.append(f"  {', '.join(f'{count} {what}{_s(count)}' for what, count in counts.items())}")
        lines += [f"  holds while: {guard_text(guard)}" for guard in graph.guards]
    lines += [f"refused: {why}" for why in refused]
    return "\n".join(lines)
