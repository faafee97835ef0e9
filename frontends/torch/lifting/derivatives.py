"""Kernels of torch's derivatives that are given sizes: a gradient goes back to its place in an array of zeros."""

from __future__ import annotations

from typing import Any

from .diagonals import select_scatter, slice_scatter
from .table import TorchBuilder, rows


@rows.row("select_backward")
def select_backward(b: TorchBuilder, grad_output: Any, input_sizes: Any, dim: int, index: Any) -> Any:
    return select_scatter(b, _zeros(b, grad_output, input_sizes), grad_output, dim, index)


@rows.row("slice_backward")
def slice_backward(b: TorchBuilder, grad_output: Any, input_sizes: Any, dim: int, start: Any, end: Any, step: Any) -> Any:
    return slice_scatter(b, _zeros(b, grad_output, input_sizes), grad_output, dim, start, end, step)


def _zeros(b: TorchBuilder, gradient: Any, sizes: Any) -> Any:
    return b.zeros(shape=tuple(sizes), dtype=gradient.dtype)
