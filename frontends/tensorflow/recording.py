"""One recording of a function, from its arguments to a graph."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import keras
import tensorflow as tf

from ...assumptions import SameArray
from ...assumptions.same_array import NO_ARRAY
from ...errors import GraphCompilerError, TracingError, UnsupportedOperation
from ...ir.graph import Effect
from ...ir.node import Value
from ...ops.registry import ArraySpec
from ...passes.carried_checks import carry_out
from ...sizes import Size, Symbol, expression_of, is_symbolic
from ...tracing import EnvironmentGuards, Locator, Recorder, Recording, Request, refuse_escapes
from ...tracing.code_names import names_read
from ...tracing.iterators import refuse_outside
from ...tracing.recording_lock import recording_lock
from ...trees import Tree, call_of, flatten, plain_classes, referred
from ..namespaces import GlobalReads, all_of
from ..reading import Reading
from ..setting_reads import SettingReads
from ..signatures import input_names
from . import assertions, bookkeeping, branches, checks, derivatives, lists, loops, partial_writes
from .arguments import as_tensor, is_array, opens
from .creation import Created
from .evaluation import computing
from .folders import is_users
from .keras_sizes import numbers_for_keras
from .numbers import numbers_seen
from .outside import outside_of, reach_of
from .reader import Reader, is_numeric, what_is
from .tracing import Trace
from .variables import Weights

_HANDLERS = {**bookkeeping.READ, **assertions.READ, **branches.READ, **loops.READ, **lists.READ, **derivatives.READ, **partial_writes.READ}
# Which axes of an argument have the sizes of the call, as guards: none; channels, which layers need as a number; all but the first; all.
_FIXED: tuple[Callable[[Any, int], bool], ...] = (
    lambda array, axis: False,
    lambda array, axis: axis == array.ndim - 1 > 0 and array.dtype.is_floating,
    lambda array, axis: axis > 0,
    lambda array, axis: True,
)


def record(request: Request) -> Recording:
    """Traces the function. Sizes are symbols; where the user's code or TensorFlow needs numbers, it is traced again with more of them
    fixed.

    Each operation is run once, on the arrays of the call, and nothing outside is changed.
    """
    reading = Reading(request.numbers)
    with recording_lock:
        try:
            return _recorded(request, reading)
        except Exception:
            if not reading.any:  # what stands for numbers may have been what failed
                raise
        return _recorded(request, Reading(symbolic=False))


def _recorded(request: Request, reading: Reading) -> Recording:
    problems: list[Exception] = []
    for fixed in _FIXED:
        try:
            return _Attempt(request, fixed, reading).run()
        except GraphCompilerError:
            raise
        except Exception as problem:
            problems.append(problem)
    raise _told(request.name, problems[-1])


def _told(name: str, problem: Exception) -> Exception:
    """What TensorFlow says of tensors whose elements are not known, with the line; any other exception as it is."""
    if isinstance(problem, AttributeError) and "SymbolicTensor" in str(problem) and "assign" in str(problem):
        why = "assigns a variable that is an argument, of which a graph gets what it holds; keep it in the function or its object"
    elif isinstance(problem, (tf.errors.OperatorNotAllowedInGraphError, NotImplementedError)):
        lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
        words = next((line for line in lines if line.startswith(type(problem).__name__)), lines[0] if lines else "")
        why = f"needs the elements of an array while a function inside of it is traced ({words.partition('. ')[0]})"
    else:
        return problem
    made = TracingError(f"{_place(problem)}: {name} {why}")
    made.__cause__ = problem
    return made


def _place(problem: Exception) -> str:
    """The last line of the user's that led to an exception, also in code that AutoGraph has rewritten."""
    rewritten = getattr(getattr(problem, "ag_error_metadata", None), "translated_stack", ())
    found = [(frame.filename, frame.lineno) for frame in rewritten if is_users(frame.filename)]
    own = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(problem.__traceback__) if is_users(frame.filename)]
    return "{}:{}".format(*(found[0] if found else own[-1] if own else ("unknown file", 0)))


@dataclass
class _Attempt:
    """One tracing; ``is_fixed`` tells of each array and axis whether its size is a number. What the first one has made of variables is
    there in the second."""

    request: Request
    is_fixed: Callable[[Any, int], bool]
    reading: Reading
    is_first: bool = True
    created: Created = field(default_factory=Created)

    def run(self) -> Recording:
        """The recording."""
        request = self.request
        leaves, tree = flatten((request.args, request.kwargs), is_array, opens)
        self.tree: Tree = plain_classes(tree)
        self.reached = reached = reach_of(self._referred())
        refuse_outside(reached.found())
        self.globals = GlobalReads((function.__globals__, name) for function in reached.functions for name in names_read(function.__code__))
        self.settings = SettingReads(list({id(function.__globals__): function.__globals__ for function in reached.functions}.values()))
        self.before = EnvironmentGuards([*all_of(reached.functions), *outside_of(reached, self._referred())])
        self.weights = Weights((request.function, getattr(request.function, "__self__", None), *reached.found()))
        self.recorder = Recorder(request.name, "tensorflow")
        locator = Locator()
        self.reader = Reader(self.recorder, self.weights, _HANDLERS)
        trace = Trace(self.recorder, self.reader, locator, self.reading)
        try:
            with self.globals, self.settings:
                with numbers_seen(trace, reached.functions), self.created.counting(trace.graph, lambda tensor: trace.held(tensor).seen):
                    result, tree = self._traced(trace, leaves)
                return self._finished(result, tree)
        except Exception:
            if self.created.count and self.is_first:
                return _Attempt(request, self.is_fixed, self.reading, is_first=False).run()
            raise

    def _traced(self, trace: Trace, leaves: list[Any]) -> tuple[list[Any], Tree]:
        """The leaves of the result (values, sizes), and its structure."""
        names = input_names(self.request.function, self.request.args, self.tree)
        arrays = [self._argument(trace, name, leaf) for name, leaf in zip(names, leaves)]
        args, kwargs = call_of(self.tree, arrays)
        with trace.graph.as_default(), trace.answering(), numbers_for_keras(trace.graph, trace.size):
            result = self.request.function(*args, **kwargs)
            found, tree = flatten(result, lambda item: is_array(item) or is_symbolic(item) or isinstance(item, keras.KerasTensor), opens)
            tensors = [item if is_symbolic(item) else tf.identity(item) for item in found]
        with computing():
            return [expression_of(item) if is_symbolic(item) else self._output(trace, item) for item in tensors], tree

    def _argument(self, trace: Trace, name: str, leaf: Any) -> Any:
        array = as_tensor(leaf)
        if not is_numeric(array.dtype):
            raise UnsupportedOperation(f"{self.request.name}: {name} holds {what_is(array)}, which have no counterpart in other frameworks")
        value = self.recorder.add_input(name, leaf, ArraySpec(tuple(array.shape), array.dtype.name))
        fixed = [self.is_fixed(array, axis) for axis in range(array.ndim)]
        for axis, is_fixed in enumerate(fixed):
            if is_fixed:
                self.recorder.decide_size(Size.of(Symbol(value, axis, int(array.shape[axis]))), trace.locator.locate("a size", 2))
        return trace.argument(value, array, fixed)

    def _output(self, trace: Trace, tensor: Any) -> Value:
        return self.reader.value(trace.held(tensor))

    # ------------------------------------------------------------------------------ the graph
    def _finished(self, outputs: list[Any], tree: Tree) -> Recording:
        graph = self.recorder.graph
        refuse_escapes(
            graph.name, tree, self.tree, lambda item: is_symbolic(item) or isinstance(item, tf.Tensor) and not hasattr(item, "numpy")
        )
        graph.outputs = outputs
        with computing():
            left = {name: self.reader.value(self.reader.variables[number]) for number, name in self.reader.assigned.items()}
        graph.effects = [Effect("buffer", name, value) for name, value in left.items() if value is not graph.parameters[name]]
        graph.input_tree, graph.output_tree = self.tree, tree
        graph.assume(SameArray((NO_ARRAY,) * len(graph.inputs)))  # tensors never change: they may be one or two
        self.recorder.forget_arrays()
        return Recording(carry_out(graph, checks.recorded), self.weights, self._unchanged(), opened=self.reading.any)

    def _referred(self) -> tuple[Any, ...]:
        return (self.request.function, *referred(self.tree))

    def _unchanged(self) -> EnvironmentGuards:
        """What the function refers to; ``TracingError`` where it has changed it, which a graph would not do again."""
        if not self.before.holds():
            raise TracingError(
                f"{self.recorder.graph.name}: while it was traced, {self.before.reason().removesuffix(' since')}: what a function of "
                "TensorFlow keeps "
                "has to be in variables. Return it, or keep it in a tf.Variable"
            )
        self.reached.extend(self.globals.functions())
        outside = outside_of(self.reached, self._referred())
        return EnvironmentGuards([*self.globals.facts(), *self.settings.facts(), *outside, *self.weights.facts()])
