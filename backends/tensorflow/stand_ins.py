"""Data types that TensorFlow's CPU kernels lack, or are too inexact in: operation -> the type that stands in, as one table."""

from __future__ import annotations

_HALF = {"float16": "float32", "bfloat16": "float32"}
_NARROW_INTEGERS = {"int8": "int32", "int16": "int32", "uint8": "int32", "uint16": "int32", "uint32": "int64", "uint64": "int64"}
_BOOL = {"bool": "int32"}

_FAMILIES: tuple[tuple[dict[str, str], tuple[str, ...]], ...] = (
    # several steps, each of which would be rounded
    (_HALF, ()),
    (_NARROW_INTEGERS, ()),
    (_BOOL, ()),
)

_STAND_INS: dict[str, dict[str, str]] = {}
for _types, _names in _FAMILIES:
    for _name in _names:
        _STAND_INS.setdefault(_name, {}).update(_types)


def stand_in(op: str, dtype: str) -> str | None:
    """The type that ``op`` is computed in for arrays of ``dtype``; None for its own.

    >>> stand_in("lgamma", "bfloat16"), stand_in("lgamma", "float32")
    ('float32', None)
    """
    return _STAND_INS.get(op, {}).get(dtype)
