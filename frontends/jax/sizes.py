"""Symbolic sizes, as JAX and the user's code see them while recording.

A concrete answer (``<``, ``int``) is the current one, and may add a guard. Without a guard, ``==`` may answer
False for sizes that are equal.
"""

from __future__ import annotations

import ast
import dis
import functools
import linecache
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any, Protocol

import jax
import numpy as np
from jax.extend.core import Primitive

from ...errors import TracingError
from ...forwarding import forwards
from ...ops.rules import nonnegative
from ...sizes import Size, SymbolicNumber, apply, expression_of, hint_of
from ...sizes.algebra import without_common_factors
from ...sizes.number import unary

# ------------------------------------------------------------------------------ comparisons and cache lookups
# Tests whether a comparison of sizes needs the answer, or is a cache lookup of JAX.
#
# JAX keys caches by sizes and compares keys from C, so the calling frame is whoever called JAX, including
# user code. Such a comparison must answer "not known to be equal" without a guard. A comparison in Python
# source, and a lookup in a set, dict or tuple, needs the answer. The current instruction, and the name it
# calls, tell these apart. A method that compares two objects by their parts (of a dataclass) asks on behalf
# of its caller.

_INTERNAL = ("jax.", "jaxlib.", "graph_compiler.", "opt_einsum.", "functools.", "weakref.", "flax.core.lift.")
_COMPARES = frozenset(dis.opmap[name] for name in ("COMPARE_OP", "CONTAINS_OP"))
_CALLS = frozenset(code for name, code in dis.opmap.items() if name.startswith("CALL"))
# Bare names of functions that may look up a size among others.
_CONTAINERS = frozenset({
    "set", "frozenset", "dict", "Counter", "OrderedDict", "defaultdict", "fromkeys", "count", "index", "get",
    "pop", "remove", "discard", "add", "update", "setdefault", "isdisjoint", "issubset", "issuperset",
    "union", "intersection", "difference", "symmetric_difference", "__contains__", "__getitem__", "hash",
    "eq", "ne", "contains", "countOf", "indexOf", "unique", "list", "tuple", "next", "sum", "any", "all", "",
})  # fmt: skip


# Dataclasses and containers compare and hash their parts by the same method, so their caller decides whether
# the answer is needed.
_PARTS = frozenset({"__eq__", "__ne__", "__hash__"})


def asking_frame(frame: FrameType) -> FrameType:
    while frame.f_code.co_name in _PARTS and frame.f_back is not None:
        frame = frame.f_back
    return frame


def is_jax(frame: FrameType) -> bool:
    return _module(frame).startswith(("jax.", "jaxlib."))


def compares(frame: FrameType) -> bool:
    return frame.f_code.co_code[frame.f_lasti] in _COMPARES


def is_user_comparison(frame: FrameType) -> bool:
    if _module(frame).startswith(_INTERNAL):
        return False
    return (
        frame.f_code.co_code[frame.f_lasti] not in _CALLS
        or _called(frame.f_code, frame.f_lasti) in _CONTAINERS
    )


def _module(frame: FrameType) -> str:
    return f"{frame.f_globals.get('__name__', '')}."


@functools.lru_cache(maxsize=4096)
def _called(code: CodeType, place: int) -> str:
    """Return the last part of the name that the instruction at ``place`` calls, or an empty string."""
    # Python 3.10 has no column positions.
    if not hasattr(code, "co_positions"):
        return ""
    line, end, column, stop = list(code.co_positions())[place // 2]
    if line is None or end is None or column is None or stop is None:
        return ""
    lines = [linecache.getline(code.co_filename, number).encode() for number in range(line, end + 1)]
    if not all(lines):
        return ""
    lines[-1] = lines[-1][:stop]
    lines[0] = lines[0][column:]
    try:
        call = ast.parse(b"(" + b"".join(lines) + b")", mode="eval").body
    except SyntaxError:
        return ""
    function = getattr(call, "func", None)
    return str(getattr(function, "attr", None) or getattr(function, "id", ""))


# ------------------------------------------------------------------------------------------------------ sizes
# `_recording.now` is the recording of the thread.
_recording = threading.local()


class SizeRecording(Protocol):
    """Protocol of the recording that symbolic sizes belong to."""

    @property
    def shown(self) -> Any:
        """Tracers of this recording, and errors about their elements (:class:`HiddenTracers`)."""

    @property
    def loops(self) -> Any:
        """Marker of the iterations of Python loops (:class:`TracedLoops`)."""

    def note_given_up(self, way: str, problem: Exception) -> None:
        """Store and log that ``way``, an attempt to record a part of the function, failed."""

    def decide(self, size: Size) -> Any:
        """Return the number or bool that ``size`` is in the recorded call, with a guard if needed."""

    def knows(self, size: Size) -> bool:
        """Return True if all symbols of ``size`` belong to this recording."""

    def leaves_open(self, size: Size) -> bool:
        """Return True if the comparison ``size`` may answer "not equal" without a guard."""

    def size_of_axis(self, axis_name: str) -> Size:
        """Return the symbolic number of devices along a mesh axis. Register the axis if it is new."""


@contextmanager
def deciding(recording: SizeRecording) -> Iterator[None]:
    before, _recording.now = getattr(_recording, "now", None), recording
    try:
        yield
    finally:
        _recording.now = before


def decided(size: Any) -> Any:
    """Return the number or bool that ``size`` is in the recorded call, with a guard if needed.

    Return other objects than a ``Size`` unchanged.
    """
    if not isinstance(size, Size):
        return size
    recording = getattr(_recording, "now", None)
    if recording is None:
        raise TracingError(
            f"the size {size!r} was kept from a recording that is over; return it from the function instead"
        )
    return recording.decide(size)


def current() -> SizeRecording:
    recording: SizeRecording | None = getattr(_recording, "now", None)
    if recording is None:
        raise TracingError("a public function of JAX was kept from a recording that is over")
    return recording


def symbolic(size: Any) -> Any:
    """Return the object that user code sees for ``size``, or ``size`` itself if it is no ``Size``."""
    if not isinstance(size, Size):
        return size
    if size.type is bool:
        return decided(size)
    if size.type is float:
        return SymbolicFloat(size)
    return ReadNumber(size) if size.reads_elements() else Dimension(size)


# Functions of JAX that test whether a size is a number, and continue with the symbol if it is not. A name
# that a version of JAX lacks costs a guard.
_TAKE_SYMBOLS = frozenset(
    {
        "is_constant_dim",
        "_canonicalize_dimension",
        "convert_to_index",
        "canonicalize_axis",
        "is_dim",
        "to_dynamic_slice",
    }
)


def _is_jax_asking() -> bool:
    # Frame 1 is the method of the symbolic number, and frame 2 the code that calls it.
    return is_jax(sys._getframe(2))


def _larger_or_smaller(function: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    """Return the method ``max`` (``function`` is ``"ge"``) or ``min`` (``"lt"``) of symbolic sizes.

    With ``reflected``, ``self`` is the right operand.
    """

    def method(self: Any, other: Any) -> Any:
        operand = self.operand(other)
        if operand is None:
            return NotImplemented
        left, right = (operand, self.expression) if reflected else (self.expression, operand)
        # Sizes stay simple if the result is one operand, not an expression of both, so a guard decides.
        sure = _KNOWN[function](left, right)
        return symbolic(left if (decided(apply(function, left, right)) if sure is None else sure) else right)

    return method


def _at_least(left: Any, right: Any) -> bool | None:
    # Only for integers does `left < right` mean that `right - left - 1` is not negative.
    if type(hint_of(right)) is float or type(hint_of(left)) is float:
        return None
    return True if nonnegative(left - right) else False if nonnegative(right - left - 1) else None


def _negate(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


def _equal(left: Any, right: Any) -> bool | None:
    """Return True or False if two sizes are found to be equal or to differ in every call, otherwise None."""
    if type(hint_of(right)) is float or type(hint_of(left)) is float:
        return True if left == right else None
    difference = left - right
    if not isinstance(difference, Size):
        return bool(difference == 0)
    return False if nonnegative(difference - 1) or nonnegative(-difference - 1) else None


# ----------------------------------------------------------------------------------------- equality of sizes
# These return an operand of equal shape unchanged, and compute the same without the answer.
_SHORTCUTS = frozenset({"broadcast_in_dim", "reshape"})
# These set sizes of 1 aside, and compare the other sizes with each other later.
_CHECKS_LATER = frozenset({"filter_singleton_dims"})
# Variables in JAX's broadcasting that hold the sizes besides the one that is compared with 1.
_BROADCASTS = ("ds", "dlist")


def _leaves_open(condition: Any, frame: FrameType) -> bool:
    recording = getattr(_recording, "now", None)
    if recording is None or not recording.knows(condition):
        return True
    asking = asking_frame(frame)
    if is_jax(asking):
        return not compares(asking) or _is_broadcast(condition, frame) or recording.leaves_open(condition)
    return not is_user_comparison(asking)


def _key(size: Size, frame: FrameType) -> int:
    recording = getattr(_recording, "now", None)
    wanted = recording is not None and recording.knows(size) and is_user_comparison(asking_frame(frame))
    return hash(decided(size) if wanted else size)


def _caller_of_shapes(frame: FrameType) -> FrameType:
    caller = frame.f_back
    if frame.f_code.co_name != "definitely_equal" or caller is None or caller.f_back is None:
        return frame
    return caller.f_back if caller.f_code.co_name == "definitely_equal_shape" else frame


def _is_broadcast(condition: Any, frame: FrameType) -> bool:
    """Return True if JAX's result is known to be right although ``condition`` answers "not equal"."""
    (atom,) = condition.atoms()
    if _caller_of_shapes(frame).f_code.co_name in _SHORTCUTS:
        return True
    if frame.f_code.co_name != "definitely_equal":
        return False
    if type(atom.arguments[1]) is not int or atom.arguments[1] != 1:
        return False
    caller: FrameType | None = frame
    # The variables to look at are in JAX's callers of `definitely_equal`, a few frames up.
    for _ in range(4):
        caller = caller.f_back if caller is not None else None
        if caller is not None and is_jax(caller):
            if caller.f_code.co_name in _CHECKS_LATER and atom.arguments[0].hint != 1:
                return True
            beside = next((caller.f_locals[name] for name in _BROADCASTS if name in caller.f_locals), None)
            if beside is not None:
                own = atom.arguments[0]
                return own.hint != 1 or all(
                    expression_of(size) == own or hint_of(expression_of(size)) == 1 for size in beside
                )
    return False


_KNOWN: dict[str, Callable[[Any, Any], bool | None]] = {
    "ge": _at_least,
    "lt": lambda a, b: _negate(_at_least(a, b)),
    "le": lambda a, b: _at_least(b, a),
    "gt": lambda a, b: _negate(_at_least(b, a)),
    "eq": _equal,
    "ne": lambda a, b: _negate(_equal(a, b)),
}


_absolute = unary("abs")


class SymbolicFloat(SymbolicNumber):
    """Symbolic float, whose ``__class__`` is ``float`` for user code but not for JAX."""

    __slots__ = ("expression",)

    def __init__(self, expression: Size) -> None:
        self.expression = expression

    def decide(self, size: Size) -> Any:
        return decided(size)

    def symbolic(self, expression: Any) -> Any:
        return symbolic(expression)

    def operand(self, item: Any) -> Any:
        return super().operand(item.item() if isinstance(item, (np.integer, np.floating)) else item)

    def compared(self, function: str, other: Any) -> Any:
        sure = _KNOWN[function](self.expression, other)
        if sure is not None:
            return sure
        condition = apply(function, self.expression, other)
        if function in ("eq", "ne") and _leaves_open(condition, sys._getframe(2)):
            return function == "ne"
        return decided(condition)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        # `isinstance(size, float)` in user code must be true, but JAX would take a float for a constant.
        return SymbolicFloat if _is_jax_asking() else float

    def __hash__(self) -> int:
        return _key(self.expression, sys._getframe(1))

    def __bool__(self) -> bool:
        sure = _equal(self.expression, 0)
        return bool(decided(apply("ne", self.expression, 0))) if sure is None else not sure

    def __abs__(self) -> Any:
        return self if _at_least(self.expression, 0) else _absolute(self)

    def __jax_array__(self) -> Any:
        return as_array(self.expression)

    def __repr__(self) -> str:
        return repr(self.expression)

    @forwards
    def __format__(self, form: str) -> str:
        return repr(self) if not form else format(decided(self.expression), form)


# NumPy converts these numbers to object arrays and calls methods of the elements.
for _name in ("sqrt", "exp", "log", "log2"):
    setattr(SymbolicFloat, _name, unary(_name))


class Dimension(SymbolicFloat):
    """Symbolic int that JAX takes for a symbolic dimension."""

    __slots__ = ()

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        # `isinstance(size, int)` in user code must be true, but JAX would take an int for a concrete size.
        return Dimension if _is_jax_asking() else int

    @property
    def dimension_as_value(self) -> Callable[[], Any]:
        return self.__jax_array__

    def __hash__(self) -> int:
        return _key(self.expression, sys._getframe(1))

    @forwards
    def __index__(self) -> int:
        if sys._getframe(1).f_code.co_name in _TAKE_SYMBOLS and _is_jax_asking():
            raise TypeError("a symbolic size is no index")
        return int(decided(self.expression))

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        divisor = self.operand(other)
        dividend = self.expression
        # JAX infers a size of a reshape, which refuses a remainder, or asks whether there is one.
        if not _is_jax_asking() or type(hint_of(divisor)) is not int or hint_of(divisor) == 0:
            return super().__divmod__(other)
        if dividend.hint % hint_of(divisor) != 0:
            return super().__divmod__(other)
        dividend, divisor, common = without_common_factors(dividend, divisor)
        for atom in common:
            decided(apply("gt", Size.of(atom), 0))
        # Without a remainder, the quotient is that of the numbers without their signs.
        sign, divisor = (-1, -divisor) if hint_of(divisor) < 0 else (1, divisor)
        decided(apply("eq", dividend % divisor, 0))
        return symbolic(dividend // divisor * sign), 0

    max, rmax = _larger_or_smaller("ge"), _larger_or_smaller("ge", reflected=True)
    min, rmin = _larger_or_smaller("lt"), _larger_or_smaller("lt", reflected=True)


class ReadNumber(SymbolicFloat):
    """Symbolic int computed from elements of arrays. JAX takes it for a scalar."""

    __slots__ = ()

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return ReadNumber if _is_jax_asking() else int

    def __hash__(self) -> int:
        return _key(self.expression, sys._getframe(1))

    def __index__(self) -> int:
        return int(decided(self.expression))


# -------------------------------------------------------------------------------------- sizes as arrays
size_p = Primitive("size")


@size_p.def_abstract_eval
def _size_type(*, size: Size) -> Any:
    return jax.core.ShapedArray((), jax.dtypes.canonicalize_dtype(size.type), weak_type=True)


@size_p.def_impl
def _size_now(*, size: Size) -> Any:
    return jax.numpy.asarray(decided(size))


def as_array(size: Any) -> Any:
    return size_p.bind(size=size)


def _register(cls: type, python: type) -> None:
    # Instances of ``cls`` become weakly typed scalars of the Python number type ``python``.
    # JAX has no public API for this.
    from jax._src import core, dtypes

    core.pytype_aval_mappings[cls] = lambda item: jax.core.ShapedArray(
        (), jax.dtypes.canonicalize_dtype(python), weak_type=True
    )
    dtypes.register_weak_scalar_type(cls)
    if hasattr(dtypes, "python_scalar_types"):
        dtypes.python_scalar_types.add(cls)
        dtypes.python_scalar_types_to_dtypes[cls] = dtypes.python_scalar_types_to_dtypes[python]
        dtypes.register_canonicalize_value_handler(cls, None)
    # Before JAX 0.8.
    else:
        dtypes.python_scalar_dtypes[cls] = dtypes.python_scalar_dtypes[python]


_register(Dimension, int)
_register(ReadNumber, int)
_register(SymbolicFloat, float)


def _register_einsum() -> None:
    from jax._src.numpy import einsum

    handlers = getattr(einsum, "_poly_einsum_handlers", None)
    # The order of the products of an einsum is chosen for the current sizes. Every order is right.
    if handlers is not None:
        handlers[Dimension] = _contract_path


def _contract_path(*operands: Any, **options: Any) -> Any:
    from opt_einsum import contract_path  # type: ignore[import-untyped]

    # opt_einsum reads only the shapes, and a broadcast scalar has one without its memory.
    numbers = [
        np.broadcast_to(np.float32(0), hints(item.shape)) if hasattr(item, "shape") else item
        for item in operands
    ]
    _, contractions = contract_path(*numbers, **options)
    arrays = [item for item in operands if hasattr(item, "shape")]
    return arrays, contractions


def example_of(array: Any) -> Any:
    return jax.numpy.ones(hints(array.shape), array.dtype) if isinstance(array, jax.core.Tracer) else array


def hints(shape: Any) -> tuple[int, ...]:
    return tuple(int(hint_of(expression_of(dim))) for dim in shape)


_register_einsum()
