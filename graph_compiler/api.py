"""``compile`` and ``transpile``: the one place that names frontends and backends, each imported only when it is needed."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from .errors import FrameworkNotInstalled, NotCompilable, SourceNotFound, UnknownFramework, nearest
from .runtime import Graph, LazyGraph
from .runtime.pipeline import Options, Pipeline
from .runtime.static import Statics, StaticGraph
from .trees import iterate_structure

FRONTENDS = ("torch",)
BACKENDS = ("torch", "jax")


def compile(
    *objs: Any,
    stateful: Sequence[Any] | None = None,
    arg_stateful_idxs: Sequence[Sequence[int]] | None = None,
    kwarg_stateful_idxs: Sequence[Sequence[str]] | None = None,
    to: str | None = None,
    include_generators: bool = True,
    array_caching: bool = True,
    return_backend_compiled_fn: bool = False,
    static_argnums: Any = None,
    static_argnames: Any = None,
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    source: str | None = None,
    on_miss: str = "retrace",
    max_variants: int = 16,
    freeze: bool = False,
    verify: bool = False,
    compile_options: Mapping[str, Any] | None = None,
) -> Any:
    """Records a callable and gives it back as a flat graph, for the same framework or for another (``to=``).

    With ``args`` or ``kwargs`` (``args=()`` counts) the callable is recorded now and a :class:`Graph` is returned; without, a
    :class:`LazyGraph` that records at its first call. Several objects give a tuple. Works as a decorator, bare or with options.

    Args:
        objs: functions, methods, ``torch.nn.Module`` objects and other callables.
        to: framework to write the graph for (``"torch"``, ``"jax"``); by default the one it is written in.
        array_caching: compute once what is the same at every call; ``False`` keeps it as operations.
        return_backend_compiled_fn: wrap the flat function in ``torch.compile`` or ``jax.jit``, with ``compile_options``.
        include_generators: ``False`` draws random numbers that depend on no array once, as constants.
        static_argnums, static_argnames: arguments that are part of the program: hashable, compared by value, one variant a value.
        args, kwargs: example arguments. Only their structure, dtypes, ranks and Python values matter later; sizes stay symbolic.
        source: framework of the callable, where it cannot be told from the object.
        on_miss: ``"retrace"`` or ``"error"``: what a call does that fits nothing recorded.
        max_variants: how many recordings one graph may hold.
        freeze: take the weights of the moment for constants and fold them; the graph then has no parameters.
        verify: compare every recording with the original before it is used, as :meth:`Graph.verify` does.

    Raises:
        UnknownFramework, FrameworkNotInstalled: for ``to`` or ``source``.
        NotCompilable: an object that cannot be called.
        UnsupportedOperation: calls that the target has no translation for, all of them at once.

    >>> import torch, graph_compiler
    >>> graph = graph_compiler.compile(lambda x: (x + 1).sum(), args=(torch.zeros(2, 3),))
    >>> graph(torch.zeros(4, 5))
    tensor(20.)
    """
    _not_yet(
        stateful=stateful, arg_stateful_idxs=arg_stateful_idxs, kwarg_stateful_idxs=kwarg_stateful_idxs,
    )  # fmt: skip
    options = Options(array_caching, include_generators, freeze, verify, dict(compile_options or {}) if return_backend_compiled_fn else None)

    def one(obj: Any) -> Graph:
        pipeline = _pipeline(obj, source, to, args or (), kwargs or {}, options)
        is_static, is_lazy = not (static_argnums is None and static_argnames is None), args is None and kwargs is None
        graph = (StaticGraph if is_static else LazyGraph if is_lazy else Graph)(pipeline, pipeline.name, on_miss, max_variants)
        if isinstance(graph, StaticGraph):
            graph.statics = Statics(obj, static_argnums, static_argnames)
        if is_lazy:
            return graph
        graph.add_variant(tuple(args or ()), dict(kwargs or {}), "args= given")
        return graph

    if not objs:
        return one
    made = tuple(map(one, objs))
    return made if len(made) > 1 else made[0]


def transpile(*objs: Any, source: str | None = None, to: str = "jax", **options: Any) -> Any:
    """:func:`compile` for another framework: ``transpile(model, to="jax", args=(x,))``. Takes the same options.

    >>> import torch, graph_compiler
    >>> graph = graph_compiler.transpile(torch.nn.Linear(3, 2), to="jax", args=(torch.ones(1, 3),))
    >>> sorted(graph.parameters), type(graph(torch.ones(4, 3))).__name__
    (['bias', 'weight'], 'ArrayImpl')
    """
    return compile(*objs, source=source, to=to, **options)


def _not_yet(**parameters: Any) -> None:
    for name, value in parameters.items():
        if value is not None:
            raise NotImplementedError(f"the parameter {name} is not implemented yet; leave it at its default")


def _pipeline(obj: Any, source: str | None, to: str | None, args: Sequence[Any], kwargs: Mapping[str, Any], options: Options) -> Pipeline:
    if not callable(obj) or isinstance(obj, type):
        raise NotCompilable(f"{obj!r} of type {type(obj).__name__} cannot be compiled: a function, a method or a module object is needed")
    source = _known(source, FRONTENDS, "source") if source else _framework_of(obj, args, kwargs)
    to = _known(to, BACKENDS, "to") if to else source
    return Pipeline(obj, _name(obj), _room("frontends", source), _room("backends", to), source == to, options)


def _known(name: Any, known: tuple[str, ...], parameter: str) -> str:
    if name not in known:
        raise UnknownFramework(f"{parameter}={name!r} is not supported; known are {', '.join(map(repr, known))}{nearest(str(name), known)}")
    return str(name)


def _room(room: str, framework: str) -> ModuleType:
    if importlib.util.find_spec(framework) is None:
        raise FrameworkNotInstalled(f"{framework} is not installed here; install it with: pip install graph-compiler[{framework}]")
    return importlib.import_module(f".{room}.{framework}", __package__)


def _framework_of(obj: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """The framework that an object is written in: told by its class, its arguments, or what its code refers to."""
    candidates = [*(type(item) for item in iterate_structure((tuple(args), dict(kwargs)))), *type(obj).__mro__]
    for cls in candidates:
        if (framework := (cls.__module__ or "").partition(".")[0]) in FRONTENDS:
            return framework
    for module in _modules_named_in(obj):
        if (framework := module.partition(".")[0]) in FRONTENDS:
            return framework
    if "torch" in sys.modules:
        return "torch"
    raise SourceNotFound(f"the framework of {_name(obj)} cannot be told from it; pass source= (one of {', '.join(FRONTENDS)})")


def _modules_named_in(obj: Any) -> list[str]:
    function = inspect.unwrap(getattr(obj, "__func__", obj))
    code, scope = getattr(function, "__code__", None), getattr(function, "__globals__", {})
    found = [scope[name] for name in (code.co_names if code else ()) if name in scope]
    return [item.__name__ if isinstance(item, ModuleType) else getattr(item, "__module__", None) or "" for item in found]


def _name(obj: Any) -> str:
    name = getattr(obj, "__name__", None) or type(obj).__name__
    return "function" if name == "<lambda>" else str(name)


