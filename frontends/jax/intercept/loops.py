"""Python loops in a traced function, and ``jax.lax`` loops with a symbolic trip count.

No nodes or values exist before the traced program is read, so a loop mark is an equation of the program,
whose operands are arrays in the loop's variables.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from types import FunctionType
from typing import Any, Protocol

import jax
import numpy
import numpy as np
from jax._src import core
from jax.extend.core import Primitive

from ....forwarding import forward
from ....ir.node import Origin, Value
from ....ir.recorded_loop import Mark, VariableState
from ....ops.registry import ArraySpec
from ....recording import Recorder
from ....recording.code.ownership import skip_patch_frames
from ....recording.loop_marks import LoopCallbacks, LoopMarker, loop_shims
from ....recording.patches import Patch, Session, replace_call
from ....recording.patches.patch import Replacement
from ....sizes import Size, apply, expression_of, is_symbolic
from ..dtypes import dtype_name, is_key
from ..programs import ProgramReader
from ..sizes import current, decided, hints, symbolic

# ---------------------------------------------------------------------------------------------- counted loops
# Loops with a symbolic trip count (``lax.fori_loop`` to a size, ``lax.scan`` with ``length=``).
#
# JAX itself would need the number, and record it as a constant.


def symbolic_fori_loop(original: Callable[..., Any]) -> Callable[..., Any]:
    thread = threading.get_ident()

    def fori_loop(
        lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, *, unroll: Any = None
    ) -> Any:
        if (
            # Patches replace the function for all threads, but only one is recorded.
            threading.get_ident() != thread
            or not (is_symbolic(lower) or is_symbolic(upper))
            or not all(map(_is_known, (lower, upper)))
        ):
            return forward(original, lower, upper, body_fun, init_val, unroll=unroll)
        length = expression_of(upper) - expression_of(lower)
        # A size is never negative, but a difference of sizes may be.
        is_size = type(lower) is int and lower == 0
        if not is_size and decided(apply("lt", length, 0) if isinstance(length, Size) else length < 0):
            length = 0
        first = jax.numpy.asarray(lower)
        steps = jax.lax.iota(first.dtype, symbolic(length))
        steps = steps if type(lower) is int and lower == 0 else first + steps
        last, _ = jax.lax.scan(lambda held, i: (body_fun(_weak(i), held), None), init_val, steps)
        return last

    return fori_loop


def symbolic_scan(original: Callable[..., Any]) -> Callable[..., Any]:
    thread = threading.get_ident()

    def scan(
        f: Callable[[Any, Any], Any],
        init: Any,
        xs: Any = None,
        length: Any = None,
        reverse: bool = False,
        unroll: Any = 1,
        **options: Any,
    ) -> Any:
        if threading.get_ident() != thread or not is_symbolic(length):
            return forward(original, f, init, xs, length, reverse, unroll, **options)
        rows = jax.tree.leaves(xs)
        if not rows:
            steps = jax.lax.iota("int32", length)
            return forward(
                original, lambda held, _: f(held, xs), init, steps, None, reverse, unroll, **options
            )
        is_same = all(expression_of(numpy.shape(row)[0]) == expression_of(length) for row in rows)
        return forward(original, f, init, xs, None if is_same else length, reverse, unroll, **options)

    return scan


def _is_known(item: Any) -> bool:
    return is_symbolic(item) or type(item) is int


def _weak(i: Any) -> Any:
    # The index of JAX's own loop is weakly typed between int bounds, so `i * x` has the dtype of `x`. The
    # public function cannot set the weak type.
    return jax.lax.convert_element_type_p.bind(i, new_dtype=i.dtype, weak_type=True, sharding=None)


# ------------------------------------------------------------------------------------------------------ loops
mark_p = Primitive("mark")
mark_p.multiple_results = True
mark_p.def_abstract_eval(lambda *arrays, note: [])


class OwnTracers(Protocol):
    """Protocol of the object that knows which tracers belong to a recording."""

    trace: Any

    def is_own(self, item: Any) -> bool: ...


class TracedLoops(LoopMarker):
    """Marker of the iterations of Python loops during one tracing.

    Until :meth:`settle` runs, marks contain indices of positions instead of positions, and placeholder values
    instead of values of the graph.
    """

    def __init__(
        self, recorder: Recorder, shown: OwnTracers, here: Callable[[], Origin], is_on: bool
    ) -> None:
        self._shown, self._is_on = shown, is_on
        self._known: dict[int, tuple[Any, Value]] = {}
        self._waiting: list[tuple[Any, Value]] = []
        self._positions: list[int] = []
        self._values: dict[Value, Value] = {}
        super().__init__(
            recorder,
            LoopCallbacks(
                "jax.numpy", self._value_of, expression_of, symbolic, here, self._is_open, self._position
            ),
        )

    def shims(self, functions: Iterable[FunctionType]) -> list[Replacement]:
        return loop_shims(functions, lambda: self if self._is_open() else None)

    def reads_loop_index(self, item: Any) -> bool:
        size = expression_of(item)
        return isinstance(size, Size) and any(symbol.source in self.steps for symbol in size.symbols())

    def _is_open(self) -> bool:
        return self._is_on and core.trace_ctx.trace is self._shown.trace

    def _value_of(self, item: Any) -> tuple[Value, Any] | None:
        if not isinstance(item, jax.Array) or (
            isinstance(item, core.Tracer) and not self._shown.is_own(item)
        ):
            return None
        if id(item) not in self._known:
            self._known[id(item)] = item, Value("held", ArraySpec(hints(item.shape), dtype_name(item.dtype)))
            self._waiting.append(self._known[id(item)])
        shape = tuple(map(expression_of, item.shape))
        return self._known[id(item)][1], (bool(getattr(item, "weak_type", False)), is_key(item), shape)

    def _position(self) -> int:
        waiting, self._waiting, number = self._waiting, [], len(self._positions)
        self._positions.append(-1)

        def note(reader: ProgramReader, operands: list[Any]) -> None:
            self._positions[number] = len(reader.nodes)
            for (_, value), operand in zip(waiting, operands, strict=True):
                self._values[value] = (
                    operand if isinstance(operand, Value) else reader.constant(np.asarray(operand))
                )

        mark_p.bind(*(item for item, _ in waiting), note=note)
        return number

    def settle(self, behind: int) -> None:
        """Replace placeholders in loops by values of the graph, and indices by positions among its nodes.

        ``behind`` is the number of nodes that were inserted in front of those of the traced program.
        """
        self._positions = [place + behind for place in self._positions]
        for loop in self.found:
            loop.marks[:] = map(self._settled, loop.marks)
            loop.conditions[:] = ((self._values[value], answer) for value, answer in loop.conditions)

    def _settled(self, mark: Mark) -> Mark:
        state = {
            path: VariableState(held.kind, self._values.get(held.item, held.item))
            for path, held in mark.state.items()
        }
        first = None if mark.first_condition is None else self._positions[mark.first_condition]
        return replace(mark, position=self._positions[mark.position], state=state, first_condition=first)


def read_mark(reader: ProgramReader, equation: Any, operands: list[Any]) -> list[Any]:
    equation.params["note"](reader, operands)
    return []


def _rows(session: Session, original: Callable[..., Any], array: Any) -> Any:
    loops: TracedLoops = current().loops
    steps = loops.steps_of(array)
    found = None if steps is None else loops.run(skip_patch_frames(sys._getframe(1)), steps)
    return forward(original, array) if found is None else found


ROWS = Patch(core.Tracer, "__iter__", replace_call, _rows)
