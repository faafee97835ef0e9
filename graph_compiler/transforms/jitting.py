"""``jit``: compile a function with the compiler of its own framework."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..api import compile
from ..contracts import Derivatives
from ..errors import InvalidOption, NotCompilable
from ..runtime import Graph
from ..runtime.boundary import public
from ..runtime.frameworks import backend_of
from ..trees import map_leaves
from .functions import (
    Function,
    FunctionWrapper,
    differentiable_backends,
    framework_for,
    is_array,
    location_text,
    name_of,
    resolve_function,
)


class Jitted(FunctionWrapper):
    """Function that is compiled by its own framework, with one graph for each framework of its arguments.

    function: the original.
    device: device that arrays in the arguments are placed on before each call; None to leave them.
    """

    def __init__(self, function: Callable[..., Any], static: dict[str, Any], device: Any) -> None:
        functools.update_wrapper(self, function, updated=())
        self.function, self.device = function, device
        self._static, self._graphs = static, dict[str, Graph]()

    @public
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        graph, args, kwargs = self.resolve_call(args, kwargs)
        return graph(*args, **kwargs)

    def resolve(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Function:
        return resolve_function(*self.resolve_call(args, kwargs))

    def resolve_call(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Graph, tuple[Any, ...], dict[str, Any]]:
        framework = framework_for(self.function, args, kwargs)
        derivatives = backend_of(framework).derivatives()
        if derivatives is None:
            targets = " or ".join(f"to={entry.name!r}" for entry in differentiable_backends())
            raise NotCompilable(
                f"jit of {name_of(self.function)}: {framework} has no compiler; write it for a framework "
                f"that has one: graph_compiler.transpile(f, {targets}, "
                f"return_backend_compiled_fn=True){location_text(self.function)}"
            )
        if self.device is not None:
            place = functools.partial(self._place, derivatives)
            args, kwargs = map_leaves(place, (args, kwargs), is_array)
        return self._graph_for(framework, derivatives), args, kwargs

    def _graph_for(self, framework: str, derivatives: Derivatives) -> Graph:
        if framework not in self._graphs:
            self._graphs[framework] = compile(
                self.function,
                source=framework,
                to=framework,
                return_backend_compiled_fn=True,
                compile_options=derivatives.compile_options,
                **self._static,
            )
        return self._graphs[framework]

    def _place(self, derivatives: Derivatives, item: Any) -> Any:
        try:
            return derivatives.placed(derivatives.array(item), self.device)
        except ValueError as problem:
            raise InvalidOption(
                f"jit of {name_of(self.function)}: device= is {self.device!r}, which there is not: {problem}"
            ) from problem

    @property
    def graph(self) -> Graph | None:
        """Graph that was created last; None if there is none yet."""
        return next(reversed(self._graphs.values()), None)

    @property
    def source(self) -> str:
        """Source of :attr:`graph`; empty if :attr:`graph` is None."""
        return self.graph.source if self.graph is not None else ""

    def __repr__(self) -> str:
        return f"<jit({name_of(self.function)})>"


@public
def jit(
    function: Any = None,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    device: Any = None,
) -> Any:
    """Record a function at its first call, and compile it with the compiler of its own framework.

    That is ``jax.jit``, ``torch.compile`` or ``tf.function(jit_compile=True)``. Programs for JAX and torch
    may be cached between processes in the folder ``$GRAPH_COMPILER_CACHE``, by default ``graph_compiler`` in
    the user's cache folder; ``GRAPH_COMPILER_CACHE=off`` switches this off. If you have given JAX or torch a
    cache folder, compiled programs are stored there instead.

    Args:
        function: Function or model. Without it a decorator is returned.
        static_argnums: Positions of arguments that are part of the program, as in
            :func:`graph_compiler.compile`.
        static_argnames: Names of such arguments.
        device: Device, or its name (``"cpu"``, ``"cuda:0"``), that arrays in the arguments, also inside of
            tuples, lists and plain dicts, are placed on before each call. Weights stay where they are.

    Raises:
        NotCompilable: ``function`` is not callable; or, at the call, the function is NumPy's, which has no
            compiler.
        InvalidOption: At the call, if there is no device of the name ``device``, or ``static_argnums`` or
            ``static_argnames`` has another type.
        CallMismatch: At the call, if the function lacks a static argument.

    >>> import jax.numpy as jnp, graph_compiler
    >>> @graph_compiler.jit
    ... def double(x):
    ...     return x * 2
    >>> double(jnp.ones(2)), double
    (Array([2., 2.], dtype=float32), <jit(double)>)
    """
    static: dict[str, Any] = {"static_argnums": static_argnums, "static_argnames": static_argnames}
    if function is None:
        return lambda function: jit(function, **static, device=device)
    if not callable(function):
        raise NotCompilable(f"{function!r} cannot be compiled: a function or a model is needed")
    return Jitted(function, static, device)
