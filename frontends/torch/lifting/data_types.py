"""Conversions of torch tensors: to other types, to devices (which are dropped), and to themselves."""

from __future__ import annotations

from typing import Any

import torch

from ....ops.dtypes import is_inexact
from .table import TorchBuilder, rows

_METHODS = {
    "bfloat16": "bfloat16", "bool": "bool", "byte": "uint8", "cdouble": "complex128", "cfloat": "complex64", "char": "int8",
    "double": "float64", "float": "float32", "half": "float16", "int": "int32", "long": "int64", "short": "int16",
}  # fmt: skip
# Functions that give the same numbers, wherever and however they lie in memory.
_SAME = (
    "alias", "alias_copy", "clone", "contiguous", "cpu", "cuda", "ipu", "lift", "lift_fresh", "lift_fresh_copy", "mps", "mtia",
    "pin_memory", "positive", "__pos__", "requires_grad_", "resolve_conj", "resolve_neg",
    "share_memory", "share_memory_", "to_dense", "xpu",
)  # fmt: skip


def _register_method(name: str, dtype: str) -> None:
    @rows.row(name)
    def method(b: TorchBuilder, input: Any, memory_format: Any = None) -> Any:
        return b.cast(input, dtype)


for _name, _dtype in _METHODS.items():
    _register_method(_name, _dtype)


@rows.row(*_SAME)
def same(b: TorchBuilder, input: Any, *_options: Any, **_named: Any) -> Any:
    """torch.Tensor.contiguous, clone, cpu, cuda, positive, ...: the same numbers."""
    return input


rows.table({
    "__deepcopy__": lambda b, input, memo=None: input,  # copy.deepcopy: in a pure graph the same numbers
    # the same numbers without a gradient
    ("detach", "detach_copy", "data"): lambda b, input: b.stop_gradient(input) if is_inexact(input.dtype) else input,
    "type_as": lambda b, input, other: b.cast(input, other.dtype),
})  # fmt: skip


@rows.row("to", "_to_copy")
def to(b: TorchBuilder, input: Any, *target: Any, dtype: Any = None, other: Any = None, **_options: Any) -> Any:
    """torch.Tensor.to(dtype), to(device, dtype), to(other): only the type matters."""
    for item in (*target, other):
        if isinstance(item, (torch.dtype, type)):
            dtype = item
        elif hasattr(item, "spec"):
            dtype = item.dtype
    return input if dtype is None else b.cast(input, dtype)


@rows.row("type")
def type_(b: TorchBuilder, input: Any, dtype: Any = None, non_blocking: bool = False, **_options: Any) -> Any:
    """torch.Tensor.type of a torch.dtype, a tensor class or the name of one."""
    if isinstance(dtype, str):
        dtype = getattr(torch, dtype.rpartition(".")[2])
    return b.cast(input, getattr(dtype, "dtype", dtype))
