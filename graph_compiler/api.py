"""Public functions ``compile``, ``transpile``, ``unify`` and ``load``."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import FunctionType, ModuleType
from typing import Any

from .errors import InvalidOption, NotCompilable, SourceNotFound
from .recording.code.syntax import place_of
from .recording.control_flow import trace
from .recording.reachability.containers import COMPILED
from .recording.reachability.libraries import framework_of
from .recording.request import give_arguments
from .recording.state.places import Stateful, stateful_paths
from .registration import FrontendEntry, backends, frontends, has_module_mark, responds_to, trait
from .runtime import Graph, LazyGraph
from .runtime.boundary import public
from .runtime.calling.binding import StaticArguments, own_static_arguments, positional, require_arguments
from .runtime.containers import LazyMethod, compile_class, compile_module
from .runtime.executable import Compilation
from .runtime.frameworks import backend_of, frontend_of
from .runtime.lazy import DeferredPipeline, StaticGraph, UnifiedGraph
from .runtime.options import short_repr, validated
from .runtime.overloads import declared
from .runtime.pipeline import NarrowingPolicy, Options, Pipeline
from .runtime.saving import load as files


@declared
@public
@validated()
def compile(
    *objs: Any,
    stateful: Sequence[Any] | None = None,
    arg_stateful_idxs: Sequence[Any] | None = None,
    kwarg_stateful_idxs: Sequence[Any] | None = None,
    to: str | None = None,
    include_generators: bool = True,
    array_caching: bool = True,
    return_backend_compiled_fn: bool | None = None,
    static_argnums: Any = None,
    static_argnames: Any = None,
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    source: str | None = None,
    on_miss: str = "retrace",
    max_variants: int = 16,
    on_limit: str = "original",
    freeze: bool = False,
    verify: bool = False,
    compile_options: Mapping[str, Any] | None = None,
    parameters: Any = None,
    passes: Sequence[Any] = (),
    roll: str = "auto",
    trace_control_flow: bool | None = None,
    numbers: str = "target",
) -> Any:
    """Record a callable and return it as a flat graph, for its own framework or, with ``to=``, for another.

    With ``args`` or ``kwargs`` (``args=()`` counts) the callable is recorded now, and the result is a
    :class:`Graph`. Otherwise the result is a :class:`LazyGraph`, which is recorded by a call, or now if
    ``to`` is another framework and example inputs are found for the model (:func:`transpile`). For several
    objects the result is a tuple, without objects a decorator.

    Args:
        objs: Functions, methods, models and other callables. For a class the result is a subclass with
            compiled methods, for a Python module a copy with compiled functions.
        to: Framework to write for: ``"torch"``, ``"jax"``, ``"tensorflow"`` or ``"numpy"``. Default: the
            source framework.
        source: Framework that the callable is written in. Default: inferred from the object, its code and
            the arguments; if these name none, torch, provided that it is imported.
        args: Example positional arguments. Calls with other sizes may use the same variant.
        kwargs: Example keyword arguments.
        return_backend_compiled_fn: Compile the flat function with ``torch.compile``, ``jax.jit`` or
            ``tf.function``. NumPy has no compiler, and runs it as written. Default: compile for JAX and
            TensorFlow.
        compile_options: Options of that compiler, such as ``{"jit_compile": True}``. They need
            ``return_backend_compiled_fn=True``.
        static_argnums: Positions of arguments that are part of the program. Their values must be hashable;
            each value has its own variant. Negative positions count from the end.
        static_argnames: Names of static arguments.
        parameters: Names or positions of arguments of a JAX function that become parameters of the graph.
            Calls of the graph omit them. ``args`` or ``kwargs`` must contain their values.
        stateful: Objects that the callable changes and that are not found from it.
        arg_stateful_idxs: Paths to objects in positional arguments that the callable changes, such as
            ``[[0], [1, 0]]``.
        kwarg_stateful_idxs: Paths to objects in keyword arguments that the callable changes, such as
            ``[["cache"], ["caches", 0]]``.
        on_miss: Behaviour of a call that fits no variant: ``"retrace"`` records one, ``"error"`` raises
            ``GuardFailed`` if anything was recorded before.
        max_variants: Number of variants from which on calls record no further ones.
        on_limit: Behaviour of a call beyond ``max_variants``: ``"original"`` runs the original if it can,
            and warns at the first such call; ``"raise"`` raises ``TooManyVariants``.
        array_caching: Fold constants: compute operations on constants once. ``include_generators=False``
            implies it.
        include_generators: Keep draws of random numbers in the graph. With False, numbers that are drawn
            without reading an input or a parameter are those of the recording.
        freeze: Make the weights constants of the graph.
        verify: Compare each new variant with the original, and raise ``VerificationFailed`` if they differ.
        passes: Passes of your own (:mod:`graph_compiler.passes`), run over the finished graph.
        roll: Form of repeated iterations and layers, as suits the target. ``"auto"``: loops and functions;
            ``"scan"``: also loops over stacked weights; ``"never"``: neither.
        trace_control_flow: True records Python's ``if``, ``for`` and ``while`` on values as operations, as
            :func:`trace` does, which takes functions and methods, but no models. None may do so for functions
            with loops.
        numbers: ``"strict"`` raises ``UnsupportedOperation`` if arguments or parameters have 64-bit floats
            with which the target would compute in 32 bits; ``"target"`` warns instead.

    Returns:
        A :class:`Graph` or :class:`LazyGraph` for each object; the compiled subclass of a class or copy of a
        module; or a decorator.

    Raises:
        InvalidOption: An option does not exist, has an invalid value or does not fit the others.
        NotCompilable: The object cannot be called or recorded; or it is a class or Python module, and
            ``args`` or ``kwargs`` were passed.
        SourceNotFound: The source framework cannot be inferred.
        UnknownFramework: ``to`` or ``source`` names a framework without a backend or frontend.
        FrameworkNotInstalled: The source framework or the target cannot be imported.
        UnsupportedOperation: Calls have no translation to the target, or see ``numbers``.
        TracingError: The function does something that a graph cannot hold.
        CallMismatch: A static or stateful argument does not exist, or a static one cannot be hashed.

    >>> import torch, graph_compiler
    >>> graph = graph_compiler.compile(lambda x: (x + 1).sum(), args=(torch.zeros(2, 3),))
    >>> graph(torch.zeros(4, 5))
    tensor(20.)
    """
    asked = _GraphRequest(
        source,
        to,
        Options(
            array_caching,
            include_generators,
            freeze,
            verify,
            Stateful(tuple(stateful or ()), stateful_paths(arg_stateful_idxs, kwarg_stateful_idxs)),
            Compilation(return_backend_compiled_fn, compile_options or {}),
            (*passes,),
            roll,
            trace_control_flow,
            NarrowingPolicy(numbers),
        ),
        (static_argnums, static_argnames),
        (on_miss, max_variants, on_limit),
        args,
        kwargs,
    )
    if parameters is not None and asked.is_lazy:
        raise InvalidOption("parameters= names arguments that hold arrays: give them, args=(parameters, x)")
    one = (
        functools.partial(_graph_of, asked)
        if parameters is None
        else functools.partial(_graph_with_parameters, asked, parameters)
    )
    return _compile_each(
        objs, functools.partial(_compile_object, _trace_first(one, trace_control_flow), asked.is_lazy)
    )


@dataclass(frozen=True)
class _GraphRequest:
    """Arguments of :func:`compile` that apply to each of its objects.

    static: positions and names of static arguments.
    limits: ``on_miss``, ``max_variants`` and ``on_limit``.
    """

    source: str | None
    to: Any
    options: Options
    static: tuple[Any, Any]
    limits: tuple[str, int, str]
    args: Sequence[Any] | None
    kwargs: Mapping[str, Any] | None

    @property
    def is_lazy(self) -> bool:
        return self.args is None and self.kwargs is None

    def graph(self, pipeline: Any) -> Graph:
        if self.static == (None, None):
            return (LazyGraph if self.is_lazy else Graph)(pipeline, pipeline.name, *self.limits)
        graph = StaticGraph(pipeline, pipeline.name, *self.limits)
        graph._statics = StaticArguments(pipeline.function, *self.static)
        return graph


def _graph_of(asked: _GraphRequest, obj: Any, is_part: bool = False) -> Graph:
    asked = replace(asked, static=_static_of(obj, asked, is_part))
    if not is_part:
        # Another object may have the same name, and is warned of separately.
        policy = NarrowingPolicy(asked.options.numbers.mode)
        asked = replace(asked, options=replace(asked.options, numbers=policy))
    args, kwargs, options = asked.args or (), asked.kwargs or {}, _owner_options(asked.options, obj)
    graph = asked.graph(_pipeline(obj, asked.source, asked.to, args, kwargs, options, asked.is_lazy))
    graph = _with_method(graph, obj, functools.partial(_method_graph, asked))
    return _with_first_variant(graph, None if asked.is_lazy else (tuple(args), dict(kwargs)))


def _trace_first(one: Callable[..., Any], is_wanted: bool | None) -> Callable[..., Any]:
    return (lambda obj, **options: one(trace(obj), **options)) if is_wanted else one


def _with_method(graph: Graph, obj: Any, of_object: Callable[[Any], Graph]) -> Graph:
    """Let a ``LazyGraph`` of a function also serve as a method of a class, and return ``graph``."""
    if isinstance(graph, LazyGraph) and isinstance(obj, FunctionType):
        graph._method = LazyMethod(obj.__qualname__, obj, of_object)
    return graph


def _graph_with_parameters(asked: _GraphRequest, which: Any, obj: Any) -> Graph:
    """Record ``obj`` now, with the arguments that ``which`` selects as parameters of the graph."""
    args, kwargs = asked.args or (), asked.kwargs or {}
    written_in = _source_of(obj, asked.source, args, kwargs)
    if not frontends.get(written_in).takes_parameters:
        takes = " and ".join(entry.name for entry in frontends.known().values() if entry.takes_parameters)
        raise InvalidOption(
            f"parameters= is for functions of {takes}, and {_display_name(obj)} is written in {written_in}: "
            "keep its arrays in a module there"
        )
    given, args, kwargs = give_arguments(obj, which, args, kwargs)
    graph = asked.graph(_pipeline(given, written_in, asked.to, args, kwargs, asked.options))
    return _with_first_variant(graph, (args, kwargs))


def _static_of(obj: Any, asked: _GraphRequest, is_part: bool) -> tuple[Any, Any]:
    if is_part:
        return own_static_arguments(obj, *asked.static)
    if paths := asked.options.stateful.paths:
        require_arguments(obj, "kwarg_stateful_idxs", [path[1] for path in paths if path[0] == 1])
    return asked.static


def _owner_options(options: Options, obj: Any) -> Options:
    owner = getattr(obj, "__self__", None)
    if not responds_to(type(owner), COMPILED) or has_module_mark(type(owner)):
        return options
    # All methods of the object read its changes, so these are written back in any framework.
    return replace(options, stateful=Stateful((*options.stateful.objects, owner), options.stateful.paths))


def _method_options(options: Options, owner: Any) -> Options:
    objects = () if has_module_mark(type(owner)) else (owner,)
    # Positions in the paths count ``self``.
    shifted = [(0, path[1] - 1, *path[2:]) if path[0] == 0 else path for path in options.stateful.paths]
    paths = tuple(path for path in shifted if path[:2] != (0, -1))
    return replace(options, stateful=Stateful((*options.stateful.objects, *objects), paths))


def _method_graph(asked: _GraphRequest, bound: Any) -> Graph:
    static = asked.static
    if static != (None, None):
        found = StaticArguments(bound.__func__, *static)
        # Positions of the function count ``self``, which the bound method has already.
        names = found.names.difference(positional(bound.__func__)[:1])
        static = ([place - 1 if place > 0 else place for place in found.numbers if place], names)
    options = _method_options(asked.options, bound.__self__)
    pipeline = _pipeline(bound, asked.source, asked.to, (), {}, options, True)
    return replace(asked, static=static).graph(pipeline)


def _compile_each(objs: tuple[Any, ...], one: Callable[[Any], Any]) -> Any:
    if not objs:
        return one
    # A list, because `map` would take a StopIteration that the user's code raises for its end.
    made = tuple([one(obj) for obj in objs])
    return made if len(made) > 1 else made[0]


def _with_first_variant(graph: Graph, given: tuple[tuple[Any, ...], dict[str, Any]] | None) -> Graph:
    pipeline: Any = graph._pipeline
    if given is not None:
        graph.add_variant(*given, "args= given")
    elif (
        isinstance(pipeline, Pipeline)
        and not pipeline.keeps_calls
        and (examples := pipeline.frontend.example_inputs(pipeline.function))
    ):
        graph.add_variant((), examples, "its own example inputs")
    return graph


@declared
@public
@validated(compile)
def transpile(*objs: Any, source: str | None = None, to: str | None = None, **options: Any) -> Any:
    """Record a callable and return it as a flat graph, by default for another framework.

    All options of :func:`compile` can be passed. Without ``args`` and ``kwargs``, a call records it, but a
    model of transformers may be recorded now, on example inputs that are made for it.

    Args:
        objs: As in :func:`compile`.
        source: As in :func:`compile`.
        to: Framework to write for. Default for the frameworks of this package: JAX, or torch if the source is
            JAX.
        options: All other options of :func:`compile`.

    Raises:
        InvalidOption: ``to`` is missing, and the source framework, registered by another package, has no
            default target.

    The errors of :func:`compile` are raised as well.

    >>> import torch, graph_compiler
    >>> graph = graph_compiler.transpile(torch.nn.Linear(3, 2), to="jax", args=(torch.ones(1, 3),))
    >>> sorted(graph.parameters), type(graph(torch.ones(4, 3))).__name__
    (['bias', 'weight'], 'ArrayImpl')
    """
    target: Any = _DefaultTarget() if to is None else to
    return compile(*objs, source=source, to=target, **options)


class _DefaultTarget:
    """Placeholder for ``to`` in :func:`transpile`, if the caller names no target."""

    @staticmethod
    def than(source: FrontendEntry) -> str:
        if source.target is None:
            raise InvalidOption(
                f"say what to write for, to=: code of {source.name} is written for nothing else by itself"
            )
        return source.target


@public
@validated(compile)
def unify(*objs: Any, source: str | None = None, **options: Any) -> Any:
    """Return a callable that runs in the framework of its arrays, with a graph for each framework in use.

    NumPy arrays next to arrays of another framework are converted to that framework. A call without
    arrays runs in the source framework. With ``args`` or ``kwargs``, the graph of the framework of these
    arrays is recorded now. Calls record the other graphs.

    Args:
        objs: Functions, methods and models. For several the result is a tuple, for none a decorator.
        source: As in :func:`compile`.
        options: Options of :func:`compile` except ``to`` and ``parameters``.

    Raises:
        InvalidOption: ``to`` or ``parameters`` was passed.
        NotCompilable: The object is a class or Python module, or cannot be called.
        GuardFailed: The arrays of a call, or of ``args`` and ``kwargs``, belong to several frameworks other
            than NumPy.

    The errors of :func:`compile` are raised as well.

    >>> import torch, jax.numpy as jnp, graph_compiler
    >>> double = graph_compiler.unify(lambda x: torch.relu(x) * 2)
    >>> double(torch.ones(2)), double(jnp.ones(3))
    (tensor([2., 2.]), Array([2., 2., 2.], dtype=float32))
    """
    args, kwargs = options.pop("args", None), options.pop("kwargs", None)
    if "to" in options:
        raise InvalidOption("unify takes no to=: each call runs in the framework of its arrays")
    if options.get("parameters") is not None:
        raise InvalidOption(
            "unify takes no parameters=: each of its graphs would have parameters of its own. Pass the "
            "arrays at each call, or name them in compile or transpile, once for each framework"
        )

    def one(obj: Any) -> UnifiedGraph:
        if isinstance(obj, (ModuleType, type)):
            raise NotCompilable(
                f"{obj.__name__} is a {'module' if isinstance(obj, ModuleType) else 'class'}: "
                "unify its functions, or objects, one by one"
            )
        _require_compilable(obj)
        obj = _bound_call(obj)
        written_in = _source_of(obj, source, args or (), kwargs or {})

        def graph_for(framework: str) -> Graph:
            graph: Graph = compile(obj, source=written_in, to=framework, **options)
            return graph

        unified = UnifiedGraph(_display_name(obj), written_in, graph_for)
        if args is not None or kwargs is not None:
            unified.graph_of(*(args or ()), **(kwargs or {})).add_variant(
                tuple(args or ()), dict(kwargs or {}), "args= given"
            )
        return unified

    return _compile_each(objs, one)


def _compile_object(one: Callable[[Any], Any], is_lazy: bool, obj: Any) -> Any:
    return (
        _compile_members(obj, one, is_lazy) if isinstance(obj, (ModuleType, type)) else one(_bound_call(obj))
    )


def _compile_members(obj: Any, one: Any, is_lazy: bool) -> Any:
    if not is_lazy:
        kind = "module" if isinstance(obj, ModuleType) else "class"
        instead = "" if kind == "module" else f", or compile an object of it: {obj.__name__}(...)"
        raise NotCompilable(
            f"{obj.__name__} is a {kind}, each of whose functions has arguments of its own: "
            f"pass no args{instead}"
        )
    part = functools.partial(one, is_part=True)
    return compile_module(obj, part) if isinstance(obj, ModuleType) else compile_class(obj, part)


@public
def load(path: str | os.PathLike[str], to: str | None = None) -> Graph:
    """Return the graph that :meth:`Graph.save` wrote to a file or folder.

    The graph runs in the framework that it was saved for or, with ``to=``, in another. Nothing in the
    file is executed: the source is written anew from the saved operations, whose names are checked. The
    original need not be installed, nor usually its framework if the graph was saved for another one. Calls
    record no further variants: ``GuardFailed`` says why a call fits none.

    Args:
        path: Zip file, or folder.
        to: Framework to write for. Default: the framework that the graph was saved for.

    Raises:
        InvalidFile: The file is damaged, altered, of another kind or of another format version.
        FileNotFoundError: There is no such file.
        InvalidOption: ``path`` is not a path.
        UnknownFramework: ``to`` names a framework without a backend.
        FrameworkNotInstalled: The framework that the graph was saved for, or ``to``, is not installed.
        UnsupportedOperation: Calls have no translation to ``to``.

    >>> import os, tempfile, torch, graph_compiler
    >>> graph = graph_compiler.compile(torch.nn.Linear(3, 2), args=(torch.ones(1, 3),))
    >>> path = os.path.join(tempfile.mkdtemp(), "linear.zip")
    >>> graph.save(path)
    >>> again = graph_compiler.load(path)
    >>> torch.equal(again(torch.ones(4, 3)), graph(torch.ones(4, 3)))
    True
    """
    if to is not None:
        backends.get(to)
    return files.load(path, to, frontend_of, backend_of)


def _renderer() -> ModuleType:
    return importlib.import_module(f"{__package__}.visualise")


def graph_from_bytes(data: bytes) -> Graph:
    return files.from_bytes(data, frontend_of, backend_of)


# Set here, because `runtime` must not import packages of a higher rank.
Graph._from_bytes = graph_from_bytes
Graph._renderer = _renderer


def _pipeline(
    obj: Any,
    source: str | None,
    to: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    options: Options,
    is_lazy: bool = False,
) -> Any:
    """Return the pipeline of a callable; a ``DeferredPipeline`` if only a call can tell its framework."""
    _require_compilable(obj)
    if to is not None and not isinstance(to, _DefaultTarget):
        backends.get(to)
    if source is None and is_lazy and framework_of(obj) is None:
        return DeferredPipeline(
            obj, _display_name(obj), lambda args, kwargs: _pipeline(obj, None, to, args, kwargs, options)
        )
    written_in = _source_of(obj, source, args, kwargs)
    to = to.than(frontends.get(written_in)) if isinstance(to, _DefaultTarget) else to or written_in
    return Pipeline(
        obj,
        _display_name(obj),
        frontend_of(written_in),
        backend_of(to),
        written_in == to,
        options,
        backend_of,
    )


def _require_compilable(obj: Any) -> None:
    if not callable(obj) or isinstance(obj, type):
        # An object such as a loaded SavedModel may hold callables, which the message names.
        held = {} if isinstance(obj, type) else getattr(obj, "__dict__", {})
        own = ", ".join(name for name, item in held.items() if callable(item) and not name.startswith("_"))
        raise NotCompilable(
            f"{short_repr(obj)} cannot be compiled: a function, a method or a module object is "
            f"needed{f', as it has in {own}' if own else ''}. Arguments to record with are given as "
            "args=(x,), a target as to="
        )


def _source_of(obj: Any, source: str | None, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return the framework that a callable is written in: ``source``, or else an inferred one."""
    if source is not None:
        return frontends.get(source).name
    found = framework_of(obj, (args, kwargs))
    if found is not None:
        _reject_mixed(obj, frontends.get(found))
        return found
    unclear = (
        entry.name
        for entry in frontends.known().values()
        if entry.takes_unclear and entry.packages[0] in sys.modules
    )
    found = next(unclear, None)
    if found is None:
        raise SourceNotFound(
            f"the framework of {_display_name(obj)} cannot be told from it; "
            f"pass source= (one of {', '.join(frontends.all())})"
        )
    return found


def _reject_mixed(obj: Any, found: FrontendEntry) -> None:
    everywhere = (
        framework_of(obj, ((), {})) if found.refuses_everywhere and framework_of(obj) is None else None
    )
    if everywhere is not None:
        raise SourceNotFound(
            f"{_display_name(obj)} names {everywhere} alone, and is called with arrays of {found.name}; "
            f"{found.refuses_everywhere}: pass {everywhere} arrays, or source={everywhere!r} to have "
            f"{everywhere}'s rules, or source={found.name!r} where elements become constants{place_of(obj)}"
        )


def _bound_call(obj: Any) -> Any:
    """Return the bound ``__call__`` of an object that may forward its attributes, or the object itself."""
    # A graph forwards attributes to its original, so it defines `__getattr__` too.
    if isinstance(obj, (Graph, FunctionType)):
        return obj
    cls = type(obj)
    own = {name: item for base in reversed(cls.__mro__[:-1]) for name, item in vars(base).copy().items()}
    makes_up = "__getattr__" in own or "__getattribute__" in own
    is_users = isinstance(own.get("__call__"), FunctionType) and not own.keys() & set(trait("module_marks"))
    return own["__call__"].__get__(obj) if makes_up and is_users else obj


def _display_name(obj: Any) -> str:
    name = getattr(obj, "__name__", None) or type(obj).__name__
    if name == "__call__":
        name = type(obj.__self__).__name__
    return "function" if name == "<lambda>" else str(name)
