"""Flat functions compiled by ``tf.function``, with XLA where it computes what TensorFlow's kernels do."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.eager import context, record

from ...trees import Tree, flatten, unflatten
from ..compiled_shapes import CompiledShapes, NewShape
from .concrete import ConcreteFunctions
from .unchecked import NotForXla, NotTraced, checks_left_out, require_no_hidden_draws, writes
from .xla_flags import why_not_exact

log = logging.getLogger("graph_compiler")
# Raised where Python's functions (math.sin, int, round) are handed a tensor that has no elements yet.
_UNREADABLE = (TypeError, AttributeError, NotImplementedError)
_MOST_LETTERS = 200  # of an error of XLA, which continues with a dump


def why_not_traced(problem: Exception) -> str | None:
    """Return why a ``tf.function`` cannot be made of a function that raised ``problem``; None for errors of its own."""
    if isinstance(problem, tf.errors.OperatorNotAllowedInGraphError):
        return "it decides on the elements of an array"
    text = str(problem)
    is_read = isinstance(problem, _UNREADABLE) and ("SymbolicTensor" in text or "symbolic tf.Tensor" in text)
    return "Python computes with the elements of an array" if is_read else None


def returning_anything(function: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    """Return `function` as a ``tf.function`` that may return numbers, strings and objects, which TensorFlow
    would convert to tensors or reject.

    Each trace returns only its tensors, with the index of the structure from which the result is rebuilt.
    """
    forms: list[Tree] = []

    @functools.wraps(function)
    def packed(*args: Any) -> dict[str, Any]:
        leaves, form = flatten(function(*args), tf.is_tensor)
        if form not in forms:
            forms.append(form)
        return {str(forms.index(form)): leaves}

    compiled = tf.function(packed, **{"autograph": False, **options})

    def unpacked(*args: Any) -> Any:
        ((form, leaves),) = compiled(*args).items()
        return unflatten(forms[int(form)], leaves)

    return unpacked


class Compiled:
    """A flat function, compiled as suits it best when it is first called.

    XLA compiles it, unless XLA cannot, or would return other values than TensorFlow's kernels: then it is a plain ``tf.function``. A
    function that decides on elements runs operation by operation. So does a call whose gradient is recorded, a call inside of a
    ``tf.function``, whose operations become part of that, and the first call with a new shape after many others.
    """

    def __init__(self, function: Callable[..., Any], static: tuple[int, ...]) -> None:
        self._function, self.__name__ = function, function.__name__
        self.__wrapped__ = function
        self._shapes = CompiledShapes(function, is_limited=True, sizes=static)
        self._why_not_xla = self._why_not_traced = ""
        self._run, self._writes = self._by_xla, False
        self._xla: ConcreteFunctions | None = None
        self._plain: ConcreteFunctions | None = None

    def __call__(self, *args: Any) -> Any:
        if record.could_possibly_record() or not tf.executing_eagerly():
            return self._function(*args)
        try:
            result = self._run(*args)
        except NewShape:
            return self._function(*args)
        except NotTraced as problem:
            return self._operation_by_operation(str(problem), args)
        if self._shapes.message is not None:
            self._shapes.warn()
        return result

    def describe_compilation(self) -> str:
        """Return how the function runs, in words."""
        if self._why_not_traced:
            return f"operation by operation, because {self._why_not_traced}"
        if self._why_not_xla:
            return f"as one tf.function without XLA, because {self._why_not_xla}; {self._shapes.describe()}"
        return f"as one program of XLA (tf.function, jit_compile=True), {self._shapes.describe()}"

    def _by_xla(self, *args: Any) -> Any:
        if self._xla is None:
            self._xla = ConcreteFunctions(self._function, self._shapes, {"jit_compile": True}, _checks_of_trace)
        try:
            if inexact := why_not_exact():
                raise NotForXla(inexact)
            result, checks = self._xla(*args)
        except NotForXla as problem:
            return self._without_xla(str(problem), args)
        except _UNREADABLE as problem:
            return self._untraced(problem, args)
        except tf.errors.OpError as problem:
            result = self._function(*args)  # raises the error of the call, if it has one
            self._give_up_xla(f"XLA cannot compile it: {' '.join(str(problem).split())[:_MOST_LETTERS]}")
            return result
        if all(checks):
            return result
        result = self._function(*args)  # where the kernel raises, unless the check was a false alarm
        # elements like these are likely to come again
        self._give_up_xla("elements came for which it may return what TensorFlow's kernels do not")
        return result

    def _give_up_xla(self, why: str) -> None:
        self._why_not_xla, self._run = why, self._by_kernels
        log.info("%s is compiled without XLA: %s", self.__name__, why)

    def _without_xla(self, why: str, args: tuple[Any, ...]) -> Any:
        self._give_up_xla(why)
        return self._by_kernels(*args)

    def _by_kernels(self, *args: Any) -> Any:
        if self._plain is None:
            self._plain = ConcreteFunctions(self._function, self._shapes, {}, self._note_writes)
        try:
            with _without_grappler():
                return self._plain(*args)[0]
        except _UNREADABLE as problem:
            return self._untraced(problem, args)
        except tf.errors.OpError:
            if self._writes:
                raise
            return self._function(*args)  # raises at the line of the operation

    def _untraced(self, problem: Exception, args: tuple[Any, ...]) -> Any:
        why = why_not_traced(problem)
        if why is None:
            raise problem
        return self._operation_by_operation(why, args)

    def _operation_by_operation(self, why: str, args: tuple[Any, ...]) -> Any:
        self._why_not_traced, self._run = why, self._function
        log.info("%s is not compiled: %s", self.__name__, self._why_not_traced)
        return self._function(*args)

    def _note_writes(self) -> list[Any]:
        graph = tf.compat.v1.get_default_graph()
        require_no_hidden_draws(graph)
        self._writes = self._writes or writes(graph)
        return []


def _checks_of_trace() -> list[Any]:
    graph = tf.compat.v1.get_default_graph()
    require_no_hidden_draws(graph)
    checks = checks_left_out(graph)
    return [tf.reduce_all(tf.stack(checks))] if checks else []


_GRAPPLER_OFF = config_pb2.ConfigProto()
_GRAPPLER_OFF.graph_options.rewrite_options.disable_meta_optimizer = True


@contextmanager
def _without_grappler() -> Iterator[None]:
    """Call functions without Grappler, which prolongs first calls and whose fused kernels return 0 for ``relu`` of NaN."""
    current = context.context()
    before = current.function_call_options
    current.function_call_options = context.FunctionCallOptions(config_proto=_GRAPPLER_OFF)
    try:
        yield
    finally:
        current.function_call_options = before
