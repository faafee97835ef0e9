"""Pieces of text that several rows need."""

from __future__ import annotations

from typing import Any

from ...rows import Operand


def call(name: str, *operands: Any, **options: Any) -> str:
    """``name(x, weight, stride=2)``: operands that are None are left out at the end, options wherever they are None.

    >>> call("F.layer_norm", "x", "x.shape[-1:]", None, eps=1e-05, bias=None)
    'F.layer_norm(x, x.shape[-1:], eps=1e-05)'
    """
    texts = [str(operand) for operand in operands]
    while texts and texts[-1] == "None":
        texts.pop()
    return f"{name}({', '.join(texts + [f'{key}={value!r}' for key, value in options.items() if value is not None])})"


def unless(value: Any, default: Any) -> Any:
    """``value``, or None where it is the default."""
    return None if value == default else value


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
