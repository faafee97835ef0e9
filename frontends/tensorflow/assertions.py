"""Lifts ``tf.Assert`` and the ``tf.debugging`` functions built on it to guards."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from ...ir.node import CallRecord, Node, Origin, Value
from ...passes.lowering.region_checks import TRUTH
from .known_numbers import nested
from .names import CONVERT, RAW, row_key
from .reader import GraphReader, Handler
from .variables import TensorValue

_NAMES = {"full": CONVERT, "logical_and": f"{RAW}LogicalAnd", "logical_not": f"{RAW}LogicalNot"}


def record_operation(op: str, inputs: tuple[Any, ...], params: dict[str, Any], origin: Origin) -> Node:
    name, made = _NAMES[op], Value("held", TRUTH)
    given, named = ((params["fill_value"],), {"dtype": params["dtype"]}) if op == "full" else (inputs, {})
    return Node(name, given, named, origin, (made,), CallRecord(row_key(name), result=made))


_INERT = frozenset({"Const", "Placeholder", "Identity", "NoOp"})


def asserts_alone(graphs: Sequence[Any]) -> bool:
    """Return True if the branches of an ``If`` (else, then) only assert the condition that selects them.

    ``tf.Assert`` is traced as such an ``If``: the else branch asserts and the then branch is empty. The
    assertion can then be recorded without a branch.
    """
    kinds = [{operation.type for operation in graph.get_operations()} for graph in graphs]
    return len(kinds) == 2 and kinds[0] - _INERT == {"Assert"} and kinds[1] <= _INERT


def lift_assert(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    """Record ``Assert`` as a guard, unless its condition is known.

    If the operation is not hypothetical, it is also run on the arrays of the call, so a false condition
    raises TensorFlow's own error.
    """
    condition, *data = operands
    if not reader.is_hypothetical:
        reader.seen(operation, operands)
    origin = _with_message(reader.origin(operation), data)
    if isinstance(condition.item, Value):
        # An assertion in a branch is checked only if the branch runs, so its guard stays there.
        reader.recorder.decide_value(condition.item, True, origin, in_place=True)
    elif hasattr(nested(condition.item), "hint"):
        reader.recorder.decide_size(nested(condition.item), origin)
    return []


def _with_message(origin: Origin, data: Sequence[TensorValue]) -> Origin:
    texts = [str(one.seen.numpy().decode(errors="replace")) for one in data if _is_string(one)]
    message = " ".join(" ".join(texts).split())
    return dataclasses.replace(origin, call=f"tf.Assert ({message})" if message else "tf.Assert")


def _is_string(held: TensorValue) -> bool:
    return isinstance(held.seen, tf.Tensor) and held.made.dtype == tf.string and held.made.shape.rank == 0


READ: dict[str, Handler] = {"Assert": lift_assert}
