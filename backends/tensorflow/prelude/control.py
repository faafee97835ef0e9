"""Loops whose steps are written once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from ....errors import GradientRefused
from ...common.prefixes import prefixes, section


def custom_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """``tf.custom_gradient`` whose rule reads arrays of the graph that it is called in: of a branch in a
    loop, those of the loop are out of its reach.
    """
    ruled: Callable[..., Any] = tf.custom_gradient(function)
    return ruled if tf.executing_eagerly() else lambda *arrays: ruled(*map(tf.identity, arrays))


def with_gradient(value: tf.Tensor, *pairs: tf.Tensor) -> tf.Tensor:
    """``value``; ``pairs`` are sources and slopes: the gradient of a source is that of the value times its
    slope.
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
    """``function(*arrays)``, element by element; its derivative by each array is what the slope of that
    number gives for the same arrays.
    """

    @custom_gradient
    def sloped(*arrays: tf.Tensor) -> Any:
        def gradient(upstream: tf.Tensor) -> list[tf.Tensor]:
            return [summed_to(upstream * slope(*arrays), array) for slope, array in zip(slopes, arrays)]

        return function(*arrays), gradient

    return sloped(*arrays)


def summed_to(gradient: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    """The gradient of a broadcast array as that of ``x`` itself."""
    if x.shape.is_fully_defined() and gradient.shape == x.shape:
        return gradient
    axes, _ = tf.raw_ops.BroadcastGradientArgs(s0=tf.shape(x), s1=tf.shape(gradient))
    return tf.reshape(tf.reduce_sum(gradient, axes), tf.shape(x))


def refuse_gradient(*arrays: tf.Tensor, message: str) -> tf.Tensor:
    """The first array; ``GradientRefused`` where a gradient is taken of it."""

    @custom_gradient
    def refused(*arrays: tf.Tensor) -> Any:
        def gradient(upstream: tf.Tensor) -> Any:
            raise GradientRefused(message)

        return tf.identity(arrays[0]), gradient

    return refused(*arrays)


def strong_zero(function: Callable[..., tf.Tensor], *arrays: tf.Tensor) -> tf.Tensor:
    """``function(*arrays)``, element by element; a tangent or cotangent that is zero stays zero, whatever the
    slope is.
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
    """The derivative of a function, element by element, by the array at a place; itself one that keeps zeros.

    It is a graph of TensorFlow, made once for each function: forward mode looks into no tape, and takes it
    for constant.
    """
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
    """``x * y``, and 0 where one of them is 0, whatever the other is; so are its derivatives."""

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
    """Arrays for what a function with a gradient of its own computes: eagerly forward mode would go by that,
    and tapes would keep it. While a graph is traced forward mode sees no gradients of functions, and goes by
    what they compute.
    """
    return [tf.stop_gradient(array) for array in arrays] if tf.executing_eagerly() else list(arrays)


def while_loop(
    goes_on: Callable[..., tf.Tensor], body: Callable[..., tuple[tf.Tensor, ...]], state: tuple[Any, ...]
) -> tuple[tf.Tensor, ...]:
    """``state = body(*state)`` while ``goes_on(*state)``; what is carried keeps its shape."""
    start = tuple(tf.convert_to_tensor(array) for array in state)
    return tuple(tf.while_loop(goes_on, lambda *old: keep_shapes(body(*old), old), start))


def keep_shapes(new: tuple[tf.Tensor, ...], old: tuple[tf.Tensor, ...]) -> tuple[tf.Tensor, ...]:
    """The new arrays, with what is known of the shapes of the old ones."""
    return tuple(
        array if array.shape == known.shape else tf.ensure_shape(array, known.shape)
        for array, known in zip(new, old)
    )


def scan(
    body: Callable[..., tuple[tuple[tf.Tensor, ...], tuple[tf.Tensor, ...]]],
    state: tuple[Any, ...],
    sequences: tuple[tf.Tensor, ...],
    length: Any,
    specs: tuple[tuple[Any, tf.DType], ...],
    reverse: bool = False,
    checkpoint: tuple[Any, ...] | None = None,
) -> tuple[tuple[tf.Tensor, ...], tuple[tf.Tensor, ...]]:
    """``state, outputs = body(*state, *rows)`` for all rows of the sequences: the last state, and the outputs
    stacked. ``specs`` are shape and type of each output; a shape may be None where all steps give the same.

    With ``checkpoint``, the arrays that ``body`` takes besides, each step is computed again for a gradient.
    """
    run = body if checkpoint is None else run_again(body)
    captured = checkpoint or ()
    start = tuple(tf.convert_to_tensor(array) for array in state)

    def step(
        time: tf.Tensor, old: tuple[tf.Tensor, ...], outputs: tuple[tf.TensorArray, ...]
    ) -> tuple[Any, ...]:
        place = length - 1 - time if reverse else time
        new, made = run(*old, *(sequence[place] for sequence in sequences), *captured)
        return (
            time + 1,
            keep_shapes(new, old),
            tuple(array.write(place, item) for array, item in zip(outputs, made)),
        )

    if isinstance(length, int) and length == 0:  # XLA compiles the step, which takes a row
        rows = [tf.zeros(sequence.shape[1:], sequence.dtype) for sequence in sequences]
        shapes = (
            [shape for shape, _ in specs]
            if all(shape is not None for shape, _ in specs)
            else shapes_of(run, *start, *rows, *captured)
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
    """The shapes of the outputs of a step, which is traced and not run: it may look for a row that is not
    there.
    """
    specs = (tf.TensorSpec(array.shape, array.dtype) for array in arrays)
    traced = tf.function(lambda *arrays: body(*arrays)[1], autograph=False).get_concrete_function(*specs)
    return [[size or 0 for size in output.shape] for output in traced.structured_outputs]


def run_again(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, of which a tape keeps the arguments alone, and computes the rest again:
    ``tf.recompute_grad``, with derivatives of derivatives. ``NotImplementedError`` in forward mode, to which
    what a tape inside of a gradient gives is a constant.
    """

    def again(*arrays: tf.Tensor) -> Any:
        asked = True  # while the function runs, forward mode alone asks for gradients

        @custom_gradient
        def recomputed(*arrays: tf.Tensor) -> Any:
            def gradient(*upstream: tf.Tensor, variables: Any = ()) -> Any:
                if asked:
                    raise NotImplementedError(
                        "what is computed again has no tf.autodiff.ForwardAccumulator; take transforms.jvp"
                    )
                with tf.GradientTape() as tape:
                    copies = [tf.identity(array) for array in behind(upstream[0], arrays)]
                    tape.watch(copies)
                    results = tf.nest.flatten(function(*copies))
                found = tape.gradient(results, [*copies, *variables], upstream, tf.UnconnectedGradients.ZERO)
                return (found[: len(copies)], found[len(copies) :]) if variables else found

            return function(*unwatched(*arrays)), gradient

        results = recomputed(*arrays)
        asked = False
        return results

    return again


def behind(earlier: tf.Tensor, arrays: tuple[tf.Tensor, ...]) -> tuple[tf.Tensor, ...]:
    """The arrays, in a traced graph computed with an element of what is computed earlier, so that XLA does
    not take it for what it has.
    """
    if tf.executing_eagerly():
        return arrays
    element = tf.cast(tf.reduce_max(tf.reshape(earlier, [-1])[:1]), tf.bool)
    nothing = tf.where(element == element, 0.0, math.nan)
    return tuple(
        array + tf.cast(nothing, array.dtype) if array.dtype.is_floating else array for array in arrays
    )


def element_shape(shape: tuple[Any, ...] | None) -> tf.TensorShape:
    """A shape as far as it is known while TensorFlow traces."""
    return tf.TensorShape(None if shape is None else [static(dim) for dim in shape])


def stacked(array: tf.TensorArray, length: Any, shape: tuple[Any, ...] | None) -> tf.Tensor:
    """The elements of an array along a new first axis; of none too, where sizes are not known before the
    call.
    """
    if shape is None:
        return array.stack()
    if tf.executing_eagerly():
        return tf.reshape(array.stack(), [length, *shape])
    sizes = tf.convert_to_tensor(list(shape), tf.int32)
    made = tf.raw_ops.TensorListStack(input_handle=array.flow, element_shape=sizes, element_dtype=array.dtype)
    return tf.reshape(made, [length, *shape])


def static(dim: Any) -> int | None:
    """A size where it is known while TensorFlow traces, else None."""
    return dim if isinstance(dim, int) else None


def associative_scan(
    combine: Callable[..., tuple[Any, ...]], arrays: tuple[tf.Tensor, ...], axis: int, reverse: bool = False
) -> tuple[tf.Tensor, ...]:
    """The elements along ``axis``, each combined with all before it, or, with ``reverse``, with all behind
    it.
    """
    ordered = tuple(tf.reverse(array, [axis]) for array in arrays) if reverse else arrays
    if arrays[0].shape[axis] is None:  # the number of steps is known when they run
        made = doubled(combine, ordered, axis)
    else:
        made = prefixes(
            combine, ordered, axis, lambda first, rest, axis: tf.concat((first, rest), axis), interleaved
        )
    return tuple(tf.reverse(array, [axis]) for array in made) if reverse else tuple(map(tf.identity, made))


def doubled(
    combine: Callable[..., tuple[Any, ...]], arrays: tuple[tf.Tensor, ...], axis: int
) -> tuple[tf.Tensor, ...]:
    """All prefixes, of a length that is not known before the call: after a step each element is combined with
    twice as many before it.
    """
    length = tf.shape(arrays[0])[axis]

    def step(reach: tf.Tensor, old: tuple[tf.Tensor, ...]) -> tuple[Any, ...]:
        left = (section(array, axis, 0, length - reach) for array in old)
        made = combine(*left, *(section(array, axis, reach, length) for array in old))
        new = tuple(tf.concat((section(array, axis, 0, reach), rest), axis) for array, rest in zip(old, made))
        return 2 * reach, keep_shapes(new, old)

    return tuple(tf.while_loop(lambda reach, _: reach < length, step, (tf.constant(1), tuple(arrays)))[1])


def interleaved(even: tf.Tensor, odd: tf.Tensor, axis: int) -> tf.Tensor:
    """The elements of two tensors in turn."""
    count, now = odd.shape[axis], tf.shape(odd)
    sizes = [now[place] if dim is None else dim for place, dim in enumerate(odd.shape)]
    pairs = tf.stack((section(even, axis, 0, count), odd), axis + 1)
    pairs = tf.reshape(pairs, [*sizes[:axis], 2 * count, *sizes[axis + 1 :]])
    return pairs if even.shape[axis] == count else tf.concat((pairs, section(even, axis, count, None)), axis)
