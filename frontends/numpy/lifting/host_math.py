"""Functions of Python's ``math`` and ``cmath``, which compute in 64 bits and raise where numbers have no result."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ....ops.dtypes import is_floating
from ... import host_math
from ...read_numbers import LARGE
from .table import NumpyBuilder, rows

# functions whose names depend on how many numbers they are given
_BY_COUNT = {("pow", 2): "pow_float", ("log", 2): "log_to"}
_ROUNDED = ("floor", "ceil", "trunc")


def _row(name: str) -> None:
    @rows.row(f"math.{name}")
    def row(b: NumpyBuilder, *given: Any) -> Any:
        """Lift a function of ``math``, which computes in float64."""
        numbers = tuple(b.cast(b.array(number, "float64"), "float64") for number in given)
        return host_math.computed(b, _BY_COUNT.get((name, len(given)), name), numbers)


def _row_of_rounding(name: str) -> None:
    @rows.row(f"math.{name}")
    def row(b: NumpyBuilder, number: Any) -> Any:
        """Lift a function of ``math`` that rounds to an int."""
        number = b.array(number)
        if is_floating(number.dtype):
            b.expect(b.less(b.abs(number), float(LARGE)), True)
            number = getattr(b, name)(number)
        return b.cast(number, b.recorded_dtype())


for _name in (*host_math.COMPUTE, "pow"):
    if _name not in _BY_COUNT.values():
        _row(_name)
for _name in _ROUNDED:
    _row_of_rounding(_name)


@rows.row("math.fsum")
def fsum(b: NumpyBuilder, numbers: Any) -> Any:
    """Lift ``math.fsum`` as a sum that carries what each addition rounds off (Neumaier)."""
    total, rest = b.array(0.0, "float64"), b.array(0.0, "float64")
    given = tuple(b.cast(b.array(number, "float64"), "float64") for number in numbers)
    for number in given:
        added = b.add(total, number)
        is_larger = b.greater_equal(b.abs(total), b.abs(number))
        large, small = b.where(is_larger, total, number), b.where(is_larger, number, total)
        rest = b.add(rest, b.add(b.subtract(large, added), small))
        total = added
    result = b.where(b.isfinite(total), b.add(total, rest), total)
    host_math.expect_result(b, result, given)
    return result


# ------------------------------------------------------------------------------------- cmath
def _row_of_complex(name: str, compute: Callable[..., Any]) -> None:
    @rows.row(f"cmath.{name}")
    def row(b: NumpyBuilder, *given: Any) -> Any:
        """Lift a function of ``cmath``, which computes in complex128."""
        numbers = tuple(b.cast(b.array(number, "complex128"), "complex128") for number in given)
        result = compute(b, *numbers)
        b.expect(b.logical_or(b.isfinite(result), b.logical_not(b.isfinite(numbers[0]))), True)
        return result


def _log(b: NumpyBuilder, z: Any, base: Any = None) -> Any:
    return b.log(z) if base is None else b.divide(b.log(z), b.log(base))


_COMPLEX: dict[str, Callable[..., Any]] = {
    **{
        name: host_math.COMPUTE[name]
        for name in (
            "sqrt", "exp", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
        )
    },
    "log": _log,
    "log10": lambda b, z: b.divide(b.log(z), math.log(10)),
    "phase": lambda b, z: b.angle(z),
}  # fmt: skip
for _name, _compute in _COMPLEX.items():
    _row_of_complex(_name, _compute)


@rows.row("builtins.complex")
def complex_(b: NumpyBuilder, real: Any, imag: Any = 0.0) -> Any:
    return b.complex(*(b.cast(b.array(number, "float64"), "float64") for number in (real, imag)))


@rows.row("cmath.rect")
def rect(b: NumpyBuilder, r: Any, phi: Any) -> Any:
    r, phi = (b.cast(b.array(number, "float64"), "float64") for number in (r, phi))
    return b.complex(b.multiply(r, b.cos(phi)), b.multiply(r, b.sin(phi)))
