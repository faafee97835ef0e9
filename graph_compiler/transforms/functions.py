"""What is transformed: a graph, a plain function of some framework, or what another transform has given; and the derivatives of the
framework that it runs in."""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..api import compile
from ..contracts import Derivatives
from ..errors import CallMismatch, NotCompilable
from ..registration import BackendEntry, backends
from ..runtime import Graph
from ..runtime.boundary import public
from ..runtime.deferred import DeferredPipeline
from ..runtime.frameworks import backend_of
from ..runtime.options import require_function
from ..tracing.reach.framework import framework_of
from ..tracing.source.definitions import place_of
from ..trees import iterate_structure, map_structure
from .called_graphs import called_graphs

Rule = Callable[["Function", tuple[Any, ...], dict[str, Any]], Any]
Arguments = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class Function:
    """``call`` takes and gives arrays of one framework, whose ``derivatives`` are used; ``hand_back`` makes of a result what the caller
    gets.

    ``untrained`` are names of parameters, in the first argument of a graph's ``functional``, that the original does not train. ``number``
    makes of a number of Python what the source framework computes with; ``prepare(args, kwargs)`` records a graph for arguments in which
    numbers have become arrays.
    """

    call: Callable[..., Any]
    derivatives: Derivatives
    framework: str
    name: str
    untrained: frozenset[str] = frozenset()
    hand_back: Callable[[Any], Any] = lambda result: result
    number: Callable[[Any], Any] = lambda item: item
    prepare: Callable[[tuple[Any, ...], dict[str, Any]], None] = lambda args, kwargs: None

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Calls it, as a transform does that follows its arrays."""
        before = _inside.set(True)
        try:
            return self.call(*args, **kwargs)
        finally:
            _inside.reset(before)


_inside: ContextVar[bool] = ContextVar("inside of a transform", default=False)


def is_inside() -> bool:
    """Whether a function that a transform follows is running."""
    return _inside.get()


@dataclass(frozen=True)
class _Ruled:
    """The rule of a transform over what is transformed, as a function."""

    rule: Rule
    inner: Function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.rule(self.inner, args, kwargs)


class Wrapped:
    """A function that is made of another one, ``function``; ``found`` gives what it is for some arguments."""

    function: Any

    def found(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Function:
        """As :func:`found_for`."""
        raise NotImplementedError


class Transformed(Wrapped):
    """Function that a transform returned. It may be transformed again.

    Attributes:
        function: The function that was transformed.
        words: How the transform is written, for messages.
        inner: Maps arguments of this function to arguments of ``function``. A graph that was not called yet
            is recorded with them, because arrays that a transform passes have no values.
    """

    def __init__(
        self,
        function: Any,
        rule: Rule,
        words: str,
        inner: Callable[..., Arguments] = lambda *args, **kwargs: (args, kwargs),
        differences: Any = None,
    ) -> None:
        if not isinstance(function, Wrapped):  # a wrapper is found by its arguments, and need not be callable itself
            require_function(words, function)
        self.function, self.rule, self.words, self.inner, self.differences = function, rule, words, inner, differences
        self.__name__ = f"{words}({name_of(function)})"
        self.__doc__ = getattr(function, "__doc__", None)

    @public
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = found_for(self.function, *self.inner(*args, **kwargs))
        return found.hand_back(self.rule(found, args, kwargs))

    def found(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Function:
        """The rule of the transform, over what is transformed."""
        inner = found_for(self.function, *self.inner(*args, **kwargs))
        return replace(inner, call=_Ruled(self.rule, inner), name=self.__name__)

    def __repr__(self) -> str:
        return f"<{self.__name__}>"

    @public
    def verify(self, *args: Any, rtol: float | None = None, seed: int = 0, **kwargs: Any) -> Any:
        """Compares a derivative for these arguments with central differences in a random direction, in float64 where the function takes it.
        Without arguments, that of a graph for some like those that it was recorded with.

        Returns the type that was computed in, and the relative difference. Of ``grad``, ``value_and_grad``, ``jacrev``, ``jacfwd`` and
        ``hessian``.

        Raises:
            VerificationFailed: they differ by more than ``rtol`` (by default 7e-7 in float64).
            NotCompilable: of a transform that is no derivative.
            CallMismatch: no arguments, of what is no graph or was not recorded yet.

        >>> import torch
        >>> from graph_compiler import transforms
        >>> transforms.grad(lambda x: torch.sin(x).sum()).verify(torch.ones(3)).dtype
        'float64'
        """
        from .verifying import recorded_call, verified

        if self.differences is None:
            raise NotCompilable(f"{self.__name__} is no derivative: verify compares grad, value_and_grad, jacrev, jacfwd and hessian")
        if not args and not kwargs:
            args, kwargs = recorded_call(self)
        return verified(self, args, kwargs, self.differences, rtol, seed)

    @property
    def source(self) -> str:
        """How the framework's function is called, and the source of the graph that is transformed, where it is one."""
        graph = graph_of(self.function)
        inner = self.function.source if isinstance(self.function, Transformed) else graph.source if graph is not None else ""
        return f"# {self.__name__}\n{inner}"


def found_for(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Function:
    """The function, for these arguments. Raises ``NotCompilable`` where its framework has no derivatives, or it is no function."""
    if isinstance(function, Wrapped):
        return function.found(args, kwargs)
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
            function, derivatives, framework, name_of(function), untrained_of(function), number=_numbers_of(graph), prepare=prepare
        )
    if graph is not None:
        instead = ", ".join(f"graph.to({entry.name!r})" for entry in with_derivatives())
        raise NotCompilable(f"{framework} has no derivatives: transform one of {instead} in the place of this graph of {graph.name}")
    return _of_another(function, framework, args, kwargs)


def framework_for(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The framework that a plain function runs in for these arguments: that of the graphs that its code calls, if it is one and the code
    names no other; else that of the arrays, which have the derivatives; of several, the one that its code names, or the first."""
    owners = list(dict.fromkeys(owner for item in iterate_structure((args, kwargs)) if (owner := owner_of(item)) is not None))
    written = targets_called(function)
    if len(written) == 1 and written != owners and framework_of(function, arrays=False) in (None, *written):
        return written[0]
    if len(owners) > 1 and (named := framework_of(function)) in owners:
        return named
    return owners[0] if owners else framework_of(function, (args, kwargs)) or by_itself()


def targets_called(function: Any) -> list[str]:
    """The frameworks that the graphs are written for which its code calls."""
    pipelines: list[Any] = [graph.pipeline for graph in called_graphs(function)]
    return list(dict.fromkeys(one.target.name for one in pipelines if not isinstance(one, DeferredPipeline)))


def owner_of(item: Any) -> str | None:
    """The framework with derivatives that an array is of; None for everything else."""
    return next((name for name, derivatives in _loaded() if derivatives.owns(item)), None)


def _loaded() -> list[tuple[str, Derivatives]]:
    """Frameworks with derivatives that are imported: others have no arrays."""
    names = [entry.name for entry in backends.known().values() if entry.has_derivatives and entry.packages[0] in sys.modules]
    return [(name, found) for name in names if (found := backend_of(name).derivatives()) is not None]


def _of_another(function: Any, framework: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Function:
    """A function of a framework without derivatives, recorded into one that has some; its results are handed back as arrays of its own."""
    written = recorded(function, framework, by_itself())
    derivatives = backend_of(written.pipeline.target.name).derivatives()
    assert derivatives is not None
    record_first(written, args, kwargs)
    target, prepare = written.pipeline.target.name, functools.partial(record_first, written)
    hand_back = handing_back(written, framework)
    return Function(written, derivatives, target, name_of(function), hand_back=hand_back, number=_numbers_of(written), prepare=prepare)


def _numbers_of(graph: Graph | None) -> Callable[[Any], Any]:
    """Return how a graph takes numbers of Python: in 64 bits where the source framework has no derivatives, as NumPy does."""
    pipeline: Any = None if graph is None else graph.pipeline
    source = None if pipeline is None or isinstance(pipeline, DeferredPipeline) else pipeline.frontend.name
    has_own = source is None or source not in backends.known() or backend_of(source).derivatives() is not None
    return (lambda item: item) if has_own else _wide


def _wide(item: Any) -> Any:
    return np.asarray(item) if isinstance(item, (float, complex)) and not isinstance(item, np.generic) else item


def handing_back(graph: Graph, framework: str) -> Callable[[Any], Any]:
    """Makes the arrays in a result of a graph those of a framework."""
    target, own = backend_of(graph.pipeline.target.name), backend_of(framework).target
    return functools.partial(map_structure, lambda item: own.convert(target.target.to_numpy(item)) if _is_array(target, item) else item)


def _is_array(backend: Any, item: Any) -> bool:
    return isinstance(item, backend.target.array_types)


@functools.lru_cache(maxsize=256)
def recorded(function: Any, framework: str, to: str) -> Graph:
    """The function of one framework as a graph for another, which its first call records."""
    graph: Graph = compile(function, source=framework, to=to, trace_control_flow=False)  # whose gradient some targets have not
    return graph


def record_first(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Records a graph for arguments that fit no variant, while they have elements; what these decide in it only a call can tell."""
    if not isinstance(function, Graph) or any(map(_is_followed, iterate_structure((args, kwargs)))):
        return
    fits = [variant for variant in function.variants if not variant.state and variant.match(args, kwargs) is not None]
    if not fits:
        function.add_variant(args, kwargs, "a transform of this call")
    elif fits and all(variant.program.checks for variant in fits):
        function(*args, **kwargs)


def _is_followed(item: Any) -> bool:
    """Whether a compiler or a transform of the item's framework follows it, so that it has no elements to look at."""
    owner = owner_of(item)
    return owner is not None and bool(_derivatives_of(owner).is_followed(item) or backend_of(owner).target.is_traced(item))


def _derivatives_of(framework: str) -> Derivatives:
    found = backend_of(framework).derivatives()
    assert found is not None
    return found


def _require_own(graph: Graph, framework: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """``CallMismatch`` where an array whose derivative another framework follows is an argument: its derivative would end here."""
    for item in iterate_structure((args, kwargs)):
        if owner_of(item) not in (None, framework) and _is_followed(item):
            raise CallMismatch(
                f"{graph.name} is written for {framework}, and is given an array that a transform of {owner_of(item)} follows: a "
                f"derivative would end there. Give the transforms around it arrays of {framework}{where(graph)}"
            )


def untrained_of(function: Any) -> frozenset[str]:
    """Of ``graph.functional`` the buffers among the parameters: the original trains none, and torch has no derivatives of some."""
    graph = graph_of(function)
    if graph is None or getattr(function, "__func__", None) is not Graph.functional or not graph.variants:
        return frozenset()
    return frozenset(graph.parameters) - graph._differentiable


def graph_of(function: Any) -> Graph | None:
    """The graph that a function is, or is a method of (``graph.functional``)."""
    found = getattr(function, "__self__", function)
    return found if isinstance(found, Graph) else None


def target_of(graph: Graph, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The framework that a graph is written for; of one that waits for its first call, that for these arguments."""
    pipeline: Any = graph.pipeline
    found: str = (pipeline.settled(args, kwargs) if isinstance(pipeline, DeferredPipeline) else pipeline).target.name
    return found


def name_of(function: Any) -> str:
    """As errors name it."""
    graph = graph_of(function)
    return graph.name if graph is not None else getattr(function, "__name__", type(function).__name__)


def where(function: Any) -> str:
    """Where a function was written, for an error: its file and line, or nothing."""
    if isinstance(function, (Wrapped, _Ruled)):
        return where(function.function if isinstance(function, Wrapped) else function.inner.call)
    graph = graph_of(function)
    return place_of(function if graph is None or not graph.pipeline.has_original else graph.pipeline.function)


def by_itself() -> str:
    """The framework that differentiates what belongs to no framework that does: the first one that is installed."""
    known = with_derivatives()
    found = next((entry.name for entry in known if importlib.util.find_spec(entry.packages[0])), None)
    if found is None:
        raise NotCompilable(f"no framework with derivatives is installed: {' or '.join(entry.install for entry in known)}")
    return found


def with_derivatives() -> list[BackendEntry]:
    """The own backends whose frameworks have derivatives."""
    return [entry for entry in backends.own.values() if entry.has_derivatives]
