"""Random number generators with their state, a 128-bit counter and a 64-bit key, in a variable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from ...errors import UnsupportedOperation
from .bookkeeping import variable_of
from .dtypes import dtype_name
from .evaluation import advance_state, handle_number
from .known_numbers import known
from .lists import Arrays
from .reader import GraphReader, Handler
from .variables import TensorValue

_PHILOX = 1
_STATELESS = {
    "StatefulUniform": "StatelessRandomUniformV2",
    "StatefulUniformFullInt": "StatelessRandomUniformFullIntV2",
    "StatefulUniformInt": "StatelessRandomUniformIntV2",
    "StatefulStandardNormalV2": "StatelessRandomNormalV2",
    "StatefulTruncatedNormal": "StatelessTruncatedNormalV2",
}  # fmt: skip


def _read_and_skip(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    handle, algorithm, delta = operands
    return [_advance(reader, operation, handle, algorithm, delta)]


def _skip(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    _read_and_skip(reader, operation, operands)
    return []


def _advance(
    reader: GraphReader, operation: Any, handle: TensorValue, algorithm: TensorValue, delta: TensorValue
) -> TensorValue:
    if not isinstance(algorithm.item, np.ndarray) or algorithm.item.item() != _PHILOX:
        raise UnsupportedOperation(
            f"a generator by another algorithm than Philox\n    {reader.origin(operation)}"
        )
    arrays, before = Arrays(reader, operation), variable_of(reader, operation, handle)
    kind = dtype_name(delta.made.dtype)
    wide = arrays.call(
        "Cast", [delta], {"SrcT": kind, "DstT": "int64", "Truncate": False}, tf.cast(delta.seen, tf.int64)
    )
    steps = arrays.call("Mul", [wide, 256], {"T": "int64"}, wide.seen * 256)
    row = arrays.call(
        "Reshape", [steps, (1,)], {"T": "int64", "Tshape": "int32"}, tf.reshape(steps.seen, [1])
    )
    # The state has three words: the lower and the upper half of the counter, and the key.
    whole = arrays.call(
        "Pad", [row, ((0, 2),)], {"T": "int64", "Tpaddings": "int32"}, tf.pad(row.seen, [[0, 2]])
    )
    after = arrays.call("AddV2", [before, whole], {"T": "int64"}, advance_state(before.seen, delta.seen))
    number = handle_number(handle.seen)
    reader.variables[number], reader.assigned[number] = after, str(reader.weights.name_of(handle.seen, ()))
    return before


def _draw(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    """Lift a stateful random operation to the stateless one, and advance the state of the generator.

    Raise ``UnsupportedOperation`` if the generator uses another algorithm than Philox.
    """
    handle, algorithm, shape, *bounds = operands
    arrays = Arrays(reader, operation)
    count = TensorValue(
        known(np.prod(shape.item) if shape.item.size else 1), tf.reduce_prod(tf.cast(shape.seen, tf.int64))
    )
    state = _advance(reader, operation, handle, algorithm, count)
    counter, key = (_state_words(arrays, state, first, size) for first, size in ((0, 2), (2, 1)))
    name, dtype = _STATELESS[operation.type], operation.get_attr("dtype")
    given = {"shape": shape.seen, "key": key.seen, "counter": counter.seen, "alg": _PHILOX}
    given.update(zip(("minval", "maxval"), (bound.seen for bound in bounds)) if bounds else {"dtype": dtype})
    attributes = {"dtype": dtype_name(dtype), "Tshape": dtype_name(shape.made.dtype)}
    return [
        arrays.call(
            name, [shape, key, counter, _PHILOX, *bounds], attributes, getattr(tf.raw_ops, name)(**given)
        )
    ]


def _state_words(arrays: Arrays, state: TensorValue, first: int, size: int) -> TensorValue:
    part = arrays.call(
        "Slice",
        [state, (first,), (size,)],
        {"T": "int64", "Index": "int32"},
        state.seen[first : first + size],
    )
    return arrays.call("Bitcast", [part], {"T": "int64", "type": "uint64"}, tf.bitcast(part.seen, tf.uint64))


_OWN: dict[str, Callable[..., list[TensorValue]]] = {"RngReadAndSkip": _read_and_skip, "RngSkip": _skip}
READ: dict[str, Handler] = {**_OWN, **dict.fromkeys(_STATELESS, _draw)}
