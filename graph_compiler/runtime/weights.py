"""Weights of a graph for another framework: conversion, stacking, missing weights, and write-back."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ..codegen import Program
from ..codegen.layers import HELPER, Stack
from ..contracts import Live, Target, Unwatched, Watch, Weights
from ..errors import CallMismatch, GuardFailed, InvalidOption, NotTraced, WeightsMismatch, WeightsMissing
from ..ir.graph import Graph as IRGraph
from ..ops.dtypes import NARROWED, dtype_name
from ..recording.lock import recording_lock
from .foreign_state import ConversionCache, numpy_values

if TYPE_CHECKING:
    from .graph import Graph
    from .variant import Variant


def missing_weight_error(graph: IRGraph, name: str) -> CallMismatch:
    return CallMismatch(
        f"{graph.name}: there is no weight {name!r} among the parameters; it needs "
        f"{', '.join(graph.parameters)}"
    )


def require_shapes(of: str, shapes: Mapping[str, tuple[int, ...]], parameters: Mapping[str, Any]) -> None:
    """Raise ``GuardFailed`` if a weight has another shape than while recording.

    Raise ``CallMismatch`` if a weight is a string, bytes, list, tuple or dict. Weights that are missing,
    have no shape, or have unknown sizes while TensorFlow traces pass.
    """
    for name, recorded in shapes.items():
        shape: Any = getattr(parameters.get(name), "shape", None)
        # tf.TensorShape is no tuple, and has a rank only if that is known.
        sizes = (
            tuple(shape) if isinstance(shape, tuple) or getattr(shape, "rank", None) is not None else recorded
        )
        if sizes != recorded and None not in sizes:
            raise GuardFailed(
                f"{of}: the weight {name!r} has the shape {sizes} and had {recorded} while recording"
            )
        if isinstance(parameters.get(name), (str, bytes, list, tuple, dict)):
            raise CallMismatch(
                f"{of}: the parameter {name!r} is a {type(parameters[name]).__name__}, and has to be an array"
            )


_NONE: Mapping[str, Any] = {}


class _ConvertedWeights(NamedTuple):
    """The last conversion of a variant's weights.

    source: the mapping that was converted, compared by identity to find replaced arrays.
    watch: detects in-place writes by the user to arrays that no call of the graph writes to.
    native: arrays of the target by name.
    """

    source: Mapping[str, Any]
    watch: Watch
    native: dict[str, Any]


class NoWeights(Live):
    is_counted = False

    def __call__(self) -> Mapping[str, Any]:
        return _NONE

    def leave(self, name: str, value: Any) -> None:
        raise KeyError(name)


class NativeWeights(Live):
    """Callable that returns the weights of a variant as arrays of the target.

    A weight that no call writes to is converted at the first call, and again once the user writes to it
    or replaces it. Its conversion may share the user's memory if the weight is trained (``adopted``);
    other weights and buffers are copied (``copied``). :meth:`leave` writes a buffer's new value into the
    user's objects. All calls return the same dict, with written buffers updated in it, until another
    weight is converted again.
    """

    def __init__(
        self,
        weights: Weights,
        graph: IRGraph,
        recorded: IRGraph,
        target: Target,
        adopted: ConversionCache,
        copied: ConversionCache,
    ) -> None:
        self._weights, self._target, self._copied = weights, target, copied
        written = dict.fromkeys(effect.target for effect in graph.effects if effect.kind == "buffer")
        self._rebound = {effect.target for effect in recorded.effects if effect.kind == "buffer"}
        names = list(dict.fromkeys((*graph.parameters, *written)))
        self._written, self._steady = list(written), [name for name in names if name not in written]
        self._tables = {name: adopted if weights.is_trained(name) else copied for name in self._steady}
        self._live = weights.live(names)
        self._watch_of = self._live.watch
        self._converted = _ConvertedWeights(_NONE, Unwatched(), dict.fromkeys(names))

    def __call__(self) -> Mapping[str, Any]:
        converted = self._converted
        if (now := self._live()) is not converted.source or converted.watch.changed():
            converted = self._converted = self._all_converted(converted.native)
        for name in self._written:
            converted.native[name] = self._buffer(name, now[name])
        return converted.native

    def _all_converted(self, native: Mapping[str, Any]) -> _ConvertedWeights:
        seen, watched = self._live(), self._watch_of(self._steady)
        # A new dict, so that other threads see either all old or all new arrays.
        made = dict(native)
        # The target may trace the first call, but the conversions are stored beyond it.
        with self._target.untraced():
            made.update((name, self._tables[name].get_or_convert(seen[name])) for name in self._steady)
        return _ConvertedWeights(seen, watched, made)

    def _buffer(self, name: str, array: Any) -> Any:
        # Buffers are copied, because calls write to them while the target may still compute.
        known = self._copied.lookup(array)
        if known is None:
            # This raises if the array no longer has the recorded shape and dtype.
            self._watch_of([name])
            known = self._copied.get_or_convert(array)
        return known

    def leave(self, name: str, value: Any) -> None:
        held = self._weights.leave(name, numpy_values(self._target, value), name in self._rebound)
        self._copied.store(held, value)


# --------------------------------------------------------------------------------------------------- stacking
# Weights of equal layers, stacked for programs that loop over the layers.


class StackedWeights:
    """Callable that returns the current weights by name, with the weights of equal layers stacked.

    The stacked arrays are cached, and all calls return the same dict, until ``parameters()`` returns
    another mapping, because a weight was replaced.

    written: names of buffers that calls replace.
    """

    def __init__(
        self, parameters: Live, stacks: Sequence[Stack], stacked: Callable[..., Any], written: Iterable[str]
    ) -> None:
        self._parameters, self._stacks, self._stacked, self._written = (
            parameters,
            stacks,
            stacked,
            tuple(written),
        )
        self._left_out = {name for stack in stacks for name in stack.names()}
        self._held: tuple[Mapping[str, Any], dict[str, Any]] = _NONE, {}

    def __call__(self) -> Mapping[str, Any]:
        now, (seen, made) = self._parameters(), self._held
        # The weights are the same mapping until one of them is replaced.
        if now is not seen:
            made = {name: array for name, array in now.items() if name not in self._left_out}
            made.update((stack.together(), self._stacked(now, *stack)) for stack in self._stacks)
            self._held = now, made
        # Calls replace these buffers without replacing the mapping.
        made.update((name, now[name]) for name in self._written)
        return made


def weights_reader(
    parameters: Live, program: Program, graph: IRGraph, flat: Callable[..., Any]
) -> Callable[[], Mapping[str, Any]]:
    if not program.stacks:
        return parameters
    written = (effect.target for effect in graph.effects if effect.kind == "buffer")
    # ``Target.placed`` may have wrapped the function, whose globals hold the helper.
    return StackedWeights(parameters, program.stacks, inspect.unwrap(flat).__globals__[HELPER], written)


def with_captured_weights(
    parameters: Live, program: Program, flat: Callable[..., Any]
) -> Callable[..., Any] | None:
    """Return the flat function with its weights read inside, for a compiler that captures them.

    Return None if the weights are stacked, are not the first argument, or cannot be captured.
    """
    if program.stacks or program.arguments[:1] != ("parameters",) or not parameters.is_captured:
        return None

    def reading(*others: Any) -> Any:
        return flat(parameters(), *others)

    reading.__name__ = flat.__name__
    return reading


# ----------------------------------------------------------------------------------------------- meta weights
# Variants of models on the device ``meta``, which raise ``WeightsMissing`` until weights are loaded.

# Maximum number of names in a message.
_SHOWN = 5


def missing_names(weights: Weights | None, names: Iterable[str]) -> list[str]:
    return [] if weights is None else weights.awaited(names)


def missing_weights(variant: Variant) -> list[str]:
    return missing_names(*_weights_of(variant))


def _weights_of(variant: Variant) -> tuple[Any, Iterable[str]]:
    written = (effect.target for effect in variant.graph.effects if effect.kind == "buffer")
    return variant.recording and variant.recording.weights, dict.fromkeys(
        (*variant.graph.parameters, *written)
    )


def require_weights(variants: Iterable[Variant]) -> None:
    """Raise ``WeightsMissing`` if a variant held back by :func:`hold_back` still lacks weights."""
    for variant in variants:
        # ``hold_back`` sets an attribute of the instance, which hides the method.
        if isinstance(vars(variant).get("attempt"), _WeightsGate):
            # While another thread records, missing weights are replaced by zeros, so wait for it.
            with recording_lock:
                require_loaded(variant.graph.name, *_weights_of(variant))


def require_loaded(name: str, weights: Any, names: Iterable[str]) -> None:
    if missing := missing_names(weights, names):
        _raise_missing(name, missing)


def _raise_missing(name: str, names: list[str]) -> None:
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    raise WeightsMissing(
        f"{name} was recorded with its model on the device meta, and its weights are missing: {shown}. Give "
        "them with graph.load_weights(source), a safetensors file, a folder of such files or a dict of "
        "arrays by their names in the model"
    )


def hold_back(variant: Variant) -> None:
    """Make calls of a variant raise ``WeightsMissing`` until its weights are loaded.

    Do nothing if no weight is missing.
    """
    if (variant.graph.parameters or variant.graph.effects) and missing_weights(variant):
        variant.attempt = _WeightsGate(variant)  # type: ignore[method-assign]


@dataclass(frozen=True)
class _WeightsGate:
    variant: Variant

    def __call__(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        require_weights([self.variant])
        vars(self.variant).pop("attempt", None)
        return self.variant.attempt(args, kwargs)


# -------------------------------------------------------------------------------------------------- to source
# Writing of trained values into the original model's variables: either all of them or none.

# Prefix of the dtypes of random keys.
_KEY = "key<"


def to_source(graph: Graph, values: Any) -> None:
    owners, target = _owners(graph), graph.pipeline.target.target
    held = {name: weights.live([name])()[name] for name, weights in owners.items()}
    given = _to_target(_by_name(graph, values), target)
    for name in [
        name for name, array in held.items() if dtype_name(array).startswith(_KEY) and name not in graph.state
    ]:
        # Calls never write to such a key, and other frameworks store it as integers.
        del held[name]
        given.pop(name, None)
    if problems := [*_names_wrong(held, given), *_arrays_wrong(held, given)]:
        raise WeightsMismatch(
            f"{graph.name}: these are not the parameters of the graph; nothing was changed.\n  "
            + "\n  ".join(problems)
        )
    # All values are read before the first write, so that an error changes nothing.
    elements = {name: numpy_values(target, array) for name, array in given.items()}
    for name in held:
        owners[name].leave(name, elements[name], False)


def _owners(graph: Graph) -> dict[str, Any]:
    if not graph.variants:
        raise NotTraced(
            f"{graph.name}: nothing is recorded yet; call the graph once, or pass args=, before to_source"
        )
    if not graph.pipeline.has_original:
        raise NotTraced(
            f"{graph.name} was loaded from a file: there is no original whose variables could change. Save "
            "what is held instead"
        )
    return {
        name: variant.recording.weights
        for variant in graph.variants
        if variant.recording
        for name in variant.parameters()
    }


def _by_name(graph: Graph, values: Any) -> dict[str, Any]:
    if isinstance(values, Mapping):
        return dict(values)
    if hasattr(values, "arrays_by_name"):
        return dict(values.arrays_by_name())
    raise InvalidOption(
        f"{graph.name}: to_source takes a module that as_module gave, or a dict of arrays by the names in "
        f"graph.parameters, not a {type(values).__name__}"
    )


def _to_target(given: Mapping[str, Any], target: Target) -> dict[str, Any]:
    made = {
        name: array if isinstance(array, target.array_types) else target.convert(array)
        for name, array in given.items()
    }
    return {name: given[name] if array is None else array for name, array in made.items()}


def _names_wrong(held: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"missing: {name}" for name in held if name not in given)
    yield from (f"unexpected: {name}" for name in given if name not in held)


def _arrays_wrong(held: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[str]:
    for name in held.keys() & given.keys():
        if not hasattr(given[name], "shape"):
            yield f"{name} is no array but of type {type(given[name]).__name__}"
        elif _spec(given[name]) not in (wanted := _spec(held[name]), _spec(held[name], narrowed=True)):
            yield f"{name} is {_spec(given[name])}, and the original has {wanted}"


def _spec(array: Any, narrowed: bool = False) -> str:
    dtype = dtype_name(array)
    return f"{NARROWED.get(dtype, dtype) if narrowed else dtype}{list(array.shape)}"
