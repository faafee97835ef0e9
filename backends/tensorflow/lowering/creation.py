"""Creation functions in TensorFlow."""

from __future__ import annotations

import re
from typing import Any

from ....ops import ArraySpec
from ....ops.dtypes import is_floating
from ....ops.text import Text
from ....trees import iterate_structure
from .table import rows

Out = tuple[ArraySpec, ...]
_RANGES = ("int32", "int64", "float32", "float64")
_FRACTION = re.compile(r"(?<!/)/(?!/)|\d\.\d|\bfloat\(|\bmath\.")  # in the text of what may be one

rows.table({
    "linspace": "linspace({start}, {stop}, {num}, {dtype})",
    "copy": "tf.identity({x})",
    "ones": "tf.ones({shape}, {dtype})",
    "tril_indices": "triangle_indices({n_rows}, {n_cols}, {k}, {dtype}, upper=False)",
    "triu_indices": "triangle_indices({n_rows}, {n_cols}, {k}, {dtype}, upper=True)",
    "zeros": "tf.zeros({shape}, {dtype})",
    # ``tf.linalg.band_part``; other diagonals by comparing rows and columns
    "tril": lambda x, *, k: f"tf.linalg.band_part({x}, -1, 0)" if k == 0 else f"triangle({x}, {k!r}, upper=False)",
    # ``tf.linalg.band_part``; other diagonals by comparing rows and columns
    "triu": lambda x, *, k: f"tf.linalg.band_part({x}, 0, -1)" if k == 0 else f"triangle({x}, {k!r}, upper=True)",
})  # fmt: skip


def _is_known(*numbers: Any) -> bool:
    return not any(isinstance(number, Text) and "math." not in number for number in numbers)


@rows.row("asarray")
def asarray(*, data: Any, dtype: str) -> str:
    """``tf.constant``, or a helper that takes unknown sizes."""
    if _is_known(*iterate_structure((data,))):
        return f"tf.constant({data!r}, {dtype})"
    return f"numbers_as({data!r}, {dtype})"


@rows.row("full")
def full(*, shape: Any, fill_value: Any, dtype: str) -> str:
    """``tf.fill``, or ``tf.constant`` of a number, which TensorFlow does not take for a truth value."""
    if dtype == "tf.bool" and _is_known(fill_value):
        fill_value = bool(fill_value)
    value = f"tf.constant({fill_value!r}, {dtype})" if _is_known(fill_value) else f"scalar({fill_value!r}, {dtype})"
    return f"tf.fill({shape!r}, {value})" if shape else value


@rows.row("arange")
def arange(*, start: Any, stop: Any, step: Any, dtype: str, out: Out = ()) -> str:
    """``tf.range`` of integers; a helper for fractions, which are multiplied, not added up."""
    fractions = any(isinstance(number, float) or isinstance(number, Text) and _FRACTION.search(number) for number in (start, stop, step))
    if fractions or (is_floating(out[0].dtype) and step != 1):
        return f"spaced({start!r}, {stop!r}, {step!r}, {dtype})"
    bounds = [start, stop, step] if step != 1 else [start, stop] if start != 0 else [stop]
    text = ", ".join(map(repr, bounds))
    if out[0].dtype in _RANGES:
        return f"tf.range({text}, dtype={dtype})"
    return f"tf.cast(tf.range({text}, dtype=tf.int64), {dtype})"


@rows.row("eye")
def eye(*, n_rows: Any, n_cols: Any, k: Any, dtype: str) -> str:
    """``tf.eye``; other diagonals by comparing rows and columns."""
    if k != 0:
        return f"shifted_eye({n_rows!r}, {n_cols!r}, {k!r}, {dtype})"
    columns = "" if repr(n_rows) == repr(n_cols) else f", {n_cols!r}"
    return f"tf.eye({n_rows!r}{columns}, dtype={dtype})"
