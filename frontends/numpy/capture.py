"""Recording of each NumPy ufunc, function, method and operator that gets a traced array.

Calls also run on the arrays behind the proxies. Sizes are symbolic numbers, and elements that Python reads
become guards. Writing calls are known by name, and views by the memory of their results. Arrays that were
written to are restored after the recording.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...errors import TracingError
from ...forwarding import forward, forwards
from ...ir.node import CallRecord, Origin, Value
from ...ops.dtypes import is_floating, is_inexact
from ...ops.registry import ArraySpec
from ...recording import Locator, Recorder
from ...recording.loop_marks import LoopCallbacks, LoopMarker
from ...sizes import Size, Symbol, expression_of, is_symbolic
from ...trees import iterate_structure, map_structure
from ..common.read_numbers import Reading
from . import calls as kinds
from .calls import HOST_MATH, METHOD, PYTHON_MODULES, name_of, row_key
from .draws import FUNCTION, SPEC, GeneratorStates, TracedGenerator
from .patches import recorded
from .reading import ANSWERS, METHODS, decide_operands, expect_as_read, rounded_number
from .traced import Traced, TracedArray, TracedScalar, hint, is_traced, owner_of, seen_of, symbolic

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
        """Return the constant of equal scalars without a name, or else a new constant for ``array``."""
        name, is_array = self._locator.name_of(array), isinstance(array, np.ndarray)
        # Each iteration of a loop may meet such scalars, which share one constant.
        made = None if is_array or name else self._scalars.get((spec.dtype, elements))
        if made is None:
            # The user may write to the array later, so the constant is a copy.
            made = self._recorder.add_constant(name or "constant", array.copy() if is_array else array, spec)
        if not is_array and not name:
            self._scalars[spec.dtype, elements] = made
        return made


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


_ARRAYS = (np.ndarray, np.generic)
_NUMBERS = (bool, int, float, complex)


class NumpyCapture:
    """One recording in progress.

    recorder: the graph under construction.
    reading: whether numbers that Python reads from arrays become symbols.
    locator: finds the user's line and variable names.
    call: name of the current call, for error messages.
    inside: True while NumPy computes a recorded call. Calls that it makes are not recorded, and raise for
        proxies.
    is_open: True while calls are recorded.
    states: states of the random generators after the last recorded call.
    loops: marks of the loops that run.
    weak: values of Python numbers, which take the dtype of the arrays they are combined with.
    read: those of ``weak`` that Python code has read from arrays or computed from such numbers.
    reads_layout: True once the function asks for the memory layout of an array.
    by_strides: arguments and results of calls that return a view or a copy, depending on strides.
    """

    def __init__(self, recorder: Recorder, reading: Reading) -> None:
        self.recorder, self.reading = recorder, reading
        self.locator = Locator()
        self.call = ""
        self.inside = False
        self.is_open = False
        self.states = GeneratorStates()
        is_open, position = lambda: not self.inside, lambda: len(recorder.graph.nodes)
        self.loops = LoopMarker(
            recorder,
            LoopCallbacks(
                "numpy", self._state_of, expression_of, partial(symbolic, self), self.here, is_open, position
            ),
        )
        self.weak: set[Value] = set()
        self.read: set[Value] = set()
        self.reads_layout = False
        self.by_strides: set[Value] = set()
        self._constants = Constants(recorder, self.locator)
        self._saved: dict[Value, tuple[Any, Any]] = {}
        self._sources: dict[Value, Any] = {}

    # ------------------------------------------------------------------------------ begin and end
    @contextmanager
    def isolated(self) -> Iterator[None]:
        """Record calls inside the block, and afterwards restore the elements of inputs and parameters."""
        self.is_open = True
        try:
            yield
        finally:
            self.is_open = False
            # Two arrays may share memory, so the first copy is restored last.
            for array, before in reversed(self._saved.values()):
                np.copyto(array, before)

    def add_input(self, name: str, array: Any) -> Any:
        made = self.wrapped(array, Value(name, self.spec_of(array)))
        value = self.recorder.add_input(name, made, made._value.spec)
        return self._source(made, value)

    def add_generator(self, name: str, generator: Any) -> TracedGenerator:
        return TracedGenerator(self, generator, self.recorder.add_input(name, generator, SPEC))

    def kept_generator(self, generator: Any) -> TracedGenerator:
        return TracedGenerator(self, generator, self.recorder.add_constant("generator", generator, SPEC))

    def add_number(self, name: str, dtype: str) -> Value:
        return self.recorder.add_number(name, dtype)

    def add_parameter(self, name: str, array: Any) -> Any:
        made = self.wrapped(array, Value(name, self.spec_of(array)))
        return self._source(made, self.recorder.add_parameter(name, made, made._value.spec))

    def _source(self, made: Any, value: Value) -> Any:
        # The recorder makes the value for the proxy, so the proxy gets it only now.
        made._value = value
        self._sources[value] = made._seen
        return made

    def forget_arrays(self) -> None:
        self.recorder.forget_arrays()
        self._constants.clear()
        self._saved.clear()
        self._sources.clear()

    # ------------------------------------------------------------------------------ entry points
    def ufunc(self, ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record a call of a ufunc (``method`` is ``__call__``) or of one of its methods such as ``reduce``.

        Raise :class:`TracingError` if the ufunc has no public name.
        """
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
        """Record a call of a public function of NumPy and return its result.

        Functions of ``numpy.polynomial`` run as they are, and the calls that they make are recorded.
        Functions in ``ANSWERS`` are answered without a call of their own. Raise :class:`TracingError` for
        any other function that is not public.
        """
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
        """Return an attribute of a traced array: a property, a view, or a method that records its calls.

        Raise ``AttributeError`` if NumPy has no such attribute, or if its name begins with two underscores
        and is not in ``METHODS``. Raise :class:`TracingError` if it cannot be recorded.
        """
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
        """Record an operator, of which at least one operand is traced, and return its result.

        Return NotImplemented if an operand is a string, dict or set. If the traced operands are numbers that
        must be constants, the result is not recorded.
        """
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
        if not self._stands_at(array, index, item):
            self.record(f"{METHOD}__setitem__", operator.setitem, (array, index, item), {})

    def _stands_at(self, array: Traced, index: Any, item: Any) -> bool:
        # After ``array[index] += ...``, ``item`` is the view ``array[index]`` itself, and the assignment
        # changes nothing.
        made = (
            self.recorder.maker(item._value)
            if is_traced(item) and owner_of(item._seen) is owner_of(array._seen)
            else None
        )
        if made is None or made.op != f"{METHOD}__getitem__" or made.inputs[0] is not array._value:
            return False
        return bool(made.inputs[1] == map_structure(self._recorded, index))

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
        """Run a call on the arrays behind its proxies, append its node, and return the result with proxies.

        No node is appended if the call returns no new array or scalar, writes to no argument, and
        samples nothing. Raise :class:`TracingError` if the recording is over, if another call is
        running, or if the call cannot be recorded.

        gives_number: called after the call; True if a scalar result is a Python number for the user's
            code.
        reads: True if that number is read from an array.
        """
        self.call, key = name, row_key(name)
        self._check_state()
        args, kwargs = kinds.normalize_arguments(self, name, args, kwargs)
        operands = [item for item in iterate_structure((args, kwargs)) if is_traced(item)]
        written = kinds.written_arrays(self, name, args, kwargs)
        inputs, params = map_structure(self._recorded, args), map_structure(self._recorded, kwargs)
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
            strided=key in kinds.BY_MEMORY and self._is_strided(*args, **kwargs),
            errstate=kinds.errstate(),
        )
        found = self._noted(name, inputs, params, operands, written, result, noted)
        if is_number:
            self.weak.add(found._value)
        if is_read:
            self.read.add(found._value)
        if from_read:
            expect_as_read(self, key, args, found)
        return found

    def _is_strided(self, x: Any, *args: Any, **kwargs: Any) -> bool:
        """Return True unless ``x`` is in row-major order. Other calls must have the same layout."""
        self.reads_layout = True
        seen = np.asarray(seen_of(x))
        # At other sizes the strides of axes of size 1 matter, too, which NumPy's flags ignore.
        return seen.strides != np.empty_like(seen, order="C").strides

    def _check_state(self) -> None:
        if not self.is_open:
            raise TracingError(
                f"{self.call}: an array of a recording is used after it; a function must not keep what it "
                "was given where graph_compiler "
                "cannot see it"
            )
        if self.inside:
            raise TracingError(
                f"{self.here()}: code inside of a call of numpy uses arrays of the recording, which cannot "
                "be followed"
            )

    def _attempt(self, function: Callable[..., Any], operands: list[Any], args: Any, kwargs: Any) -> Any:
        """Call ``function`` on the arrays behind its proxies.

        If it raises, guard all input sizes and elements that may have caused the exception, and raise again.
        """
        self.inside = True
        try:
            return forward(
                function, *map_structure(_real_operand, args), **map_structure(_real_operand, kwargs)
            )
        # The user's code may catch the exception. The graph then is valid only for sizes and elements for
        # which NumPy raises, too.
        except Exception as problem:
            self.inside = False
            self._fix_all_sizes()
            for array in operands:
                is_of_elements = isinstance(
                    problem, (np.linalg.LinAlgError, ArithmeticError)
                ) or self.call.startswith(HOST_MATH)
                if is_of_elements or not is_floating(array.dtype.name):
                    self.elements(array)
            raise
        finally:
            self.inside = False

    def _fix_all_sizes(self) -> None:
        for value in self.recorder.graph.inputs:
            for axis, seen in enumerate(value.spec.shape):
                self.decide(Size.of(Symbol(value, axis, seen)))

    def _noted(
        self,
        name: str,
        inputs: Any,
        params: Any,
        operands: list[Any],
        written: list[Any],
        result: Any,
        noted: CallRecord,
    ) -> Any:
        made: dict[int, Any] = {}
        # Only arrays are recognized by identity: np.True_ is always the same object.
        given = {id(item._seen): item for item in reversed(operands) if isinstance(item._seen, np.ndarray)}
        if self._may_return_another(noted.key, inputs, params, operands):
            # With a view the call is a node, whose row guards what the call depends on.
            kept = {id(item._seen) for item in written}
            result = map_structure(
                lambda item: item.view() if id(item) in given and id(item) not in kept else item, result
            )
        leaves = [item for item in iterate_structure((result,)) if isinstance(item, _ARRAYS)]
        self._check_result(result, operands)
        for leaf in leaves:
            if id(leaf) not in given:
                made.setdefault(
                    id(leaf), self.wrapped(leaf, Value(kinds.proposed_name(noted.key), self.spec_of(leaf)))
                )
        known = {**given, **made}
        if made or written or noted.random:
            outputs = self.recorder.new_values(
                [(item._value.name, item, item._value.spec) for item in made.values()]
            )
            for item, value in zip(made.values(), outputs):
                item._value = value
            record = self._record(noted, known, operands, written, list(made.values()), result)
            self.recorder.add_call(name, inputs, params, self.locator.locate(name, 3), outputs, record)
        # ``np.array`` copies unless it is told not to.
        if noted.key in kinds.BY_STRIDES and not (noted.key == "array" and params.get("copy", True) is True):
            self.by_strides.update(item._value for item in (*operands, *made.values()))
        return map_structure(lambda item: known[id(item)] if isinstance(item, _ARRAYS) else item, result)

    def _may_return_another(self, key: str, inputs: Any, params: Any, operands: list[Any]) -> bool:
        """Return True if a call that returns its argument may return another array in other calls."""
        # ``numpy.squeeze`` does at other sizes, and ``numpy.diff`` does for another ``n``.
        return (
            key in kinds.BY_SIZES
            or any(item._value in self.weak for item in operands)
            or any(isinstance(item, Size) for item in iterate_structure((inputs, params)))
        )

    def _record(
        self,
        noted: CallRecord,
        known: dict[int, Any],
        operands: list[Any],
        written: list[Any],
        made: list[Any],
        result: Any,
    ) -> CallRecord:
        # In reversed order, so that the first of several operands with the same memory is the owner.
        memory = {
            id(owner_of(item._seen)): item._value
            for item in reversed(operands)
            if isinstance(item._seen, np.ndarray)
        }
        owners = {
            index: id(owner_of(item._seen))
            for index, item in enumerate(made)
            if isinstance(item._seen, np.ndarray)
        }
        return replace(
            noted,
            result=map_structure(
                lambda item: known[id(item)]._value if isinstance(item, _ARRAYS) else item, result
            ),
            writes=tuple(dict.fromkeys(item._value for item in written)),
            views={index: memory[owner] for index, owner in owners.items() if owner in memory},
        )

    def _check_result(self, result: Any, operands: list[Any]) -> None:
        others = [
            item
            for item in iterate_structure((result,))
            if not isinstance(item, _ARRAYS) and item is not None
        ]
        if others and any(self.recorder.varies(item._value) for item in operands):
            raise TracingError(
                f"{self.here()}: {self.call} gives Python {others[0]!r:.80} of an array that depends on the "
                "inputs, and nothing is known "
                "of when this changes. Compute it from the array's shape or elements"
            )

    def _save(self, item: Any) -> None:
        base = self.recorder.base_of(item._value)
        # NumPy raises for writes to read-only arrays.
        if base in self._sources and base not in self._saved and self._sources[base].flags.writeable:
            self._saved[base] = (self._sources[base], self._sources[base].copy())

    # ------------------------------------------------------------------------------ arrays
    def wrapped(self, array: Any, value: Value) -> Any:
        return (TracedArray if isinstance(array, np.ndarray) else TracedScalar)(self, array, value)

    def spec_of(self, array: Any) -> ArraySpec:
        """Return the spec of an array or scalar.

        Raise :class:`TracingError` if its dtype cannot be recorded, or if its class is a subclass of
        ``ndarray`` other than ``memmap``.
        """
        name = kinds.dtype_name(array.dtype)
        if name is None:
            raise TracingError(
                f"{self.here()}: arrays of {array.dtype!r} cannot be recorded: no other framework has this "
                "data type"
            )
        if isinstance(array, np.ndarray) and type(array) not in (np.ndarray, np.memmap):
            raise TracingError(
                f"{self.here()}: {type(array).__name__} is a class of arrays of its own; pass np.asarray of "
                "it"
            )
        return ArraySpec(tuple(map(int, array.shape)), name)

    def _recorded(self, item: Any) -> Any:
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
        return self._constants.met(array, self.spec_of(array))

    def _state_of(self, item: Any) -> tuple[Value, Any] | None:
        return (item._value, (type(item), item._value in self.weak)) if is_traced(item) else None

    # ------------------------------------------------------------------------------ sizes and elements
    def sizes_of(self, array: Traced) -> tuple[Any, ...]:
        return tuple(symbolic(self, self.size(array._value, axis)) for axis in range(array.ndim))

    def size(self, value: Value, axis: int) -> Any:
        """Return the size of an axis: a symbol if it may differ between calls, otherwise an int."""
        seen = value.spec.shape[axis]
        fixed = (
            not self.recorder.varies(value)
            or self.recorder.maker(value) is None
            and value not in self.recorder.graph.inputs
        )
        return seen if fixed else Size.of(Symbol(value, axis, seen))

    def strides_of(self, array: Any) -> tuple[Any, ...]:
        steps = zip(array.shape, array._seen.strides)
        symbols = [
            Symbol(array._value, axis, step // array.itemsize, "stride")
            for axis, (_, step) in enumerate(steps)
        ]
        return tuple(symbolic(self, Size.of(symbol) * array.itemsize) for symbol in symbols)

    def flat(self, array: Any) -> Any:
        """Return ``array`` reshaped to one axis, for ``array.flat``.

        Raise :class:`TracingError` if ``array`` is not C-contiguous.
        """
        # Writes to such a reshaped array would go to a copy.
        if not array._seen.flags.c_contiguous:
            raise TracingError(
                f"{self.here()}: flat of an array that is not contiguous cannot be recorded; use ravel, or "
                "np.copyto"
            )
        return self.method(array, "reshape", (-1,), {})

    def decide(self, expression: Any) -> Any:
        return (
            self.recorder.decide_size(expression, self.here()) if isinstance(expression, Size) else expression
        )

    def element(self, array: Traced, convert: Callable[[Any], Any], answer: Any) -> Any:
        """Guard the only element of ``array``, and return ``answer``, which ``convert`` returned for it."""
        # Python gets a constant, so the array that is guarded has no derivative.
        array = self.snapshot_of(array, as_constants=convert in (float, complex))
        if convert is bool and array.dtype != bool:
            # Only the truth of the element must stay the same, not the element.
            array = self.operator("__ne__", operator.ne, array, 0)
        elif convert in (int, operator.index) and is_floating(array.dtype.name):
            # ``int`` truncates, so only the integer part of the element must stay the same.
            array = self.method(array, "astype", (np.int64,), {})
        self.recorder.decide_value(array._value, array._seen.tolist(), self.here())
        return answer

    def elements(self, array: Any, as_constants: bool = False) -> Any:
        seen = array._seen.tolist()
        self.recorder.decide_value(self.snapshot_of(array, as_constants)._value, seen, self.here())
        return seen

    def snapshot_of(self, array: Any, as_constants: bool = False) -> Any:
        """Return a copy of the current elements of ``array``, or ``array`` itself if it needs none.

        ``as_constants`` marks the copy of a float or complex array as a constant, without a derivative.
        """
        # Guards are evaluated after later writes. An immutable array, or one that is the same in all calls,
        # needs no copy.
        as_constants = as_constants and is_inexact(array.dtype.name)
        if type(array) is TracedScalar and not as_constants or not self.recorder.varies(array._value):
            return array
        copied = self.wrapped(array._seen.copy(), Value("seen", array._value.spec))
        made = ("seen", copied, array._value.spec)
        record = CallRecord("clone", is_host_number=as_constants)
        copied._value = self.recorder.add_value("numpy.copy", (array._value,), self.here(), made, record)
        return copied

    def refuse_elements(self) -> Any:
        """Raise :class:`TracingError`, because elements are asked for by code that cannot be recorded."""
        raise TracingError(
            f"{self.here()}: the elements of an array are handed to code that cannot be seen (compiled code, "
            "a constructor such as "
            "np.float32, an array that was made outside of the recording and is indexed or written to). Use "
            "functions "
            "of numpy on what the function is given and makes itself, or pass the other array as an argument"
        )

    def here(self) -> Origin:
        return self.locator.locate(self.call, 2)


def _real_operand(item: Any) -> Any:
    if type(item) is TracedScalar and item._value in item._capture.weak:
        # NumPy promotes its own scalars differently from Python numbers.
        return item._seen.item()
    return item._real if type(item) is TracedGenerator else hint(seen_of(item))
