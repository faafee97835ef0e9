"""Marks on the iterations of loops of the user's code (:class:`LoopMarker`).

:func:`loop_shims` returns replacements of ``range``, ``enumerate``, ``zip`` and ``reversed`` for that.
"""

from __future__ import annotations

import ast
import functools
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import FrameType
from typing import Any, NamedTuple

from ..forwarding import forward
from ..ir.node import Instruction, Origin, Value
from ..ir.quotation import Position
from ..ir.recorded_loop import (
    CONDITIONS,
    LoopComparison,
    Mark,
    Path,
    RecordedLoop,
    VariableState,
    always_holds,
)
from ..ops.registry import ArraySpec
from ..registration import entry_method
from ..sizes import Size, Symbol, apply, hint_of, negate, substitute
from ..trees import Path as TreePath
from .code.names import names_read
from .code.ownership import is_users
from .code.syntax import definition_of
from .control_flow.conversion import is_converted
from .control_flow.loops import (
    MarkedItems,
    enumerated_items,
    range_items,
    reversed_items,
    row_items,
    takes,
    zipped_items,
)
from .loop_syntax import Found, Purity, for_at, for_over, is_given_to, is_source, while_asking
from .patches.builtin_names import ClassShim
from .patches.patch import Replacement

_NUMBERS = frozenset({int, float})
# Depth of nested calls in which an argument is followed.
_DEEPEST = 3


def counting_arguments(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> frozenset[TreePath]:
    """Return paths in ``(args, kwargs)`` of numbers that may be trip counts in ``function``."""
    if _NUMBERS.isdisjoint(map(type, (*args, *kwargs.values()))):
        return frozenset()
    function = function if isinstance(function, types.FunctionType) else entry_method(function, function)
    plain = function.__func__ if isinstance(function, types.MethodType) else function
    if not isinstance(plain, types.FunctionType):
        return frozenset()
    if is_converted(plain):
        given = [
            *(((0, place), item) for place, item in enumerate(args)),
            *(((1, name), item) for name, item in kwargs.items()),
        ]
        return frozenset(path for path, item in given if type(item) in _NUMBERS)
    names = _counting(plain, _DEEPEST)
    own = _positional(plain)[int(isinstance(function, types.MethodType)) :]
    found: list[tuple[TreePath, Any]] = [
        ((0, place), item) for place, (name, item) in enumerate(zip(own, args)) if name in names
    ]
    found += [((1, name), item) for name, item in kwargs.items() if name in names]
    return frozenset(path for path, item in found if type(item) is int)


def _counting(function: types.FunctionType, depth: int) -> frozenset[str]:
    code = function.__code__
    found = set(_bounds(code))
    for name, given in _calls(code) if depth else ():
        called = _held(function, name)
        if isinstance(called, types.FunctionType) and is_users(called):
            inner = _counting(called, depth - 1)
            found.update(own for own, theirs in zip(given, _positional(called)) if theirs in inner)
    return frozenset(found)


def _held(function: types.FunctionType, name: str) -> Any:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    try:
        return cells[name].cell_contents if name in cells else function.__globals__.get(name)
    except ValueError:
        return None


def _positional(function: types.FunctionType) -> tuple[str, ...]:
    return function.__code__.co_varnames[: function.__code__.co_argcount]


@functools.lru_cache(maxsize=1024)
def _definition(code: types.CodeType) -> ast.FunctionDef | None:
    return definition_of(code) if is_source(code) else None


@functools.lru_cache(maxsize=1024)
def _calls(code: types.CodeType) -> tuple[tuple[str, tuple[str, ...]], ...]:
    definition = _definition(code)
    calls = (
        (node for node in ast.walk(definition) if isinstance(node, ast.Call))
        if definition is not None
        else ()
    )
    return tuple(
        (call.func.id, tuple(getattr(item, "id", "") for item in call.args))
        for call in calls
        if isinstance(call.func, ast.Name)
    )


@functools.lru_cache(maxsize=1024)
def _bounds(code: types.CodeType) -> frozenset[str]:
    definition = _definition(code) if "range" in code.co_names else None
    loops = (
        (node for node in ast.walk(definition) if isinstance(node, ast.For)) if definition is not None else ()
    )
    calls = (
        call
        for loop in loops
        for call in ast.walk(loop.iter)
        if isinstance(call, ast.Call) and _is_range(call)
    )
    return frozenset(
        part.id
        for call in calls
        for argument in call.args
        for part in ast.walk(argument)
        if isinstance(part, ast.Name)
    )


def _is_range(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "range"


_INDEX, _TRUTH = ArraySpec((), "int64"), ArraySpec((), "bool")
_MOST_PARTS = 64
_TELLING, _MANY = 6, 32
"""Number of iterations to record before the rest may run unrecorded, and the least number worth that."""


class LoopCallbacks(NamedTuple):
    """Callbacks of a frontend for marking loops.

    library: name of the module whose functions express the loop (``"jax.numpy"``).
    value_of(item): the value of an array, and a key that compares further properties of it (such as
        ``requires_grad``); None for other objects.
    expression_of(item): the size behind a symbolic number; any other item unchanged.
    made(size): the symbolic number for a size.
    here(): the source location of the user's code.
    is_open(): True while loops can be marked.
    position(): the current point of the recording.
    """

    library: str
    value_of: Callable[[Any], tuple[Value, Any] | None]
    expression_of: Callable[[Any], Any]
    made: Callable[[Any], Any]
    here: Callable[[], Origin]
    is_open: Callable[[], bool]
    position: Callable[[], int]


class LoopMarker:
    """Marker of the iterations of Python loops that have a symbolic trip count or an array as condition.

    A mark stores a point of the recording, and what the variables of the loop refer to there. The constructor
    sets ``recorder.loops``, and the marked loops are added to ``recorder.graph.loops``.

    steps: the loop of each loop index.
    """

    def __init__(self, recorder: Any, means: LoopCallbacks) -> None:
        self.recorder, self.means = recorder, means
        self.found: list[RecordedLoop] = recorder.graph.loops
        self.steps: dict[Value, RecordedLoop] = {}
        self._running: list[RecordedLoop] = []
        self._asking: list[_Asking] = []
        self._purity = Purity(
            lambda item: means.value_of(item) is not None or isinstance(means.expression_of(item), Size)
        )
        self.run_rest: Callable[[RecordedLoop, int], bool] = lambda loop, done: False
        """``run_rest(loop, done)`` runs the iterations from ``done`` on unrecorded, or returns False."""
        recorder.loops = self

    # ------------------------------------------------------------------------------ for
    def steps_of(self, item: Any) -> MarkedItems | None:
        if isinstance(item, MarkedItems):
            return item
        known = self.means.value_of(item)
        if known is None or not known[0].ndim:
            return None
        length = item.shape[0]
        return row_items(item, length) if isinstance(self.means.expression_of(length), Size) else None

    def are_equal(self, lengths: Sequence[Any]) -> bool:
        first, *others = map(self.means.expression_of, lengths)
        if any(hint_of(other) != hint_of(first) for other in others):
            return False
        for condition in (apply("eq", first, other) for other in others if other != first):
            self.recorder.decide_size(condition, self.means.here())
        return True

    def run(self, frame: FrameType, steps: MarkedItems) -> Any:
        """Return an iterator over ``steps`` that marks the iterations of the ``for`` that ``frame`` begins.

        Return ``steps`` itself if another shim can take it, and None if the loop cannot be marked.
        """
        if not self._may_be_marked(steps):
            return None
        found = for_over(frame)
        if found is None:
            return (
                steps
                if abs(steps.step) == 1 and is_given_to(frame, lambda name: _is_shim(frame, name))
                else None
            )
        return self._marked(found, frame, steps)

    def run_traced(self, frame: FrameType, position: Position, steps: MarkedItems) -> Iterator[Any] | None:
        found = for_at(frame.f_code.co_filename, position) if self._may_be_marked(steps) else None
        return None if found is None else self._marked(found, frame, steps, is_traced=True)

    @property
    def are_running(self) -> bool:
        return bool(self._running) and not self.recorder.in_block

    def _may_be_marked(self, steps: MarkedItems) -> bool:
        bounds = tuple(map(self.means.expression_of, (steps.start, steps.stop)))
        if (
            not any(isinstance(bound, Size) for bound in bounds)
            or type(steps.step) is not int
            or steps.step == 0
        ):
            return False
        return (
            all(type(hint_of(bound)) is int for bound in bounds)
            and not self.recorder.in_block
            and self.means.is_open()
        )

    def _marked(
        self, found: Found, frame: FrameType, steps: MarkedItems, is_traced: bool = False
    ) -> Iterator[Any] | None:
        if not self._purity.of(found, frame, is_traced):
            return None
        start, stop = map(self.means.expression_of, (steps.start, steps.stop))
        return self._counted(
            RecordedLoop(_origin(frame, "range"), self.means.library, start, stop, steps.step, found.after),
            found,
            frame,
            steps.item,
        )

    def _counted(
        self, loop: RecordedLoop, found: Found, frame: FrameType, item: Callable[[Any], Any]
    ) -> Iterator[Any]:
        depth, numbers = self._begin(loop), loop.numbers()
        for done, number in enumerate(numbers):
            index = Value(_name_of(found), _INDEX)
            self._mark(loop, found, frame, depth, index)
            if (
                done == _TELLING
                and len(numbers) >= done + _MANY
                and loop.is_open
                and self.run_rest(loop, done)
            ):
                loop.skipped = len(numbers) - done
                loop.marks[-1] = replace(loop.marks[-1], index=None)
                return self._end(loop, depth)
            self.steps[index] = loop
            yield item(self.means.made(Size.of(Symbol(index, 0, number, "item"))) if loop.is_open else number)
        self._mark(loop, found, frame, depth)
        self._end(loop, depth)

    def _begin(self, loop: RecordedLoop) -> int:
        for asking in self._asking:
            # The loop runs between two conditions of a ``while``, whose conditions no loop node can express.
            if asking.held:
                asking.loop.is_open = False
        # A ``while`` without marks evaluates its conditions for the first time, so it has no iteration yet.
        outer = next((each for each in reversed(self._running) if each.is_open and each.marks), None)
        loop.outer = None if outer is None else (outer, len(outer.marks) - 1)
        self.found.append(loop)
        self._running.append(loop)
        return len(self._running)

    def _end(self, loop: RecordedLoop, depth: int) -> None:
        loop.is_whole = loop.is_open
        del self._running[depth - 1 :]

    def _mark(
        self,
        loop: RecordedLoop,
        found: Found,
        frame: FrameType,
        depth: int,
        index: Value | None = None,
        first_condition: int | None = None,
    ) -> None:
        del self._running[depth:]
        state = self._state(found, frame.f_locals) if loop.is_open else None
        loop.is_open = state is not None and not self.recorder.in_block and self.means.is_open()
        if state is not None:
            loop.marks.append(Mark(self.means.position(), state, index, first_condition))

    # ------------------------------------------------------------------------------ while
    def mark_condition(self, frame: FrameType | None, condition: Any, answer: bool) -> bool:
        """Return True if ``condition`` belongs to a ``while`` that is marked, so that it needs no guard.

        The marks of that loop are updated.
        """
        known = self.means.value_of(condition)
        if (
            frame is None
            or known is None
            or known[0].spec != _TRUTH
            or self.recorder.in_block
            or not self.means.is_open()
        ):
            return False
        if (condition_of := while_asking(frame)) is None:
            return False
        found, number, (negated, any_of) = condition_of
        goes_on = answer is not negated[number]
        asking = next(
            (
                each
                for each in reversed(self._asking)
                if each.frame is frame and each.found.loop is found.loop
            ),
            None,
        )
        if asking is None:
            if number or not (goes_on or any_of) or not self._purity.of(found, frame):
                return False
            loop = RecordedLoop(
                _origin(frame, "while"), self.means.library, after=found.after, negated=negated, any_of=any_of
            )
            asking = _Asking(frame, found, loop, self._begin(loop), [], [])
            self._asking.append(asking)
        # An outer loop has gone on, so this is another run of the loop.
        if asking.loop not in self._running:
            self._asking.remove(asking)
            return self.mark_condition(frame, condition, answer)
        return self._answered(
            asking, number, VariableState((known[0].spec, known[1]), known[0]), answer, goes_on
        )

    def _answered(
        self, asking: _Asking, number: int, held: VariableState, answer: bool, goes_on: bool
    ) -> bool:
        loop = asking.loop
        loop.is_open = loop.is_open and number == len(asking.held)
        asking.held.append(held)
        asking.places.append(self.means.position())
        is_last = goes_on is loop.any_of or number + 1 == len(loop.negated)
        if is_last:
            self._mark(loop, asking.found, asking.frame, asking.depth, first_condition=asking.places[0])
        if not loop.is_open:
            return False
        loop.conditions.append((held.item, answer))
        if is_last:
            state: Any = loop.marks[-1].state
            state.update({(*CONDITIONS, place): each for place, each in enumerate(asking.held)})
            asking.held.clear()
            asking.places.clear()
        if is_last and not goes_on:
            self._end(loop, asking.depth)
            self._asking.remove(asking)
        return True

    # ------------------------------------------------------------------------------ loop indices
    def needs_no_guard(self, size: Size, origin: Origin) -> bool:
        """Return True if ``size`` is a condition on loop indices that needs no guard here, and note it."""
        open_ = (loop for loop in self._running if loop.is_open and loop.marks)
        running = {loop.marks[-1].index: loop for loop in open_ if loop.marks[-1].index is not None}
        read = {symbol.source for symbol in size.symbols()} & self.steps.keys()
        if size.type is not bool or not read or not read <= running.keys():
            return False
        inner = [loop for index, loop in running.items() if index in read][-1]
        condition, place = size if size.hint else negate(size), len(inner.marks) - 1
        numbers = {index: (loop, int(loop is inner)) for index, loop in running.items()}
        if place and not always_holds(condition, numbers):
            return False
        if isinstance(condition, Size):
            inner.comparisons.append(LoopComparison(place, condition, origin))
        return True

    def with_numbers(self, size: Size) -> Any:
        """Return ``size`` with numbers instead of loop indices.

        The loops of these indices are not marked any further, so they stay unrolled.
        """
        counted = {symbol.source for symbol in size.symbols()} & self.steps.keys()
        if not counted:
            return size
        for index in counted:
            self.steps[index].is_open = self.steps[index].is_whole = False
        return substitute(size, lambda symbol: symbol.hint if symbol.source in counted else Size.of(symbol))

    # ------------------------------------------------------------------------------ variable states
    def _state(self, found: Found, variables: Mapping[str, Any]) -> dict[Path, VariableState] | None:
        state: dict[Path, VariableState] = {}
        containers: dict[int, Path] = {}
        for name in found.names:
            if name in variables and not self._hold(state, containers, (name,), variables[name]):
                return None
        return state if len(state) <= _MOST_PARTS else None

    def _hold(
        self, state: dict[Path, VariableState], containers: dict[int, Path], path: Path, item: Any
    ) -> bool:
        if (known := self.means.value_of(item)) is not None:
            value, kind = known
            state[path] = VariableState((value.spec, kind), value)
        elif isinstance(size := self.means.expression_of(item), Size):
            state[path] = VariableState(size.type, size)
        elif type(item) in (list, tuple, dict):
            parts = list(item.items() if type(item) is dict else enumerate(item))
            first = containers.setdefault(id(item), path)
            state[path] = VariableState((type(item), tuple(key for key, _ in parts), first))
            return len(parts) <= _MOST_PARTS and (
                first != path or all(self._hold(state, containers, (*path, key), part) for key, part in parts)
            )
        else:
            state[path] = VariableState(_Same(item))
        return True


class _Asking(NamedTuple):
    frame: FrameType
    found: Found
    loop: RecordedLoop
    depth: int
    held: list[VariableState]
    places: list[int]


class _Same:
    __slots__ = ("item",)

    def __init__(self, item: Any) -> None:
        self.item = item

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Same) or type(self.item) is not type(other.item):
            return False
        return self.item is other.item or (
            type(self.item) in (bool, int, float, complex, str) and repr(self.item) == repr(other.item)
        )

    def __hash__(self) -> int:
        return hash(type(self.item))


def _is_shim(frame: FrameType, name: str) -> bool:
    return (
        name in ("enumerate", "zip", "reversed")
        and name not in frame.f_locals
        and type(frame.f_globals.get(name)) is ClassShim
    )


def _origin(frame: FrameType, call: str) -> Origin:
    code = frame.f_code
    return Origin(code.co_filename, frame.f_lineno, call=call, instruction=Instruction(code, frame.f_lasti))


def _name_of(found: Found) -> str:
    target, over = found.loop.target, found.loop.iter  # type: ignore[union-attr]
    called = getattr(getattr(over, "func", None), "id", "")
    named = (
        target.elts[0]
        if isinstance(target, ast.Tuple) and called == "enumerate"
        else target
        if called == "range"
        else None
    )
    return named.id if isinstance(named, ast.Name) else "i"


Current = Callable[[], "LoopMarker | None"]


def loop_shims(functions: Iterable[types.FunctionType], current: Current) -> list[Replacement]:
    spaces = {
        (id(one.__globals__), name): one.__globals__
        for one in functions
        for name in _MAKE.keys() & names_read(one.__code__)
    }
    found = [
        (space, name)
        for (_, name), space in spaces.items()
        if space.get(name, _ORIGINAL[name]) is _ORIGINAL[name]
    ]
    return [(space, name, ClassShim(_ORIGINAL[name], _shim(name, current))) for space, name in found]


def _shim(name: str, current: Current) -> Callable[..., Any]:
    original, make = _ORIGINAL[name], _MAKE[name]

    def called(*args: Any, **kwargs: Any) -> Any:
        loops = current()
        steps = make(loops, *args, **kwargs) if loops is not None and takes(make, args, kwargs) else None
        if (
            loops is not None
            and steps is not None
            and (found := loops.run(sys._getframe(2), steps)) is not None
        ):
            return found
        plain = {name: _plain(item) for name, item in kwargs.items()}
        return forward(original, *map(_plain, args), **plain)

    return called


def _plain(item: Any) -> Any:
    return item.plain() if isinstance(item, MarkedItems) else item


def _range(loops: LoopMarker, *args: Any) -> MarkedItems | None:
    if not 1 <= len(args) <= 3:
        return None
    return range_items(*((0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]))


def _enumerate(loops: LoopMarker, iterable: Any, start: Any = 0) -> MarkedItems | None:
    # Python's ``enumerate`` refuses other numbers.
    steps = loops.steps_of(iterable) if hasattr(type(start), "__index__") else None
    return None if steps is None else enumerated_items(steps, start)


def _reversed(loops: LoopMarker, items: Any, /) -> MarkedItems | None:
    steps = loops.steps_of(items)
    return None if steps is None else reversed_items(steps)


def _zip(loops: LoopMarker, *items: Any, **kwargs: Any) -> MarkedItems | None:
    parts = [steps for item in items if (steps := loops.steps_of(item)) is not None]
    is_known = parts and len(parts) == len(items) and loops.are_equal([part.length for part in parts])
    return zipped_items(tuple(parts)) if is_known else None


_ORIGINAL: dict[str, Any] = {"range": range, "enumerate": enumerate, "zip": zip, "reversed": reversed}
_MAKE: dict[str, Callable[..., MarkedItems | None]] = {
    "range": _range,
    "enumerate": _enumerate,
    "zip": _zip,
    "reversed": _reversed,
}
