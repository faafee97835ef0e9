"""Proxies for NumPy arrays and scalars while a function is recorded, with their sizes and layouts.

They are no arrays, so C code has no memory to read their elements from.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...errors import TracingError
from ...forwarding import forward
from ...ir.node import Value
from ...sizes import Size, SymbolicNumber, apply, expression_of, hint_of, product

# ------------------------------------------------------------------------------------------------------ sizes
# Symbolic sizes of traced NumPy arrays.


class SizeNumber(SymbolicNumber):
    """Symbolic number of a recording, which functions of NumPy accept."""

    __slots__ = ("__weakref__", "capture", "expression")

    def __init__(self, capture: Any, expression: Size) -> None:
        self.capture, self.expression = capture, expression

    def decide(self, size: Size) -> Any:
        return self.capture.decide(size)

    def symbolic(self, expression: Any) -> Any:
        return symbolic(self.capture, expression)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return self.capture.ufunc(ufunc, method, inputs, kwargs)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.number(), dtype)


def symbolic(capture: Any, expression: Any) -> Any:
    return SizeNumber(capture, expression) if isinstance(expression, Size) else expression


def hint(item: Any) -> Any:
    return hint_of(expression_of(item))


# ----------------------------------------------------------------------------------------------------- traced
class Traced:
    """Proxy for a NumPy array or scalar, or a Python number, while recording.

    _capture: the recording that the proxy belongs to.
    _seen: the array or scalar with its current elements.
    _value: its value in the graph.
    """

    __slots__ = ("__weakref__", "_capture", "_seen", "_value")
    # Backends test for this attribute.
    stands_for_array = True

    def __init__(self, capture: Any, seen: Any, value: Value) -> None:
        self._capture, self._seen, self._value = capture, seen, value

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        # `isinstance` asks for this, so the proxy passes for an array, a NumPy scalar or a Python number.
        return type(self._seen.item() if self._value in self._capture.weak else self._seen)

    # ------------------------------------------------------------------------------ NumPy's protocols
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return self._capture.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self._capture.function(function, args, kwargs)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self._capture.elements.refuse()

    # ------------------------------------------------------------------------------ attributes
    def __getattr__(self, name: str) -> Any:
        return self._capture.attribute(self, name)

    @property
    def dtype(self) -> Any:
        return self._seen.dtype

    @property
    def ndim(self) -> int:
        return int(self._seen.ndim)

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(
            symbolic(self._capture, self._capture.size(self._value, axis)) for axis in range(self.ndim)
        )

    # ------------------------------------------------------------------------------ conversions to Python
    def __bool__(self) -> bool:
        answer = forward(bool, self._seen)
        return (
            answer
            if self._capture.loops.mark_condition(sys._getframe(1), self, answer)
            else self._python(bool)
        )

    def __int__(self) -> int:
        return self._python(int)

    def __float__(self) -> float:
        return self._python(float)

    def __complex__(self) -> complex:
        return self._python(complex)

    def __index__(self) -> int:
        return self._python(operator.index)

    def _python(self, convert: Callable[[Any], Any]) -> Any:
        answer = forward(convert, self._seen)
        return self._capture.elements.guard_element(self, convert, answer)

    def __repr__(self) -> str:
        self._capture.elements.guard(self)
        return repr(self._seen)

    def __str__(self) -> str:
        self._capture.elements.guard(self)
        return str(self._seen)

    def __format__(self, spec: str) -> str:
        self._capture.elements.guard(self)
        return format(self._seen, spec)

    def __len__(self) -> int:
        # Raises NumPy's error for a scalar.
        forward(len, self._seen)
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Any]:
        forward(iter, self._seen)
        steps = self._capture.loops.steps_of(self)
        found = None if steps is None else self._capture.loops.run(sys._getframe(1), steps)
        # Each item is read when the user's code asks for it, which is where the code names it.
        return (self[i] for i in range(len(self))) if found is None else found

    def __contains__(self, item: Any) -> bool:
        return bool((self == item).any())

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TracingError(
            f"{self._capture.here()}: an array cannot be pickled while the function is recorded"
        )

    def __copy__(self) -> Any:
        return self._capture.method(self, "copy", (), {})

    def __deepcopy__(self, memo: Any) -> Any:
        return self._capture.method(self, "copy", (), {})

    def __divmod__(self, other: Any) -> Any:
        return np.divmod(self, other)

    def __rdivmod__(self, other: Any) -> Any:
        return np.divmod(other, self)

    def __round__(self, digits: int | None = None) -> Any:
        return self._capture.rounded(self, digits)

    def __getitem__(self, index: Any) -> Any:
        return self._capture.getitem(self, index)

    __hash__ = None  # type: ignore[assignment]


class TracedArray(Traced):
    """Proxy for an ``np.ndarray``. Writes to its elements are recorded."""

    __slots__ = ()

    def __setitem__(self, index: Any, item: Any) -> None:
        self._capture.setitem(self, index, item)

    def __setattr__(self, name: str, item: Any) -> None:
        if name in Traced.__slots__:
            object.__setattr__(self, name, item)
        elif name in ("real", "imag", "flat"):
            getattr(self, name)[...] = item
        else:
            raise TracingError(
                f"{self._capture.here()}: assigning to {name} of an array cannot be recorded; use reshape, "
                "astype or view instead"
            )


class TracedScalar(Traced):
    """Proxy for a NumPy scalar or a Python number, which are immutable."""

    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]
        # The hash depends on the element, so the element is guarded.
        self._capture.elements.guard(self)
        return hash(self._seen)


def _binary(name: str, compute: Callable[[Any, Any], Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def forward(self: Traced, other: Any) -> Any:
        return self._capture.operator(name, compute, self, other)

    def reflected(self: Traced, other: Any) -> Any:
        return self._capture.operator(name, compute, other, self)

    return forward, reflected


def _unary(name: str, compute: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda self: self._capture.operator(name, compute, self)


def _in_place(ufunc: Any) -> Callable[..., Any]:
    return lambda self, other: self._capture.ufunc(ufunc, "__call__", (self, other), {"out": (self,)})


# For each operator the function in Python's `operator`, and the ufunc of the in-place operator.
BINARY: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "add": (operator.add, np.add), "sub": (operator.sub, np.subtract), "mul": (operator.mul, np.multiply),
    "truediv": (operator.truediv, np.true_divide), "floordiv": (operator.floordiv, np.floor_divide),
    "mod": (operator.mod, np.remainder), "pow": (operator.pow, np.power),
    "matmul": (operator.matmul, np.matmul), "and": (operator.and_, np.bitwise_and),
    "or": (operator.or_, np.bitwise_or), "xor": (operator.xor, np.bitwise_xor),
    "lshift": (operator.lshift, np.left_shift), "rshift": (operator.rshift, np.right_shift),
}  # fmt: skip
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
    "ge": operator.ge,
}  # fmt: skip
UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": operator.neg, "pos": operator.pos, "abs": operator.abs, "invert": operator.invert,
}  # fmt: skip
for _name, (_compute, _ufunc) in BINARY.items():
    _forward, _reflected = _binary(f"__{_name}__", _compute)
    setattr(Traced, f"__{_name}__", _forward)
    setattr(Traced, f"__r{_name}__", _reflected)
    setattr(TracedArray, f"__i{_name}__", _in_place(_ufunc))
for _name, _compare in COMPARISONS.items():
    setattr(Traced, f"__{_name}__", _binary(f"__{_name}__", _compare)[0])
for _name, _negate in UNARY.items():
    setattr(Traced, f"__{_name}__", _unary(f"__{_name}__", _negate))


def is_traced(item: Any) -> bool:
    return type(item) in (TracedArray, TracedScalar)


def proxy_of(capture: Any, seen: Any, value: Value) -> Any:
    return (TracedArray if isinstance(seen, np.ndarray) else TracedScalar)(capture, seen, value)


def seen_of(item: Any) -> Any:
    return item._seen if is_traced(item) else item


def owner_of(array: Any) -> Any:
    while (base := getattr(array, "base", None)) is not None:
        array = base
    return array


Call = tuple[Callable[..., Any], tuple[Any, ...]]


def clamp_index(function: Callable[..., Any], args: tuple[Any, ...]) -> Call:
    """Replace traced integers of an index that are out of bounds, and return the call.

    This applies to an index of numbers and slices. Other calls are returned unchanged.
    """
    if function not in (operator.getitem, operator.setitem):
        return function, args
    array, index, *item = args
    parts = index if type(index) is tuple else (index,)
    inside = list(_clamped_parts(np.shape(seen_of(array)), parts))
    if len(inside) < len(parts):
        return function, args
    return function, (array, tuple(inside) if type(index) is tuple else inside[0], *item)


def _clamped_parts(shape: tuple[int, ...], parts: tuple[Any, ...]) -> Iterator[Any]:
    for size, part in zip(shape, parts):
        if (
            isinstance(part, TracedScalar)
            and np.issubdtype(part.dtype, np.integer)
            and not -size <= part._seen < size
        ):
            yield max(size - 1, 0)
        elif isinstance(part, (int, slice, TracedScalar)):
            yield part
        else:
            return


# ---------------------------------------------------------------------------------------------------- layouts
# Memory layout of traced arrays: their flags, and whether two of them share memory.

_LAYOUT = {"C": "c_contiguous", "F": "f_contiguous", "CONTIGUOUS": "c_contiguous", "FORTRAN": "f_contiguous"}
# Flags that follow from strides and sizes.
_NAMES = frozenset({"c_contiguous", "f_contiguous", "contiguous", "fortran", "fnc", "forc"})
_OF_MEMORY = {"W": "writeable", "O": "owndata", "A": "aligned"}


class Flags:
    """Flags of a traced array, as ``array.flags``."""

    def __init__(self, array: Traced) -> None:
        self._array = array

    def __getattr__(self, name: str) -> bool:
        capture, seen = self._array._capture, self._array._seen
        if name in _NAMES:
            capture.reads_layout = True
            return bool(getattr(seen.flags, name))
        if name not in _OF_MEMORY.values():
            raise AttributeError(f"an array has no flag {name!r}")
        # Memory that the caller passed in, or that the function stores, may be writeable or owned in other
        # calls.
        given = {id(owner_of(array)): array for array in capture.written.memory.values()}.get(
            id(owner_of(seen))
        )
        # A read-only view of a writeable array was made read-only by the function.
        is_known = given is None or name == "aligned" or given.flags.writeable and not seen.flags.writeable
        if not is_known:
            raise TracingError(
                f"{capture.here()}: flags.{name} of an array that the function is given or keeps cannot be "
                "recorded: another call may give "
                "one that differs. Copy the array first"
            )
        return bool(getattr(seen.flags, name))

    def __getitem__(self, name: str) -> bool:
        short = name.upper()
        return bool(getattr(self, _LAYOUT.get(short) or _OF_MEMORY.get(short) or short.lower()))

    def __setitem__(self, name: str, item: Any) -> None:
        setattr(self, _OF_MEMORY.get(name.upper(), name.lower()), item)

    def __setattr__(self, name: str, item: Any) -> None:
        if name != "_array":
            raise TracingError(f"{self._array._capture.here()}: setting flags of an array cannot be recorded")
        object.__setattr__(self, name, item)


def share_memory(capture: Any, a: Any, b: Any, max_work: Any = None) -> bool:
    """Return True if two arrays share memory, as for ``np.shares_memory``.

    Raise :class:`TracingError` if this cannot be decided, such as for two parts of an array.
    """
    one, other = seen_of(a), seen_of(b)
    if not (isinstance(one, np.ndarray) and isinstance(other, np.ndarray)) or owner_of(one) is not owner_of(
        other
    ):
        return False
    # Without elements, there is no memory to share. Symbolic sizes are guarded by this comparison.
    if not all(array.size > 0 for array in (a, b)):
        return False
    # A part with elements shares memory with the array itself. One that may be it by chance is guarded.
    conditions = [_is_whole(capture, array) for array in (a, b)]
    if any(holds is True for holds in conditions) or any(map(capture.decide, conditions)):
        return True
    raise TracingError(
        f"{capture.here()}: whether two parts of an array share memory may depend on its sizes, and cannot "
        "be recorded. Ask for the array "
        "itself, or copy a part"
    )


def _is_whole(capture: Any, array: Any) -> Any:
    """Compare the size of ``array`` with that of its owner; return a bool or a condition on sizes."""
    seen = whole = seen_of(array)
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    repeats = any(size > 1 and not step for size, step in zip(seen.shape, seen.strides))
    if repeats or seen.nbytes != whole.nbytes:
        return False
    if not is_traced(array):
        return True
    own, base = (
        product(capture.size(value, axis) for axis in range(value.ndim)) * np.dtype(value.dtype).itemsize
        for value in (array._value, capture.recorder.base_of(array._value))
    )
    return apply("eq", own, base)
