"""Convolutions in torch."""

from __future__ import annotations

from typing import Any

from .....errors import UnsupportedOperation
from .....ops.text import Text
from ....calls import call, unless
from ....rows import Operand
from ..layouts import channels_first
from ..table import rows


def alike(values: tuple[Any, ...], default: Any) -> Any:
    """A number where all values are that number, None where it is the default."""
    return unless(values[0], default) if len(set(values)) == 1 else values


def symmetric(padding: tuple[tuple[Any, Any], ...]) -> tuple[Any, ...] | None:
    """One amount an axis, where each has as much before as after and none is negative."""
    same = all(before == after and (not isinstance(before, int) or before >= 0) for before, after in padding)
    return tuple(before for before, _ in padding) if same else None


def flat(padding: tuple[tuple[Any, Any], ...]) -> tuple[Any, ...]:
    """As ``F.pad`` counts: from the last axis."""
    return tuple(amount for pair in reversed(padding) for amount in pair)


def check_rank(operation: str, rank: int) -> None:
    """torch has these for one to three axes of space."""
    if not 1 <= rank <= 3:
        raise UnsupportedOperation(f"torch has {operation} over one, two or three axes, not over {rank}: reshape before it")


@rows.row("conv")
@channels_first
def _conv(x: Operand, weight: Operand, bias: Operand | None = None, *, strides: Any, padding: Any, dilation: Any, groups: int) -> str:
    check_rank("conv", rank := x.ndim - 2)
    amounts = symmetric(padding)
    array = str(x) if amounts is not None else f"F.pad({x}, {flat(padding)})"
    options = {
        "stride": alike(strides, 1),
        "padding": alike(amounts or (0,), 0),
        "dilation": alike(dilation, 1),
        "groups": unless(groups, 1),
    }
    return call(f"F.conv{rank}d", array, weight, bias, **options)


@rows.row("conv_transpose")
@channels_first
def _conv_transpose(
    x: Operand,
    weight: Operand,
    bias: Operand | None = None,
    *,
    strides: Any,
    padding: Any,
    output_padding: Any,
    dilation: Any,
    groups: int,
) -> str:
    """Padding that differs between the sides is cut off afterwards."""
    check_rank("conv_transpose", rank := x.ndim - 2)
    amounts = symmetric(padding)
    options = {"stride": alike(strides, 1), "groups": unless(groups, 1), "dilation": alike(dilation, 1)}
    if amounts is not None:
        padded = {"padding": alike(amounts, 0), "output_padding": alike(output_padding, 0)}
        return call(f"F.conv_transpose{rank}d", x, weight, bias, **padded, **options)
    cuts = tuple((_less(0, before), _less(more, after)) for (before, after), more in zip(padding, output_padding))
    text = f"F.pad({call(f'F.conv_transpose{rank}d', x, weight, **options)}, {flat(cuts)})"
    return text if bias is None else f"({text} + {bias}.reshape{(-1, *(1,) * rank)})"


def _less(more: Any, amount: Any) -> Any:
    """``more - amount``, computed where both are known."""
    return more - amount if isinstance(more, int) and isinstance(amount, int) else Text(f"{more} - ({amount})")


@rows.row("im2col")
def _im2col(x: Operand, *, kernel: Any, strides: Any, padding: Any, dilation: Any) -> str:
    amounts = symmetric(padding)
    if x.ndim == 4 and amounts is not None:
        options = {"dilation": alike(dilation, 1), "padding": alike(amounts, 0), "stride": alike(strides, 1)}
        return call("F.unfold", x, kernel, **options)
    return f"im2col({x}, {kernel!r}, {strides!r}, {padding!r}, {dilation!r})"


@rows.row("col2im")
def _col2im(x: Operand, *, size: Any, kernel: Any, strides: Any, padding: Any, dilation: Any) -> str:
    amounts = symmetric(padding)
    if len(size) == 2 and amounts is not None:
        options = {"dilation": alike(dilation, 1), "padding": alike(amounts, 0), "stride": alike(strides, 1)}
        return call("F.fold", x, size, kernel, **options)
    return f"col2im({x}, {size!r}, {kernel!r}, {strides!r}, {padding!r}, {dilation!r})"
