"""Checks inside of the blocks of a recording, carried out in calls of NumPy."""

from __future__ import annotations

from typing import Any

from ...ir.node import Node, Origin, Value
from ...ir.record import CallRecord
from ...passes.carried_checks import TRUTH, canonical
from .names import METHOD


def recorded(op: str, inputs: tuple[Any, ...], params: dict[str, Any], origin: Origin) -> Node:
    """A canonical operation of a check as a recorded call."""
    made = Value("held", TRUTH) if op == "array" else canonical(op, inputs, params, origin).outputs[0]
    if op == "getitem":
        return Node(f"{METHOD}__getitem__", (*inputs, params["key"]), {}, origin, (made,), CallRecord("__getitem__", result=made))
    return Node(f"numpy.{op}", inputs, dict(params), origin, (made,), CallRecord(op, result=made))
