"""Checks inside of the blocks of a recording, carried out in calls of TensorFlow: assertions, each of which is one truth value."""

from __future__ import annotations

from typing import Any

from ...ir.node import Node, Origin, Value
from ...ir.record import CallRecord
from ...passes.carried_checks import TRUTH
from .names import CONVERT, RAW, row_key

_NAMES = {"full": CONVERT, "logical_and": f"{RAW}LogicalAnd", "logical_not": f"{RAW}LogicalNot"}


def recorded(op: str, inputs: tuple[Any, ...], params: dict[str, Any], origin: Origin) -> Node:
    """A canonical operation on truth values as a recorded call."""
    name, made = _NAMES[op], Value("held", TRUTH)
    given, named = ((params["fill_value"],), {"dtype": params["dtype"]}) if op == "full" else (inputs, {})
    return Node(name, given, named, origin, (made,), CallRecord(row_key(name), result=made))
