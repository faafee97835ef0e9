"""Checks inside of the blocks of a recording, carried out in calls of torch."""

from __future__ import annotations

from typing import Any

import torch

from ...ir.node import Node, Origin, Value
from ...ir.record import CallRecord
from ...passes.carried_checks import TRUTH, canonical
from .basics.names import row_key

# Canonical operation -> the function of torch; the others have the same name in both.
_NAMES = {
    "array": "tensor", "equal": "eq", "getitem": "select", "less_equal": "le", "subtract": "sub",
    "logical_and": "Tensor.__and__", "logical_or": "Tensor.__or__", "logical_not": "Tensor.__invert__",
}  # fmt: skip


def recorded(op: str, inputs: tuple[Any, ...], params: dict[str, Any], origin: Origin) -> Node:
    """A canonical operation of a check as a recorded call."""
    name = _NAMES.get(op, op)
    made = Value("held", TRUTH) if op == "array" else canonical(op, inputs, params, origin).outputs[0]
    given, named = _arguments(op, inputs, params)
    return Node(f"torch.{name}", given, named, origin, (made,), CallRecord(row_key(name), result=made))


def _arguments(op: str, inputs: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if op == "full":
        return (params["shape"], params["fill_value"]), {"dtype": torch.bool}
    if op == "getitem":
        return (*inputs, 0, *params["key"]), {}
    return inputs, {}
