"""``graph_compiler.trace``: a function whose statements on values are recorded with all that they could do."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from ...errors import InvalidOption, NotCompilable
from .conversion import converted
from .statements import Statements


def trace(function: Callable[..., Any] | None = None, *, checkpointing: bool | str = False) -> Any:
    """The function with ``if``, ``while``, ``for``, ``and``, ``or``, ``not``, ``assert`` and conditional expressions that are recorded on
    values which depend on the inputs: both sides of a condition as a ``branch``, loops as a ``while_loop`` or a ``scan`` of the graph.

    Called as it is, it does what it did. Where :func:`compile` records it, one variant serves all values and numbers of steps, also inside
    of ``jax.jit``, ``tf.function`` and ``torch.compile``. ``break``, ``continue``, early ``return``, ``for ... else`` and the user's own
    functions that it calls are included. On values that Python knows, statements run as Python's own. A decorator, with options or without.

    Args:
        function: a function or method of NumPy, torch, JAX or TensorFlow (eager), with its source in a file.
        checkpointing: True keeps what goes from step to step of a counted loop alone, and computes each step again in the backward pass.

    Raises ``NotCompilable`` for what has no source, and generators; when it is recorded ``TracingError``, with file and line, where a
    variable would have another shape or type from step to step, or from branch to branch, or an object outside would be changed.

    >>> import numpy as np, graph_compiler
    >>> @graph_compiler.trace
    ... def halvings(x):
    ...     count = 0
    ...     while x > 1:
    ...         x, count = x / 2, count + 1
    ...     return count
    >>> halvings(5.0)
    3
    """
    if function is None:
        return lambda function: trace(function, checkpointing=checkpointing)
    if not isinstance(checkpointing, bool):
        raise InvalidOption(
            f"checkpointing= is {checkpointing!r}, and has to be True or False: of a loop a step is kept, or computed again. Which arrays "
            "of a step are kept is a matter of the framework's own checkpoint, inside of the loop"
        )
    if isinstance(function, types.MethodType) and isinstance(function.__func__, types.FunctionType):
        return types.MethodType(trace(function.__func__, checkpointing=checkpointing), function.__self__)
    if not isinstance(function, types.FunctionType):
        raise NotCompilable(
            f"{function!r:.80} is no function of Python: trace takes functions and methods. Of a module, decorate the method that "
            "computes with @graph_compiler.trace"
        )
    return converted(function, Statements(checkpointing))
