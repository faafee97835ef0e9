"""Diagonals and bands of matrices."""

from __future__ import annotations

import math
from typing import Any

from .....ir import Value
from .....sizes import apply, hint_of
from ....slicing import along, cut
from ..table import Computed, TensorFlowBuilder, numbers, rows
from .shapes import size_of


@rows.row("Diag")
def diag(b: TensorFlowBuilder, diagonal: Any, **_: Any) -> Any:
    """Zeros with an array on the diagonal of twice as many axes."""
    count = math.prod(diagonal.shape)
    flat = b.reshape(diagonal, shape=(count,))
    return b.reshape(b.diag_embed(flat), shape=(*diagonal.shape, *diagonal.shape))


@rows.row("DiagPart")
def diag_part(b: TensorFlowBuilder, input: Any, **_: Any) -> Any:
    """The diagonal of an array of an even number of axes."""
    shape = input.shape[: input.ndim // 2]
    count = math.prod(shape)
    return b.reshape(b.diagonal(b.reshape(input, shape=(count, count))), shape=shape)


@rows.row("MatrixBandPart", static=("num_lower", "num_upper"))
def matrix_band_part(b: TensorFlowBuilder, input: Any, num_lower: Any, num_upper: Any, **_: Any) -> Any:
    """Zeros outside of a band around the diagonal; a negative width is the whole triangle."""
    low, high = size_of(num_lower), size_of(num_upper)
    if hint_of(low) >= 0:
        input = b.triu(input, k=-low)
    return b.tril(input, k=high) if hint_of(high) >= 0 else input


class _Band:
    """The diagonals from ``low`` to ``high``, of matrices of this size, as rows of equal length."""

    def __init__(self, low: int, high: int, height: Any, width: Any, align: str) -> None:
        self.low, self.high, self.height, self.width = low, high, height, width
        above, below = align.split("_")
        self.sides = {True: above, False: below}
        self.length = apply("min", height + min(high, 0), width - max(low, 0))

    def numbers(self) -> range:
        """The numbers of the diagonals, the highest first, as rows stand."""
        return range(self.high, self.low - 1, -1)

    def length_of(self, number: int) -> Any:
        """How many elements one diagonal has."""
        return self.length if self.low == self.high else apply("min", self.height + min(number, 0), self.width - max(number, 0))

    def padding(self, number: int) -> tuple[Any, Any]:
        """What stands before and after a diagonal in its row."""
        rest = self.length - self.length_of(number)
        return (rest, 0) if self.sides[number >= 0] == "RIGHT" else (0, rest)


def _limits(k: Any) -> tuple[int, int]:
    found = numbers(k, "the number of a diagonal")
    return int(found[0]), int(found[-1])


rows.table({
    "MatrixDiagPart": lambda b, input, **_: b.diagonal(input),  # the main diagonal
    "MatrixDiag": lambda b, diagonal, **_: b.diag_embed(diagonal),  # square matrices with a diagonal
})  # fmt: skip


@rows.row("MatrixDiagPartV2", "MatrixDiagPartV3", static=("k", "padding_value"))
def matrix_diag_part_v3(b: TensorFlowBuilder, input: Any, k: Any, padding_value: Any, *, align: str = "LEFT_LEFT", **_: Any) -> Any:
    """A diagonal, or a band of them as rows."""
    low, high = _limits(k)
    if low == high:
        return b.diagonal(input, offset=low)
    band = _Band(low, high, input.shape[-2], input.shape[-1], align)
    none = ((0, 0),) * (input.ndim - 2)
    parts = [
        b.pad(b.diagonal(input, offset=number), padding=(*none, band.padding(number)), value=_plain(b, padding_value, input))
        for number in band.numbers()
    ]
    return b.stack(*parts, axis=input.ndim - 2)


def _plain(b: TensorFlowBuilder, value: Any, x: Value) -> Any:
    if isinstance(value, Value):
        raise Computed("a padding that is computed")
    return b.operand(value, x.dtype)


def _placed(b: TensorFlowBuilder, whole: Value, diagonal: Value, band: _Band) -> Any:
    """``whole`` with the diagonals of a band, one or rows, in their places."""
    lines = b.arange(start=0, stop=band.height, step=1, dtype="int32")
    columns = b.arange(start=0, stop=band.width, step=1, dtype="int32")
    distance = b.subtract(columns, b.reshape(lines, shape=(band.height, 1)))
    for row, number in enumerate(band.numbers()):
        one = diagonal if band.low == band.high else b.getitem(diagonal, key=along(whole.ndim - 2, row))
        before, _ = band.padding(number) if band.low != band.high else (0, 0)
        one = cut(b, one, one.ndim - 1, before, before + band.length_of(number)) if band.low != band.high else one
        square = b.diag_embed(one, offset=number)
        padding = (*((0, 0),) * (square.ndim - 2), (0, band.height - square.shape[-2]), (0, band.width - square.shape[-1]))
        whole = b.where(b.equal(distance, number), b.pad(square, padding=padding, value=b.operand(0, square.dtype)), whole)
    return whole


@rows.row("MatrixDiagV2", "MatrixDiagV3", static=("k", "num_rows", "num_cols", "padding_value"))
def matrix_diag_v3(
    b: TensorFlowBuilder, diagonal: Any, k: Any, num_rows: Any, num_cols: Any, padding_value: Any, *, align: str = "LEFT_LEFT", **_: Any
) -> Any:
    """Matrices with a diagonal or a band, and a number elsewhere."""
    low, high = _limits(k)
    height, width = size_of(num_rows), size_of(num_cols)
    length = diagonal.shape[-1]
    least = length - min(high, 0), length + max(low, 0)
    if hint_of(height) == hint_of(width) == -1:
        height = width = apply("max", *least)
    height, width = (least[i] if hint_of(size) == -1 else size for i, size in enumerate((height, width)))
    if low == high == 0 and height == width == length and padding_value == 0:
        return b.diag_embed(diagonal)
    batch = diagonal.shape[:-1] if low == high else diagonal.shape[:-2]
    whole = b.full(shape=(*batch, height, width), fill_value=_plain(b, padding_value, diagonal), dtype=diagonal.dtype)
    return _placed(b, whole, diagonal, _Band(low, high, height, width, align))


@rows.row("MatrixSetDiag")
def matrix_set_diag(b: TensorFlowBuilder, input: Any, diagonal: Any, **_: Any) -> Any:
    """With another main diagonal."""
    return _placed(b, input, diagonal, _Band(0, 0, input.shape[-2], input.shape[-1], "LEFT_LEFT"))


@rows.row("MatrixSetDiagV2", "MatrixSetDiagV3", static=("k",))
def matrix_set_diag_v3(b: TensorFlowBuilder, input: Any, diagonal: Any, k: Any, *, align: str = "LEFT_LEFT", **_: Any) -> Any:
    """With another diagonal, or another band."""
    low, high = _limits(k)
    return _placed(b, input, diagonal, _Band(low, high, input.shape[-2], input.shape[-1], align))
