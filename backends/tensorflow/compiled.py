"""Functions compiled by ``tf.function``, with XLA where it computes the same as TensorFlow's kernels."""

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

from ...recording.faults import is_fault
from ...trees import Tree, flatten, unflatten
from ..common import compilers
from ..common.compilers import CompiledShapes, NewShape

# --------------------------------------------------------------------------------------------- dropped checks
# Checks that XLA computes the same as TensorFlow's kernels, as tensors next to the result.
#
# A kernel raises an error for an index out of range, and XLA clamps it; XLA drops assertions. A failed check
# may be a false alarm, so the call is then run operation by operation, and the kernels decide.


class NotForXla(Exception):
    """Exception that says why a function has to be compiled without XLA."""


class FirstCall(Exception):
    """Exception at a call with new arguments, raised instead of compiling for them."""


class NotTraceable(Exception):
    """Exception that says why a function has to run operation by operation."""


def checks_dropped_by_xla(graph: Any) -> list[Any]:
    """Add to the default graph checks that XLA computes the same as TensorFlow's kernels, and return them.

    Raise ``NotForXla`` if ``graph`` has to run without XLA.
    """
    for kind in (node.op for node in _inner_nodes(graph)):
        if kind in _CHECKS:
            raise NotForXla(f"XLA leaves out the checks of {kind}, which a loop, branch or function calls")
    for kind in _types(graph):
        if why := _why_different(kind):
            raise NotForXla(why)
    checks = [check for op in graph.get_operations() for check in _checks_of(op)]
    if checks and writes(graph):
        raise NotForXla("XLA leaves out the checks of an operation in a function that writes to variables")
    return checks


def python_checks(graph: Any) -> list[Any]:
    """Add checks of divisions and powers of floating-point scalars in ``graph`` to the default graph.

    Return the checks.
    """
    # A number that Python reads from an array is a scalar tensor in a trace. Its division by 0 or its power
    # gives infinity or NaN there, where Python raises ``ZeroDivisionError`` or gives a complex number.
    # Scalars that TensorFlow divides get a check, too, which may be a false alarm.
    found = []
    for op in graph.get_operations():
        if op.type in _OF_PYTHON and op.outputs[0].dtype.is_floating and op.outputs[0].shape.rank == 0:
            found.append(_OF_PYTHON[op.type](*op.inputs))
    return found


def writes(graph: Any) -> bool:
    return any(
        # `ResourceGather` only reads a variable.
        kind.startswith(("Assign", "Resource", "Rng")) and not kind.startswith("ResourceGather")
        for kind in _types(graph)
    )


def require_no_global_random(graph: Any) -> None:
    nodes = (*(op.node_def for op in graph.get_operations()), *_inner_nodes(graph))
    # Samplers of the global generator have this attribute, stateless ones do not.
    if drawing := next((node.op for node in nodes if "seed2" in node.attr), None):
        raise NotTraceable(f"it draws from TensorFlow's global generator ({drawing})")


def _why_different(kind: str) -> str | None:
    if kind.startswith("Stateless") and kind not in _STATELESS_CONTROL:
        return f"XLA draws other numbers than the kernel of {kind}"
    return f"XLA leaves out {kind}" if kind in _DROPPED else None


def _types(graph: Any) -> list[str]:
    return [op.type for op in graph.get_operations()] + [node.op for node in _inner_nodes(graph)]


def _inner_nodes(graph: Any) -> list[Any]:
    library = graph.as_graph_def(use_pybind11_proto=False).library
    return [node for function in library.function for node in function.node_def]


def _checks_of(op: Any) -> Iterator[Any]:
    for tensor in op.outputs:
        if not tensor.shape.is_fully_defined():
            raise NotForXla(f"a size of what {op.type} returns is not known before it runs")
    if op.type in _IMPRECISE and op.inputs[0].dtype in (tf.float64, tf.complex128):
        raise NotForXla(f"XLA computes {op.type} of {op.inputs[0].dtype.name} to seven digits only")
    if op.type in _CHECKS:
        yield from _CHECKS[op.type](op)


def _bounds_check(index: Any, size: Any) -> list[Any]:
    known, limit = tf.get_static_value(index), tf.get_static_value(size)
    if known is not None and limit is not None and ((known >= 0) & (known < limit)).all():
        return []
    return [tf.reduce_all((index >= 0) & (index < tf.cast(size, index.dtype)))]


def _gather(op: Any) -> list[Any]:
    array, index = op.inputs[:2]
    axis = tf.get_static_value(op.inputs[2]) if len(op.inputs) > 2 else 0
    if axis is None:
        raise NotForXla("the axis of a gather is not known before it runs")
    return _bounds_check(index, tf.constant(array.shape[int(axis)]))


def _gather_nd(op: Any) -> list[Any]:
    array, index = op.inputs
    return _bounds_check(index, tf.constant(array.shape[: index.shape[-1]].as_list(), tf.int32))


def _scatter_nd(op: Any) -> list[Any]:
    index, shape = op.inputs[0], op.inputs[2]
    return _bounds_check(index, shape[: index.shape[-1]])


def _scatter_into(op: Any) -> list[Any]:
    array, index = op.inputs[:2]
    return _bounds_check(index, tf.constant(array.shape[: index.shape[-1]].as_list(), tf.int32))


def _segments(op: Any) -> list[Any]:
    segments, count = op.inputs[1:3]
    # Kernels and XLA both drop negative segments.
    return [tf.reduce_all(segments < tf.cast(count, segments.dtype))]


def _integer_divisor(op: Any) -> list[Any]:
    divisor = op.inputs[1]
    known = tf.get_static_value(divisor)
    if not divisor.dtype.is_integer or known is not None and (known != 0).all():
        return []
    # The kernels raise an error for a division by 0.
    return [tf.reduce_all(tf.not_equal(divisor, 0))]


def _integer_exponent(op: Any) -> list[Any]:
    exponent = op.inputs[1]
    known = tf.get_static_value(exponent)
    if not exponent.dtype.is_integer or known is not None and (known >= 0).all():
        return []
    # The kernels raise an error for a negative exponent.
    return [tf.reduce_all(exponent >= 0)]


def _label(op: Any) -> list[Any]:
    logits, labels = op.inputs
    return _bounds_check(labels, tf.constant(logits.shape[-1]))


def _slice(op: Any) -> list[Any]:
    array, begin, size = op.inputs
    if tf.get_static_value(begin) is not None:
        return []
    begin, size = tf.cast(begin, tf.int64), tf.cast(size, tf.int64)
    shape = tf.constant(array.shape.as_list(), tf.int64)
    # A size of -1 reaches to the end.
    return [tf.reduce_all((begin >= 0) & (begin + tf.where(size < 0, shape - begin, size) <= shape))]


def _strided_slice(op: Any) -> list[Any]:
    array, begin = op.inputs[:2]
    shrunk = [axis for axis in range(begin.shape[0]) if op.get_attr("shrink_axis_mask") >> axis & 1]
    if not shrunk or tf.get_static_value(begin) is not None:
        return []
    if op.get_attr("ellipsis_mask") or op.get_attr("new_axis_mask"):
        raise NotForXla("XLA leaves out the check of an index beside an ellipsis or a new axis")
    index, sizes = tf.gather(begin, shrunk), tf.constant([array.shape[axis] for axis in shrunk], begin.dtype)
    return [tf.reduce_all((index >= -sizes) & (index < sizes))]


def _finite_input(op: Any) -> list[Any]:
    return [_is_finite(op.inputs[0])]


def _finite_results(op: Any) -> list[Any]:
    return [
        _is_finite(tensor) for tensor in op.outputs if tensor.dtype.is_floating or tensor.dtype.is_complex
    ]


def _is_finite(tensor: Any) -> Any:
    parts = (tf.math.real(tensor), tf.math.imag(tensor)) if tensor.dtype.is_complex else (tensor,)
    return tf.reduce_all([tf.reduce_all(tf.math.is_finite(part)) for part in parts])


def _shift(op: Any) -> list[Any]:
    by = op.inputs[1]
    return [tf.reduce_all((by >= 0) & (by < 8 * by.dtype.size))]


def _no_nan(op: Any) -> list[Any]:
    array = op.inputs[0]
    # XLA orders NaN in another way than the kernels.
    return [tf.logical_not(tf.reduce_any(tf.math.is_nan(array)))] if array.dtype.is_floating else []


def _no_nan_in_results(op: Any) -> list[Any]:
    # Where the result of ``elu`` is NaN, the kernel returns the gradient, and XLA returns NaN.
    return [tf.logical_not(tf.reduce_any(tf.math.is_nan(op.inputs[1])))]


def _no_difference_of_tolerance(op: Any) -> list[Any]:
    # For a difference that equals the tolerance, the kernel returns True, and XLA returns False.
    left, right = op.inputs
    difference = tf.abs(left - right)
    return [tf.reduce_all(tf.not_equal(difference, tf.cast(op.get_attr("tolerance"), difference.dtype)))]


def _singular(op: Any) -> list[Any]:
    raise NotForXla(f"XLA does not refuse a singular matrix, as {op.type} does")


def _unknown(op: Any) -> list[Any]:
    raise NotForXla(f"XLA leaves out the checks of {op.type}")


def _assertion(op: Any) -> list[Any]:
    return [tf.reduce_all(op.inputs[0])]


_STATELESS_CONTROL = ("StatelessIf", "StatelessCase", "StatelessWhile")
_DROPPED = ("Print", "PrintV2")
_SEGMENTS = ("Sum", "Prod", "Min", "Max")
# Iterative algorithms of XLA, which stop at an error that suits float32.
_IMPRECISE = frozenset({"Svd", "SelfAdjointEigV2"})
_OF_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    **dict.fromkeys(["RealDiv", "FloorDiv", "FloorMod"], lambda _, divisor: tf.not_equal(divisor, 0)),
    "Pow": lambda base, _: base > 0,
}
# Checks by type of operation. A type whose kernel agrees with XLA for all elements has none.
_CHECKS: dict[str, Callable[[Any], list[Any]]] = {
    "Gather": _gather,
    "GatherV2": _gather,
    "GatherNd": _gather_nd,
    "ScatterNd": _scatter_nd,
    **dict.fromkeys(
        [f"TensorScatter{name}" for name in ("Update", "Add", "Sub", "Min", "Max")], _scatter_into
    ),
    **dict.fromkeys([f"UnsortedSegment{name}" for name in _SEGMENTS], _segments),
    **dict.fromkeys(["Div", "FloorDiv", "FloorMod", "Mod", "TruncateDiv", "TruncateMod"], _integer_divisor),
    "Pow": _integer_exponent,
    **dict.fromkeys(["LeftShift", "RightShift"], _shift),
    **dict.fromkeys(["ArgMax", "ArgMin", "TopK", "TopKV2"], _no_nan),
    "EluGrad": _no_nan_in_results,
    "ApproximateEqual": _no_difference_of_tolerance,
    "SparseSoftmaxCrossEntropyWithLogits": _label,
    "Slice": _slice,
    "StridedSlice": _strided_slice,
    "Assert": _assertion,
    **dict.fromkeys(["CheckNumerics", "CheckNumericsV2"], _finite_input),
    **dict.fromkeys(["Cholesky", "MatrixTriangularSolve", "SelfAdjointEigV2", "Svd", "Qr"], _finite_results),
    **dict.fromkeys(["MatrixInverse", "MatrixSolve", "Lu", "TridiagonalSolve"], _singular),
    **dict.fromkeys(
        [f"Segment{name}{version}" for name in (*_SEGMENTS, "Mean") for version in ("", "V2")], _unknown
    ),
    **dict.fromkeys(
        ["ResourceGather", "ResourceGatherNd", "Bincount", "DenseBincount", "InvertPermutation"], _unknown
    ),
    **dict.fromkeys(["ReverseSequence", "RandomUniformInt", "DynamicStitch", "Multinomial"], _unknown),
}


# --------------------------------------------------------------------------------------------------- compiled
_VARIABLE = "XLA_FLAGS"
# Both are true by default: the first ignores NaN in maxima on CPU, the second drops casts to half precision
# between two operations.
_FLAGS = ("xla_cpu_enable_fast_min_max", "xla_allow_excess_precision")


@functools.cache
def why_not_exact() -> str:
    """Return a message if XLA ignores NaN in maxima or drops casts to half precision, else an empty text."""
    # TensorFlow reads ``XLA_FLAGS`` when it first compiles in a process, so the flags have no effect if
    # something else was compiled before.
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
    """Callable that runs ``function`` by ``tf.function`` graphs, which it traces and caches.

    function: function of tensors, variables, other values, and dicts of the first two.
    options: options of ``tf.function``.
    extra: function that is called at the end of each trace. It returns tensors to compute besides the result.
    waits: True to raise ``FirstCall`` where a trace is needed, and to trace only if the call is repeated.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        shapes: CompiledShapes,
        options: dict[str, Any],
        extra: Callable[[], list[Any]],
        waits: bool = False,
    ) -> None:
        self._function, self._shapes, self._options, self._extra = function, shapes, options, extra
        self._traced: dict[Hashable, _Trace] = {}
        self._waits, self._seen = waits, set[Hashable]()

    def __call__(self, *args: Any) -> tuple[Any, list[Any]]:
        """Return the result, and the values of the tensors that ``extra`` added.

        Raise ``FirstCall``, ``NewShape`` or ``NotTraceable`` if there is no graph for the arguments, and none
        is traced.
        """
        # A ``tf.function`` would look at all arguments, which takes longer than running a small model.
        key, tensors = _key_and_tensors(args)
        traced = self._traced.get(key)
        if traced is None:
            if self._waits and key not in self._seen:
                self._seen.add(key)
                raise FirstCall
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
        try:
            concrete = tf.function(flat, autograph=False, **self._options).get_concrete_function(*tensors)
        except ValueError as problem:
            # Shape inference rejects some shapes that kernels accept, such as a pooling window larger than
            # its axis. If the error is one of the call, the kernels raise it.
            if is_fault(problem):
                raise
            reason = " ".join(str(problem).split())[:_MAX_ERROR_LENGTH]
            raise NotTraceable(f"TensorFlow cannot trace it: {reason}") from problem
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
    """Return why a function that raised ``problem`` cannot be a ``tf.function``, or None for other errors."""
    if isinstance(problem, tf.errors.OperatorNotAllowedInGraphError):
        return "it decides on the elements of an array"
    text = str(problem)
    is_read = isinstance(problem, _ERRORS_OF_SYMBOLIC_TENSORS) and (
        "SymbolicTensor" in text or "symbolic tf.Tensor" in text
    )
    return "Python computes with the elements of an array" if is_read else None


def traced_with_any_result(function: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    """Return ``function`` compiled by ``tf.function``, such that its result may contain Python objects."""
    # TensorFlow would convert other results to tensors or raise, so each trace returns only its tensors,
    # under the index of the structure from which the result is rebuilt.
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
    """Callable that runs ``function`` compiled, by XLA or as a ``tf.function``, or operation by operation.

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
        # The probe has to come before other code uses XLA, which may be before the second call.
        why_not_exact()
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
        when = ", from the second call with the same shapes on" if compilers.is_second_call_compiled else ""
        return f"as one program of XLA (tf.function, jit_compile=True){when}, {self._shapes.describe()}"

    def _by_xla(self, *args: Any) -> Any:
        if self._xla is None:
            self._xla = ConcreteFunctions(
                self._function,
                self._shapes,
                {"jit_compile": True},
                self._checks_of_trace,
                waits=compilers.is_second_call_compiled,
            )
        try:
            result, checks = self._xla(*args)
        except FirstCall:
            return self._by_kernels(*args)
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
        # If this raises, too, the call is wrong, and later calls may be compiled.
        result = self._function(*args)
        self._why_not_traced, self._run = why, self._function
        log.info("%s is not compiled: %s", self.__name__, self._why_not_traced)
        return result

    def _note_writes(self) -> list[Any]:
        graph = tf.compat.v1.get_default_graph()
        require_no_global_random(graph)
        if self._reads_numbers and python_checks(graph):
            raise NotTraceable("Python divides by a number that it reads from an array")
        self._writes = self._writes or writes(graph)
        return []

    def _checks_of_trace(self) -> list[Any]:
        if inexact := why_not_exact():
            raise NotForXla(inexact)
        graph = tf.compat.v1.get_default_graph()
        require_no_global_random(graph)
        checks = checks_dropped_by_xla(graph)
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
    # Grappler slows first calls down, and its fused kernels return 0 for ``relu`` of NaN.
    current = context.context()
    before = current.function_call_options
    current.function_call_options = context.FunctionCallOptions(config_proto=_GRAPPLER_OFF)
    try:
        yield
    finally:
        current.function_call_options = before
