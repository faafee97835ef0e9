"""``graph_compiler.trace``, which records statements on values with all their branches."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from ...errors import InvalidOption, NotCompilable
from .conversion import convert_function
from .statements import Statements


def trace(function: Callable[..., Any] | None = None, *, checkpointing: bool | str = False) -> Any:
    """Mark a function whose ``if``, ``while`` and ``for`` on values are recorded as operations of the graph.

    Conditions become ``branch`` with both sides recorded; loops become ``while_loop`` or ``scan``. ``and``,
    ``or``, ``not``, ``assert``, conditional expressions, ``break``, ``continue``, early ``return``, ``for ...
    else`` and your own functions that it calls are included. One variant serves all values and trip counts,
    also inside ``jax.jit``, ``tf.function`` and ``torch.compile``. Statements on values that Python knows run
    as Python's own. Called without ``compile``, the function does what it did.

    Args:
        function: Function or method in NumPy, torch, JAX or eager TensorFlow, with its source in a file.
            Without it a decorator is returned.
        checkpointing: True stores only the carry of each iteration of a ``scan`` for the backward pass, and
            computes the iteration again.

    Raises:
        NotCompilable: The object is not a Python function or has no source, or is a generator.
        InvalidOption: ``checkpointing`` is not True or False.
        TracingError: When it is recorded, if a variable changes its shape or dtype between iterations or
            branches, or an object outside the function would be changed. Names your line.

    >>> import numpy as np, graph_compiler
    >>> @graph_compiler.trace
    ... def halvings(x):
    ...     count = 0
    ...     while x > 1:
    ...         x, count = x / 2, count + 1
    ...     return count
    >>> halvings(5.0)
    3
    >>> graph = graph_compiler.compile(halvings, to="jax", args=(np.array(5.0, "float32"),))
    >>> int(graph(np.array(100.0, "float32"))), len(graph.variants)
    (7, 1)
    """
    if function is None:
        return lambda function: trace(function, checkpointing=checkpointing)
    if not isinstance(checkpointing, bool):
        raise InvalidOption(
            f"checkpointing= is {checkpointing!r}, and has to be True or False: of a loop a step is kept, or "
            "computed again. Which arrays of a step are kept is a matter of the framework's own checkpoint, "
            "inside of the loop"
        )
    if isinstance(function, types.MethodType) and isinstance(function.__func__, types.FunctionType):
        return types.MethodType(trace(function.__func__, checkpointing=checkpointing), function.__self__)
    if not isinstance(function, types.FunctionType):
        raise NotCompilable(
            f"{function!r:.80} is no function of Python: trace takes functions and methods. Of a module, "
            "decorate the method that computes with @graph_compiler.trace"
        )
    return convert_function(function, Statements(checkpointing))
