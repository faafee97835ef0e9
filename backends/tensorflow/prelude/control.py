"""Custom gradients, loops and scans."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from ....errors import GradientRefused
from ...common.prefixes import prefixes, section


def custom_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``function`` in ``tf.custom_gradient``, so that it also works inside loops and branches."""
    # The rule may read only arrays of the graph that it is called in: inside a branch, arrays of an enclosing
    # loop are out of its reach, so they are passed through an identity.
    ruled: Callable[..., Any] = tf.custom_gradient(function)
    return ruled if tf.executing_eagerly() else lambda *arrays: ruled(*map(tf.identity, arrays))


def with_gradient(value: tf.Tensor, *pairs: tf.Tensor) -> tf.Tensor:
    """Return ``value`` with a custom gradient.

    ``pairs`` alternates arrays and slopes: an array gets the gradient of the result times the slope after it.
    """

    @custom_gradient
    def ruled(value: tf.Tensor, *pairs: tf.Tensor) -> Any:
        def gradient(upstream: tf.Tensor) -> list[Any]:
            return [None, *(part for slope in pairs[1::2] for part in (upstream * slope, None))]

        return tf.identity(value), gradient

    return ruled(value, *pairs)


def with_slopes(
    function: Callable[..., tf.Tensor], slopes: Sequence[Callable[..., tf.Tensor]], *arrays: tf.Tensor
) -> tf.Tensor:
    """Compute the element-wise ``function(*arrays)`` with custom derivatives.

    Each function in ``slopes`` takes all arrays and returns the derivative with respect to the array at its
    position.
    """

    @custom_gradient
    def sloped(*arrays: tf.Tensor) -> Any:
        def gradient(upstream: tf.Tensor) -> list[tf.Tensor]:
            return [summed_to(upstream * slope(*arrays), array) for slope, array in zip(slopes, arrays)]

        return function(*arrays), gradient

    return sloped(*arrays)


def summed_to(gradient: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    """Sum the gradient of a broadcast array to the shape of ``x``."""
    if x.shape.is_fully_defined() and gradient.shape == x.shape:
        return gradient
    # This also works for sizes that are known only at run time.
    axes, _ = tf.raw_ops.BroadcastGradientArgs(s0=tf.shape(x), s1=tf.shape(gradient))
    return tf.reshape(tf.reduce_sum(gradient, axes), tf.shape(x))


def refuse_gradient(*arrays: tf.Tensor, message: str) -> tf.Tensor:
    """Return the first array. A gradient through the result raises ``GradientRefused`` with ``message``."""

    @custom_gradient
    def refused(*arrays: tf.Tensor) -> Any:
        def gradient(upstream: tf.Tensor) -> Any:
            raise GradientRefused(message)

        return tf.identity(arrays[0]), gradient

    return refused(*arrays)


def strong_zero(function: Callable[..., tf.Tensor], *arrays: tf.Tensor) -> tf.Tensor:
    """Compute the element-wise ``function(*arrays)`` with gradients that are 0 where the cotangent is 0.

    This holds even where the derivative is infinite or NaN.
    """

    @custom_gradient
    def ruled(*arrays: tf.Tensor) -> Any:
        def gradient(upstream: tf.Tensor) -> list[Any]:
            has = [array.dtype.is_floating or array.dtype.is_complex for array in arrays]
            slopes = (
                tf.math.conj(slope_of(function, place, arrays)) if one else None
                for place, one in enumerate(has)
            )
            return [None if slope is None else strong_product(upstream, slope) for slope in slopes]

        return function(*unwatched(*arrays)), gradient

    return ruled(*arrays)


def slope_of(function: Callable[..., tf.Tensor], place: int, arrays: Sequence[tf.Tensor]) -> tf.Tensor:
    """Compute the derivative of the element-wise ``function`` with respect to ``arrays[place]``."""
    # Forward mode does not see through a tape and would take its result for a constant, so the computation is
    # a ``tf.function``.
    slopes = vars(function).setdefault("slopes", {})
    if place not in slopes:

        @tf.function(autograph=False)
        def slope_graph(*arrays: tf.Tensor) -> tf.Tensor:
            result = function(*arrays)
            found = tf.gradients(
                result,
                arrays[place],
                tf.ones_like(result),
                unconnected_gradients=tf.UnconnectedGradients.ZERO,
            )
            return tf.math.conj(found[0])

        def slope(*arrays: tf.Tensor) -> tf.Tensor:
            return slope_graph(*arrays)

        slopes[place] = slope
    return strong_zero(slopes[place], *arrays)


def strong_product(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    """Compute ``x * y``, which is 0 where either factor is 0, even if the other one is infinite or NaN."""

    @custom_gradient
    def product(x: tf.Tensor, y: tf.Tensor) -> Any:
        a, b = unwatched(x, y)
        made = tf.where((a == 0) | (b == 0), tf.zeros([], a.dtype), a * b)
        return made, lambda upstream: [
            strong_product(upstream, tf.math.conj(y)),
            strong_product(upstream, tf.math.conj(x)),
        ]

    return product(x, y)


def unwatched(*arrays: tf.Tensor) -> list[tf.Tensor]:
    """Return ``arrays``, without gradients if TensorFlow executes eagerly."""
    # Otherwise forward mode would differentiate the computation, and tapes would store it. While a graph is
    # traced, forward mode does not see custom gradients and has to differentiate the computation.
    return [tf.stop_gradient(array) for array in arrays] if tf.executing_eagerly() else list(arrays)


def while_loop(
    goes_on: Callable[..., tf.Tensor], body: Callable[..., tuple[tf.Tensor, ...]], state: tuple[Any, ...]
) -> tuple[tf.Tensor, ...]:
    """Repeat ``state = body(*state)`` while ``goes_on(*state)``, and return the last state."""
    start = tuple(tf.convert_to_tensor(array) for array in state)
    return tuple(tf.while_loop(goes_on, lambda *old: keep_shapes(body(*old), old), start))


def keep_shapes(new: tuple[tf.Tensor, ...], old: tuple[tf.Tensor, ...]) -> tuple[tf.Tensor, ...]:
    return tuple(
        array if array.shape == known.shape else tf.ensure_shape(array, known.shape)
        for array, known in zip(new, old)
    )


def iterate(
    body: Callable[..., tuple[tf.Tensor, ...]],
    state: tuple[Any, ...],
    sequences: tuple[tf.Tensor, ...],
    length: Any,
    reverse: bool = False,
    captured: tuple[Any, ...] = (),
) -> tuple[tf.Tensor, ...]:
    """Run ``state = body(*state, *rows, *captured)`` for the first ``length`` rows of ``sequences``.

    Return the last state. ``reverse`` begins with the last of these rows.
    """
    start = tuple(tf.convert_to_tensor(array) for array in state)
    # XLA would compile the body of an empty loop, which indexes a row that does not exist.
    if isinstance(length, int) and length == 0:
        return start

    def step(time: tf.Tensor, old: tuple[tf.Tensor, ...]) -> tuple[Any, ...]:
        place = length - 1 - time if reverse else time
        new = body(*old, *(sequence[place] for sequence in sequences), *captured)
        return time + 1, keep_shapes(new, old)

    most = length if isinstance(length, int) else None
    _, last = tf.while_loop(
        lambda time, _: time < length, step, (tf.constant(0), start), maximum_iterations=most
    )
    return tuple(last)


def scan(
    body: Callable[..., tuple[tuple[tf.Tensor, ...], tuple[tf.Tensor, ...]]],
    state: tuple[Any, ...],
    sequences: tuple[tf.Tensor, ...],
    length: Any,
    specs: tuple[tuple[Any, tf.DType], ...],
    reverse: bool = False,
    captured: tuple[Any, ...] = (),
) -> tuple[tuple[tf.Tensor, ...], tuple[tf.Tensor, ...]]:
    """Run ``state, outputs = body(*state, *rows, *captured)`` for the first ``length`` rows of ``sequences``.

    Return the last state and the stacked outputs. ``reverse`` begins with the last of these rows, but does
    not reverse the outputs.

    specs: the shape and dtype of each output; a shape of None is unknown, but the same in all iterations.
    """
    start = tuple(tf.convert_to_tensor(array) for array in state)

    def step(
        time: tf.Tensor, old: tuple[tf.Tensor, ...], outputs: tuple[tf.TensorArray, ...]
    ) -> tuple[Any, ...]:
        place = length - 1 - time if reverse else time
        new, made = body(*old, *(sequence[place] for sequence in sequences), *captured)
        return (
            time + 1,
            keep_shapes(new, old),
            tuple(array.write(place, item) for array, item in zip(outputs, made)),
        )

    # XLA would compile the body of an empty loop, which indexes a row that does not exist.
    if isinstance(length, int) and length == 0:
        rows = [tf.zeros(sequence.shape[1:], sequence.dtype) for sequence in sequences]
        shapes = (
            [shape for shape, _ in specs]
            if all(shape is not None for shape, _ in specs)
            else shapes_of(body, *start, *rows, *captured)
        )
        return start, tuple(tf.zeros([0, *shape], dtype) for shape, (_, dtype) in zip(shapes, specs))
    arrays = tuple(
        tf.TensorArray(dtype, length, element_shape=element_shape(shape)) for shape, dtype in specs
    )
    most = length if isinstance(length, int) else None
    _, last, outputs = tf.while_loop(
        lambda time, *_: time < length, step, (tf.constant(0), start, arrays), maximum_iterations=most
    )
    return tuple(last), tuple(stacked(array, length, shape) for array, (shape, _) in zip(outputs, specs))


def shapes_of(body: Callable[..., Any], *arrays: tf.Tensor) -> list[list[int]]:
    """Trace ``state, outputs = body(*arrays)`` and return the shapes of ``outputs``.

    Unknown sizes are 0.
    """
    specs = (tf.TensorSpec(array.shape, array.dtype) for array in arrays)
    traced = tf.function(lambda *arrays: body(*arrays)[1], autograph=False).get_concrete_function(*specs)
    return [[size or 0 for size in output.shape] for output in traced.structured_outputs]


def run_again(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``function`` so that gradients recompute it instead of storing its intermediate results."""

    def again(*arrays: tf.Tensor) -> Any:
        # While the function runs, only forward mode evaluates the gradient.
        asked = True

        @custom_gradient
        def recomputed(*arrays: tf.Tensor) -> Any:
            def gradient(*upstream: tf.Tensor, variables: Any = ()) -> Any:
                if asked:
                    raise NotImplementedError(
                        "what is computed again has no tf.autodiff.ForwardAccumulator; take transforms.jvp"
                    )
                with tf.GradientTape() as tape:
                    copies = [tf.identity(array) for array in made_dependent(upstream[0], arrays)]
                    tape.watch(copies)
                    results = tf.nest.flatten(function(*copies))
                found = tape.gradient(results, [*copies, *variables], upstream, tf.UnconnectedGradients.ZERO)
                return (found[: len(copies)], found[len(copies) :]) if variables else found

            return function(*unwatched(*arrays)), gradient

        results = recomputed(*arrays)
        asked = False
        return results

    return again


def made_dependent(earlier: tf.Tensor, arrays: tuple[tf.Tensor, ...]) -> tuple[tf.Tensor, ...]:
    """Make the floating ``arrays`` depend on ``earlier`` in a traced graph, with the same values."""
    # XLA would merge a second computation from the same arrays with the first.
    if tf.executing_eagerly():
        return arrays
    element = tf.reduce_any(tf.cast(tf.reshape(earlier, [-1])[:1], tf.bool))
    # The bool equals itself, so this is -0.0, but XLA does not know that. To add 0.0 would change -0.0.
    nothing = tf.where(element == element, -0.0, math.nan)
    return tuple(
        array + tf.cast(nothing, array.dtype) if array.dtype.is_floating else array for array in arrays
    )


def element_shape(shape: tuple[Any, ...] | None) -> tf.TensorShape:
    return tf.TensorShape(None if shape is None else [static(dim) for dim in shape])


def stacked(array: tf.TensorArray, length: Any, shape: tuple[Any, ...] | None) -> tf.Tensor:
    """Stack the ``length`` elements of ``array`` along a new first axis.

    ``shape`` is the shape of an element, or None if it is unknown.
    """
    if shape is None:
        return array.stack()
    if tf.executing_eagerly():
        return tf.reshape(array.stack(), [length, *shape])
    sizes = tf.convert_to_tensor(list(shape), tf.int32)
    made = tf.raw_ops.TensorListStack(input_handle=array.flow, element_shape=sizes, element_dtype=array.dtype)
    return tf.reshape(made, [length, *shape])


def static(dim: Any) -> int | None:
    return dim if isinstance(dim, int) else None


def associative_scan(
    combine: Callable[..., tuple[Any, ...]], arrays: tuple[tf.Tensor, ...], axis: int, reverse: bool = False
) -> tuple[tf.Tensor, ...]:
    """Compute the inclusive scan of ``arrays`` along ``axis`` with an associative function.

    ``combine(*left, *right)`` returns a tuple. With ``reverse``, the scan starts at the end of the
    non-negative ``axis``.
    """
    ordered = tuple(tf.reverse(array, [axis]) for array in arrays) if reverse else arrays
    # The trip count is known only at run time.
    if arrays[0].shape[axis] is None:
        made = doubled(combine, ordered, axis)
    else:
        made = prefixes(
            combine, ordered, axis, lambda first, rest, axis: tf.concat((first, rest), axis), interleaved
        )
    return tuple(tf.reverse(array, [axis]) for array in made) if reverse else tuple(map(tf.identity, made))


def doubled(
    combine: Callable[..., tuple[Any, ...]], arrays: tuple[tf.Tensor, ...], axis: int
) -> tuple[tf.Tensor, ...]:
    """Compute the inclusive scan of ``arrays`` by ``combine``, along an axis of unknown length."""
    length = tf.shape(arrays[0])[axis]

    def step(reach: tf.Tensor, old: tuple[tf.Tensor, ...]) -> tuple[Any, ...]:
        left = (section(array, axis, 0, length - reach) for array in old)
        made = combine(*left, *(section(array, axis, reach, length) for array in old))
        new = tuple(tf.concat((section(array, axis, 0, reach), rest), axis) for array, rest in zip(old, made))
        return 2 * reach, keep_shapes(new, old)

    return tuple(tf.while_loop(lambda reach, _: reach < length, step, (tf.constant(1), tuple(arrays)))[1])


def interleaved(even: tf.Tensor, odd: tf.Tensor, axis: int) -> tf.Tensor:
    """Alternate the elements of ``even`` and ``odd`` along the non-negative ``axis``.

    ``even`` may have one element more than ``odd``.
    """
    count, now = odd.shape[axis], tf.shape(odd)
    sizes = [now[place] if dim is None else dim for place, dim in enumerate(odd.shape)]
    pairs = tf.stack((section(even, axis, 0, count), odd), axis + 1)
    pairs = tf.reshape(pairs, [*sizes[:axis], 2 * count, *sizes[axis + 1 :]])
    return pairs if even.shape[axis] == count else tf.concat((pairs, section(even, axis, count, None)), axis)
