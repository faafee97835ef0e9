"""Traps with index arguments that are out of bounds, or negative where TensorFlow does not allow it: an error
in every target.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from .table import Call, Trap, Traps, drawn

TRAPS = Traps()

# variable of four rows, array of four rows, one whole number -> what is picked, or written
PICKS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "gather": lambda v, x, i: tf.gather(x, i),
    "gather_along_columns": lambda v, x, i: tf.gather(tf.transpose(x), i, axis=1),
    "gather_of_a_variable": lambda v, x, i: tf.gather(v, i),
    "gather_nd": lambda v, x, i: tf.gather_nd(x, tf.reshape(i, (1, 1))),
    "gather_nd_of_a_variable": lambda v, x, i: v.gather_nd(tf.reshape(i, (1, 1))),
    "sparse_read": lambda v, x, i: v.sparse_read(tf.reshape(i, (1,))),
    "embedding_lookup": lambda v, x, i: tf.nn.embedding_lookup(v, tf.reshape(i, (1,))),
    "scatter_nd": lambda v, x, i: tf.scatter_nd(tf.reshape(i, (1, 1)), x[:1], (4, 3)),
    "tensor_update": lambda v, x, i: tf.tensor_scatter_nd_update(x, tf.reshape(i, (1, 1)), x[:1] * 2.0),
    "tensor_add": lambda v, x, i: tf.tensor_scatter_nd_add(x, tf.reshape(i, (1, 1)), x[:1]),
    "variable_nd_update": lambda v, x, i: v.scatter_nd_update(tf.reshape(i, (1, 1)), x[:1]),
    "variable_nd_add": lambda v, x, i: v.scatter_nd_add(tf.reshape(i, (1, 1)), x[:1]),
    "variable_update": lambda v, x, i: v.scatter_update(tf.IndexedSlices(x[:1], tf.reshape(i, (1,)))),
    "variable_mul": lambda v, x, i: v.scatter_mul(tf.IndexedSlices(x[:1], tf.reshape(i, (1,)))),
}
# These operations accept negative indices.
FROM_THE_END: dict[str, Callable[[Any, Any, Any], Any]] = {
    "row": lambda v, x, i: x[i],
    "column": lambda v, x, i: tf.transpose(x)[:, i],
    "row_of_a_variable": lambda v, x, i: v[i],
    "assigned_row": lambda v, x, i: v[i].assign(x[0]),
}


def _picking(pick: Any) -> Any:
    state = tf.Variable(np.arange(12, dtype="float32").reshape(4, 3) / 4.0)

    def function(x: Any, i: Any) -> Any:
        found = pick(state, x, i)
        return (found + 0.0, state + 0.0)

    return function


def _calls(*indices: int) -> tuple[Call, ...]:
    return tuple(lambda i=i: (drawn(), tf.constant(i)) for i in indices)


def _traps(picks: dict[str, Callable[[Any, Any, Any], Any]], numbers: dict[str, int]) -> dict[str, Trap]:
    return {
        f"{name}_{kind}": Trap(
            lambda p=pick: _picking(p), _calls(1, 3, number), raises={2: "InvalidArgumentError"}
        )
        for name, pick in picks.items()
        for kind, number in numbers.items()
    }


TRAPS.update(_traps(PICKS, {"beyond_the_end": 4, "negative": -1}))
TRAPS.update(_traps(FROM_THE_END, {"beyond_the_end": 4, "before_the_beginning": -5}))
TRAPS.update(
    {
        f"{name}_from_the_end": Trap(lambda p=pick: _picking(p), _calls(1, -1, -4))
        for name, pick in FROM_THE_END.items()
    }
)
