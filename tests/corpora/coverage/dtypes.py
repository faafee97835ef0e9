"""Corpus of torch's operator samples in every dtype that both torch on a CPU and the targets support."""

from __future__ import annotations

from typing import Any

import torch

from graph_compiler.ops.dtypes import DTYPES

from . import operators


def names() -> list[str]:
    """Return the names of the cases, such as ``add@int8``."""
    return [f"{name}@{dtype}" for name, op in operators.database().items() for dtype in _taken(op)]


def _taken(op: Any) -> list[str]:
    known = {str(dtype).removeprefix("torch.") for dtype in op.supported_dtypes("cpu")}
    return [dtype for dtype in DTYPES if dtype in known]


def judge(name: str, target: str) -> dict[str, Any]:
    """Assert that every sample gives in the target the values and dtypes that it gives in torch."""
    operator, _, dtype = name.rpartition("@")
    return operators.judge_in(operator, getattr(torch, dtype), target)
