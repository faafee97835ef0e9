"""Recording of NumPy ufuncs, functions, methods and operators that get a traced array.

A call also runs on the arrays behind the proxies. Arguments and stored arrays that were written to are
restored after the recording.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from ...errors import TracingError
from ...forwarding import forward, forwards
from ...ir.node import CallRecord, Origin, Value
from ...ops.registry import ArraySpec
from ...recording import Locator, Recorder
from ...recording.loop_marks import LoopCallbacks, LoopMarker
from ...sizes import Size, Symbol, expression_of, is_symbolic
from ...trees import iterate_structure, map_structure, same_static
from ..common.read_numbers import Reading
from . import calls as kinds
from .call_nodes import NumpyCall, RowMajorOrder, add_node, guard_failed_call
from .calls import METHOD, PYTHON_MODULES, name_of, row_key
from .draws import FUNCTION, SPEC, GeneratorStates, TracedGenerator
from .patches import recorded
from .reading import ANSWERS, METHODS, ElementGuards, decide_operands, guard_against_errors, rounded_number
from .traced import Traced, TracedScalar, hint, is_traced, owner_of, proxy_of, seen_of, symbolic

# -------------------------------------------------------------------------------------------------- constants
# Constants of a recording: arrays and scalars that it meets and did not create.


class Constants:
    """Constants of one recording: arrays and scalars that are neither inputs nor parameters.

    A constant has the elements that its array has when a call uses it.
    """

    def __init__(self, recorder: Recorder, locator: Locator) -> None:
        self._recorder, self._locator = recorder, locator
        self._met: dict[int, tuple[Any, bytes, Value]] = {}
        self._scalars: dict[tuple[str, bytes], Value] = {}

    def clear(self) -> None:
        self._met.clear()
        self._scalars.clear()

    def met(self, array: Any, spec: ArraySpec) -> Value:
        elements = array.tobytes()
        known = self._met.get(id(array))
        if known is None or known[1] != elements:
            # The array is stored, too, so that no other object gets its id.
            self._met[id(array)] = (array, elements, self._made(array, elements, spec))
        return self._met[id(array)][2]

    def _made(self, array: Any, elements: bytes, spec: ArraySpec) -> Value:
        name, is_array = self._locator.name_of(array), isinstance(array, np.ndarray)
        # Each iteration of a loop may meet such scalars, which share one constant.
        made = None if is_array or name else self._scalars.get((spec.dtype, elements))
        if made is None:
            # The user may write to the array later, so the constant is a copy.
            made = self._recorder.add_constant(name or "constant", array.copy() if is_array else array, spec)
        if not is_array and not name:
            self._scalars[spec.dtype, elements] = made
        return made


# --------------------------------------------------------------------------------------------- written arrays
class SavedArrays:
    """Arrays of the user that the recording may write to, and copies of them to restore afterwards.

    A copy is made right before the first write.

    memory: the array behind each input and parameter.
    """

    def __init__(self) -> None:
        self.memory: dict[Value, Any] = {}
        self._saved: dict[Value, tuple[Any, Any]] = {}

    def clear(self) -> None:
        self.memory.clear()
        self._saved.clear()

    def save(self, value: Value) -> None:
        # NumPy raises for writes to read-only arrays.
        if value in self.memory and value not in self._saved and self.memory[value].flags.writeable:
            self._saved[value] = (self.memory[value], self.memory[value].copy())

    def restore(self) -> None:
        # Two arrays may share memory, so the first copy is restored last.
        for array, before in reversed(self._saved.values()):
            np.copyto(array, before)


# ----------------------------------------------------------------------------------------------- current call
class CurrentCall:
    """Call that the function makes now: its name, its place in the user's code, and whether it is recorded.

    is_open: True while calls are recorded.
    is_running: True while NumPy computes the call.
    """

    def __init__(self) -> None:
        self.name = ""
        self.locator = Locator()
        self.is_open = self.is_running = False

    def begin(self, name: str) -> None:
        self.name = name
        if not self.is_open:
            raise TracingError(
                f"{name}: an array of a recording is used after it; a function must not keep what it was "
                "given where graph_compiler "
                "cannot see it"
            )
        if self.is_running:
            raise TracingError(
                f"{self.here()}: code inside of a call of numpy uses arrays of the recording, which cannot "
                "be followed"
            )

    def run(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        self.is_running = True
        try:
            return forward(function, *args, **kwargs)
        finally:
            self.is_running = False

    def here(self) -> Origin:
        return self.locator.locate(self.name, 2)


# ---------------------------------------------------------------------------------------------------- capture
def plain_index(index: Any) -> Any:
    return tuple(map(_item, index)) if type(index) is tuple else _item(index)


def _item(item: Any) -> Any:
    if type(item) is slice:
        return slice(*map(_bound, (item.start, item.stop, item.step)))
    # NumPy takes a range for a list of indices.
    if isinstance(item, range):
        return list(item)
    if isinstance(item, list) and any(
        is_traced(part) or is_symbolic(part) for part in iterate_structure(item)
    ):
        return recorded("array")(item)
    if is_traced(item) or is_symbolic(item):
        return item
    return item.item() if isinstance(item, (np.integer, np.bool_)) else item


def _bound(part: Any) -> Any:
    # The length of a slice must not depend on elements, so `operator.index` guards a traced bound.
    return part if part is None or is_symbolic(part) else operator.index(part)


def _is_in_place_result(array: Traced, index: Any, item: Any) -> bool:
    """Return True if ``item`` is found to be the view ``array[index]``, whose assignment changes nothing.

    Python makes this assignment at the end of ``array[index] += ...``.
    """
    if not is_traced(item) or owner_of(item._seen) is not owner_of(array._seen):
        return False
    capture = array._capture
    made = capture.recorder.maker(item._value)
    if made is None or made.op != f"{METHOD}__getitem__" or made.inputs[0] is not array._value:
        return False
    # ``x[True]`` is no ``x[1]``, although ``True == 1``.
    return same_static(made.inputs[1], map_structure(capture.recorded_argument, index))


def _loop_state(capture: NumpyCapture, item: Any) -> tuple[Value, Any] | None:
    return (item._value, (type(item), item._value in capture.weak)) if is_traced(item) else None


_ARRAYS = (np.ndarray, np.generic)
_NUMBERS = (bool, int, float, complex)


class NumpyCapture:
    """State of one recording in progress, and the entry points that the proxies call.

    recorder: the graph under construction.
    reading: treatment of the numbers that Python reads from arrays.
    call: the current call.
    elements: guards on elements that Python code reads.
    written: arrays of inputs and parameters. Those that the function wrote to are restored at the end.
    states: noted states of the random generators.
    loops: marks of the loops that run.
    weak: values that are Python numbers in the user's code.
    read: those of ``weak`` that Python code has read from arrays or computed from such numbers.
    reads_layout: True once the memory layout of an array was read.
    by_strides: arguments and results of calls that return a view or a copy, depending on strides.
    row_major: the values that may not be row-major at every size.
    """

    def __init__(self, recorder: Recorder, reading: Reading) -> None:
        self.recorder, self.reading = recorder, reading
        self.call = CurrentCall()
        self.elements, self.written = ElementGuards(recorder, self.call.here), SavedArrays()
        self.states = GeneratorStates()
        is_open, position = lambda: not self.call.is_running, lambda: len(recorder.graph.nodes)
        self.loops = LoopMarker(
            recorder,
            LoopCallbacks(
                "numpy",
                partial(_loop_state, self),
                expression_of,
                partial(symbolic, self),
                self.here,
                is_open,
                position,
            ),
        )
        self.weak: set[Value] = set()
        self.read: set[Value] = set()
        self.reads_layout = False
        self.by_strides: set[Value] = set()
        self.row_major = RowMajorOrder()
        self._constants = Constants(recorder, self.call.locator)

    # ------------------------------------------------------------------------------ begin and end
    @contextmanager
    def isolated(self) -> Iterator[None]:
        self.call.is_open = True
        try:
            yield
        finally:
            self.call.is_open = False
            self.written.restore()

    def add_input(self, name: str, array: Any) -> Any:
        return self._entered(name, array, self.recorder.add_input)

    def add_generator(self, name: str, generator: Any) -> TracedGenerator:
        return TracedGenerator(self, generator, self.recorder.add_input(name, generator, SPEC))

    def kept_generator(self, generator: Any) -> TracedGenerator:
        return TracedGenerator(self, generator, self.recorder.add_constant("generator", generator, SPEC))

    def add_parameter(self, name: str, array: Any) -> Any:
        return self._entered(name, array, self.recorder.add_parameter)

    def _entered(self, name: str, array: Any, add: Callable[[str, Any, ArraySpec], Value]) -> Any:
        made = proxy_of(self, array, Value(name, kinds.spec_of(self, array)))
        # The recorder makes the value for the proxy, so the proxy gets it only now.
        made._value = add(name, made, made._value.spec)
        self.written.memory[made._value] = array
        return made

    def forget_arrays(self) -> None:
        self.recorder.forget_arrays()
        self._constants.clear()
        self.written.clear()

    # ------------------------------------------------------------------------------ entry points
    def ufunc(self, ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name = name_of(ufunc)
        if name is None:
            raise TracingError(
                f"{self.here()}: the ufunc {ufunc.__name__} belongs to no public module, so it cannot be "
                "recorded"
            )
        if "out" in kwargs:
            # NumPy passes ``out`` to ``__array_ufunc__`` as a tuple.
            kwargs = {**kwargs, "out": kwargs["out"][0] if len(kwargs["out"]) == 1 else kwargs["out"]}
        called = ufunc if method == "__call__" else getattr(ufunc, method)
        return self.record(name if method == "__call__" else f"{name}.{method}", called, inputs, kwargs)

    def function(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name = name_of(function)
        if name is None and function.__module__.startswith(PYTHON_MODULES):
            # ``__wrapped__`` is the function without the dispatch that has led here.
            return function.__wrapped__(*args, **kwargs)
        if name is None:
            raise TracingError(
                f"{self.here()}: {function.__module__}.{function.__name__} is no public function that can be "
                "recorded"
            )
        answer = ANSWERS.get(row_key(name))
        return answer(self, *args, **kwargs) if answer else self.record(name, function, args, kwargs)

    def method(self, array: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.record(METHOD + name, getattr(type(seen_of(array)), name), (array, *args), kwargs)

    @forwards
    def attribute(self, array: Traced, name: str) -> Any:
        """Return a property, a view or a method of a traced array."""
        seen = object.__getattribute__(array, "_seen")
        if name.startswith("__") and name not in METHODS or not hasattr(seen, name):
            raise AttributeError(f"{type(seen).__name__!r} object has no attribute {name!r}")
        if name in kinds.ATTRIBUTES:
            return kinds.ATTRIBUTES[name](array)
        if name in kinds.GETTERS:
            return self.record(f"{METHOD}{name}.__get__", operator.attrgetter(name), (array,), {})
        if name in METHODS:
            return lambda *args, **kwargs: METHODS[name](self, array, *args, **kwargs)
        if callable(getattr(seen, name)) and name not in kinds.REFUSED:
            return lambda *args, **kwargs: self.method(array, name, args, kwargs)
        raise TracingError(
            f"{self.here()}: {name} of an array cannot be recorded: it shows memory, or runs code that is "
            "not seen"
        )

    def operator(self, name: str, compute: Callable[..., Any], *operands: Any) -> Any:
        if any(isinstance(item, (str, dict, set)) for item in operands):
            return NotImplemented
        operands = decide_operands(self, row_key(METHOD + name), operands)
        return (
            self.record(METHOD + name, compute, operands, {})
            if any(map(is_traced, operands))
            else forward(compute, *operands)
        )

    def getitem(self, array: Traced, index: Any) -> Any:
        return self.record(f"{METHOD}__getitem__", operator.getitem, (array, plain_index(index)), {})

    def setitem(self, array: Traced, index: Any, item: Any) -> None:
        index = plain_index(index)
        if not _is_in_place_result(array, index, item):
            self.record(f"{METHOD}__setitem__", operator.setitem, (array, index, item), {})

    def rounded(self, array: Any, digits: int | None) -> Any:
        return rounded_number(self, array) if digits is None else self.method(array, "round", (digits,), {})

    # ------------------------------------------------------------------------------ recording of calls
    def record(
        self,
        name: str,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        gives_number: Callable[[], bool] = lambda: False,
        reads: bool = False,
    ) -> Any:
        """Run a call on the arrays behind its proxies, append a node if it needs one, and return its result.

        gives_number: returns True, after the call, if a scalar result is a Python number for the user's code.
        reads: True if that number is read from an array.
        """
        self.call.begin(name)
        key = row_key(name)
        args, kwargs = kinds.normalize_arguments(self, name, args, kwargs)
        operands = [item for item in iterate_structure((args, kwargs)) if is_traced(item)]
        written = kinds.written_arrays(self, name, args, kwargs)
        inputs, params = (
            map_structure(self.recorded_argument, args),
            map_structure(self.recorded_argument, kwargs),
        )
        # The copies must be made before the call writes.
        for item in written:
            self._save(item)
        result = self._attempt(function, operands, args, kwargs)
        # Python's complex combined with NumPy's float64 returns Python's complex.
        weak = type(result) in _NUMBERS and (
            type(result) is complex or any(item._value in self.weak for item in operands)
        )
        result = kinds.as_scalar(self, result) if weak else result
        is_number = weak or gives_number()
        from_read = any(item._value in self.read for item in operands)
        is_read = is_number and (reads or from_read)
        noted = CallRecord(
            key,
            weak=is_number,
            is_host_number=is_read,
            random=name.startswith(FUNCTION),
            strided=key in kinds.BY_MEMORY and kinds.is_strided(self, *args, **kwargs),
            errstate=kinds.errstate(),
        )
        found = add_node(self, NumpyCall(name, inputs, params, operands, written, result), noted)
        if is_number:
            self.weak.add(found._value)
        if is_read:
            self.read.add(found._value)
        if from_read:
            guard_against_errors(self, key, args, found)
        return found

    def _attempt(self, function: Callable[..., Any], operands: list[Any], args: Any, kwargs: Any) -> Any:
        args, kwargs = map_structure(_real_operand, args), map_structure(_real_operand, kwargs)
        try:
            return self.call.run(function, args, kwargs)
        except Exception as problem:
            guard_failed_call(self, problem, operands)
            raise

    def _save(self, item: Any) -> None:
        self.written.save(self.recorder.base_of(item._value))

    # ------------------------------------------------------------------------------ arrays
    def recorded_argument(self, item: Any) -> Any:
        if is_traced(item):
            if item._capture is not self:
                raise TracingError(f"{self.here()}: an array of another recording is used")
            return item._value
        if is_symbolic(item):
            return item.expression
        if type(item) is TracedGenerator:
            return item._value
        return self.met(item) if isinstance(item, _ARRAYS) else item

    def met(self, array: Any) -> Value:
        return self._constants.met(array, kinds.spec_of(self, array))

    # ------------------------------------------------------------------------------ sizes
    def size(self, value: Value, axis: int) -> Any:
        """Return the size of an axis: a symbol if it may differ between calls, otherwise an int."""
        seen = value.spec.shape[axis]
        fixed = (
            not self.recorder.varies(value)
            or self.recorder.maker(value) is None
            and value not in self.recorder.graph.inputs
        )
        return seen if fixed else Size.of(Symbol(value, axis, seen))

    def decide(self, expression: Any) -> Any:
        return (
            self.recorder.decide_size(expression, self.here()) if isinstance(expression, Size) else expression
        )

    def fix_all_sizes(self) -> None:
        for value in self.recorder.graph.inputs:
            for axis, seen in enumerate(value.spec.shape):
                self.decide(Size.of(Symbol(value, axis, seen)))

    def here(self) -> Origin:
        return self.call.here()


def _real_operand(item: Any) -> Any:
    if type(item) is TracedScalar and item._value in item._capture.weak:
        # NumPy promotes its own scalars differently from Python numbers.
        return item._seen.item()
    return item._real if type(item) is TracedGenerator else hint(seen_of(item))
