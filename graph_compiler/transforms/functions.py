"""Functions to transform, resolved to a callable of one framework and the derivatives of that framework."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..api import compile
from ..contracts import Derivatives
from ..contracts.derivatives import Arrays
from ..errors import CallMismatch, GradientRefused, GraphCompilerError, InvalidOption, NotCompilable
from ..recording.code.syntax import place_of
from ..recording.reachability.libraries import framework_of
from ..recording.reachability.namespaces import entry_of, spaces_of
from ..recording.reachability.references import function_layers, named_objects
from ..registration import BackendEntry, backends
from ..runtime import Graph
from ..runtime.frameworks import backend_of
from ..runtime.lazy import DeferredPipeline
from ..trees import (
    Branch,
    Path,
    Static,
    Tree,
    flatten,
    in_order_of,
    is_container,
    iterate_structure,
    map_leaves,
    paths,
    unflatten,
)

Rule = Callable[["Function", tuple[Any, ...], dict[str, Any]], Any]
Arguments = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class Function:
    """Callable of one framework, with its derivatives.

    derivatives: transforms of ``framework``.
    name: name of the function, for messages.
    untrained: names of parameters in the first argument of ``graph.functional`` that derivatives take for
        constants.
    convert_result(result): converts a result for the caller.
    number(item): may convert a Python number to an array; returns other items unchanged.
    prepare(args, kwargs): records a graph for these arguments if needed.
    """

    call: Callable[..., Any]
    derivatives: Derivatives
    framework: str
    name: str
    untrained: frozenset[str] = frozenset()
    convert_result: Callable[[Any], Any] = lambda result: result
    number: Callable[[Any], Any] = lambda item: item
    prepare: Callable[[tuple[Any, ...], dict[str, Any]], None] = lambda args, kwargs: None

    def run(self, /, *args: Any, **kwargs: Any) -> Any:
        before = _inside.set(True)
        try:
            return self.call(*args, **kwargs)
        finally:
            _inside.reset(before)


_inside: ContextVar[bool] = ContextVar("inside of a transform", default=False)


def is_inside() -> bool:
    """Return True during a call of :meth:`Function.run`."""
    return _inside.get()


@dataclass(frozen=True)
class BoundRule:
    """Rule of a transform applied to ``inner``, as a function that another transform can call."""

    rule: Rule
    inner: Function

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.rule(self.inner, args, kwargs)


class FunctionWrapper:
    """Base class of wrappers of a function that is resolved at each call."""

    function: Any

    def resolve(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Function:
        """Return the :class:`Function` to transform for a call with these arguments."""
        raise NotImplementedError

    @property
    def source(self) -> str:
        """Source of the graph that the function is or wraps; empty if there is none."""
        return source_of(self.function)


def resolve_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Function:
    """Return the :class:`Function` to transform for a call of ``function`` with these arguments.

    A graph may be recorded for them.
    """
    if isinstance(function, FunctionWrapper):
        return function.resolve(args, kwargs)
    if not callable(function):
        raise NotCompilable(f"{function!r} cannot be transformed: a function, a graph or a model is needed")
    graph = graph_of(function)
    framework = target_of(graph, args, kwargs) if graph is not None else framework_for(function, args, kwargs)
    derivatives = backend_of(framework).derivatives()
    if graph is not None:
        _require_own(graph, framework, args, kwargs)
    if derivatives is not None:
        record_first(function, args, kwargs)
        prepare = functools.partial(record_first, function)
        return Function(
            function,
            derivatives,
            framework,
            name_of(function),
            untrained_parameters(function),
            number=_number_conversion(graph),
            prepare=prepare,
        )
    if graph is not None:
        instead = ", ".join(f"graph.to({entry.name!r})" for entry in differentiable_backends())
        raise NotCompilable(
            f"{framework} has no derivatives: transform one of {instead} in the place of this graph of "
            f"{graph.name}"
        )
    return _recorded_for_derivatives(function, framework, args, kwargs)


def framework_for(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Infer the framework that a plain function computes in for these arguments."""
    owners = list(
        dict.fromkeys(
            owner for item in iterate_structure((args, kwargs)) if (owner := owner_of(item)) is not None
        )
    )
    written = targets_called(function)
    # A graph converts arrays of other frameworks, so its own framework decides.
    if len(written) == 1 and written != owners and framework_of(function, arrays=False) in (None, *written):
        return written[0]
    if len(owners) > 1 and (named := framework_of(function)) in owners:
        return named
    return owners[0] if owners else framework_of(function, (args, kwargs)) or default_framework()


def called_graphs(function: Any) -> Iterator[Graph]:
    """Yield graphs that globals and closure variables lead to in the code that ``function`` runs.

    Attributes of other objects are not searched.

    >>> import torch, graph_compiler
    >>> graph = graph_compiler.compile(torch.sin, args=(torch.ones(2),))
    >>> [found is graph for found in called_graphs(lambda x: graph(x).sum())]
    [True]
    """
    called = (one for space in spaces_of([entry_of(function)]) for one in space.functions)
    layers = dict.fromkeys((*function_layers(function), *called))
    named = (item for layer in layers for item in named_objects(layer))
    for item in (getattr(function, "__self__", None), *named):
        # A bound method such as ``graph.functional`` belongs to its graph.
        item = getattr(item, "__self__", item)
        if isinstance(item, Graph):
            yield item


def targets_called(function: Any) -> list[str]:
    pipelines: list[Any] = [graph._pipeline for graph in called_graphs(function)]
    return list(dict.fromkeys(one.target.name for one in pipelines if not isinstance(one, DeferredPipeline)))


def owner_of(item: Any) -> str | None:
    """Return the name of the framework with derivatives that ``item`` is an array of, or None."""
    return next((name for name, derivatives in _imported_frameworks() if derivatives.owns(item)), None)


def _imported_frameworks() -> list[tuple[str, Derivatives]]:
    names = [
        entry.name
        for entry in backends.known().values()
        if entry.has_derivatives and entry.packages[0] in sys.modules
    ]
    return [(name, found) for name in names if (found := backend_of(name).derivatives()) is not None]


def _recorded_for_derivatives(
    function: Any, framework: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Function:
    written = lazy_graph(function, framework, default_framework())
    derivatives = backend_of(written._pipeline.target.name).derivatives()
    assert derivatives is not None
    record_first(written, args, kwargs)
    target, prepare = written._pipeline.target.name, functools.partial(record_first, written)
    convert_result = converter_to(written, framework)
    return Function(
        written,
        derivatives,
        target,
        name_of(function),
        convert_result=convert_result,
        number=_number_conversion(written),
        prepare=prepare,
    )


def _number_conversion(graph: Graph | None) -> Callable[[Any], Any]:
    pipeline: Any = None if graph is None else graph._pipeline
    source = None if pipeline is None or isinstance(pipeline, DeferredPipeline) else pipeline.frontend.name
    has_own = source is None or source not in backends.known() or backend_of(source).derivatives() is not None
    # NumPy computes Python floats in 64 bits, other frameworks in fewer.
    return (lambda item: item) if has_own else _to_64_bits


def _to_64_bits(item: Any) -> Any:
    return (
        np.asarray(item) if isinstance(item, (float, complex)) and not isinstance(item, np.generic) else item
    )


def converter_to(graph: Graph, framework: str) -> Callable[[Any], Any]:
    target, own = backend_of(graph._pipeline.target.name), backend_of(framework).target
    return functools.partial(
        map_leaves,
        lambda item: own.convert(target.target.to_numpy(item)),
        is_leaf=lambda item: isinstance(item, target.target.array_types),
    )


def lazy_graph(function: Any, framework: str, to: str) -> Graph:
    return _lazy_graph(_CallableKey(function), framework, to)


@dataclass(frozen=True, slots=True, eq=False)
class _CallableKey:
    """Cache key that is equal for identical callables and for equal bound methods."""

    function: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _CallableKey) and (
            self.function is other.function or self._is_bound and bool(self.function == other.function)
        )

    def __hash__(self) -> int:
        return hash(self.function) if self._is_bound else id(self.function)

    @property
    def _is_bound(self) -> bool:
        # Each access to a method makes another object. Methods are equal if their objects are identical.
        return isinstance(self.function, (types.MethodType, types.BuiltinMethodType))


# Cached, so that a transform that is called again finds the variants of the graph.
@functools.lru_cache(maxsize=256)
def _lazy_graph(same: _CallableKey, framework: str, to: str) -> Graph:
    # Some targets cannot differentiate traced loops in reverse mode.
    graph: Graph = compile(same.function, source=framework, to=to, trace_control_flow=False)
    return graph


def record_first(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Record a graph for these arguments if needed, before a transform replaces their arrays by tracers.

    This may call the graph.
    """
    # Tracers have no values to record with.
    if not isinstance(function, Graph) or any(map(_is_traced, iterate_structure((args, kwargs)))):
        return
    fits = [
        variant
        for variant in function.variants
        if not variant.state and variant.matching.match(args, kwargs) is not None
    ]
    if not fits:
        function.add_variant(args, kwargs, "a transform of this call")
    # Values decide which variant fits, and only a call evaluates them.
    elif fits and all(variant.program.checks for variant in fits):
        function(*args, **kwargs)


def _is_traced(item: Any) -> bool:
    owner = owner_of(item)
    return owner is not None and bool(
        _derivatives_of(owner).is_traced(item) or backend_of(owner).target.is_traced(item)
    )


def _derivatives_of(framework: str) -> Derivatives:
    found = backend_of(framework).derivatives()
    assert found is not None
    return found


def _require_own(graph: Graph, framework: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    for item in iterate_structure((args, kwargs)):
        # The derivative of the other framework would end at this graph.
        if owner_of(item) not in (None, framework) and _is_traced(item):
            raise CallMismatch(
                f"{graph.name} is written for {framework}, and is given an array that a transform of "
                f"{owner_of(item)} follows: a derivative would end there. Give the transforms around it "
                f"arrays of {framework}{location_text(graph)}"
            )


def untrained_parameters(function: Any) -> frozenset[str]:
    graph = graph_of(function)
    if graph is None or not is_functional(function) or not graph.variants:
        return frozenset()
    # The original does not train them, and torch cannot differentiate some of them.
    return frozenset(graph.parameters) - graph._differentiable


def graph_of(function: Any) -> Graph | None:
    """Return the graph that ``function`` is, or is a method of (``graph.functional``); else None."""
    found = getattr(function, "__self__", function)
    if not isinstance(found, Graph):
        return None
    # A function that the user has bound to a graph is no method of it.
    called = getattr(function, "__func__", None)
    # A callable object without a name may be bound, too.
    name = getattr(called, "__name__", "")
    is_method = called is not None and getattr(type(found), name, None) is called
    return found if function is found or is_method else None


def is_functional(function: Any) -> bool:
    return getattr(function, "__func__", None) is Graph.functional


def source_of(function: Any) -> str:
    found = function if isinstance(function, FunctionWrapper) else graph_of(function)
    return "" if found is None else found.source


def target_of(graph: Graph, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    pipeline: Any = graph._pipeline
    found: str = (
        pipeline.settled(args, kwargs) if isinstance(pipeline, DeferredPipeline) else pipeline
    ).target.name
    return found


def name_of(function: Any) -> str:
    graph = graph_of(function)
    return graph.name if graph is not None else getattr(function, "__name__", type(function).__name__)


def location_text(function: Any) -> str:
    """Return the file and line of ``function`` for the end of an error message; empty if unknown."""
    if isinstance(function, (FunctionWrapper, BoundRule)):
        return location_text(
            function.function if isinstance(function, FunctionWrapper) else function.inner.call
        )
    graph = graph_of(function)
    return place_of(
        function if graph is None or not graph._pipeline.has_original else graph._pipeline.function
    )


def default_framework() -> str:
    known = differentiable_backends()
    found = next((entry.name for entry in known if importlib.util.find_spec(entry.packages[0])), None)
    if found is None:
        raise NotCompilable(
            f"no framework with derivatives is installed: {' or '.join(entry.install for entry in known)}"
        )
    return found


def differentiable_backends() -> list[BackendEntry]:
    return [entry for entry in backends.own.values() if entry.has_derivatives]


@contextmanager
def missing_derivatives_reported(words: str, function: Function) -> Iterator[None]:
    """Report a missing derivative as ``GradientRefused``, unless another transform encloses this one."""
    try:
        yield
    # Frameworks refuse derivatives by exceptions of all kinds, which ``is_missing_derivative`` recognizes by
    # their messages.
    except Exception as problem:
        # An outer transform may reach the derivative in another way.
        if is_inside():
            raise
        if isinstance(problem, GraphCompilerError):
            # A graph of another framework refuses arrays whose elements a transform hides.
            if isinstance(problem, CallMismatch):
                _require_graphs_of(words, function, problem)
            raise
        if not function.derivatives.is_missing_derivative(problem):
            _require_graphs_of(words, function, problem)
            raise
        reason, _, _ = str(problem).partition("\n")
        raise GradientRefused(
            f"{words} of {function.name}: its framework has no such derivative ({reason}). Take another one, "
            f"or transform a graph of it that is written for another framework{location_text(function.call)}"
        ) from problem


def _require_graphs_of(words: str, function: Function, problem: Exception) -> None:
    own = function.framework
    if others := [name for name in targets_called(function.call) if name != own]:
        raise CallMismatch(
            f"{words} of {function.name}: its code or its arrays are of {own}, and it calls a graph that is "
            f"written for {others[0]}, where the derivative would end. Write what is around the graph in "
            f"{others[0]} and give it arrays of {others[0]}, or take the graph for {own}, "
            f"graph.to({own!r}){location_text(function.call)}"
        ) from problem


class FlattenedFunction:
    """Wrapper of a function that takes and returns flat lists of arrays.

    tree: structure of ``(args, kwargs)``.
    """

    def __init__(self, function: Function, words: str, tree: Tree) -> None:
        self._function, self._words, self._tree = function, words, tree
        self._result: Tree | None = None

    def __call__(self, arrays: Arrays) -> Arrays:
        args, kwargs = unflatten(self._tree, arrays)
        leaves, self._result = flatten(self._function.run(*args, **kwargs), is_value)
        return native_arrays(self._function, self._words, leaves)

    def result(self, arrays: Arrays) -> Any:
        assert self._result is not None
        return unflatten(self._result, arrays)


def native_arrays(function: Function, words: str, leaves: list[Any]) -> Arrays:
    """Convert the leaves of a result to arrays of the framework.

    Raise ``CallMismatch`` for a leaf that may have lost its derivative.
    """
    for leaf in leaves:
        if not function.derivatives.keeps_derivative(leaf):
            found = f"{type(leaf).__module__.partition('.')[0]}.{type(leaf).__name__}"
            raise CallMismatch(
                f"{words} of {function.name}: it gives {found}, which has no derivative in the framework "
                f"that it is transformed in; compute in one framework{location_text(function.call)}"
            )
    return list(map(function.derivatives.array, leaves))


def is_array(item: Any) -> bool:
    # Classes of arrays have these attributes, too.
    return hasattr(item, "dtype") and hasattr(item, "shape") and not isinstance(item, type)


def is_value(item: Any) -> bool:
    return isinstance(item, (float, complex)) or is_array(item)


Names = Sequence[str]

# These differentiate with respect to all arguments, some of which may have no derivative.
_WITH_RESPECT_TO_ALL = (
    "jvp",
    "vjp",
    "linearize",
)


def position_of(function: Any, name: str, args: Sequence[Any]) -> int | None:
    """Return the index of the argument in ``args`` for the parameter ``name``, or None if it is not found."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    # Parameters behind ``*args`` are given by keyword only, however many positional arguments there are.
    names = [one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    return names.index(name) if name in names[: len(args)] else None


class DifferentiatedCall:
    """Call as a function of the differentiable arrays in its differentiated arguments.

    arrays: the differentiable arrays.
    has_aux: True if the function returns ``(result, aux)``.
    """

    def __init__(
        self,
        function: Function,
        words: str,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        chosen: tuple[Sequence[int], Names],
        has_aux: bool,
    ) -> None:
        self.function, self.words, self.has_aux = function, words, has_aux
        self._args, self._kwargs = list(args), dict(kwargs)
        self._places = [*map(self._locate, chosen[0]), *map(self._locate, chosen[1])]
        if len(set(self._places)) < len(self._places):
            numbers, names = chosen
            raise InvalidOption(
                f"{words} of {function.name}: argnums={tuple(numbers)} and argnames={tuple(names)} name an "
                "argument more than once"
            )
        leaves, self._tree = flatten([self._container_of(place)[place] for place in self._places], is_value)
        self._leaves = [function.derivatives.array(function.number(leaf)) for leaf in leaves]
        self._has = [self._has_derivative(leaf, path) for leaf, path in zip(self._leaves, paths(self._tree))]
        self._require_differentiable()
        self.arrays = [leaf for leaf, has in zip(self._leaves, self._has) if has]
        self._result: tuple[Tree, list[bool]] | None = None
        self._aux: Tree | None = None
        # Numbers have become arrays, for which the graph may have no variant yet.
        if any(isinstance(leaf, (float, complex)) and has for leaf, has in zip(leaves, self._has)):
            function.prepare(*self._arguments_with(self.arrays))

    # ------------------------------------------------------------------------------ arguments
    def _container_of(self, place: int | str) -> Any:
        return self._args if isinstance(place, int) else self._kwargs

    def _locate(self, key: int | str) -> int | str:
        if isinstance(key, int) and -len(self._args) <= key < len(self._args):
            return key % len(self._args)
        if isinstance(key, str) and (
            key in self._kwargs or (place := position_of(self.function.call, key, self._args)) is not None
        ):
            return key if key in self._kwargs else place  # type: ignore[return-value]
        what = f"argument {key}" if isinstance(key, int) else f"argument {key!r}"
        given = ", ".join((f"{len(self._args)} by position", *map(repr, self._kwargs)))
        raise CallMismatch(
            f"{self.words} of {self.function.name}: there is no {what}; given are "
            f"{given}{location_text(self.function.call)}"
        )

    def _has_derivative(self, leaf: Any, path: Path) -> bool:
        is_untrained = self._places[path[0]] == 0 and len(path) == 2 and path[1] in self.function.untrained
        return self.function.derivatives.is_differentiable(leaf) and not is_untrained

    def _require_differentiable(self) -> None:
        if not self._places:
            raise InvalidOption(
                f"{self.words} of {self.function.name}: say of which argument, argnums= or argnames="
            )
        if any(self._has) and self.words in _WITH_RESPECT_TO_ALL:
            return
        for number, place in enumerate(self._places):
            argument = self._container_of(place)[place]
            found = [leaf for leaf, path in zip(self._leaves, paths(self._tree)) if path[0] == number]
            if is_container(type(argument)) and not [*iterate_structure(argument)]:
                # A graph may have no parameters: the gradient is an empty dict.
                continue
            if not any(map(self.function.derivatives.is_differentiable, found)):
                what = ", ".join(map(describe_array, found)) or repr(argument)
                raise CallMismatch(
                    f"{self.words} of {self.function.name}: argument {place!r} is {what}, which has no "
                    "derivative; pass floating-point numbers, or name another argument, "
                    f"argnums={location_text(self.function.call)}"
                )

    def unflatten_like_arguments(self, arrays: Sequence[Any], leading: Sequence[int] = ()) -> list[Any]:
        """Unflatten ``arrays`` to one pytree for each differentiated argument, with zeros for other leaves.

        leading: axes in front of those of the zeros, such as the result's shape for a Jacobian.
        """
        given, zeros = iter(arrays), self.function.derivatives.zeros_like
        leaves = [next(given) if has else zeros(leaf, leading) for leaf, has in zip(self._leaves, self._has)]
        found: list[Any] = unflatten(_with_zeros(self._tree), leaves)
        return found

    def differentiable_places(self) -> list[int]:
        return [place for place, has in enumerate(self._has) if has]

    def tangents(self, given: Sequence[Any]) -> Arrays:
        """Flatten tangents of the differentiated arguments to tangents of :attr:`arrays`."""
        leaves, tree = flatten(list(given), is_value)
        # Containers may be of other classes, such as a list instead of a tuple.
        if tree != self._tree and len(leaves) != len(self._leaves):
            raise CallMismatch(
                f"{self.words} of {self.function.name}: tangents have {len(leaves)} arrays, and the "
                f"arguments {len(self._leaves)}"
            )
        leaves = in_order_of(self._tree, tree, leaves)
        tangents = [array for array, has in zip(leaves, self._has) if has]
        return [
            matching_array(self, "tangent", place, item, array)
            for place, (item, array) in enumerate(zip(tangents, self.arrays))
        ]

    # ------------------------------------------------------------------------------ its derivatives
    def vjp(self) -> tuple[Arrays, Arrays, Callable[[Arrays], Arrays]]:
        if not self.arrays:
            return *self(self.arrays), lambda cotangents: []
        with self._translating_refusals():
            results, extras, pull = self.function.derivatives.vjp(self, self.arrays)
        return results, extras, self._translating_refusals()(pull)

    def jvp(self, tangents: Arrays) -> tuple[Arrays, Arrays, Arrays]:
        if not self.arrays:
            results, extras = self(self.arrays)
            return results, extras, self._zeros_like(results)
        with self._translating_refusals():
            return self.function.derivatives.jvp(self, self.arrays, tangents)

    def linearize(self) -> tuple[Arrays, Arrays, Callable[[Arrays], Arrays]]:
        if not self.arrays:
            results, extras = self(self.arrays)
            return results, extras, lambda tangents: self._zeros_like(results)
        with self._translating_refusals():
            results, extras, push = self.function.derivatives.linearize(self, self.arrays)
        return results, extras, self._translating_refusals()(push)

    def _zeros_like(self, results: Arrays) -> Arrays:
        return list(map(self.function.derivatives.zeros_like, results))

    def _translating_refusals(self) -> Any:
        return missing_derivatives_reported(self.words, self.function)

    # ------------------------------------------------------------------------------ the function
    def __call__(self, arrays: Arrays) -> tuple[Arrays, Arrays]:
        """Return the differentiable results, and the other results followed by the arrays of aux."""
        args, kwargs = self._arguments_with(arrays)
        return self._flatten_result(self.function.run(*args, **kwargs))

    def _arguments_with(self, arrays: Arrays) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args, kwargs = list(self._args), dict(self._kwargs)
        given = iter(arrays)
        found = unflatten(
            self._tree, [next(given) if has else leaf for leaf, has in zip(self._leaves, self._has)]
        )
        for place, argument in zip(self._places, found):
            (args if isinstance(place, int) else kwargs)[place] = argument  # type: ignore[index]
        return tuple(args), kwargs

    def _flatten_result(self, result: Any) -> tuple[Arrays, Arrays]:
        derivatives = self.function.derivatives
        aux: Any = ()
        if self.has_aux:
            if not (isinstance(result, tuple) and len(result) == 2):
                raise CallMismatch(
                    f"{self.words} of {self.function.name}: with has_aux=True it has to return a pair "
                    f"(result, aux), and returned {type(result).__name__}{location_text(self.function.call)}"
                )
            result, aux = result
        leaves, tree = flatten(result, is_value)
        results = native_arrays(self.function, self.words, leaves)
        has = list(map(derivatives.is_differentiable, results))
        if not any(has) and (results or self.arrays):
            what = ", ".join(map(describe_array, results)) or f"a {type(result).__name__}"
            raise CallMismatch(
                f"{self.words} of {self.function.name}: its result is {what}, which has no derivative; "
                f"return floating-point numbers{location_text(self.function.call)}"
            )
        extras, self._aux = flatten(aux, is_value)
        self._result = tree, has
        others = [array for array, one in zip(results, has) if not one]
        return [array for array, one in zip(results, has) if one], [*others, *map(derivatives.array, extras)]

    def result(self, results: Arrays, extras: Arrays) -> Any:
        """Unflatten results into the structure of the function's result, without ``aux``.

        The results without a derivative are the first items of ``extras``.
        """
        tree, has = self._result_structure()
        with_derivative, others = iter(results), iter(extras)
        return unflatten(tree, [next(with_derivative if one else others) for one in has])

    def unflatten_like_result(self, results: Arrays, extras: Arrays) -> Any:
        return self.result(results, list(map(self.function.derivatives.zeros_like, extras)))

    def results_without_derivative(self) -> int:
        return self._result_structure()[1].count(False)

    def aux(self, extras: Arrays) -> Any:
        assert self._aux is not None
        return unflatten(self._aux, extras[self.results_without_derivative() :])

    def cotangents(self, given: Any, results: Arrays) -> Arrays:
        """Flatten cotangents of the result to those of the differentiable results."""
        result, has = self._result_structure()
        leaves, tree = flatten(given, is_value)
        if len(leaves) != len(has):
            raise CallMismatch(
                f"{self.words} of {self.function.name}: {len(leaves)} cotangents were given for {len(has)} "
                "results"
            )
        chosen = [array for array, one in zip(in_order_of(result, tree, leaves), has) if one]
        return [
            matching_array(self, "cotangent", place, item, array)
            for place, (item, array) in enumerate(zip(chosen, results))
        ]

    def _result_structure(self) -> tuple[Tree, list[bool]]:
        assert self._result is not None
        return self._result


def _with_zeros(tree: Tree) -> Tree:
    # Python ints and bools have no derivative.
    if isinstance(tree, Static):
        return Static(type(tree.value)(0)) if type(tree.value) in (int, bool) else tree
    return (
        replace(tree, children=tuple(map(_with_zeros, tree.children))) if isinstance(tree, Branch) else tree
    )


def matching_array(call: DifferentiatedCall, kind: str, place: int, item: Any, array: Any) -> Any:
    """Return ``item`` as an array of the dtype of ``array``; raise ``CallMismatch`` if the shapes differ."""
    found = call.function.derivatives.array(item)
    if tuple(found.shape) != tuple(array.shape):
        raise CallMismatch(
            f"{call.words} of {call.function.name}: {kind} {place} has the shape {list(found.shape)}, and "
            f"what it belongs to {list(array.shape)}"
        )
    # Frameworks require exactly the dtype of the primal.
    return found if found.dtype == array.dtype else call.function.derivatives.cast(found, array)


def describe_array(array: Any) -> str:
    name = str(getattr(array.dtype, "name", array.dtype)).rpartition(".")[2]
    return f"{name}{list(array.shape)}"
