"""Checks inside of the blocks of a recording, carried out in calls of JAX: error checks, each of which is a truth value or an index."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.node import Node, Origin, Value
from ...ir.record import CallRecord
from ...passes.carried_checks import TRUTH
from .names import row_key


def recorded(op: str, inputs: tuple[Any, ...], params: dict[str, Any], origin: Origin) -> Node:
    """Return a canonical operation of a check as a recorded call."""
    made = Value("held", TRUTH)
    name, given = ("jax.numpy.asarray", (np.bool_(params["fill_value"]),)) if op == "full" else (f"jax.numpy.{op}", inputs)
    return Node(name, given, {}, origin, (made,), CallRecord(row_key(name), result=made))
