"""Flat functions compiled by ``tf.function``, with XLA if it computes the same as TensorFlow's kernels."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.eager import context, record

from ...trees import Tree, flatten, unflatten
from ..common.compiled_shapes import CompiledShapes, NewShape
from .unchecked import (
    NotForXla,
    NotTraceable,
    dropped_checks,
    python_checks,
    require_no_global_random,
    writes,
)

_VARIABLE = "XLA_FLAGS"
# Both are true by default: the first ignores NaN in maxima on CPU, the second drops casts to half precision
# between two operations.
_FLAGS = ("xla_cpu_enable_fast_min_max", "xla_allow_excess_precision")


@functools.cache
def why_not_exact() -> str:
    """Return why XLA would return other numbers than TensorFlow's kernels; an empty string if it would not.

    The first call compiles a probe, whose outcome is cached. TensorFlow reads ``XLA_FLAGS`` when it first
    compiles in a process, so flags that make XLA exact are set around the probe. They have no effect if
    something else was compiled before.
    """
    with tf.init_scope(), _exact_flags():
        maximum, rounded = tf.function(_probe, jit_compile=True, autograph=False)(
            tf.constant([np.nan, 0.1]), tf.constant([1.0, np.nan])
        )
    kept = {
        "NaN in maxima": np.isnan(maximum.numpy()).all(),
        "casts to half precision": rounded.numpy()[1] == np.float32(np.float16(0.1)),
    }
    lost = " and ".join(what for what, is_kept in kept.items() if not is_kept)
    return (
        f"XLA, which this process has used before, leaves out {lost}: set XLA_FLAGS from the start"
        if lost
        else ""
    )


def _probe(x: Any, y: Any) -> Any:
    return tf.maximum(x, y), tf.cast(tf.cast(x, tf.float16), tf.float32)


@contextmanager
def _exact_flags() -> Iterator[None]:
    before = os.environ.get(_VARIABLE)
    # A flag that the user has set keeps its value.
    more = [f"--{flag}=false" for flag in _supported_flags() if flag not in (before or "")]
    if more:
        os.environ[_VARIABLE] = " ".join([*([before] if before else []), *more])
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_VARIABLE, None)
        else:
            os.environ[_VARIABLE] = before


def _supported_flags() -> list[str]:
    header = Path(tf.sysconfig.get_include(), "xla", "xla.pb.h")
    text = header.read_text(errors="replace") if header.is_file() else ""
    # XLA ends the process for a flag that it does not know.
    return [flag for flag in _FLAGS if f" {flag}(" in text]


_NUMBERS = (bool, int, float, complex)


class _Trace(NamedTuple):
    concrete: Any
    form: Tree
    leaves: int


class ConcreteFunctions:
    """Callable that caches a trace of ``function`` for each kind of arguments.

    A ``tf.function`` looks at all arguments, which takes longer than running a small model whose weights
    are arguments. Here the key consists of shapes and dtypes of tensors, and of the values of other
    arguments. The shapes of tensors in dicts, which are weights, are taken for constant.

    function: function of tensors, variables, other values, and dicts of the first two.
    shapes: record of the shapes that ``function`` is compiled for.
    options: options of ``tf.function``.
    extra: called at the end of each trace; returns tensors to compute besides the result.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        shapes: CompiledShapes,
        options: dict[str, Any],
        extra: Callable[[], list[Any]],
    ) -> None:
        self._function, self._shapes, self._options, self._extra = function, shapes, options, extra
        self._traced: dict[Hashable, _Trace] = {}

    def __call__(self, *args: Any) -> tuple[Any, list[Any]]:
        """Return the result, and the values of the tensors that ``extra`` added to the trace.

        Raise ``NewShape`` under the conditions of ``CompiledShapes.note``, and ``NotTraceable`` for a
        sparse or ragged tensor.
        """
        key, tensors = _key_and_tensors(args)
        traced = self._traced.get(key)
        if traced is None:
            self._shapes.note(args)
            traced = self._traced[key] = self._trace(args, tensors)
        # The public call is slower, because it binds arguments to names one by one.
        results = traced.concrete._call_flat(tensors, traced.concrete.captured_inputs)
        return unflatten(traced.form, results[: traced.leaves]), results[traced.leaves :]

    def _trace(self, args: tuple[Any, ...], tensors: list[Any]) -> _Trace:
        forms: list[tuple[Tree, int]] = []

        @functools.wraps(self._function)
        def flat(*given: Any) -> list[Any]:
            leaves, form = flatten(self._function(*_replace_tensors(args, given)), tf.is_tensor)
            forms.append((form, len(leaves)))
            return [*leaves, *self._extra()]

        # The signature of the wrapped function has other arguments.
        del flat.__wrapped__
        concrete = tf.function(flat, autograph=False, **self._options).get_concrete_function(*tensors)
        return _Trace(concrete, *forms[-1])


def _key_and_tensors(args: tuple[Any, ...]) -> tuple[Hashable, list[Any]]:
    key: list[Any] = []
    tensors: list[Any] = []
    for arg in args:
        if isinstance(arg, dict):
            # The shapes of weights do not change, so their names suffice.
            key.append((*arg, *(item.ref() for item in arg.values() if isinstance(item, tf.Variable))))
            tensors += [item for item in arg.values() if not isinstance(item, tf.Variable)]
        elif isinstance(arg, tf.Variable):
            key.append(arg.ref())
        elif isinstance(arg, tf.Tensor):
            key.append((arg.shape, arg.dtype))
            tensors.append(arg)
        # Sparse and ragged tensors consist of several tensors.
        elif tf.is_tensor(arg):
            raise NotTraceable(f"an argument of it is a {type(arg).__name__}")
        else:
            # 0.0 equals -0.0, and NaN does not equal itself, so numbers are compared by their repr.
            key.append((type(arg), repr(arg) if isinstance(arg, _NUMBERS) else arg))
    return tuple(key), tensors


def _replace_tensors(args: tuple[Any, ...], given: tuple[Any, ...]) -> list[Any]:
    """Return ``args`` with their tensors, also those in dicts, replaced by ``given`` in order.

    Variables stay, because the trace captures them.
    """
    tensors = iter(given)

    def replaced(item: Any) -> Any:
        return next(tensors) if isinstance(item, tf.Tensor) else item

    return [
        {name: replaced(item) for name, item in arg.items()} if isinstance(arg, dict) else replaced(arg)
        for arg in args
    ]


log = logging.getLogger("graph_compiler")
# Python functions (math.sin, int, round) raise these for a symbolic tensor, which has no elements yet.
_ERRORS_OF_SYMBOLIC_TENSORS = (TypeError, AttributeError, NotImplementedError)
# An error of XLA is cut here, because a long dump follows.
_MAX_ERROR_LENGTH = 200


def why_not_traced(problem: Exception) -> str | None:
    """Return why a function that raised ``problem`` cannot be a ``tf.function``.

    Return None if ``problem`` is an error of the function itself.
    """
    if isinstance(problem, tf.errors.OperatorNotAllowedInGraphError):
        return "it decides on the elements of an array"
    text = str(problem)
    is_read = isinstance(problem, _ERRORS_OF_SYMBOLIC_TENSORS) and (
        "SymbolicTensor" in text or "symbolic tf.Tensor" in text
    )
    return "Python computes with the elements of an array" if is_read else None


def traced_with_any_result(function: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    """Return ``function`` as a ``tf.function`` that may return numbers, strings and objects.

    TensorFlow would convert these to tensors or raise. So each trace returns only its tensors, with the
    index of the structure from which the result is rebuilt. ``options`` are those of ``tf.function``;
    ``autograph`` is off by default.
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
    """Callable that compiles a flat function at its first call, in the best way that preserves its results.

    It is compiled by XLA, or as a plain ``tf.function`` if XLA cannot compile it or would return other
    values than TensorFlow's kernels. It runs operation by operation if it reads elements of arrays in
    Python. Three kinds of calls also run operation by operation: those whose gradient is recorded, those
    inside a ``tf.function``, which they become a part of, and the first call with a new shape after many
    other shapes.

    function: function of tensors, numbers, and dicts of weights.
    static: indices of the arguments that are numbers used as sizes.
    """

    def __init__(self, function: Callable[..., Any], static: tuple[int, ...]) -> None:
        self._function, self.__name__ = function, function.__name__
        self.__wrapped__ = function
        # The helper of generated code that reads a number in Python.
        self._reads_numbers = "item" in getattr(getattr(function, "__code__", None), "co_names", ())
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
        except NotTraceable as problem:
            return self._operation_by_operation(str(problem), args)
        if self._shapes.message is not None:
            self._shapes.warn()
        return result

    def describe_compilation(self) -> str:
        if self._why_not_traced:
            return f"operation by operation, because {self._why_not_traced}"
        if self._why_not_xla:
            return f"as one tf.function without XLA, because {self._why_not_xla}; {self._shapes.describe()}"
        return f"as one program of XLA (tf.function, jit_compile=True), {self._shapes.describe()}"

    def _by_xla(self, *args: Any) -> Any:
        if self._xla is None:
            self._xla = ConcreteFunctions(
                self._function, self._shapes, {"jit_compile": True}, self._checks_of_trace
            )
        try:
            if inexact := why_not_exact():
                raise NotForXla(inexact)
            result, checks = self._xla(*args)
        except NotForXla as problem:
            return self._without_xla(str(problem), args)
        except _ERRORS_OF_SYMBOLIC_TENSORS as problem:
            return self._untraced(problem, args)
        except tf.errors.OpError as problem:
            # If the error is one of the call, the kernels raise it here.
            result = self._function(*args)
            self._give_up_xla(f"XLA cannot compile it: {' '.join(str(problem).split())[:_MAX_ERROR_LENGTH]}")
            return result
        if all(checks):
            return result
        # The kernel raises here, unless the check was a false alarm.
        result = self._function(*args)
        # Similar elements are likely to recur, so XLA is given up.
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
        except _ERRORS_OF_SYMBOLIC_TENSORS as problem:
            return self._untraced(problem, args)
        except tf.errors.OpError:
            # A second run would write to the variables again.
            if self._writes:
                raise
            # The error then points to the line of the operation.
            return self._function(*args)

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
        require_no_global_random(graph)
        if self._reads_numbers and python_checks(graph):
            raise NotTraceable("Python divides by a number that it reads from an array")
        self._writes = self._writes or writes(graph)
        return []

    def _checks_of_trace(self) -> list[Any]:
        graph = tf.compat.v1.get_default_graph()
        require_no_global_random(graph)
        checks = dropped_checks(graph)
        if self._reads_numbers:
            of_python = python_checks(graph)
            if of_python and writes(graph):
                raise NotForXla(
                    "Python divides by a number that it reads, in a function that writes to variables"
                )
            checks += of_python
        return [tf.reduce_all(tf.stack(checks))] if checks else []


_GRAPPLER_OFF = config_pb2.ConfigProto()
_GRAPPLER_OFF.graph_options.rewrite_options.disable_meta_optimizer = True


@contextmanager
def _without_grappler() -> Iterator[None]:
    """Disable Grappler for calls in this context.

    It slows first calls down, and its fused kernels return 0 for ``relu`` of NaN.
    """
    current = context.context()
    before = current.function_call_options
    current.function_call_options = context.FunctionCallOptions(config_proto=_GRAPPLER_OFF)
    try:
        yield
    finally:
        current.function_call_options = before
