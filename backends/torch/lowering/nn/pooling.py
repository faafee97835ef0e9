"""Pooling in torch, whose functions take one or two axes before those that are pooled."""

from __future__ import annotations

from typing import Any

from .....errors import UnsupportedOperation
from .....ops import ArraySpec
from .....ops.dtypes import is_floating
from .....ops.text import Text, factor
from ....calls import call, unless
from ....rows import Operand, Row, operand
from ..layouts import channels_first
from ..table import rows
from .convolution import alike, check_rank, flat, symmetric

rows.table({"max_unpool": "max_unpool({x}, {indices}, {size})"})
_LEAST = {"int8": -(2**7), "int16": -(2**15), "int32": -(2**31), "int64": -(2**63)}


def _pooled(function: str, x: Operand, array: str, *arguments: Any, rank: int, **options: Any) -> str:
    """A call of ``F.<function><rank>d``, through a helper where there are more or fewer axes before those pooled."""
    check_rank(function, rank)
    if x.ndim - rank in (1, 2):
        return call(f"F.{function}{rank}d", array, *arguments, **options)
    return call("over_leading_axes", f"F.{function}{rank}d", array, rank, *arguments, **options)


def _least(dtype: str) -> Any:
    return Text("-math.inf") if is_floating(dtype) else _LEAST.get(dtype, 0)


def _padded(x: Operand, padding: Any, ceil_mode: bool, value: Any) -> tuple[str, tuple[Any, ...]]:
    """(array, amounts an axis): padding that differs between the sides is put there beforehand."""
    amounts = symmetric(padding)
    if amounts is not None:
        return str(x), amounts
    if ceil_mode:
        raise UnsupportedOperation("torch has no pooling with ceil_mode whose padding differs between the sides")
    return f"F.pad({x}, {flat(padding)}, value={value!r})", (0,) * len(padding)


def _max_pool(with_indices: bool) -> Row:
    def row(x: Operand, *, kernel: Any, strides: Any, padding: Any, dilation: Any, ceil_mode: bool) -> str:
        if with_indices and symmetric(padding) is None:
            return _with_places(x, kernel, strides, padding, dilation, ceil_mode)
        array, amounts = _padded(x, padding, ceil_mode, _least(x.dtype or ""))
        options = {"padding": alike(amounts, 0), "dilation": alike(dilation, 1), "ceil_mode": ceil_mode or None}
        indices = {"return_indices": True} if with_indices else {}
        return _pooled("max_pool", x, array, alike(kernel, None), alike(strides, None), rank=len(kernel), **options, **indices)

    return row


def _with_places(x: Operand, kernel: Any, strides: Any, padding: Any, dilation: Any, ceil_mode: bool) -> str:
    """The padded array is pooled; its places are counted in the array itself."""
    array, amounts = _padded(x, padding, ceil_mode, _least(x.dtype or ""))
    options = {"padding": alike(amounts, 0), "dilation": alike(dilation, 1)}
    pooled = _pooled("max_pool", x, array, alike(kernel, None), alike(strides, None), rank=len(kernel), **options, return_indices=True)
    return f"with_places_of({pooled}, {x}, {list(padding)!r})"


rows.row("max_pool")(channels_first(_max_pool(False)))
rows.row("max_pool_with_indices")(_max_pool(True))


@rows.row("avg_pool")
@channels_first
def _avg_pool(
    x: Operand, *, kernel: Any, strides: Any, padding: Any, ceil_mode: bool, count_include_pad: bool, divisor_override: Any
) -> str:
    if len(kernel) == 3 and x.dtype in ("float16", "bfloat16"):  # torch has no kernel for a volume of these on a CPU
        wide = operand(f"{x}.float()", ArraySpec(x.shape, "float32"))
        options = {"ceil_mode": ceil_mode, "count_include_pad": count_include_pad, "divisor_override": divisor_override}
        return f"{_avg_pool_text(wide, kernel=kernel, strides=strides, padding=padding, **options)}.to(torch.{x.dtype})"
    return _avg_pool_text(
        x,
        kernel=kernel,
        strides=strides,
        padding=padding,
        ceil_mode=ceil_mode,
        count_include_pad=count_include_pad,
        divisor_override=divisor_override,
    )


def _avg_pool_text(
    x: Operand, *, kernel: Any, strides: Any, padding: Any, ceil_mode: bool, count_include_pad: bool, divisor_override: Any
) -> str:
    array, amounts = _padded(x, padding, ceil_mode, 0)
    if not count_include_pad and divisor_override is None and symmetric(padding) is None:
        check_rank("avg_pool", len(kernel))
        return f"avg_pool_inside(F.avg_pool{len(kernel)}d, {x}, {flat(padding)}, {alike(kernel, None)!r}, {alike(strides, None)!r})"
    if divisor_override is not None and len(kernel) == 1:
        return _avg_pool_over_one_axis(x, array, kernel, strides, amounts, ceil_mode, count_include_pad, divisor_override)
    options = {"padding": alike(amounts, 0), "ceil_mode": ceil_mode or None, "count_include_pad": unless(count_include_pad, True)}
    arguments = (alike(kernel, None), alike(strides, None))
    return _pooled("avg_pool", x, array, *arguments, rank=len(kernel), **options, divisor_override=divisor_override)


def _avg_pool_over_one_axis(x: Operand, array: str, kernel: Any, strides: Any, amounts: Any, *options: Any) -> str:
    """With a divisor, which torch has over two axes and more: over one more, of size 1."""
    ceil_mode, count_include_pad, divisor = options
    spec = ArraySpec((*x.shape[:-1], 1, x.shape[-1]), x.dtype or "")
    found = {"ceil_mode": ceil_mode or None, "count_include_pad": unless(count_include_pad, True), "divisor_override": divisor}
    padding = alike((0, *amounts), 0)
    pooled = _pooled(
        "avg_pool", operand("", spec), f"{factor(array)}.unsqueeze(-2)", (1, *kernel), (1, *strides), rank=2, padding=padding, **found
    )
    return f"{pooled}.squeeze(-2)"


@rows.row("lp_pool")
def _lp_pool(x: Operand, *, ord: Any, kernel: Any, strides: Any, ceil_mode: bool) -> str:
    arguments = (ord, alike(kernel, None), alike(strides, None))
    return _pooled("lp_pool", x, str(x), *arguments, rank=len(kernel), ceil_mode=ceil_mode or None)


def _adaptive(function: str, **options: Any) -> Row:
    def row(x: Operand, *, size: tuple[Any, ...]) -> str:
        return _pooled(function, x, str(x), alike(size, None), rank=len(size), **options)

    return row


rows.row("adaptive_avg_pool")(channels_first(_adaptive("adaptive_avg_pool")))
rows.row("adaptive_max_pool")(_adaptive("adaptive_max_pool"))
rows.row("adaptive_max_pool_with_indices")(_adaptive("adaptive_max_pool", return_indices=True))


@rows.row("fractional_max_pool")
def _fractional_max_pool(x: Operand, samples: Operand, *, kernel: Any, size: Any) -> str:
    options = {"output_size": size, "return_indices": True, "_random_samples": samples}
    return _pooled("fractional_max_pool", x, str(x), alike(kernel, None), rank=len(size), **options)
