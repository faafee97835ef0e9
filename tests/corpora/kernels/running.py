"""Execution of kernels in NumPy and JAX, on arrays that a kernel may write to."""

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
    """Return the graph, recorded on copies of the arguments."""
    return graph_compiler.transpile(function, source=source, to=to, args=copy.deepcopy(arguments))


def is_array(argument: Any) -> bool:
    """Return True if the argument is not a number; numbers are static for compilers."""
    return hasattr(argument, "shape")


def of_arrays(function: Function, arguments: Arguments) -> Function:
    """Return the function of the array arguments alone, with the numbers of ``arguments``."""

    def call(*arrays: Any) -> Any:
        left = iter(arrays)
        return function(*(next(left) if is_array(argument) else argument for argument in arguments))

    return call


def arrays_of(arguments: Arguments) -> list[Any]:
    """Return the array arguments as JAX arrays."""
    asarray = importlib.import_module("jax.numpy").asarray
    return [asarray(argument) for argument in arguments if is_array(argument)]


def writes(function: Function, arguments: Arguments) -> bool:
    """Return True if a call changes an argument."""
    given = copy.deepcopy(arguments)
    function(*given)
    return any(not np.array_equal(one, other) for one, other in zip(given, arguments))


def pure(graph: Any, kernel: Kernel) -> Function:
    """Return the graph as a function of arrays for ``jax.jit``, without what it writes to its arguments."""
    writing = writes(kernel.function, kernel.at(5))

    def call(*arguments: Any) -> Any:
        result = graph.functional(graph.parameters, *arguments)
        return result[0] if writing else result

    return call
