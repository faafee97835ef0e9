"""How kernels are run: on arrays that a kernel may write to, in NumPy, in JAX, and by hand."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

import graph_compiler

from .table import Arguments, Kernel

Function = Callable[..., Any]


def transpiled(function: Function, arguments: Arguments, to: str, source: str = "numpy") -> Any:
    """The graph, recorded on copies of the arguments."""
    return graph_compiler.transpile(function, source=source, to=to, args=copy.deepcopy(arguments))


def is_array(argument: Any) -> bool:
    """Whether it is no number, which a compiler is to know."""
    return hasattr(argument, "shape")


def of_arrays(function: Function, arguments: Arguments) -> Function:
    """The function of the arrays among its arguments; its numbers are those of ``arguments``."""

    def call(*arrays: Any) -> Any:
        left = iter(arrays)
        return function(*(next(left) if is_array(argument) else argument for argument in arguments))

    return call


def arrays_of(arguments: Arguments) -> list[Any]:
    """As JAX has them."""
    asarray = importlib.import_module("jax.numpy").asarray
    return [asarray(argument) for argument in arguments if is_array(argument)]


def writes(function: Function, arguments: Arguments) -> bool:
    """Whether a call leaves other elements in an argument."""
    given = copy.deepcopy(arguments)
    function(*given)
    return any(not np.array_equal(one, other) for one, other in zip(given, arguments))


def pure(graph: Any, kernel: Kernel) -> Function:
    """The graph as a function of arrays for ``jax.jit``: what the kernel returns, without what it leaves in
    its arguments.
    """
    writing = writes(kernel.function, kernel.at(5))

    def call(*arguments: Any) -> Any:
        result = graph.functional(graph.parameters, *arguments)
        return result[0] if writing else result

    return call
