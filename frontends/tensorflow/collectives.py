"""Collectives in a recorded function: marked TensorFlow operations, which the reader records as collectives.

A recorded function runs on one device. It sees ``RECORDED_DEVICES`` devices with equal arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from ...forwarding import forwards
from ...ops.collectives import RECORDED_DEVICES
from ..common.collectives import CALLS
from .variables import TensorValue

if TYPE_CHECKING:
    from .reader import GraphReader

_MARK = "_graph_compiler_collective"


def collective(name: str, x: Any, axis_name: str) -> Any:
    """Return the result of the collective ``name`` while recording, marked so that the reader records it."""
    if name in ("axis_index", "axis_indices"):
        kept = tf.constant(0) if name == "axis_index" else tf.range(RECORDED_DEVICES)
        return _mark(_with_unknown_size(kept), name, axis_name)
    return _exchange(x, name, axis_name)


def _exchange(x: Any, name: str, axis_name: str) -> Any:
    @tf.custom_gradient
    def exchanged(x: Any) -> Any:
        found = (
            _with_unknown_size(tf.stack([x] * RECORDED_DEVICES), x.shape)
            if name == "all_gather"
            else tf.identity(x)
        )
        return found, lambda cotangent: _transpose(cotangent, name, axis_name)

    return _mark(exchanged(x), name, axis_name)


@forwards
def _transpose(cotangent: Any, name: str, axis_name: str) -> Any:
    if name == "all_gather":
        return tf.gather(_exchange(cotangent, "psum", axis_name), collective("axis_index", None, axis_name))
    if name in ("psum", "pmean"):
        return _exchange(cotangent, name, axis_name)
    raise TypeError(
        "parallel.pmax and pmin have no gradient, as in JAX; take transforms.stop_gradient of what "
        "they are given"
    )


def _with_unknown_size(array: Any, rest: Any = ()) -> Any:
    # With an unknown size, the number of devices of the recording does not become a constant.
    shape = [None, *rest] if array.shape.rank else []
    return tf.raw_ops.PlaceholderWithDefault(input=array, shape=shape)


def _mark(tensor: Any, name: str, axis_name: str) -> Any:
    tensor.op._set_attr(_MARK, tf.compat.v1.AttrValue(s=f"{name} {axis_name}".encode()))
    return tensor


# Reading an attribute of every operation takes as long as lifting it, so only these types are checked.
_MARKED = ("IdentityN", "PlaceholderWithDefault")


def read(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue] | None:
    """Return the results of an operation with the mark of a collective, or None if it has no mark.

    An ``IdentityN`` with a custom gradient also has the arguments of the function as outputs, so the
    operands follow the result.
    """
    if operation.type not in _MARKED:
        return None
    try:
        name, _, axis_name = operation.get_attr(_MARK).decode().partition(" ")
    except ValueError:
        return None
    inputs = tuple(map(reader.value, operands[1:]))
    found = reader.call(
        CALLS + name, inputs, {"axis_name": axis_name}, [operands[0].seen], reader.origin(operation)
    )
    return [*found, *operands[1:]]
