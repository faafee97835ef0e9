"""torch's samples of its operators in every data type that they take on a CPU and that targets have."""

from __future__ import annotations

from typing import Any

import torch

from graph_compiler.ops.dtypes import DTYPES

from . import operators


def names() -> list[str]:
    """``add@int8``: every operator in every data type."""
    return [f"{name}@{dtype}" for name, op in operators.database().items() for dtype in _taken(op)]


def _taken(op: Any) -> list[str]:
    known = {str(dtype).removeprefix("torch.") for dtype in op.supported_dtypes("cpu")}
    return [dtype for dtype in DTYPES if dtype in known]


def judge(name: str, target: str) -> dict[str, Any]:
    """Every sample in the target gives what it gives in torch, in values and data types."""
    operator, _, dtype = name.rpartition("@")
    return operators.judge_in(operator, getattr(torch, dtype), target)
