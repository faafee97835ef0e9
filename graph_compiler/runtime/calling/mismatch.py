"""Explanations of why a call does not fit a variant."""

from __future__ import annotations

import itertools
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...assumptions import in_order
from ...contracts import Target
from ...errors import InvalidRegistration, nearest
from ...ir.node import Value, count_all
from ...ops.dtypes import dtype_name
from ...recording.state.places import StatePlace
from ...registration import responds_to
from ...sizes import Symbol
from ...trees import (
    AppendOnly,
    Branch,
    Leaf,
    Path,
    Setting,
    Static,
    Tree,
    TypedLeaf,
    child_of,
    is_like,
    is_stand_in,
    items_of,
    leaves_at,
    plain_class,
    same_keys,
    same_static,
    unfixed,
)
from ..executable import describe_compilation
from ..variant import Variant
from .matcher import narrows

# -------------------------------------------------------------------------------------------------- structure
# Descriptions of how the structure of a call differs from the recorded one.

# First element of the path of a place outside the arguments.
OUTSIDE = 2
IsArray = Callable[[Any], bool]
# Maximum depth of attributes when two objects are compared.
_MAX_DEPTH = 5


@dataclass(frozen=True)
class ArgumentReader:
    """Names of arguments for messages, and recognition of arrays among them.

    is_array(item): returns True if ``item`` matches an array.
    positional: names of parameters, for arguments passed by position.
    """

    is_array: IsArray
    positional: Sequence[str] = ()

    def name(self, path: Path) -> str:
        if len(path) < 2:
            return f"what is given by {'keyword' if path == (1,) else 'position'}"
        kind, name, *keys = path
        if kind == 0 and name < len(self.positional):
            name = self.positional[name]
        return f"{'' if kind == OUTSIDE else 'argument '}{name}{''.join(f'[{key!r}]' for key in keys)}"


def structure_differences(old: Tree, value: Any, path: Path, reader: ArgumentReader) -> Iterator[str]:
    """Yield texts on how ``value``, which is at ``path``, differs from the recorded tree ``old``."""
    if isinstance(old, Branch):
        yield from _branch_differences(old, value, path, reader)
    elif isinstance(old, Static):
        if not same_static(old.value, value):
            yield _other_static(old.value, value, path, reader)
    elif not (
        _is_scalar(old.type, value, reader.is_array) if isinstance(old, TypedLeaf) else reader.is_array(value)
    ):
        now, before = _describe(value, reader.is_array), _describe_tree(old)
        yield f"{reader.name(path)} is {now} and was recorded as {before}"


def _is_scalar(cls: type, value: Any, is_array: IsArray) -> bool:
    return type(value) is cls or responds_to(cls, "__array__") and is_array(value)


def _branch_differences(old: Branch, value: Any, path: Path, reader: ArgumentReader) -> Iterator[str]:
    if plain_class(type(value)) is not old.type and not (
        is_stand_in(old.type) and is_like(type(value), old.type)
    ):
        yield _of_other_class(old, value, path, reader)
        return
    if isinstance(old, AppendOnly):
        return
    if reader.is_array(value):
        yield f"{reader.name(path)} is an array and was recorded as {_describe_tree(old)}"
        return
    keys = tuple(key for key, _ in items_of(value))
    # Keyword arguments may come in any order; ``KeywordOrder`` checks those in ``**kwargs``.
    is_ordered = isinstance(value, Mapping) and path != (1,)
    if not same_keys(keys, old.keys) if is_ordered else set(keys) != set(old.keys):
        yield _of_other_keys(path, old, keys, reader)
        return
    for index, (key, child) in enumerate(zip(old.keys, old.children)):
        yield from structure_differences(child, child_of(value, index, key), (*path, key), reader)


def _of_other_class(old: Branch, value: Any, path: Path, reader: ArgumentReader) -> str:
    now, before = _describe(value, reader.is_array), _describe_tree(old)
    if type(value).__name__ == old.type.__name__:
        now, before = (
            f"{text} of {cls.__module__}.{cls.__qualname__}"
            for text, cls in ((now, type(value)), (before, old.type))
        )
    return f"{reader.name(path)} is {now} and was recorded as {before}"


def _of_other_keys(path: Path, old: Branch, keys: tuple[Any, ...], reader: ArgumentReader) -> str:
    if path == (0,):
        return (
            f"the call has {len(keys) or 'no'} positional argument{plural_s(len(keys))} and was recorded "
            f"with {len(old.keys) or 'none'}"
        )
    if path == (1,):
        now, before = (", ".join(map(str, names)) for names in (keys, old.keys))
        absent = [name for name in old.keys if name not in keys]
        # Other parameters of the function are no misspellings.
        unknown = (name for name in keys if name not in old.keys and name not in reader.positional)
        return (
            f"the call has {f'the keywords {now}' if now else 'no keywords'} and was recorded with "
            f"{before or 'none'}{''.join(nearest(name, absent) for name in unknown)}"
        )
    order = ", the keys in another order" if keys != old.keys and set(keys) == set(old.keys) else ""
    now, before = _keys(old.type, keys), _keys(old.type, old.keys)
    return f"{reader.name(path)} is {now} and was recorded as {before}{order}"


def _other_static(old: Any, value: Any, path: Path, reader: ArgumentReader) -> str:
    now, before = _describe(value, reader.is_array), _describe_static(old)
    reads_alike = _without_address(old) == _without_address(value)
    if type(old) is not type(value) or not reads_alike and not _has_parts(unfixed(value)):
        return f"{reader.name(path)} is {now} and was recorded as {before}"
    return (
        f"{reader.name(path)} is another {type(value).__name__} than the one that was "
        f"recorded{_what_differs(unfixed(old), unfixed(value))}"
    )


def _what_differs(old: Any, value: Any) -> str:
    unlike = list(_unlike_parts(old, value, "", _MAX_DEPTH))
    for where, one, other in unlike:
        if _without_address(one) != _without_address(other):
            return f": {where} is {_describe_static(other)} and was {_describe_static(one)}"
    where, _, other = next(iter(unlike), ("", old, value))
    part = f"{where} is a {type(other).__name__}, and two of these" if where else "two of these"
    return (
        f": {part} are the same only where they are one object. Pass the same object again, or "
        "static_argnames with a class that has __eq__ and __hash__"
    )


def _without_address(value: Any) -> str:
    # The address in a ``repr`` differs between equal objects and tells users nothing.
    return re.sub(r"\b0x[0-9a-fA-F]+", "", _describe_static(value))


def _unlike_parts(old: Any, value: Any, where: str, depth: int) -> Iterator[tuple[str, Any, Any]]:
    """Yield ``(path, old, new)`` for attributes and items in which two objects differ, down to ``depth``."""
    if same_static(old, value):
        return
    parts = items_of(value) if _has_parts(value) and depth else []
    if type(old) is type(value) and parts:
        before = dict(items_of(old))
        inside = (
            _unlike_parts(before[key], part, where + _step(value, key), depth - 1)
            for key, part in parts
            if key in before
        )
        yield from itertools.chain.from_iterable(inside)
        extra = [key for key, _ in parts if key not in before] + [
            key for key in before if key not in dict(parts)
        ]
        yield from ((where + _step(value, key), before.get(key), dict(parts).get(key)) for key in extra)
    elif where:
        yield where, old, value


def _has_parts(value: Any) -> bool:
    return not (isinstance(value, type) or callable(value) or _is_own_array(value)) and bool(items_of(value))


def _step(value: Any, key: Any) -> str:
    return (
        f"[{key!r}]"
        if isinstance(value, (tuple, list, Mapping)) and not isinstance(key, Setting)
        else f".{key}"
    )


def _keys(cls: type, keys: tuple[Any, ...]) -> str:
    if cls in (list, tuple, deque):
        return f"a {cls.__name__} of {len(keys)} item{plural_s(len(keys))}"
    return f"{cls.__name__}({', '.join(map(str, keys))})"


def _describe(value: Any, is_array: IsArray) -> str:
    if not isinstance(value, type) and is_array(value):
        return "an array"
    return (
        _keys(type(value), tuple(key for key, _ in items_of(value)))
        if _has_parts(value)
        else _describe_static(value)
    )


def _describe_static(value: Any) -> str:
    if _is_own_array(value):
        return f"a {type(value).__name__} (a class of arrays of its own; pass np.asarray of it)"
    return repr(unfixed(value))


def _is_own_array(value: Any) -> bool:
    return any(base.__name__ == "ndarray" for base in type(value).__mro__)


def _describe_tree(tree: Tree) -> str:
    if isinstance(tree, TypedLeaf):
        return f"{'an' if tree.type is int else 'a'} {tree.type.__name__}"
    if isinstance(tree, Static):
        return _describe_static(tree.value)
    return "an array" if isinstance(tree, Leaf) else _keys(tree.type, tree.keys)


def plural_s(count: int) -> str:
    return "" if count == 1 else "s"


# --------------------------------------------------------------------------------------------------- mismatch
def why_missed(
    variant: Variant,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    given: Mapping[str, Any] | None = None,
    names: Sequence[str] = (),
) -> str:
    """Return a text on why ``variant`` does not run a call, such as a difference from the recorded one.

    given: state by name, which replaces the current state; None for the current state.
    names: names of the parameters, for arguments passed by position.
    """
    if not variant.environment.holds():
        return variant.environment.reason()
    matched = variant.matching.match(args, kwargs) if given is None else None
    if matched is not None:
        # The next attempt must draw the same random numbers.
        variant.matching.rewind()
        for item in matched:
            if isinstance(item, variant.target.array_types):
                _require_members(item, variant.target)
        # Only the first line: the rest of a framework's error is advice for its own users.
        return variant.last_failure().strip().partition("\n")[0] or "it fits"
    return next(
        _differences(variant, args, kwargs, given, names),
        "an object among the arguments has attributes of its own that it had not while recording",
    )


def _differences(
    variant: Variant,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    given: Mapping[str, Any] | None,
    names: Sequence[str],
) -> Iterator[str]:
    held = [(place, old, (given or {}).get(place.name, item)) for place, old, item in _current_state(variant)]
    yield from structure_differences(
        variant.graph.input_tree,
        (args, kwargs),
        (),
        ArgumentReader(lambda item: variant.target.convert(item) is not None, names),
    )
    yield from _state_differences(variant, held)
    # The structure is known to fit here: the callers stop at the first difference.
    leaves = leaves_at(variant.graph.input_tree, (args, kwargs))
    leaves += [leaf for _, old, item in held for leaf in leaves_at(old, item)]
    yield from _leaf_differences(variant, leaves)
    call = _MissedCall(variant, leaves, kwargs)
    for assumption in in_order(variant.graph):
        if why := assumption.why_broken(call):
            yield why


def why_outdated(variant: Variant) -> str:
    if not variant.environment.holds():
        return variant.environment.reason()
    return next(_state_differences(variant, _current_state(variant)), "")


def _current_state(variant: Variant) -> list[tuple[StatePlace, Tree, Any]]:
    return [(place, old, place.read()) for place, old in _state_places(variant)]


def _state_differences(variant: Variant, held: list[tuple[StatePlace, Tree, Any]]) -> Iterator[str]:
    write_back = variant.objects.write_back
    convert = variant.target.convert if write_back is None else write_back.convert
    for place, old, item in held:
        yield from structure_differences(
            old, item, (OUTSIDE, place.name), ArgumentReader(lambda part: convert(part) is not None)
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
        _require_members(native, variant.target)
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
            variant.objects.is_foreign
            and narrows(variant.target)
            and native is not leaf
            and dtype_name(leaf) != value.dtype
        ):
            yield f"{value.name} is {dtype_name(leaf)} and was recorded as {value.dtype}"


def _require_members(array: Any, target: Target) -> None:
    for name in ("shape", "ndim", "dtype"):
        if not _has_member(array, name):
            raise InvalidRegistration(
                f"{target.name}: an array of class {type(array).__name__} has no {name}, which a backend's "
                "arrays need (contracts.Target.convert); add it to the class"
            )


# TensorFlow raises ValueError for the shape of an array of unknown rank inside a traced function, and torch
# RuntimeError for that of a nested tensor.
_HAS_NO_SHAPE = (ValueError, RuntimeError)


def _has_member(array: Any, name: str) -> bool:
    try:
        return hasattr(array, name)
    except _HAS_NO_SHAPE:
        return True


def _rank(array: Any) -> int | None:
    try:
        return len(array.shape)
    except _HAS_NO_SHAPE:
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
    def undecided_errors(self) -> tuple[type[Exception], ...]:
        return self.variant.target.undecided_errors

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
    """Return a text about the variants of a graph, its refused calls and abandoned recordings.

    beyond: text on calls beyond the limit of variants; "" if there were none.
    gave_up: abandoned ways to record that belong to no variant.
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
        lines += [f"  runs {how}" for how in [describe_compilation(variant.executable.called)] if how]
        lines += [f"  holds while: {guard}" for guard in graph.guards]
        lines += [f"  gave up: {each}" for each in variant.gave_up]
    lines += [
        *(f"gave up: {each}" for each in gave_up),
        *(f"refused: {why}" for why in refused),
        *([beyond] if beyond else []),
    ]
    return "\n".join(lines)
