"""Reads of array elements by Python (``if x.sum() > 0``, ``int(x.argmax())``).

A tracer has no elements. The function is therefore run once untraced, on the arrays of the call, which
notes what each instruction of the user's code reads (:class:`Answers`). The tracing that follows gets
these answers, each under a guard. JAX's own reads do not count, because JAX reads arrays at other
instructions than tracers.
"""

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
from ....sizes import Size, Symbol
from ...common.read_numbers import DTYPES, Reading
from ..equations import is_users
from ..sizes import current, hints, symbolic

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
    """Queues of the arrays that each instruction of the user's code reads in the untraced run."""

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
    """Return the position of the user's instruction that led to the call ``depth`` frames above the caller.

    Frames of patches are skipped. Return None if the instruction is not in the user's code.
    """
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


# ------------------------------------------------------------------------------------- what tracers answer
read_p = Primitive("read")
read_p.multiple_results = True


@read_p.def_abstract_eval
def _nothing(array: Any, *, seen: Any, number: Value | None = None) -> Any:
    return []


@dataclass(frozen=True, eq=False)
class ReadElements:
    """Parameter of a ``read`` equation: a number or nested lists. It is hashed by identity."""

    elements: Any


class TracerReads:
    """Answers of a recording's tracers to reads of their elements.

    answers: arrays that the untraced run read.
    reading: says whether numbers may become symbols, and notes that one did.
    numbers: graph values of the numbers that became symbols.
    """

    def __init__(self, answers: Answers, reading: Reading) -> None:
        self.answers, self.reading = answers, reading
        self.numbers: set[Value] = set()

    def elements(self, tracer: Any, depth: int, asked: Callable[[Any], bool] = lambda array: False) -> Any:
        """Return the elements that the user's current instruction reads, or None if it read none untraced.

        The elements are guarded, unless ``asked`` returns True for the array, as for the condition of a
        marked loop. ``depth`` is the number of frames between the caller and the read.

        Raise :class:`TracingError` if the untraced run read an array of another shape or dtype, or too
        large a one.
        """
        if (array := self._next(tracer, depth + 1)) is not None and not asked(array):
            _bind(tracer, seen=ReadElements(array.tolist()))
        return array

    def number(self, tracer: Any, depth: int) -> Any:
        """Return the only element of a tracer as a symbolic number.

        Return None if numbers may not become symbols, if the tracer is no integer or float of rank 0, or
        if the current instruction read nothing untraced.
        """
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
            own, 2, lambda array: name == "__bool__" and current().loops.asked(frame, own, bool(array))
        )
        return forward(original, tracer) if found is None else _READS[name](found)

    return answered


ANSWERS = tuple(Patch(jax.core.Tracer, name, replace_call, _answer(name)) for name in _READS)
