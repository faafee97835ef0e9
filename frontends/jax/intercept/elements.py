"""Reads of elements by Python, Python's ``math`` on sizes, and updates ``x.at[index].set(values)``."""

from __future__ import annotations

import functools
import operator
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType
from typing import Any

import jax
import numpy as np
from jax._src import core
from jax.extend.core import Primitive

from ....errors import TracingError
from ....forwarding import forward
from ....ir.node import Value
from ....ops.registry import ArraySpec
from ....recording.code.ownership import skip_patch_frames
from ....recording.patches import Patch, PatchSet, Session, note_call, patching, replace_call
from ....recording.patches.host_math import Symbols
from ....recording.patches.patch import Replacement
from ....sizes import Size, Symbol, compute_guarded, expression_of, hint_of, is_symbolic
from ...common.read_numbers import DTYPES, Reading
from ..calls import record_as
from ..equations import is_users
from ..names import SETITEM
from ..sizes import ReadNumber, current, decided, hints, is_jax, symbolic

# -------------------------------------------------------------------------------------------------- host math
# Python's ``math``, ``int``, ``float`` and ``len`` on symbolic sizes while a JAX function is traced.


def dimension_shims() -> list[Replacement]:
    # Keras calls this function.
    export = sys.modules.get("jax.export")
    asked = getattr(export, "is_symbolic_dim", None)
    return (
        [(vars(export), "is_symbolic_dim", lambda item: is_symbolic(item) or asked(item))]
        if export and asked
        else []
    )


def _length(item: Any) -> Any:
    return (
        item.shape[0]
        if isinstance(item, jax.core.Tracer) and item.ndim and is_symbolic(item.shape[0])
        else None
    )


def _number(item: Any) -> Any:
    if not isinstance(item, jax.core.Tracer) or (reads := current().shown.reads) is None:
        return item
    own = current().shown.own_of(item)
    number = None if own is None else reads.number(own, 2)
    return item if number is None else number


def _opened(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    operands = tuple(map(expression_of, args))
    is_open = all(isinstance(item, (Size, int, float)) for item in operands)
    # JAX's own code gets numbers.
    return operands if is_open and not is_jax(skip_patch_frames(sys._getframe(1))) else None


SYMBOLS = Symbols(
    is_symbolic,
    _opened,
    lambda function, operands: symbolic(compute_guarded(function, operands, decided)),
    _number,
    _length,
)


# ------------------------------------------------------------------------------------------------------ reads
# Reads of array elements by Python (``if x.sum() > 0``, ``int(x.argmax())``).
#
# A tracer has no elements. The function is therefore run once untraced, on the arrays of the call, which
# notes what each instruction of the user's code reads (:class:`Answers`). The tracing that follows gets these
# answers, each under a guard. JAX's own reads do not count, because JAX reads arrays at other instructions
# than tracers.

# The largest array that Python may read: its elements become constants of the recording.
MOST = 64
_READS: dict[str, Callable[[Any], Any]] = {
    "__bool__": bool, "__int__": int, "__float__": float, "__complex__": complex, "__index__": operator.index,
    "__array__": lambda elements: elements, "item": lambda elements: elements.item(),
    "tolist": lambda elements: elements.tolist(),
}  # fmt: skip
# File, function, first line of the function, and source position of an instruction.
Place = tuple[Any, ...]


class Answers:
    """Queues of the arrays that each instruction of the user's code read in the untraced run.

    During the tracing, each instruction gets its arrays again, in the same order.
    """

    def __init__(self) -> None:
        self._found: dict[Place, deque[Any]] = defaultdict(deque)

    def note(self, depth: int, array: Any) -> None:
        if (place := _place(depth + 1)) is not None:
            self._found[place].append(array)

    def next(self, depth: int) -> Any:
        place = _place(depth + 1)
        found = self._found.get(place) if place is not None else None
        return found.popleft() if found else None

    def are_used(self) -> bool:
        return not any(self._found.values())

    @contextmanager
    def noting(self) -> Iterator[None]:
        with patching(_of_arrays(), Session(self)):
            yield


def _place(depth: int) -> Place | None:
    # Frames of patches are not the user's code.
    frame = skip_patch_frames(sys._getframe(depth + 1))
    code = frame.f_code
    return (
        (code.co_filename, code.co_name, code.co_firstlineno, _position(code, frame.f_lasti))
        if is_users(code.co_filename)
        else None
    )


@functools.lru_cache(maxsize=1024)
def _position(code: CodeType, instruction: int) -> Any:
    # On Python 3.10, which has no column positions, the offset of the instruction serves as well.
    return list(code.co_positions())[instruction // 2] if hasattr(code, "co_positions") else instruction


@functools.cache
def _of_arrays() -> PatchSet:
    concrete = type(jax.numpy.zeros(()))
    return PatchSet(*(Patch(concrete, name, note_call, _note) for name in _READS))


def _note(session: Session, array: Any, *args: Any, **kwargs: Any) -> None:
    session.trace.note(2, array)


# -------------------------------------------------------------------------------------- answers of tracers
read_p = Primitive("read")
read_p.multiple_results = True


@read_p.def_abstract_eval
def _nothing(array: Any, *, seen: Any, number: Value | None = None) -> Any:
    return []


@dataclass(frozen=True, eq=False)
class ReadElements:
    """Parameter of a ``read`` equation: a number, or the list of an array. It is hashed by identity."""

    elements: Any


class TracerReads:
    """Answers of a recording's tracers to reads of their elements.

    answers: arrays that the untraced run read.
    reading: object that decides whether numbers may become symbols, and stores that one did.
    numbers: graph values of the numbers that became symbols.
    """

    def __init__(self, answers: Answers, reading: Reading) -> None:
        self.answers, self.reading = answers, reading
        self.numbers: set[Value] = set()

    def elements(self, tracer: Any, depth: int, asked: Callable[[Any], bool] = lambda array: False) -> Any:
        """Return the next array that the user's current instruction has read untraced, or None.

        Add an equation that reads the array, unless ``asked`` returns True for it. ``depth`` is the number
        of frames from the caller to the user's code.
        """
        if (array := self._next(tracer, depth + 1)) is not None and not asked(array):
            _bind(tracer, seen=ReadElements(array.tolist()))
        return array

    def number(self, tracer: Any, depth: int) -> Any:
        """Return the element of a 0-d tracer as a symbolic number, which an equation reads, or None."""
        if not self.reading.symbolic or tracer.ndim or tracer.dtype.kind not in "iuf":
            return None
        if (array := self._next(tracer, depth + 1)) is None:
            return None
        self.reading.any, seen = True, array.item()
        number = Value("number", ArraySpec((), DTYPES[type(seen)]))
        self.numbers.add(number)
        _bind(tracer, seen=ReadElements(seen), number=number)
        return symbolic(Size.of(Symbol(number, 0, seen, "number")))

    def _next(self, tracer: Any, depth: int) -> Any:
        array = self.answers.next(depth + 1)
        if array is None:
            return None
        if array.dtype != tracer.dtype or tuple(array.shape) != hints(tracer.shape):
            raise TracingError(
                f"Python reads the elements of an array of {tracer.dtype} with the sizes "
                f"{hints(tracer.shape)}, which is one of "
                f"{array.dtype} with the sizes {tuple(array.shape)} in a run without tracing: the function "
                "does not do the same twice"
            )
        if array.size > MOST:
            raise TracingError(
                f"Python reads {array.size} elements of an array, which would be constants of the recording. "
                "Compute with the array "
                "instead (jnp.where, jax.lax.cond), or return it"
            )
        return np.asarray(array)


def _bind(tracer: Any, **read: Any) -> None:
    # Inside of a transformation the current trace is another one, but the read belongs to the recording's.
    with core.set_current_trace(tracer._trace):
        read_p.bind(tracer, **read)


def _answer(name: str) -> Callable[..., Any]:
    def answered(session: Session, original: Any, tracer: Any, *args: Any, **kwargs: Any) -> Any:
        shown = session.trace
        own = None if shown.reads is None or args or kwargs else shown.own_of(tracer)
        if own is None:
            return forward(original, tracer, *args, **kwargs)
        if name == "item" and (number := shown.reads.number(own, 2)) is not None:
            return number
        frame = skip_patch_frames(sys._getframe(1))
        found = shown.reads.elements(
            own,
            2,
            lambda array: name == "__bool__" and current().loops.mark_condition(frame, own, bool(array)),
        )
        return forward(original, tracer) if found is None else _READS[name](found)

    return answered


ANSWERS = tuple(Patch(jax.core.Tracer, name, replace_call, _answer(name)) for name in _READS)


# ---------------------------------------------------------------------------------------------------- updates
# Updates ``x.at[index].set(values)`` whose index has symbolic numbers, recorded as one call.
#
# JAX would turn them into a scatter, for which it needs the numbers.

_COMBINED: dict[str, Callable[[Any, Any], Any] | None] = {
    "set": None, "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "mul": operator.mul,
    "min": jax.numpy.minimum, "max": jax.numpy.maximum,
}  # fmt: skip
_OTHERS = ("get", "apply", "divide", "power")


@functools.cache
def update_patches() -> PatchSet:
    # The first call initializes JAX's backend.
    reference = type(jax.numpy.zeros(1).at[0])
    probes = [
        Patch(reference, name, replace_call, _answer_update(name))
        for name in _COMBINED
        if hasattr(reference, name)
    ]
    return PatchSet(*probes, *(Patch(reference, name, replace_call, _left_to_jax) for name in _OTHERS))


def _left_to_jax(
    session: Session, original: Callable[..., Any], reference: Any, *args: Any, **options: Any
) -> Any:
    return forward(original, type(reference)(reference.array, _for_jax(reference.index)), *args, **options)


def _answer_update(name: str) -> Callable[..., Any]:
    def updated(
        session: Session, original: Callable[..., Any], reference: Any, values: Any, **options: Any
    ) -> Any:
        x, index = reference.array, reference.index
        items = index if type(index) is tuple else (index,)
        if not any(map(_has_symbol, items)):
            return forward(original, reference, values, **options)
        if (
            options
            or not isinstance(x, jax.Array)
            or not all(map(_is_plain, items))
            or not _is_inside(items, x)
        ):
            return forward(original, type(reference)(x, _for_jax(index)), values, **options)
        if (combine := _COMBINED[name]) is not None:
            # Integers and slices select each element at most once, so the method is a read followed by a
            # write.
            values = combine(x[index], values)
        values = jax.numpy.asarray(values).astype(x.dtype)
        return record_as(SETITEM, _set_elements, (x, index, values))

    return updated


def _set_elements(x: Any, index: Any, values: Any) -> Any:
    return x.at[_for_jax(index)].set(values)


def _parts(item: Any) -> tuple[Any, ...]:
    return (item.start, item.stop, item.step) if isinstance(item, slice) else (item,)


def _has_symbol(item: Any) -> bool:
    return any(map(is_symbolic, _parts(item)))


def _is_plain(item: Any) -> bool:
    if isinstance(item, slice):
        is_forward = item.step is None or (type(item.step) is int and item.step > 0)
        return is_forward and not any(isinstance(part, ReadNumber) for part in _parts(item))
    return item is Ellipsis or type(item) is int or (is_symbolic(item) and type(item) is not ReadNumber)


def _is_inside(items: tuple[Any, ...], x: Any) -> bool:
    # JAX clamps or drops other indices.
    try:
        # NumPy checks the index on an array of this shape that takes no memory.
        np.broadcast_to(np.bool_(), tuple(hint_of(expression_of(size)) for size in x.shape))[
            tuple(map(_now, items))
        ]
    except IndexError:
        return False
    return True


def _now(item: Any) -> Any:
    parts = [hint_of(expression_of(part)) for part in _parts(item)]
    return slice(*parts) if isinstance(item, slice) else parts[0]


def _for_jax(index: Any) -> Any:
    if type(index) is tuple:
        return tuple(map(_for_jax, index))
    if isinstance(index, slice):
        return slice(*(decided(expression_of(part)) for part in _parts(index)))
    return index.__jax_array__() if is_symbolic(index) else index
