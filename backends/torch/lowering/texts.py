"""Pieces of text that several rows need."""

from __future__ import annotations

from typing import Any

from ...rows import Operand


def tensor(item: Operand, beside: Operand) -> str:
    """An operand for a function that takes no numbers: a number becomes a 0-d tensor like the one beside it."""
    return str(item) if item.spec is not None else f"{beside}.new_tensor({item})"


def tensors(*items: Operand) -> tuple[str, ...]:
    """Operands for a function that takes no numbers; one of them at least is a tensor."""
    like = next(item for item in items if item.spec is not None)
    return tuple(tensor(item, like) for item in items)


def index(indices: Operand) -> str:
    """Indices for the functions that take int64 alone."""
    return str(indices) if indices.dtype == "int64" else f"{indices}.long()"


def over(axis: Any, keepdims: bool) -> str:
    """``, dim=1, keepdim=True``, each as far as it is not the default; all axes have to be named to be kept."""
    dim = "" if axis is None and not keepdims else f", dim={axis!r}"
    return dim + (", keepdim=True" if keepdims else "")
