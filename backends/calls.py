"""Calls in generated source, without the arguments that say nothing."""

from __future__ import annotations

from typing import Any


def call(name: str, *operands: Any, **options: Any) -> str:
    """``name(x, weight, strides=(2, 2))``: operands that are None are left out at the end, options wherever they are None.

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


def unless_all(values: tuple[Any, ...], default: Any) -> tuple[Any, ...] | None:
    """``values``, or None where each of them is the default."""
    return None if all(value == default for value in values) else values


def number_in(text: str) -> float | None:
    """The number that an operand is written as; None of a size.

    >>> number_in("(-2)"), number_in("rows")
    (-2.0, None)
    """
    try:
        return float(text.strip("()"))
    except ValueError:
        return None
