"""TensorFlow as a runtime: arrays, random keys and compilation."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import record
from tensorflow.python.ops import control_flow_util

from ...contracts import Target
from ...contracts.parallelism import guards_collected_from
from ...errors import CallMismatch, GraphCompilerError, GuardFailed
from ...ir.graph import Guard
from ...trees import flatten, map_structure
from ..common.compilers import check_compiler_options, compiled_or_plain
from ..common.native import (
    INCONVERTIBLE,
    failure_text,
    is_plain,
    refuse_array,
    shows_as_nan,
    underlying_array,
    write_into,
)
from ..common.row_texts import SliceKeys
from .compiled import Compiled, traced_with_any_result, why_not_traced

# Kernels of TensorFlow may crash on memory that is not aligned to this many bytes.
_ALIGNMENT = 64

# AutoGraph wraps exceptions in a class of its own, but not those with this attribute.
setattr(GraphCompilerError, "ag_pass_through", True)  # noqa: B010


class TensorFlowTarget(Target):
    name = "tensorflow"
    a_key = "tf.constant([0, 0], tf.int32)"
    array_types: tuple[type, ...] = (type(tf.zeros([])),)

    def __init__(self) -> None:
        self._key: Any = None
        self.of_slices = SliceKeys()
        # The lock keeps two threads from splitting the same key.
        self._splitting = threading.RLock()

    # ------------------------------------------------------------------------------ arrays
    def convert(self, array: Any) -> Any:
        if isinstance(array, tf.Tensor):
            return array
        if isinstance(array, tf.Variable):
            return tf.convert_to_tensor(array)
        array = _as_numpy(underlying_array(array))
        try:
            # The copy lets the caller write to the array.
            return None if array is None else tf.constant(array)
        except INCONVERTIBLE as problem:
            refuse_array(array, "tensorflow", problem)

    def adopt(self, array: Any) -> Any:
        # Attributes of a class of arrays are descriptors.
        if isinstance(array, type) or not hasattr(array, "data_ptr"):
            return self.convert(array)
        # DLPack does not carry the flags of lazy conjugation and negation.
        plain = array.detach().resolve_conj().resolve_neg().contiguous()
        if plain.data_ptr() % _ALIGNMENT:
            return self.convert(plain)
        # DLPack does not support all dtypes and layouts.
        try:
            return tf.experimental.dlpack.from_dlpack(plain.__dlpack__())
        except (
            BufferError,
            RuntimeError,
            TypeError,
            ValueError,
            tf.errors.OpError,
        ):
            return self.convert(plain)

    def dtype(self, name: str) -> Any:
        found = getattr(tf, name, None)
        return found if isinstance(found, tf.DType) else None

    def elements(self, array: Any) -> Any:
        # Numbers that were read from an array are elements already.
        if isinstance(array, (bool, int, float)):
            return array
        return self.to_numpy(array).tolist()

    def on_host(self, array: Any) -> Any:
        return array.numpy() if hasattr(array, "numpy") and "GPU" not in array.device else None

    def records_gradients_of(self, given: Iterable[Any]) -> bool:
        return any(
            isinstance(item, (tf.Tensor, tf.Variable))
            and record.should_record_backprop([tf.convert_to_tensor(item)])
            for item in given
        )

    def is_traced(self, item: Any) -> bool:
        return isinstance(item, tf.Tensor) and not hasattr(item, "numpy")

    def to_numpy(self, array: Any) -> Any:
        return np.asarray((tf.cast(array, tf.float32) if array.dtype == tf.bfloat16 else array).numpy())

    def to_bytes(self, array: Any) -> bytes:
        return np.asarray(array.numpy()).tobytes()

    def from_bytes(self, data: np.ndarray[Any, Any], dtype: str, shape: tuple[int, ...]) -> Any:
        kind = tf.as_dtype(dtype)
        # NumPy exports only its own dtypes, so bfloat16 travels as uint16.
        carried = np.uint16 if kind == tf.bfloat16 else kind.as_numpy_dtype
        array = data.view(carried).reshape(shape)
        # DLPack does not support all dtypes and layouts.
        try:
            if tf.config.list_logical_devices("GPU"):
                raise BufferError("a tensor that shares memory of the host stays there")
            # Elements that were widened are not aligned.
            if data.ctypes.data % _ALIGNMENT:
                raise BufferError("TensorFlow takes no memory that begins here")
            return tf.bitcast(tf.experimental.dlpack.from_dlpack(array.__dlpack__()), kind)
        except (
            BufferError,
            RuntimeError,
            TypeError,
            ValueError,
            tf.errors.OpError,
        ):
            return tf.constant(array.view(kind.as_numpy_dtype), dtype=kind)

    def copy(self, array: Any) -> Any:
        return array

    def write_back(self, array: Any, value: Any) -> None:
        if isinstance(array, tf.Variable):
            array.assign(value)
        else:
            write_into(array, self.to_numpy(value))

    # --------------------------------------------------------------------------- compiling and random numbers
    def compile(
        self,
        function: Callable[..., Any],
        options: dict[str, Any],
        static: tuple[int, ...] = (),
        text: str | None = None,
    ) -> Callable[..., Any]:
        check_compiler_options("tf.function", tf.function, options)
        traced = traced_with_any_result(function, options)
        return compiled_or_plain(traced, function, why_not_traced, "tf.function")

    compiles_by_default = True

    def compile_by_default(
        self, function: Callable[..., Any], static: tuple[int, ...] = (), text: str | None = None
    ) -> Callable[..., Any]:
        return Compiled(function, static)

    def untraced(self) -> AbstractContextManager[None]:
        lifted: AbstractContextManager[None] = tf.init_scope()
        return lifted

    def seed(self, number: int) -> None:
        self._key = tf.constant([number, 0], tf.int32)

    def is_key(self, item: Any) -> bool:
        try:
            seed = tf.convert_to_tensor(item)
        except (TypeError, ValueError):
            return False
        return bool(seed.dtype.is_integer and seed.shape.is_compatible_with([2]))

    def next_key(self, leaves: Iterable[Any] = ()) -> Any:
        if draw := self.of_slices.next():
            return draw()
        if not tf.executing_eagerly():
            raise CallMismatch(
                "this graph draws random numbers, and a tf.function calls it: call "
                f"graph.functional(parameters, ..., rng={self.a_key}), "
                "with another key at each call"
            )
        with self._splitting:
            if self._key is None:
                self.seed(0)
            self._key, key = tf.unstack(tf.random.split(self._key, 2))
            return key

    def random_state_restorer(self, leaves: tuple[Any, ...]) -> Callable[[], None]:
        return lambda: None

    def register_classes(self, classes: Iterable[type]) -> None: ...

    def require_guards(self, result: Any, checks: tuple[Any, ...], guards: tuple[Any, ...]) -> Any:
        collected = guards_collected_from(tf.compat.v1.get_default_graph())
        for check, guard in zip(checks, guards):
            if hasattr(check, "numpy"):
                guard.require(self.elements(check))
            elif collected is not None:
                collected.append((_matches_recorded(check, guard), guard))
            else:
                message = f"{guard.recorded()} and for this call is"
                result = assert_or_poison(result, _matches_recorded(check, guard), message, check)
        return result

    def branch(
        self,
        checks: tuple[Any, ...],
        guards: tuple[Any, ...],
        run: Callable[[], Any],
        otherwise: Callable[[], Any],
    ) -> Any:
        return tf.cond(
            tf.reduce_all([_matches_recorded(check, guard) for check, guard in zip(checks, guards)]),
            run,
            otherwise,
        )

    def refusal(self, problem: Exception) -> str | None:
        return failure_text(
            problem, more=(tf.errors.OpError,), but=(tf.errors.OperatorNotAllowedInGraphError,)
        )

    # ------------------------------------------------------------------------------ unknown sizes
    def size_of(self, array: Any, axis: int) -> Any:
        known = array.shape[axis]
        return tf.shape(array)[axis] if known is None else known

    def where_sizes_fit(self, result: Any, conditions: list[tuple[Any, str]]) -> Any:
        for holds, text in conditions:
            result = assert_or_poison(result, holds, f"GuardFailed: {text}")
        return result


def _matches_recorded(check: Any, guard: Guard) -> Any:
    """Return a boolean scalar that is True if ``check`` has the shape and elements that ``guard`` recorded.

    Floats and complex numbers may differ by the relative error ``guard.rounding``. Raise ``GuardFailed`` if
    the static shape differs.
    """
    expected = np.asarray(guard.expected)
    if not check.shape.is_compatible_with(expected.shape):
        raise GuardFailed(f"{guard.recorded()} and has the shape {check.shape} for this call")
    has_shape: Any = True
    if not check.shape.is_fully_defined():
        # A comparison would raise for shapes that do not broadcast, under XLA even in a branch not taken.
        rank = expected.ndim
        has_shape = tf.equal(tf.rank(check), rank) & tf.reduce_all(
            tf.equal(_resized(tf.shape(check), rank), expected.shape)
        )
        check = tf.reshape(_resized(tf.reshape(check, [-1]), expected.size), expected.shape)
    with np.errstate(all="ignore"):
        wanted = expected.astype(check.dtype.as_numpy_dtype)
    if not (check.dtype.is_floating or check.dtype.is_complex):
        # A recorded value that the dtype of `check` cannot hold differs from every value of `check`.
        same = tf.equal(check, wanted) & bool(np.all(wanted == expected))
    else:
        same = _is_same(tf.math.real(check), tf.math.real(wanted)) & _is_same(
            tf.math.imag(check), tf.math.imag(wanted)
        )
        if guard.rounding:
            size = tf.abs(wanted)
            tolerance = tf.cast(guard.rounding, size.dtype) * size
            same |= (
                tf.not_equal(check, 0) & (tf.abs(check - wanted) <= tolerance) & tf.math.is_finite(tolerance)
            )
    return tf.reduce_all(same) & has_shape


def _resized(vector: Any, count: int) -> Any:
    return tf.concat([vector, tf.zeros(count, vector.dtype)], 0)[:count]


def _is_same(check: Any, wanted: Any) -> Any:
    # NaN equals NaN, but 0.0 does not equal -0.0.
    return (tf.equal(check, wanted) & tf.equal(_is_negative(check), _is_negative(wanted))) | (
        tf.math.is_nan(check) & tf.math.is_nan(wanted)
    )


def _is_negative(array: Any) -> Any:
    # TensorFlow has no `signbit`, but `atan2(x, -1)` has the sign of `x`, also of zeros.
    return tf.math.atan2(array, tf.constant(-1, array.dtype)) < 0


def assert_or_poison(result: Any, holds: Any, message: str, *seen: Any) -> Any:
    """Return ``result`` with an assertion of ``holds``, and with NaN in its floats if ``holds`` is False.

    Under XLA, raise ``CallMismatch`` for a result that NaN cannot mark as wrong.
    """
    # XLA drops assertions, so floats also become NaN if `holds` is False.
    leaves, tree = flatten(result, tf.is_tensor)
    floating = [_is_floating(leaf) for leaf in leaves if leaf.shape.num_elements() != 0]
    if _is_for_xla() and not shows_as_nan(tree, floating):
        raise CallMismatch(
            "XLA leaves assertions out, and NaN cannot show in a result of integers, or of no elements, that "
            "a guard of the recording has failed "
            f"({message.strip(' ;')}): trace this call without jit_compile=True, or let the function return "
            "an array of floats alone"
        )

    def poisoned(leaf: Any) -> Any:
        if not tf.is_tensor(leaf):
            return leaf
        one, nan = (tf.cast(number, leaf.dtype) for number in (1.0, math.nan))
        # A product also makes the gradient NaN.
        return leaf * tf.where(holds, one, nan) if _is_floating(leaf) else tf.identity(leaf)

    with tf.control_dependencies([tf.debugging.Assert(holds, [message, *seen])]):
        return map_structure(poisoned, result)


def _is_floating(tensor: Any) -> bool:
    return bool(tensor.dtype.is_floating or tensor.dtype.is_complex)


def _is_for_xla() -> bool:
    return bool(control_flow_util.GraphOrParentsInXlaContext(tf.compat.v1.get_default_graph()))


def _as_numpy(array: Any) -> np.ndarray[Any, Any] | None:
    if isinstance(array, np.ndarray):
        return array.astype(array.dtype.newbyteorder("="), copy=False) if is_plain(array) else None
    if isinstance(array, type) or not hasattr(array, "__dlpack__"):
        return None
    try:
        plain = array.detach().cpu().resolve_conj().resolve_neg() if hasattr(array, "detach") else array
        # NumPy has no bfloat16; the way over float32 is exact.
        return (
            np.asarray(plain.float()).astype(tf.bfloat16.as_numpy_dtype)
            if str(plain.dtype) == "torch.bfloat16"
            else np.asarray(plain)
        )
    except INCONVERTIBLE as problem:
        refuse_array(array, "tensorflow", problem)


target = TensorFlowTarget()
