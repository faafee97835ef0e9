"""Functions that the rewritten statements of a traced function call, and the decorator ``trace``.

They run a statement as Python does if its values are known, and may record it as regions otherwise.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import operator
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

from ...errors import InvalidOption, NotCompilable, TracingError
from ...forwarding import forwards
from ...ir.quotation import Position
from ...sizes import apply, hint_of, is_symbolic
from ..code.ownership import is_users
from .branches import VALUE, BranchRecorder, Raised
from .conversion import convert_function
from .lists import NOWHERE, function_of, with_grown_lists, with_plain_lists
from .loops import LoopRecorder, Source, in_python, plain_items, source_maker, source_of
from .regions import ArrayKind, Regions, RowsWritten, regions, regions_of, suspended_regions
from .variables import ClosureCells, ContentsDiffer, plain

# ------------------------------------------------------------------------------------- builtins of elements
# ``max``, ``min``, ``int`` and ``float`` of arrays whose elements are unknown while recording.


def _extreme(symbol: str) -> Callable[..., Any]:
    @forwards
    def extreme(found: Regions, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        items = list(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else list(args)
        if kwargs or len(items) < 2 or not any(regions_of(item) is not None for item in items):
            return function(*args, **kwargs)
        best = items[0]
        for item in items[1:]:
            is_better = getattr(operator, symbol)(item, best)
            best = (
                found.where(is_better, item, best)
                if regions_of(is_better) is not None
                else (item if is_better else best)
            )
        return best

    return extreme


def _number(dtype: str) -> Callable[..., Any]:
    kind = ArrayKind(dtype, (), True)

    @forwards
    def number(found: Regions, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if (
            kwargs
            or len(args) != 1
            or not found.is_inside
            or regions_of(args[0]) is None
            or not found.may_expect
        ):
            return function(*args, **kwargs)
        known = found.kind(args[0])
        if known.shape or known.dtype.startswith("complex"):
            return function(*args)
        if dtype == "int64" and known.dtype.startswith(("float", "bfloat")):
            # Python raises an error for NaN and infinity, and larger numbers do not fit an int64.
            found.expect(found.truth(abs(args[0]) < 2.0**63))
        return found.converted(args[0], kind)

    return number


OF_ELEMENTS: dict[Any, Callable[..., Any]] = {
    builtins.max: _extreme("gt"), builtins.min: _extreme("lt"), builtins.int: _number("int64"),
    builtins.float: _number("float64"),
}  # fmt: skip
"""Python function -> function to call instead, with the regions, the function and its arguments."""


# ------------------------------------------------------------------------------------------------- statements
_Block = Callable[..., Any]


class SizeCondition:
    """Comparison in the condition of a ``while`` that is evaluated when its truth value is read."""

    def __init__(self, compare: Callable[[], Any]) -> None:
        self._compare = compare

    def __bool__(self) -> bool:
        return bool(self._compare())


class Statements:
    """Runtime of traced functions, whose rewritten statements call its methods.

    checkpoint: True asks the backward pass of a ``scan`` to recompute iterations.
    outside: closure cells of the functions before they were rewritten, by id.
    """

    def __init__(self, checkpoint: bool = False) -> None:
        self.checkpoint = checkpoint
        self._functions: dict[Any, Any] = {}
        self.outside: dict[int, types.CellType] = {}
        self._is_probing = False

    # ------------------------------------------------------------------------------ branches
    def branch(
        self, test: Any, then: Any, otherwise: Any, given: Sequence[str], guarded: Sequence[str]
    ) -> None:
        """Run an ``if``, or record it as a ``branch``.

        ``given`` are variables that a block may assign and that may be read later. Variables in ``guarded``
        may be unassigned after one block.
        """
        found = regions_of(test)
        if found is None:
            (then if test else otherwise)()
            return
        cells = ClosureCells(then, otherwise)
        before = cells.read()
        kept = {name: value for name, value in before.items() if name not in given}

        def side(block: _Block) -> Callable[[], dict[str, Any]]:
            def run() -> dict[str, Any]:
                cells.write(before)
                block()
                after = cells.read()
                return {name: after[name] for name in given if name in after}

            return run

        truth, branch = (
            found.truth(test),
            BranchRecorder(found, _place(), "a side of this condition", (then, otherwise), guarded),
        )
        try:
            made = branch.run(truth, side(then), side(otherwise))
        except Raised:
            # An exception of the user's makes the condition an assumption of the recording.
            (then if found.decide(truth) else otherwise)()
            return
        cells.write({**kept, **made})

    def choice(self, test: Any, then: Any, otherwise: Any) -> Any:
        found = regions_of(test)
        if found is None:
            return then() if test else otherwise()
        truth, branch = (
            found.truth(test),
            BranchRecorder(found, _place(), "a side of this condition", (then, otherwise)),
        )
        try:
            return branch.run(truth, lambda: {VALUE: then()}, lambda: {VALUE: otherwise()})[VALUE]
        except Raised:
            return (then if found.decide(truth) else otherwise)()

    def and_(self, left: Any, right: Any) -> Any:
        if self._is_probing and (type(left) is SizeCondition or regions_of(left) is not None):
            return left
        return self.choice(left, right, lambda: left)

    def or_(self, left: Any, right: Any) -> Any:
        if self._is_probing and (type(left) is SizeCondition or regions_of(left) is not None):
            return left
        return self.choice(left, lambda: left, right)

    def truth(self, item: Any) -> Any:
        found = regions_of(item)
        if found is not None:
            return found.truth(item)
        return item if type(item) is SizeCondition or is_symbolic(item) else bool(item)

    def not_(self, item: Any) -> Any:
        if self._is_probing and type(item) is SizeCondition:
            return item
        found = regions_of(item)
        return not item if found is None else found.negated(found.truth(item))

    def compared(self, symbol: str, left: Any, right: Any) -> Any:
        """Compare ``left`` and ``right``, or return a ``SizeCondition`` that does so when it is tested."""
        compare = getattr(operator, symbol)
        if (
            self._is_probing
            and (is_symbolic(left) or is_symbolic(right))
            and regions_of(left) is None
            and regions_of(right) is None
        ):
            return SizeCondition(lambda: compare(left, right))
        return compare(left, right)

    @forwards
    def assert_(self, test: Any, message: Any) -> None:
        found = regions_of(test)
        if found is not None:
            found.expect(found.truth(test))
        elif not test:
            raise AssertionError(*() if (said := message()) is None else (said,))

    # ------------------------------------------------------------------------------ loops
    def while_(self, test: Any, body: Any, exits: Any, guarded: Sequence[str]) -> None:
        """Run a ``while`` in Python, or record it as a loop once values or sizes decide whether it goes on.

        ``exits()`` returns flags that end the loop, besides ``test``; ``exits`` is None if there are none.
        Variables in ``guarded`` may be unassigned after a loop that none of the flags has ended.
        """
        while True:
            found = regions()
            if found is not None and self._is_recorded(test, exits):
                break
            if exits is not None and any(exits()) or not test():
                return
            body()
        functions = tuple(filter(None, (test, body, exits)))
        loop = LoopRecorder(
            found, _place(), "this loop", functions, lambda: self._goes_on(found, exits, test), guarded
        )
        try:
            loop.settle(body, probe=lambda: self._probed(test))
            loop.while_loop(body)
        except TracingError:
            if type(self._probed(test)) is not SizeCondition or test():
                # Without an iteration, sizes alone decide that the loop is skipped.
                raise

    def _is_recorded(self, test: Any, exits: Any) -> bool:
        if _flags(exits)[0]:
            return True
        answer = self._probed(test)
        return type(answer) is SizeCondition or regions_of(answer) is not None

    def _probed(self, test: Any) -> Any:
        before, self._is_probing = self._is_probing, True
        try:
            return test()
        finally:
            self._is_probing = before

    def _goes_on(self, found: Regions, exits: Any, test: Any) -> Any:
        flags, is_left = _flags(exits)
        if is_left:
            return False
        return self.and_(_none(found, flags), lambda: self.truth(test())) if flags else test()

    def for_(self, items: Any, body: Any, exits: Any, guarded: Sequence[str], position: Position) -> None:
        """Run a ``for`` in Python, with marked iterations, or as a recorded loop.

        ``position`` is the location of the loop in the file, or ``NOWHERE``; ``exits`` and ``guarded`` are as
        in :meth:`while_`.
        """
        found = regions()
        source = None if found is None else source_of(found, items)
        if found is None or source is None:
            self._in_python(iter(items), body, exits)
            return
        # A block inside could not use the loop index of a marked loop.
        if _is_marked(found):
            self._in_python(_marked(found, source, position) or iter(in_python(source)), body, exits)
            return
        length = source.length()
        first = 0
        if type(length) is int:
            if (
                length > 1
                and exits is not None
                and self._left_by_values(found, source, length, body, exits, guarded)
            ):
                return
            first = self._until_open(source, length, body, exits)
        if not (type(length) is int and first >= length):
            self._recorded(found, source, length, first, body, exits, guarded, position)

    def listed(self, items: Any, function: Callable[[Any], Any]) -> list[Any]:
        made: list[Any] = []

        def body(item: Any) -> None:
            made.append(function(item))

        self.for_(items, body, None, (), NOWHERE)
        return made

    def consumed(self, consumer: Any, items: Any, function: Callable[[Any], Any]) -> Any:
        # A function of the user may have the name of a builtin. It receives a generator, as written.
        if isinstance(function_of(consumer), (types.BuiltinFunctionType, type)):
            return self.listed(items, function)
        return (function(item) for item in plain_items(items))

    @forwards
    def _in_python(self, items: Iterator[Any], body: Any, exits: Any) -> None:
        for item in items:
            flags, is_left = _flags(exits)
            if is_left:
                return
            if flags:
                raise TracingError(
                    f"{_place()}: whether this loop is left depends on values, and its items are no range "
                    "and no rows of an array. Loop over range(len(...))"
                )
            body(item)

    def _until_open(self, source: Source, length: int, body: Any, exits: Any) -> int:
        """Run iterations in Python until values decide whether the loop was left.

        Return the number of iterations that have run, or ``length`` if the loop has ended.
        """
        for place, item in enumerate(in_python(source)):
            flags, is_left = _flags(exits)
            if is_left:
                return length
            if flags:
                return place
            body(item)
        return length

    def _recorded(
        self,
        found: Regions,
        source: Source,
        length: Any,
        first: int,
        body: Any,
        exits: Any,
        guarded: Sequence[str],
        position: Position,
    ) -> None:
        """Record a loop from iteration ``first`` on; if that fails, run it in Python where possible."""
        place, is_size = _place(), found.is_size(length)

        def region(has_rows: bool) -> None:
            self._region(found, place, source, length, first, body, exits, guarded, has_rows)

        problem = _failed(region)
        if isinstance(problem, ContentsDiffer) and is_size and not first:
            if not found.decide_size(apply("ge", length, 1)):
                return
            # A first iteration gives the variables their dtypes.
            body(source.item(lambda: 0, [array[0] for array in source.arrays()]))
            first = 1
            problem = _failed(region)
        if problem is None:
            return
        if not is_size or exits is not None and hint_of(length) > first:
            raise problem
        marked = None if first or exits is not None else _marked(found, source, position)
        self._in_python(marked or itertools.islice(in_python(source), first, None), body, None)

    def _left_by_values(
        self, found: Regions, source: Source, length: int, body: Any, exits: Any, guarded: Sequence[str]
    ) -> bool:
        """Record a loop that values may end, and return True if that succeeds."""
        # A flag that values have set before may leave the loop without an iteration.
        flags, is_left = _flags(exits)
        if flags or is_left:
            return False
        is_open = False

        def goes_on() -> Any:
            nonlocal is_open
            is_open = is_open or bool(_flags(exits)[0])
            return more()

        try:
            loop = LoopRecorder(
                found, _place(), "this loop", (body, exits), lambda: True, guarded, surely_runs=True
            )
            step, more = _counting(loop, source, length, 0, body, exits)
            loop.goes_on = goes_on
            if not (loop.settles(step) and is_open):
                return False
            loop.while_loop(step)
        except TracingError:
            return False
        return True

    def _region(
        self,
        found: Regions,
        place: str,
        source: Source,
        length: Any,
        first: int,
        body: Any,
        exits: Any,
        guarded: Sequence[str],
        has_rows: bool,
    ) -> None:
        functions = tuple(filter(None, (body, exits)))
        loop = LoopRecorder(found, place, "this loop", functions, lambda: True, guarded)
        step, more = _counting(loop, source, length, first, body, exits)
        if exits is None and found.is_size(length):
            loop.let_grow(self.outside)
            arrays = source.arrays() if not first else [array[first:] for array in source.arrays()]
            loop.scan(step, arrays if has_rows else (), length - first, self.checkpoint)
            return
        loop.goes_on = more
        loop.settle(step)
        loop.while_loop(step)

    def plain(self, item: Any) -> Any:
        return plain(item)

    def source(self, function: Any) -> Any:
        found = regions()
        return function if found is None else source_maker(found, function)

    # ------------------------------------------------------------------------------ calls
    def returned(self, result: Any) -> Any:
        found = regions()
        return result if found is None else found.given_back(result)

    def call(self, function: Any, is_nested: bool = False) -> Any:
        """Return ``function``, or what to call in its place, such as its traced form.

        ``is_nested`` is True if an argument contains a call, which may return a list that loops append to.
        """
        found = regions()
        if found is None:
            return (
                with_plain_lists(function)
                if (hidden := suspended_regions()) is not None and hidden.lists
                else function
            )
        if function is builtins.print and found.is_inside:
            raise TracingError(
                f"{_place()}: print inside of a branch or loop on values would print once for all of them. "
                "Print the results"
            )
        called = self._called(found, function)
        return with_grown_lists(self, found, function, called) if found.lists or is_nested else called

    def _called(self, found: Regions, function: Any) -> Any:
        plain = getattr(function, "__wrapped__", function)
        if (
            made := OF_ELEMENTS.get(plain) if isinstance(plain, (types.BuiltinFunctionType, type)) else None
        ) is not None:
            return lambda *args, **kwargs: made(found, function, args, kwargs)
        if isinstance(function, types.FunctionType) and is_users(function):
            return self.converted(function)
        if (
            isinstance(function, types.MethodType)
            and isinstance(function.__func__, types.FunctionType)
            and is_users(function.__func__)
        ):
            return types.MethodType(self.converted(function.__func__), function.__self__)
        return function

    def converted(self, function: types.FunctionType) -> Any:
        # Functions that one ``def`` makes share their code and differ in their closures.
        key = function.__code__, id(function)
        if key not in self._functions:
            try:
                self._functions[key] = (function, convert_function(function, self))
            except NotCompilable:
                # A function without source runs unchanged.
                self._functions[key] = (function, function)
        return self._functions[key][1]


def _counting(
    loop: LoopRecorder, source: Source, length: Any, first: int, body: Any, exits: Any
) -> tuple[Callable[..., None], Callable[[], Any]]:
    found, at = loop.regions, loop.counter(first)

    def step(*rows: Any) -> None:
        body(source.item(at, rows or [array[at()] for array in source.arrays()]))

    def goes_on() -> Any:
        more = at() < found.symbolic(length)
        flags, is_left = _flags(exits)
        if is_left:
            return False
        return more if not flags else found.both(found.truth(more), _none(found, flags))

    return step, goes_on


def _failed(region: Callable[[bool], None]) -> TracingError | None:
    try:
        try:
            region(True)
        except RowsWritten:
            region(False)
    except TracingError as problem:
        return problem
    return None


def _flags(exits: Any) -> tuple[list[Any], bool]:
    flags = () if exits is None else exits()
    return [flag for flag in flags if regions_of(flag) is not None], any(
        flag for flag in flags if regions_of(flag) is None
    )


def _none(found: Regions, flags: Sequence[Any]) -> Any:
    return functools.reduce(found.both, [found.negated(found.truth(flag)) for flag in flags])


def _is_marked(found: Regions) -> bool:
    loops = found.loops()
    return loops is not None and bool(loops.are_running)


def _marked(found: Regions, source: Source, position: Position) -> Iterator[Any] | None:
    loops, frame = found.loops(), _user_frame()
    steps = None if loops is None or frame is None else source.steps(loops)
    return None if steps is None else loops.run_traced(frame, position, steps)


def _place() -> str:
    frame = _user_frame()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "unknown place"


def _user_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_users(frame):
        frame = frame.f_back
    return frame


# -------------------------------------------------------------------------------------------- trace decorator


def trace(function: Callable[..., Any] | None = None, *, checkpointing: bool | str = False) -> Any:
    """Rewrite a function so that its ``if``, ``while`` and ``for`` on values can be recorded as operations.

    An ``if`` can become a ``branch`` with both sides recorded, and a loop a ``while_loop`` or ``scan``.
    ``and``, ``or``, ``not``, ``assert``, conditional expressions, ``break``, ``continue``, early ``return``
    and ``for ... else`` can be recorded, too, also in your own functions that it calls. One variant can then
    serve several values and trip counts, also inside ``jax.jit``, ``tf.function`` and ``torch.compile``.
    Statements whose values are known while recording run as in Python, and so does the whole function outside
    of a recording.

    Args:
        function: Function or method in NumPy, torch, JAX or eager TensorFlow, with its source in a file.
            If it is left out, a decorator is returned.
        checkpointing: True recomputes the iterations of a ``scan`` in the backward pass, instead of storing
            their intermediate arrays.

    Returns:
        The function, rewritten for recording. A function that is traced already is not rewritten again.

    Raises:
        NotCompilable: ``function`` is not a Python function or method, its source is not found, several
            functions of its kind begin on its line, or it is a generator or a coroutine.
        InvalidOption: ``function`` is given, and ``checkpointing`` is not True or False.
        TracingError: Raised when the function is recorded, with your line: a statement on values cannot be
            recorded, for example because a variable has another shape in each branch.

    >>> import numpy as np, graph_compiler
    >>> @graph_compiler.trace
    ... def halvings(x):
    ...     count = 0
    ...     while x > 1:
    ...         x, count = x / 2, count + 1
    ...     return count
    >>> halvings(5.0)
    3
    >>> graph = graph_compiler.compile(halvings, to="jax", args=(np.array(5.0, "float32"),))
    >>> int(graph(np.array(100.0, "float32"))), len(graph.variants)
    (7, 1)
    """
    if function is None:
        return lambda function: trace(function, checkpointing=checkpointing)
    if not isinstance(checkpointing, bool):
        raise InvalidOption(
            f"checkpointing= is {checkpointing!r}, and has to be True or False: of a loop a step is kept, or "
            "computed again. Which arrays of a step are kept is a matter of the framework's own checkpoint, "
            "inside of the loop"
        )
    if isinstance(function, types.MethodType) and isinstance(function.__func__, types.FunctionType):
        return types.MethodType(trace(function.__func__, checkpointing=checkpointing), function.__self__)
    if not isinstance(function, types.FunctionType):
        raise NotCompilable(
            f"{function!r:.80} is no function of Python: trace takes functions and methods. Of a module, "
            "decorate the method that computes with @graph_compiler.trace"
        )
    return convert_function(function, Statements(checkpointing))
