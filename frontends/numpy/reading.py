"""Numbers that Python reads from arrays (``int(np.argmax(x))``), which stay part of the graph.

A number that Python itself needs, such as for a string, is guarded.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ...errors import TracingError
from ...ir.graph import Graph
from ...ir.node import CallRecord, Origin, Value
from ...ir.recorded_loop import RecordedLoop
from ...ops.dtypes import is_floating, is_inexact
from ...passes.loops.reconstruction import rest_of_loop
from ...recording import Recorder
from ...recording.faults import is_fault
from ...sizes import is_symbolic
from ..common.read_numbers import LARGE, Reading
from .calls import METHOD
from .traced import Traced, TracedScalar, hint, is_traced, proxy_of, seen_of, share_memory


class ElementGuards:
    """Guards on elements of arrays that Python code reads."""

    def __init__(self, recorder: Recorder, here: Callable[[], Origin]) -> None:
        self._recorder, self._here = recorder, here

    def guard_element(self, array: Any, convert: Callable[[Any], Any], answer: Any) -> Any:
        """Guard that ``convert`` of the only element of ``array`` stays ``answer``, and return ``answer``."""
        is_whole = convert in (int, operator.index) and is_floating(array.dtype.name)
        # Floats that int64 does not hold are integers themselves.
        fits = is_whole and abs(array._seen) < 2.0**63
        # Python gets a constant, so the array that is guarded has no derivative.
        array = self.snapshot_of(array, as_constants=convert in (float, complex) or is_whole and not fits)
        if convert is bool and array.dtype != bool:
            # Only the truth of the element must stay the same, not the element.
            array = array != 0
        elif fits:
            # ``int`` truncates, so only the integer part of the element must stay the same.
            array = array.astype(np.int64)
        self._recorder.decide_value(array._value, array._seen.tolist(), self._here())
        return answer

    def guard(self, array: Any, as_constants: bool = False) -> Any:
        """Return ``tolist()`` of ``array``, and guard that its elements are the same in each call."""
        seen = array._seen.tolist()
        self._recorder.decide_value(self.snapshot_of(array, as_constants)._value, seen, self._here())
        return seen

    def snapshot_of(self, array: Any, as_constants: bool = False) -> Any:
        """Return a copy of the current elements of ``array``, or ``array`` itself if that serves as well.

        as_constants: mark the copy of float or complex elements as a constant, without a derivative.
        """
        # Guards are evaluated after later writes. An immutable array, or one that is the same in all calls,
        # needs no copy.
        as_constants = as_constants and is_inexact(array.dtype.name)
        if type(array) is TracedScalar and not as_constants or not self._recorder.varies(array._value):
            return array
        copied = proxy_of(array._capture, array._seen.copy(), Value("seen", array._value.spec))
        made = ("seen", copied, array._value.spec)
        record = CallRecord("clone", is_host_number=as_constants)
        copied._value = self._recorder.add_value("numpy.copy", (array._value,), self._here(), made, record)
        return copied

    def refuse(self) -> Any:
        raise TracingError(
            f"{self._here()}: the elements of an array are handed to code that cannot be seen (compiled "
            "code, a constructor such as "
            "np.float32, an array that was made outside of the recording and is indexed or written to). Use "
            "functions "
            "of numpy on what the function is given and makes itself, or pass the other array as an argument"
        )


class CallCapture(Protocol):
    """Protocol of the parts of ``NumpyCapture`` that record the numbers which Python reads."""

    recorder: Recorder
    reading: Reading
    elements: ElementGuards
    weak: set[Value]
    read: set[Value]

    def ufunc(self, ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...

    def operator(self, name: str, compute: Callable[..., Any], *operands: Any) -> Any: ...

    def record(
        self,
        name: str,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        gives_number: Callable[[], bool] = lambda: False,
        reads: bool = False,
    ) -> Any: ...


class UnrecordedIterations:
    """Runner of the remaining iterations of a loop, by a graph made of the recorded ones.

    loaded: turns a recorded graph into a function.
    any: True once :meth:`run` has returned True.
    """

    def __init__(self, loaded: Callable[[Graph], Callable[..., Any]]) -> None:
        self.loaded, self.any = loaded, False

    def run(self, recorder: Recorder, loop: RecordedLoop, done: int) -> bool:
        """Try to run the iterations of ``loop`` after the first ``done``, and return True on success."""
        rest = rest_of_loop(recorder.graph, loop, done)
        held = (
            {}
            if rest is None
            else {value: array for array, value in recorder.tracked() if isinstance(array, Traced)}
        )
        if rest is None or not held.keys() >= ({*rest.given, *rest.made} - rest.numbers.keys()):
            return False
        given = [rest.numbers[value] if value in rest.numbers else _real(held[value]) for value in rest.given]
        before = [array.copy() for array in given[: rest.written]]
        made = [held[value] for value in rest.made]
        try:
            results = self.loaded(rest.program)(*given)[rest.written :]
            found = [
                # Without axes, a result must be a 0-d array or a scalar, as in the iterations that were
                # recorded.
                np.asarray(item)[... if isinstance(one._seen, np.ndarray) else ()]
                for one, item in zip(made, results)
            ]
            is_same = all(
                one._seen.shape == item.shape and one._seen.dtype == item.dtype
                for one, item in zip(made, found)
            )
        # An iteration may raise any exception. Recording it instead lets the user's own code raise it.
        except Exception as problem:
            if is_fault(problem):
                raise
            is_same = False
        if not is_same:
            _put_back(given, before)
            return False
        for one, item in zip(made, found):
            one._seen = item
        self.any = True
        return True


def _put_back(arrays: Sequence[Any], before: Sequence[Any]) -> None:
    for array, elements in zip(arrays, before):
        np.copyto(array, elements)


def _real(item: Traced) -> Any:
    return item._seen.item() if item._value in item._capture.weak else seen_of(item)


_OPEN = (
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
_DIVISIONS = ("divide", "floor_divide", "remainder")
# A negative second operand gives another result type, or an error.
_BY_SIGN = ("power", "left_shift", "right_shift")
_INDEXED = ("__getitem__", "__setitem__")
_PLACES = ("numpy.argmax", "numpy.argmin", "numpy.ndarray.argmax", "numpy.ndarray.argmin")


def number_in(capture: CallCapture, array: Any) -> Any:
    """Return the element of a 0-d array as a traced Python number, or None if it is not recorded as one."""
    is_open = (
        capture.reading.symbolic
        and array.ndim == 0
        and array.dtype.name in _OPEN
        and capture.recorder.varies(array._value)
    )
    if not is_open or array._value in capture.weak:
        return None
    capture.reading.any = True
    return capture.record(
        f"{METHOD}item", lambda scalar: np.asarray(scalar.item())[()], (array,), {}, lambda: True, reads=True
    )


def fits_everywhere(number: Any) -> bool:
    return bool(abs(hint(number)) < LARGE)


def rounded_number(capture: CallCapture, array: Any) -> Any:
    number = array if array._value in capture.weak else number_in(capture, array)
    if isinstance(number, float):
        number = number_in(capture, capture.ufunc(np.rint, "__call__", (number,), {}))
    if isinstance(number, float) and fits_everywhere(number):
        number = capture.record("math.trunc", math.trunc, (number,), {}, lambda: True, reads=True)
    return number if isinstance(number, int) else round(capture.elements.guard(array))


def decide_operands(capture: CallCapture, key: str, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    # In powers and shifts, the sign of the second operand decides the type of the result, or whether Python
    # raises.
    if key not in _BY_SIGN or type(operands[1]) is int and operands[1] >= 0:
        return operands
    if key == "power" and _expect_float_power(capture, *operands):
        return operands
    return tuple(
        capture.elements.guard(item, as_constants=True)
        if is_traced(item) and item._value in capture.read
        else item
        for item in operands
    )


def _expect_float_power(capture: CallCapture, base: Any, exponent: Any) -> bool:
    """Return True if a power of Python numbers is a real float, with a guard on a ``base`` that was read."""
    if not any(isinstance(item, float) for item in (base, exponent)) or any(
        isinstance(item, complex) for item in (base, exponent)
    ):
        return False
    if not (is_traced(base) and base._value in capture.read):
        return isinstance(base, (int, float)) and base > 0
    # A negative base may have a complex power, and a base of 0 may raise.
    name = "__ne__" if _is_whole(base, exponent) else "__gt__"
    if not getattr(operator, name)(base._seen, 0):
        return False
    _expect(capture, name, base, 0)
    return True


def _is_whole(base: Any, exponent: Any) -> bool:
    if is_traced(exponent):
        return False
    if not is_symbolic(exponent):
        return float(exponent).is_integer()
    # The answer becomes a guard, which a positive base does not need.
    return isinstance(exponent, int) or base._seen <= 0 and bool(exponent.is_integer())


def guard_against_errors(capture: CallCapture, key: str, operands: Sequence[Any], result: Any) -> None:
    """Guard against divisions by 0 and bad indices for which Python or NumPy raises, and targets do not."""
    if is_traced(result) and result._value in capture.weak and key in _DIVISIONS and is_traced(operands[1]):
        _expect(capture, "__ne__", operands[1], 0)
    if key in _INDEXED:
        _expect_inside(capture, operands)


def _expect_inside(capture: CallCapture, operands: Sequence[Any]) -> None:
    array, index = operands[0], operands[1] if isinstance(operands[1], tuple) else (operands[1],)
    is_plain = all(isinstance(item, (int, slice)) or is_symbolic(item) for item in index)
    # Next to an array, None or Ellipsis, a number does not belong to the axis of its position.
    if not (is_plain and is_traced(array)):
        return
    for axis, item in enumerate(index):
        if is_traced(item) and item._value in capture.read and not _is_place_in(item, array):
            _expect(capture, "__lt__", item, array.shape[axis])
            _expect(capture, "__ge__", item, -array.shape[axis])


def _expect(capture: CallCapture, name: str, item: Any, other: Any) -> None:
    capture.elements.guard_element(capture.operator(name, getattr(operator, name), item, other), bool, True)


def _is_place_in(item: Any, array: Any) -> bool:
    """Return True if ``item`` was read from a plain ``argmax`` or ``argmin`` of the 1-d array ``array``."""
    # Such an index is in bounds.
    graph = item._capture.recorder.graph
    read = graph.maker(item._value)
    found = graph.maker(read.inputs[0]) if read is not None and read.op.endswith(".item") else None
    if found is None or found.op not in _PLACES or found.params or len(found.inputs) != 1:
        return False
    return bool(is_traced(array) and array.ndim == 1 and found.inputs[0] is array._value)


def _size(capture: Any, a: Any, axis: Any = None) -> Any:
    if axis is None:
        return a.size
    axes = axis if isinstance(axis, tuple) else (axis,)
    return functools.reduce(operator.mul, (a.shape[operator.index(number)] for number in axes), 1)


def _of_types(function: Callable[..., Any]) -> Callable[..., Any]:
    def answer(capture: Any, *args: Any, **kwargs: Any) -> Any:
        # In NumPy 2 the result depends only on dtypes, so it is the same in all calls and needs no guard.
        return function(*(hint(seen_of(item)) for item in args), **kwargs)

    return answer


def _allclose(
    capture: Any, a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    return bool(np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan).all())


def _array_equal(capture: Any, a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    if tuple(np.shape(a1)) != tuple(np.shape(a2)):
        return False
    same = np.equal(a1, a2)
    return bool((same | (np.isnan(a1) & np.isnan(a2)) if equal_nan else same).all())


def _array_equiv(capture: Any, a1: Any, a2: Any) -> bool:
    try:
        np.broadcast_shapes(np.shape(a1), np.shape(a2))
    except ValueError:
        return False
    return bool(np.equal(a1, a2).all())


def _trim_zeros(capture: Any, filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    if filt.ndim != 1:
        raise TracingError(
            f"{capture.here()}: trim_zeros of an array of {filt.ndim} axes cannot be recorded; take a slice"
        )
    held = filt != 0
    if not held.any():
        return filt[:0]
    # Where the slice begins and ends is read from the array, and guarded.
    first = int(np.argmax(held)) if "f" in trim.lower() else 0
    last = int(np.argmax(held[::-1])) if "b" in trim.lower() else 0
    return filt[first : len(filt) - last]


def _text(function: Callable[..., Any]) -> Callable[..., Any]:
    def answer(capture: Any, a: Any, *args: Any, **kwargs: Any) -> Any:
        # The text may show any element, so all are guarded.
        capture.elements.guard(a)
        return function(a._seen, *args, **kwargs)

    return answer


# Functions that are answered without a recorded call of their own; they get the capture first.
ANSWERS: dict[str, Callable[..., Any]] = {
    "shape": lambda capture, a: a.shape,
    "size": _size,
    "ndim": lambda capture, a: a.ndim,
    "iscomplexobj": _of_types(np.iscomplexobj),
    "isrealobj": _of_types(np.isrealobj),
    "result_type": _of_types(np.result_type),
    "common_type": _of_types(np.common_type),
    "can_cast": _of_types(np.can_cast),
    "allclose": _allclose,
    "may_share_memory": share_memory,
    "shares_memory": share_memory,
    "array_equal": _array_equal,
    "array_equiv": _array_equiv,
    "array_repr": _text(np.array_repr),
    "array_str": _text(np.array_str),
    "array2string": _text(np.array2string),
    "trim_zeros": _trim_zeros,
    "broadcast_arrays": lambda capture, *args, subok=False: _broadcast(args),
}


def _broadcast(arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    seen = np.broadcast_shapes(*(tuple(map(hint, np.shape(item))) for item in arrays))
    shape: list[Any] = []
    for place in range(1, len(seen) + 1):
        sizes = [np.shape(item)[-place] for item in arrays if np.ndim(item) >= place]
        shape.insert(0, next((size for size in sizes if hint(size) == seen[-place]), seen[-place]))
    return tuple(np.broadcast_to(item, tuple(shape)) for item in arrays)


def _item(capture: Any, array: Any, *place: Any) -> Any:
    if place:
        index = place[0] if len(place) == 1 else place
        array = array[index] if isinstance(index, tuple) or array.ndim == 1 else array.reshape(-1)[index]
    # Raises NumPy's error if there are several elements.
    array._seen.item()
    if (number := number_in(capture, array)) is not None:
        return number
    found = capture.elements.guard(array, as_constants=True)
    while isinstance(found, list):
        found = found[0]
    return found


# Methods that are answered in the same way; they get the capture and the array first.
METHODS: dict[str, Callable[..., Any]] = {
    "item": _item,
    "tolist": lambda capture, array: capture.elements.guard(array, as_constants=True),
    "__array_namespace__": lambda capture, array, **kwargs: array._seen.__array_namespace__(**kwargs),
}

__all__ = ["ANSWERS", "METHODS", "is_traced"]
