"""Derivatives and vectorization by ``tf.GradientTape`` and ``tf.vectorized_map``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

import numpy as np
import tensorflow as tf

from ...contracts.derivatives import Arrays, Derivatives, Function, Policy, Step, VmapSpec
from ...contracts.parallelism import running_over
from ...errors import CallMismatch
from ...recording.lock import active
from ..common.row_texts import UNSAID
from .axes import VectorizedMapAxis
from .native import target
from .prelude.control import run_again, scan


def _names(name: str, device: str) -> bool:
    """Return True if no part of a device name, such as ``cpu:0``, differs from that of a device's name."""
    wanted, own = map(tf.DeviceSpec.from_string, (name, device))
    parts = ("job", "replica", "task", "device_type", "device_index")
    pairs = ((getattr(wanted, part), getattr(own, part)) for part in parts)
    # A local device's name says no machine.
    return all(one is None or other is None or one == other for one, other in pairs)


class TensorFlowDerivatives(Derivatives):
    compile_options: ClassVar[dict[str, Any]] = {"jit_compile": True}

    def array(self, item: Any) -> Any:
        if isinstance(item, (bool, int, float, complex, np.generic)):
            return tf.convert_to_tensor(item)
        found = target.convert(item)
        return None if found is None else tf.convert_to_tensor(found)

    def owns(self, item: Any) -> bool:
        return bool(tf.is_tensor(item))

    def keeps_derivative(self, item: Any) -> bool:
        return bool(tf.is_tensor(item)) or isinstance(item, (bool, int, float, complex))

    def is_traced(self, array: Any) -> bool:
        return not hasattr(array, "numpy")

    def allow_64_bits(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def placed(self, array: Any, device: Any) -> Any:
        # A device, its name, or the whole name that an array has, which also says the machine.
        name = getattr(device, "name", device)
        # tf.device silently chooses another device if there is none of this name.
        if not isinstance(name, str) or not any(
            _names(name, found.name) for found in tf.config.list_logical_devices()
        ):
            raise ValueError(f"there is no device {device}")
        with tf.device(name):
            return tf.identity(array)

    def cast(self, array: Any, like: Any) -> Any:
        return tf.cast(array, like.dtype)

    def is_differentiable(self, array: Any) -> bool:
        return bool(array.dtype.is_floating or array.dtype.is_complex)

    def is_complex(self, array: Any) -> bool:
        return bool(array.dtype.is_complex)

    def conjugate(self, array: Any) -> Any:
        return tf.math.conj(array)

    def zeros_like(self, array: Any, leading: Sequence[int] = ()) -> Any:
        return (
            tf.zeros(tf.concat([tf.cast(leading, tf.int32), tf.shape(array)], 0), array.dtype)
            if leading
            else tf.zeros_like(array)
        )

    def basis(self, array: Any) -> Any:
        size = tf.size(array) if array.shape.num_elements() is None else array.shape.num_elements()
        return tf.reshape(tf.eye(size, dtype=array.dtype), tf.concat([[size], tf.shape(array)], 0))

    def split(self, array: Any, axis: int, like: Any) -> Any:
        # The static shape may be unknown in a mapped function.
        sizes = tf.shape(array)
        return tf.reshape(
            array, tf.concat([tf.shape(like), sizes[1:]] if axis == 0 else [sizes[:-1], tf.shape(like)], 0)
        )

    def move_axis(self, array: Any, source: int, destination: int) -> Any:
        if source == destination:
            return array
        order = list(range(array.shape.rank))
        order.insert(destination % array.shape.rank, order.pop(source))
        return tf.transpose(array, order)

    def stop_gradient(self, array: Any) -> Any:
        return tf.stop_gradient(array)

    def size(self, array: Any, axis: int) -> Any:
        known = array.shape[axis]
        return tf.shape(array)[axis] if known is None else known

    def reshape(self, array: Any, shape: Sequence[int]) -> Any:
        return tf.reshape(array, shape)

    def concatenate(self, arrays: Sequence[Any]) -> Any:
        return tf.concat(arrays, 0)

    def scan(self, step: Step, state: Arrays, rows: Arrays, checkpoint: bool) -> tuple[Arrays, Arrays]:
        count = len(state)

        def one(arrays: Arrays) -> Arrays:
            new, outputs = step(arrays[:count], arrays[count:])
            return [*new, *outputs]

        run = recomputed(one, [*state, *(array[0] for array in rows)]) if checkpoint else one
        if not tf.executing_eagerly():
            return _traced_scan(run, one, state, rows)
        outputs: list[Arrays] = []
        for row in zip(*(tf.unstack(array) for array in rows)):
            made = run([*state, *row])
            state = made[:count]
            outputs.append(made[count:])
        return state, [tf.stack(each) for each in zip(*outputs)]

    def vjp(self, function: Function, primals: Arrays) -> tuple[Arrays, Arrays, Callable[[Arrays], Arrays]]:
        # A tape knows arrays by identity, and the same array may be given twice.
        primals = [tf.identity(array) for array in primals]
        # The tape is persistent, because `pull` may be called several times.
        with tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
            tape.watch(primals)
            results, aux = function(primals)
            # A result that is an argument has a derivative, too.
            results = [tf.identity(array) for array in results]

        def pull(cotangents: Arrays) -> Arrays:
            found = tape.gradient(
                results, primals, cotangents, unconnected_gradients=tf.UnconnectedGradients.ZERO
            )
            # The gradient of a lookup of rows is sparse.
            return [tf.convert_to_tensor(gradient) for gradient in found]

        return results, aux, pull

    def jvp(self, function: Function, primals: Arrays, tangents: Arrays) -> tuple[Arrays, Arrays, Arrays]:
        # ``tf.autodiff.ForwardAccumulator`` is slower, because it traces each operation. It takes the
        # results of functions whose custom gradient uses a tape for constants, and has neither sparse
        # gradients nor nested forward modes.
        results, aux, push = self.linearize(function, primals)
        return results, aux, push(tangents)

    def linearize(
        self, function: Function, primals: Arrays
    ) -> tuple[Arrays, Arrays, Callable[[Arrays], Arrays]]:
        with tf.GradientTape(persistent=True) as tape:
            results, aux, pull = self.vjp(function, primals)
            # The vjp is linear in the cotangents, so its derivative at any cotangents is the jvp. They are 1,
            # because some backward passes have no derivative at 0.
            ones = [tf.ones_like(array) for array in results]
            tape.watch(ones)
            pulled = pull(ones)

        def push(tangents: Arrays) -> Arrays:
            return [
                tf.convert_to_tensor(item)
                for item in tape.gradient(pulled, ones, tangents, tf.UnconnectedGradients.ZERO)
            ]

        return results, aux, push

    def is_missing_derivative(self, problem: Exception) -> bool:
        return isinstance(problem, (LookupError, NotImplementedError)) and "grad" in str(problem)

    def vmap(self, function: Callable[[Arrays], Arrays], how: VmapSpec) -> Callable[[Arrays], Arrays]:
        def over_first(arrays: Arrays) -> Arrays:
            axes = {place: axis for place, axis in enumerate(how.axes) if axis is not None}
            moved = {place: self.move_axis(arrays[place], axis, 0) for place, axis in axes.items()}

            size = how.size if how.size is not None else tf.shape(next(iter(moved.values())))[0]
            next_key = _next_key()

            def one(given: tuple[Any, dict[int, Any]], is_sequential: bool = False) -> Arrays:
                place, slices = given
                before = _stateful_samplers()
                fold = lambda key: tf.random.experimental.stateless_fold_in(key, place)  # noqa: E731
                over = running_over(
                    how.axis_name, "tensorflow", VectorizedMapAxis(place, size, is_sequential)
                )
                with target.of_slices.drawing(how.randomness, next_key, fold), over:
                    results = function([slices.get(place, array) for place, array in enumerate(arrays)])
                # Samples of TensorFlow's own generators differ between the slices.
                if how.randomness != "different" and (drawn := _stateful_samplers() - before):
                    raise CallMismatch(_randomness_message(how.randomness, drawn))
                return results

            try:
                return list(tf.vectorized_map(one, (tf.range(size), moved), warn=False))
            except (ValueError, AttributeError) as problem:
                # Operations that tf.vectorized_map cannot convert are run slice by slice.
                is_conversion = any(words in str(problem) for words in _CONVERSION_ERRORS)
                if not is_conversion or not isinstance(size, int):
                    raise
            each = [
                one((tf.constant(place), {index: array[place] for index, array in moved.items()}), True)
                for place in range(size)
            ]
            return [tf.stack(arrays) for arrays in zip(*each)]

        return over_first

    def named(self, array: Any, name: str) -> Any:
        return array

    def checkpoint(self, function: Callable[[Arrays], Arrays], policy: Policy) -> Callable[[Arrays], Arrays]:
        return function if policy == "everything" else lambda arrays: recomputed(function, arrays)(arrays)


def _next_key() -> Callable[[], Any]:
    # Keys are taken eagerly, also while `tf.vectorized_map` traces.
    if not tf.executing_eagerly():
        return target.next_key

    def at_once() -> Any:
        with target.untraced():
            return target.next_key()

    return at_once


def _stateful_samplers() -> set[str]:
    if tf.executing_eagerly():
        return set()
    return {
        op.name
        for op in tf.compat.v1.get_default_graph().get_operations()
        if op.op_def.is_stateful and "Random" in op.type
    }


def _randomness_message(randomness: str, drawn: set[str]) -> str:
    if randomness == "error":
        return UNSAID
    return (
        f"vmap: {min(drawn)} draws other numbers for each slice, and randomness= is 'same': draw outside, or "
        "from a seed (stateless)"
    )


def recomputed(function: Callable[[Arrays], Arrays], like: Arrays) -> Callable[[Arrays], Arrays]:
    """Wrap ``function`` so that its gradient runs it again, unless a recording is active.

    ``like`` are arrays of the same shapes and dtypes as its arguments.
    """
    if active.anywhere and active.recording:
        return function
    # ``tf.recompute_grad`` has no gradients of arrays that the function closes over, so the function is
    # traced as a graph, which lists its captures.
    graph = tf.function(lambda *given: tuple(function(list(given))), autograph=False).get_concrete_function(
        *like
    )
    captured, count = list(graph.captured_inputs), len(like)
    is_array = [item.dtype != tf.resource for item in captured]
    handles = [item for item, has in zip(captured, is_array) if not has]

    def run(given: Sequence[Any]) -> Any:
        held, rest = iter(given[count:]), iter(handles)
        return graph._call_flat(list(given[:count]), [next(held if has else rest) for has in is_array])

    again = run_again(lambda *given: tuple(run(given)))
    return lambda arrays: list(again(*arrays, *(item for item, has in zip(captured, is_array) if has)))


def _traced_scan(
    run: Callable[[Arrays], Arrays], one: Callable[[Arrays], Arrays], state: Arrays, rows: Arrays
) -> tuple[Arrays, Arrays]:
    """Scan ``run`` over ``rows`` by the ``scan`` helper of the prelude.

    ``one`` computes the same as ``run``, and is traced for the shapes and dtypes of the outputs.
    """
    first, count = [*state, *(row[0] for row in rows)], len(state)
    made = (
        tf.function(lambda *given: tuple(one(list(given))), autograph=False)
        .get_concrete_function(*first)
        .structured_outputs[count:]
    )
    specs = tuple((tuple(item.shape), item.dtype) for item in made)
    length = rows[0].shape[0] if rows[0].shape[0] is not None else tf.shape(rows[0])[0]

    def body(*arrays: Any) -> Any:
        found = run(list(arrays))
        return tuple(found[:count]), tuple(found[count:])

    last, outputs = scan(body, tuple(state), tuple(rows), length, specs)
    return list(last), list(outputs)


# Each message about a failed conversion of lists and optionals, which branches return, contains one of these.
# The last one is of an optional that was made outside of the mapped function.
_CONVERSION_ERRORS = ("dtype=variant", "DT_VARIANT", "has no attribute 'is_set'")

derivatives = TensorFlowDerivatives()
