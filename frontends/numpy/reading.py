"""Numbers that Python reads from arrays (``int(np.argmax(x))``, ``x.max().item()``): they stay part of the graph, as numbers of Python.

Where Python has to have the number itself (``range``, a shape, a text) it becomes a guard, as before; so does what Python or numpy would
refuse.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...sizes import is_symbolic
from ..read_numbers import LARGE
from .names import METHOD
from .sizes import hint
from .traced import is_traced

if TYPE_CHECKING:
    from .capture import Capture

_OPEN = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "float16", "float32", "float64", "complex64", "complex128")
_DIVISIONS = ("divide", "floor_divide", "remainder")
_BY_SIGN = ("power", "left_shift", "right_shift")  # another type, or an error, where the second number is negative
_INDEXED = ("__getitem__", "__setitem__")
_PLACES = ("numpy.argmax", "numpy.argmin", "numpy.ndarray.argmax", "numpy.ndarray.argmin")


def number_in(capture: Capture, array: Any) -> Any:
    """The only element, a whole number or float, as a number of Python to be computed with; None where it has to be known."""
    is_open = capture.reading.symbolic and array.ndim == 0 and array.dtype.name in _OPEN and capture.recorder.varies(array._value)
    if not is_open or array._value in capture.weak:
        return None
    capture.reading.any = True
    return capture.record(f"{METHOD}item", lambda scalar: np.asarray(scalar.item())[()], (array,), {}, lambda: True, reads=True)


def fits_everywhere(number: Any) -> bool:
    """Return True if a number, rounded to an int, is small enough for the whole numbers of every target."""
    return bool(abs(hint(number)) < LARGE)


def rounded_number(capture: Capture, array: Any) -> Any:
    """Return `round(array)` as an int of Python: one to be computed with, or, where it has to be known, a guard."""
    number = array if array._value in capture.weak else number_in(capture, array)
    if isinstance(number, float):
        number = number_in(capture, capture.ufunc(np.rint, "__call__", (number,), {}))
    if isinstance(number, float) and fits_everywhere(number):
        number = capture.record("math.trunc", math.trunc, (number,), {}, lambda: True, reads=True)
    return number if isinstance(number, int) else round(capture.elements(array))


def decided(capture: Capture, key: str, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands of an operator; numbers that were read as they are where the type of its result, or an error, depends on them."""
    if key not in _BY_SIGN or type(operands[1]) is int and operands[1] >= 0:
        return operands
    if key == "power" and _has_float_power(capture, *operands):
        return operands
    return tuple(
        capture.elements(item, as_constants=True) if is_traced(item) and item._value in capture.read else item for item in operands
    )


def _has_float_power(capture: Capture, base: Any, exponent: Any) -> bool:
    """Return True, under a guard on the base, if the power is a float: a negative base may have a complex one, and 0 an error."""
    numbers = [item for item in (base, exponent) if is_traced(item) and item._value in capture.read]
    if not any(isinstance(item, float) for item in (base, exponent)) or any(isinstance(item, complex) for item in numbers):
        return False
    if not (is_traced(base) and base._value in capture.read):
        return isinstance(base, (int, float)) and base > 0
    name = "__ne__" if not is_traced(exponent) and float(hint(exponent)).is_integer() else "__gt__"
    if not getattr(operator, name)(base._seen, 0):
        return False
    _expect(capture, name, base, 0)
    return True


def expect_as_read(capture: Capture, key: str, operands: Sequence[Any], result: Any) -> None:
    """Guards on what Python or numpy refuses for other numbers than those that were read."""
    if is_traced(result) and result._value in capture.weak and key in _DIVISIONS and is_traced(operands[1]):
        _expect(capture, "__ne__", operands[1], 0)
    if key in _INDEXED:
        _expect_inside(capture, operands)


def _expect_inside(capture: Capture, operands: Sequence[Any]) -> None:
    """Indices that were read: numpy refuses those outside of the array, and targets do not."""
    array, index = operands[0], operands[1] if isinstance(operands[1], tuple) else (operands[1],)
    is_plain = all(isinstance(item, (int, slice)) or is_symbolic(item) for item in index)
    for axis, item in enumerate(index):
        if is_traced(item) and item._value in capture.read and not _is_place_in(item, array):
            if not (is_plain and is_traced(array)):
                capture.elements(item)
                continue
            _expect(capture, "__lt__", item, array.shape[axis])
            _expect(capture, "__ge__", item, -array.shape[axis])


def _expect(capture: Capture, name: str, item: Any, other: Any) -> None:
    capture.element(capture.operator(name, getattr(operator, name), item, other), bool, True)


def _is_place_in(item: Any, array: Any) -> bool:
    """Whether this is the place of the largest or smallest element of the array itself, which has one axis."""
    graph = item._capture.recorder.graph
    read = graph.maker(item._value)
    found = graph.maker(read.inputs[0]) if read is not None and read.op.endswith(".item") else None
    if found is None or found.op not in _PLACES or found.params or len(found.inputs) != 1:
        return False
    return bool(is_traced(array) and array.ndim == 1 and found.inputs[0] is array._value)
