"""Named axes of ``tf.vectorized_map``: collectives over the mapped slices.

``tf.vectorized_map`` traces the function of one slice and converts each operation to one over all slices. A
collective is traced as an operation that carries the rule of its own conversion.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from ...contracts.parallelism import native_axis
from ...errors import GradientRefused, NotCompilable


@dataclass(frozen=True)
class VectorizedMapAxis:
    """Axis of the slices of ``tf.vectorized_map``.

    index: index of the current slice.
    size: number of slices, which may be a tensor.
    is_sequential: True if the slices run one after the other, so that none has the arrays of the others.
    """

    index: Any
    size: Any
    is_sequential: bool = False

    def exchange(self, array: Any, name: str) -> Any:
        """Apply the collective "psum", "pmax", "pmin" or "all_gather" to the arrays of the slices."""
        if self.is_sequential:
            raise NotCompilable(
                f"parallel.{name} runs inside of transforms.vmap of a function that tf.vectorized_map cannot "
                "convert (it has the second derivative of a branch), so that it runs one slice after the "
                "other. Call it outside of the map, or transform a graph that is written for jax or torch"
            )

        @tf.custom_gradient
        def ruled(array: Any, index: Any) -> Any:
            return _collective_placeholder(array, index, name, self.size), lambda cotangent: (
                self._transpose(cotangent, name),
                None,
            )

        return ruled(array, self.index)

    def _transpose(self, cotangent: Any, name: str) -> Any:
        if name in ("pmax", "pmin"):
            raise GradientRefused(
                "parallel.pmax and pmin have no gradient inside of the function, as in JAX; take "
                "transforms.stop_gradient of what they are "
                "given, or the gradient of the whole map"
            )
        # The gradient of a lookup of rows is sparse.
        total = self.exchange(tf.convert_to_tensor(cotangent), "psum")
        return tf.gather(total, self.index) if name == "all_gather" else total


def _collective_placeholder(array: Any, index: Any, name: str, size: Any) -> Any:
    """Return a placeholder for the result of a collective, which ``_convert_collective`` replaces."""
    if tf.compat.v1.get_default_graph() is not index.graph:
        raise NotCompilable(
            f"parallel.{name} runs in a tf.function, a loop or a branch inside of transforms.vmap: "
            "tf.vectorized_map traces these by "
            "themselves, where there are no slices. Call it outside of them, or transform a graph that is "
            "written for jax or torch"
        )

    @functools.partial(tf.function, autograph=False)
    def placeholder(array: Any, index: Any) -> Any:
        return _repeat(array, size) if name == "all_gather" else tf.identity(array)

    specs = [tf.TensorSpec(item.shape, item.dtype) for item in (array, index)]
    found = placeholder.get_concrete_function(*specs)(array, index)
    found.op.pfor_converter = functools.partial(_convert_collective, name=name, size=size)
    return found


def _convert_collective(operation: Any, name: str, size: Any) -> list[Any]:
    """Convert a placeholder of ``_collective_placeholder`` for ``tf.vectorized_map``."""
    array, index = operation.inputs
    if index.is_stacked:
        together, of_equal = _OVER_SLICES[name]
        made = together(array.t) if array.is_stacked else of_equal(array.t, size)
        return [array._replace(t=made, is_stacked=False)]
    # Another map, nested in that of the axis, converts the operation, and the outer map the result.
    made = _collective_placeholder(array.t, index.t, name, size)
    rank = made.shape.rank
    return [array._replace(t=tf.transpose(made, [1, 0, *range(2, rank)]) if name == "all_gather" else made)]


def _repeat(array: Any, size: Any) -> Any:
    if isinstance(size, int):
        return tf.stack([array] * size)
    return tf.ensure_shape(
        tf.broadcast_to(array, tf.concat([[size], tf.shape(array)], 0)), [None, *array.shape]
    )


# For each collective, its result for an array with a first axis of slices, and for one that is the same for
# all slices.
_OVER_SLICES: dict[str, tuple[Any, Any]] = {
    "psum": (lambda array: tf.reduce_sum(array, 0), lambda array, size: array * tf.cast(size, array.dtype)),
    "pmax": (lambda array: tf.reduce_max(array, 0), lambda array, size: array),
    "pmin": (lambda array: tf.reduce_min(array, 0), lambda array, size: array),
    "all_gather": (lambda array: array, _repeat),
}


def vectorized_axis(name: str) -> VectorizedMapAxis | None:
    try:
        found = native_axis(name, "tensorflow")
    except LookupError:
        return None
    return found if isinstance(found, VectorizedMapAxis) else None
