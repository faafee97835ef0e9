"""Weights of a graph as arrays of its framework: conversion, and stacking of equal layers."""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..codegen import Program
from ..codegen.layers import HELPER, Stack
from ..contracts import Live, Target, Unwatched, Watch, Weights
from ..errors import CallMismatch, GuardFailed
from ..ir.graph import Graph as IRGraph
from ..recording.code.ownership import package_of
from ..registration import backends, frameworks_by_package, frontends
from .foreign_state import ConversionCache, convert_array, numpy_values
from .frameworks import backend_of


def missing_weight_error(graph: IRGraph, name: str) -> CallMismatch:
    return CallMismatch(
        f"{graph.name}: there is no weight {name!r} among the parameters; it needs "
        f"{', '.join(graph.parameters)}"
    )


def foreign_weight_error(graph: IRGraph, target: Target, leading: Sequence[Any]) -> CallMismatch | None:
    """Return an error about a weight in ``leading`` that belongs to another framework, or None.

    NumPy arrays are accepted.
    """
    frameworks = frameworks_by_package(frontends.own.values())
    for given in (item for item in leading if isinstance(item, Mapping)):
        for name in graph.parameters.keys() & given.keys():
            framework = frameworks.get(package_of(type(given[name]).__module__))
            if framework not in (None, "numpy", target.name):
                if framework in backends.known() and backend_of(framework).target.is_traced(given[name]):
                    has_derivatives = backends.get(target.name).has_derivatives
                    transforms = ", or use graph_compiler.transforms" if has_derivatives else ""
                    return CallMismatch(
                        f"{graph.name}: {framework} traces the weight {name!r}, to differentiate or compile "
                        f"the call, and a graph for {target.name} cannot take part in that. Make a graph "
                        f'with transpile(..., to="{framework}"){transforms}'
                    )
                return CallMismatch(
                    f"{graph.name}: the weight {name!r} is a {type(given[name]).__name__} of {framework}, "
                    f"and has to be an array of {target.name}, as in graph.parameters"
                )
    return None


def require_shapes(of: str, shapes: Mapping[str, tuple[int, ...]], parameters: Mapping[str, Any]) -> None:
    """Raise an error if a weight is known to have another shape than in ``shapes``, or to be no array."""
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
# A target that runs asynchronously gets copies of weights that have at most this many bytes in all. Calls
# then need not wait until the weights have been read, and comparing so few bytes costs less than waiting.
_LARGEST_COPY = 1 << 17


class ConvertedWeights(NamedTuple):
    """Conversion of a variant's weights.

    source: the mapping that was converted, compared by identity to find replaced arrays.
    watch: detects in-place writes by the user to arrays that no call of the graph writes to.
    copies: the same, but only for arrays whose conversions do not share their memory.
    native: arrays of the target by name.
    arrays: the values of ``native`` as a tuple, for a graph that writes to none of them.
    may_be_written: True if the user's code may write to memory of the arrays while a call reads it.
    """

    source: Mapping[str, Any]
    watch: Watch
    copies: Watch
    native: dict[str, Any]
    arrays: tuple[Any, ...]
    may_be_written: bool = False


class NoWeights(Live):
    is_counted = False

    def __call__(self) -> Mapping[str, Any]:
        return _NONE

    def write_buffer(self, name: str, value: Any) -> None:
        raise KeyError(name)


class NativeWeights(Live):
    """Callable that returns the weights of a variant as arrays of the target.

    Several calls may return the same dict, with its buffers updated.

    latest: the last conversion.
    are_written: True if calls of the graph replace some of the weights.
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
        self.are_written = bool(written)
        sizes = (getattr(array, "nbytes", _LARGEST_COPY + 1) for array in self._live().values())
        self._may_be_copied = target.runs_asynchronously is not None and sum(sizes) <= _LARGEST_COPY
        self.latest = ConvertedWeights(_NONE, Unwatched(), Unwatched(), dict.fromkeys(names), ())

    def __call__(self) -> Mapping[str, Any]:
        converted = self.latest
        if (now := self._live()) is not converted.source or converted.watch.changed():
            converted = self.latest = self._all_converted(converted.native)
        for name in self._written:
            converted.native[name] = self._buffer(name, now[name])
        return converted.native

    def is_current(self, converted: ConvertedWeights) -> bool:
        return self._live() is converted.source and not converted.copies.changed()

    def for_call(self) -> ConvertedWeights:
        """Return the weights for one call that writes to none of them."""
        if not self.is_current(self.latest):
            self()
        return self.latest

    def _all_converted(self, native: Mapping[str, Any]) -> ConvertedWeights:
        seen, watched = self._live(), self._watch_of(self._steady, whole=self._may_be_copied)
        may_be_written = not isinstance(watched, Unwatched)
        are_copied = may_be_written and self._may_be_copied and watched.compares_all
        # A new dict, so that other threads see either all old or all new arrays.
        made = dict(native)
        # The target may trace the first call, but the conversions are stored beyond it.
        with self._target.untraced():
            made.update((name, self._converted(name, seen[name], are_copied)) for name in self._steady)
        # A conversion that shares memory with a replaced array would keep it alive.
        for name in self._steady:
            before = self.latest.source.get(name)
            if before is not None and before is not seen[name]:
                self._tables[name].drop(before)
        copies = watched.of_copies([self._target.address(made[name]) for name in self._steady])
        may_be_written = may_be_written and not are_copied
        return ConvertedWeights(seen, watched, copies, made, tuple(made.values()), may_be_written)

    def _converted(self, name: str, array: Any, is_copied: bool) -> Any:
        # The caches compare only samples of large arrays, and would return an old copy after some writes.
        if is_copied:
            return convert_array(array, self._target.convert)
        return self._tables[name].get_or_convert(array)

    def _buffer(self, name: str, array: Any) -> Any:
        # Buffers are copied, because calls write to them while the target may still compute.
        known = self._copied.lookup(array)
        if known is None:
            # This raises if the array no longer has the recorded shape and dtype.
            self._watch_of([name])
            known = self._copied.get_or_convert(array)
        return known

    def write_buffer(self, name: str, value: Any) -> None:
        held = self._weights.set_elements(name, numpy_values(self._target, value), name in self._rebound)
        self._copied.store(held, value)


# --------------------------------------------------------------------------------------------------- stacking
# Weights of equal layers, stacked for programs that loop over the layers.


class StackedWeights:
    """Callable that returns the weights by name, with those of the layers in ``stacks`` stacked.

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
            made.update((stack.stacked_name(), self._stacked(now, *stack)) for stack in self._stacks)
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
    # ``Target.on_device_of_inputs`` may have wrapped the function, whose globals hold the helper.
    return StackedWeights(parameters, program.stacks, inspect.unwrap(flat).__globals__[HELPER], written)


# ------------------------------------------------------------------------------------------------- captured
# Arguments of flat functions that a compiler captures instead.

# Bytes of the largest array that a compiled program contains. Larger ones would slow XLA's compilation.
_LARGEST = 1 << 16


class CapturedArguments(NamedTuple):
    """Generated function, and the leading arguments that its callers pass; a compiler captures the others.

    function: the generated function without the captured arguments, which it reads itself.
    names: names of the leading arguments that are still passed.
    constants: the constants that are still passed.
    text: part of the key in a cache of programs; None if weights are captured.
    """

    function: Callable[..., Any]
    names: tuple[str, ...]
    constants: Mapping[str, Any]
    text: str | None = ""


def capture_weights(parameters: Live, program: Program, passed: CapturedArguments) -> CapturedArguments:
    """Return ``passed`` with a function that reads the weights itself, if possible."""
    if program.stacks or passed.names[:1] != ("parameters",) or not parameters.is_captured:
        return passed
    flat = passed.function

    def function(*others: Any) -> Any:
        return flat(parameters(), *others)

    # ``functools.wraps`` would also give it the signature of ``flat``, which ``tf.function`` follows.
    function.__name__ = flat.__name__
    return passed._replace(function=function, names=passed.names[1:], text=None)


def order_weights(parameters: Live, passed: CapturedArguments) -> CapturedArguments:
    """Return ``passed`` with a function that takes the weights as a tuple, if possible."""
    if not isinstance(parameters, NativeWeights) or parameters.are_written:
        return passed
    flat, names = passed.function, tuple(parameters.latest.native)

    @functools.wraps(flat)
    def function(weights: tuple[Any, ...], *others: Any) -> Any:
        return flat(dict(zip(names, weights)), *others)

    text = None if passed.text is None else f"{passed.text}\n# {names}"
    return passed._replace(function=function, names=("weights", *passed.names[1:]), text=text)


def capture_constants(graph: IRGraph, target: Target, passed: CapturedArguments) -> CapturedArguments:
    """Return ``passed`` with a function that holds small constants that no call replaces, if any."""
    replaced = {effect.target for effect in graph.effects if effect.kind == "constant"}
    captured = {
        name: array
        for name, array in passed.constants.items()
        if name not in replaced and getattr(array, "nbytes", _LARGEST + 1) <= _LARGEST
    }
    if "constants" not in passed.names or not captured:
        return passed
    given = {name: array for name, array in passed.constants.items() if name not in captured}
    flat, place, names = passed.function, passed.names.index("constants"), passed.names

    # The caches of compiled programs look for the globals of the generated function.
    @functools.wraps(flat)
    def function(*others: Any) -> Any:
        held = {**captured, **others[place]} if given else captured
        return flat(*others[:place], held, *others[place + bool(given) :])

    contents = hashlib.sha256()
    for name, array in captured.items():
        elements = target.to_numpy(array)
        contents.update(f"{name} {elements.dtype} {elements.shape} ".encode() + elements.tobytes())
    return CapturedArguments(
        function,
        names if given else (*names[:place], *names[place + 1 :]),
        given,
        None if passed.text is None else f"\n# {contents.hexdigest()}",
    )
