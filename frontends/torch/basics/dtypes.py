"""torch data types and their names in the vocabulary, and torch's type promotion."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch

from ....ops.dtypes import DTYPES

_BY_NAME = {name: getattr(torch, name) for name in DTYPES if hasattr(torch, name)}
_OF_PYTHON = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}
_NAMES = {dtype: name for name, dtype in _BY_NAME.items()}


def dtype_name(dtype: torch.dtype | str | None) -> str:
    """``torch.float32`` -> ``"float32"``; ``None`` is torch's default dtype; names pass through."""
    if isinstance(dtype, str):
        return dtype
    if isinstance(dtype, type):  # dtype=bool, float and the like
        return _OF_PYTHON[dtype]
    return _NAMES.get(dtype or torch.get_default_dtype()) or str(dtype).removeprefix("torch.")


def torch_dtype(name: str) -> torch.dtype:
    """``"float32"`` -> ``torch.float32``."""
    return _BY_NAME[name]


@lru_cache(maxsize=4096)
def _result_type(kinds: tuple[Any, ...], default: torch.dtype) -> str:
    examples = [_EXAMPLE[kind] if isinstance(kind, type) else torch.empty((0,) * kind[1], dtype=torch_dtype(kind[0])) for kind in kinds]
    result: Any = examples[0]
    if len(examples) == 1:
        return dtype_name(torch.result_type(result, result))
    return dtype_name(_fold(examples))


_EXAMPLE: dict[type, Any] = {bool: True, int: 1, float: 1.0, complex: 1j}


def _fold(examples: list[Any]) -> torch.dtype:
    """torch's rule for many: the category of arrays with axes beats that of 0-d arrays, which beats that of numbers."""
    groups: dict[int, Any] = {}
    for example in examples:
        rank = 2 if not torch.is_tensor(example) else 0 if example.ndim else 1
        before = groups.get(rank)
        groups[rank] = example if before is None else _combine(before, example)
    ordered = [groups[rank] for rank in sorted(groups)]
    result = ordered[0]
    for example in ordered[1:]:
        kept = torch.result_type(result, example)
        result = torch.empty((0,) * (result.ndim if torch.is_tensor(result) else 0), dtype=kept)
    return torch.result_type(result, result)


def _combine(left: Any, right: Any) -> Any:
    kind = torch.result_type(left, right)
    return (
        torch.empty((0,) * (left.ndim if torch.is_tensor(left) else 0), dtype=kind)
        if torch.is_tensor(left)
        else _EXAMPLE[type(left + right)]
    )


def result_type(*operands: Any) -> str:
    """The dtype that torch computes in for these operands: values with ``dtype`` and ``ndim``, numbers, sizes."""
    kinds = tuple((item.dtype, min(item.ndim, 1)) if hasattr(item, "ndim") else getattr(item, "type", type(item)) for item in operands)
    return _result_type(kinds, torch.get_default_dtype())
