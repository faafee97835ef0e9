"""Records one call of a function, from its arguments to a graph. The entry is ``record``."""

from __future__ import annotations

import dis
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from types import TracebackType
from typing import Any

import keras
import tensorflow as tf
from tensorflow.python.autograph.impl.api import StagingError
from tensorflow.python.ops.resource_variable_ops import BaseResourceVariable, _UnreadVariable

from ...assumptions import NO_ARRAY, SameArray
from ...errors import GraphCompilerError, TracingError, UnsupportedOperation
from ...forwarding import forward
from ...ir.graph import Effect, GraphState
from ...ir.node import Value
from ...ops.registry import ArraySpec
from ...passes.lowering.region_checks import move_checks_out
from ...recording import EnvironmentGuards, Locator, Recorder, Recording, Request, refuse_escapes
from ...recording.code.names import catches, compares_identities
from ...recording.code.ownership import owner_of
from ...recording.control_flow import open_regions
from ...recording.control_flow.lists import finish_lists
from ...recording.environment_guards import is_readable, memory_versions
from ...recording.faults import is_fault
from ...recording.lock import recording_lock
from ...recording.patches import PatchSet, Session, patching, replaced
from ...recording.patches.global_reads import GlobalReads, guards_on_all_globals
from ...recording.patches.host_math import MATH
from ...recording.patches.host_random import DRAWS
from ...recording.patches.settings import SETTINGS, refused
from ...recording.search import Refutation, gives_up, search_recording
from ...recording.state.container_updates import Containers
from ...recording.state.contents import refuse_outside
from ...recording.state.places import Reserved, StatePlace, merge_places, reserved
from ...sizes import Size, Symbol, expression_of, is_symbolic
from ...trees import Tree, call_of, flatten, plain_classes, static_objects
from ..common.lifter import input_names
from ..common.read_numbers import DTYPES, Reading
from . import bookkeeping, branches, derivatives, lists, loops
from .branches import TensorFlowRegions
from .evaluation import run_eagerly
from .known_numbers import number_shims, symbols_of
from .names import is_users
from .outside import is_compiled, layers_of, outside_guards, reach_of
from .process_state import mode_of, preserve_state
from .python_state import PythonState
from .reader import GraphReader, describe, is_numeric
from .sizes import symbolic
from .tracing import MissingAttribute, TensorFlowTrace, as_tensor, is_array, opens, restore_unbuilt, unwrap
from .variables import VariableWeights


class VariableCounter:
    """Counter of the variables that a function creates while it is traced."""

    count = 0

    @contextmanager
    def counting(self, graph: Any, array_of: Callable[[Any], Any]) -> Iterator[None]:
        original = BaseResourceVariable.__init__

        def made(variable: Any, *args: Any, **kwargs: Any) -> None:
            # The object that an assignment returns stands for an existing variable.
            self.count += not isinstance(variable, _UnreadVariable)
            forward(original, variable, *args, **kwargs)

        def started(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
            initial = kwargs.get("initial_value")
            if getattr(initial, "graph", None) is not graph:
                return forward(next_creator, **kwargs)
            # A variable outlives the graph, so its initial value must not be a tensor of the graph.
            array = array_of(initial)
            with run_eagerly():
                return forward(next_creator, **{**kwargs, "initial_value": array})

        with replaced([(BaseResourceVariable, "__init__", made)]), tf.variable_creator_scope(started):
            yield


_READERS = (bookkeeping, branches, loops, lists, derivatives)
_HANDLERS = {kind: handler for module in _READERS for kind, handler in module.READ.items()}
# Treating a place as state may lead the function to further places, so several attempts may be refuted.
_MOST_REFUTED = 5
# Raised by TensorFlow, Keras and Python's functions if a size is None, or an int32 tensor, where they need a
# number. Errors of kernels (``tf.errors``) are not among them, because kernels run on the arrays of the call.
_OF_OPEN_SIZES = (TypeError, ValueError, AttributeError, RuntimeError)
# Pairs of (argument, axis).
Axes = frozenset[tuple[int, int]]

# Random numbers of Python and NumPy would become constants, so the user's code must not ask for them.
_PATCHES = PatchSet(*SETTINGS, *refused(DRAWS), *MATH)


def record(request: Request) -> Recording:
    """Record a call of ``request.function``, which may run several times, and return the recording."""
    arrays = list(map(as_tensor, flatten((request.args, request.kwargs), is_array, opens)[0]))
    start = TracingHypotheses(Axes(), Reading(request.numbers), request.places, request.numbers)
    give_up = (partial(_more_fixed, arrays), _without_numbers)

    def too_many() -> str:
        return (
            f"{request.name} keeps its state in other places each time it is recorded. Return it, or keep "
            "it in a tf.Variable"
        )

    with recording_lock:
        try:
            return search_recording(
                lambda hypotheses: _TracingAttempt(request, hypotheses).run(),
                start,
                give_up,
                _MOST_REFUTED,
                too_many,
                request.name,
            )
        except GraphCompilerError:
            raise
        # The user's code may raise anything. TensorFlow's errors about tracing are translated for the user,
        # and all others are raised unchanged.
        except Exception as problem:
            original = _unwrap(problem)
            raise _translate(request.name, original) from original.__cause__


def _unwrap(problem: Exception) -> Exception:
    while isinstance(problem, StagingError) and isinstance(problem.__context__, Exception):
        problem = problem.__context__
    return problem


@dataclass(frozen=True)
class TracingHypotheses:
    """Hypotheses of one attempt at a recording.

    fixed: axes whose sizes are constants.
    reading: how numbers that Python reads from tensors are treated.
    known: places that are treated as state.
    numbers: True if Python numbers in ``known`` may become symbols.
    """

    fixed: Axes
    reading: Reading
    known: tuple[StatePlace, ...] = ()
    numbers: bool = True


@gives_up("making all sizes symbols")
def _more_fixed(
    arrays: list[Any], hypotheses: TracingHypotheses, problem: Exception
) -> TracingHypotheses | None:
    if not _stems_from_sizes(problem):
        return None
    # The sets grow, so the next one is the first that is larger than the axes that are already fixed.
    more = next((axes for axes in _fixed_axes(arrays) if axes > hypotheses.fixed), None)
    return None if more is None else replace(hypotheses, fixed=more)


@gives_up("making numbers that Python reads symbols")
def _without_numbers(hypotheses: TracingHypotheses, problem: Exception) -> TracingHypotheses | None:
    if not hypotheses.reading.any and not (hypotheses.known and hypotheses.numbers):
        return None
    # The numbers may have caused the exceptions that fixed sizes, so all sizes are symbols again.
    return TracingHypotheses(Axes(), Reading(symbolic=False), hypotheses.known, numbers=False)


def _fixed_axes(arrays: list[Any]) -> tuple[Axes, ...]:
    """Return three sets of axes that attempts may fix, each a part of the next."""
    # Layers need the last size as a number.
    channels = Axes(
        (index, array.ndim - 1)
        for index, array in enumerate(arrays)
        if array.ndim > 1 and array.dtype.is_floating
    )
    every = Axes((index, axis) for index, array in enumerate(arrays) for axis in range(array.ndim))
    return channels, Axes((index, axis) for index, axis in every if axis > 0), every


def _stems_from_sizes(problem: Exception) -> bool:
    """Return True if sizes that are None while the function is traced may have caused ``problem``."""
    # The message differs between TensorFlow's functions and versions, so the class decides.
    if (
        not isinstance(problem, _OF_OPEN_SIZES)
        or isinstance(problem, GraphCompilerError)
        or owner_of(type(problem)) == "user"
    ):
        return False
    return not _is_raised_by_user(problem)


def _is_raised_by_user(problem: BaseException) -> bool:
    last = problem.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return last is not None and _raises(last)


def _raises(last: TracebackType) -> bool:
    code = last.tb_frame.f_code
    return (
        is_users(code.co_filename)
        and owner_of(last.tb_frame) != "python"
        # What the user's code raises on purpose concerns the program, and would be raised with fixed sizes
        # too.
        and code.co_code[last.tb_lasti] == dis.opmap["RAISE_VARARGS"]
    )


def _is_open(item: Any) -> bool:
    return is_array(item) or is_symbolic(item)


def _python_callable(function: Any) -> Any:
    return function.call if isinstance(function, keras.Layer) else function


def _before_autograph(problem: BaseException) -> BaseException:
    # AutoGraph raises an exception of the same class in place of one from converted code.
    while (first := problem.__context__) is not None and hasattr(first, "ag_error_metadata"):
        problem = first
    return problem


_OF_ELEMENTS = (tf.errors.OperatorNotAllowedInGraphError, NotImplementedError, MissingAttribute)


def _translate(name: str, problem: Exception) -> Exception:
    """Return a ``TracingError`` in place of a known error of tracing, and any other ``problem`` itself."""
    if isinstance(problem, AttributeError) and "SymbolicTensor" in str(problem) and "assign" in str(problem):
        why = (
            "assigns a variable that is an argument, of which a graph gets what it holds; keep it in the "
            "function or its object"
        )
    elif isinstance(problem, _OF_ELEMENTS) and not _is_raised_by_user(_before_autograph(problem)):
        lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
        # AutoGraph puts the stack of the user's code before the message, whose line begins with the class.
        words = next(
            (line for line in lines if line.startswith(type(problem).__name__)), lines[0] if lines else ""
        )
        why = (
            "needs the elements of an array while a function inside of it is traced "
            f"({words.partition('. ')[0]})"
        )
    else:
        return problem
    made = TracingError(f"{_user_location(problem)}: {name} {why}")
    made.__cause__ = problem
    return made


def _user_location(problem: Exception) -> str:
    # The traceback leads through code that AutoGraph has generated, and AutoGraph maps its lines to the
    # user's.
    rewritten = getattr(getattr(problem, "ag_error_metadata", None), "translated_stack", ())
    found = [(frame.filename, frame.lineno) for frame in rewritten if is_users(frame.filename)]
    own = [
        (frame.filename, frame.lineno)
        for frame in traceback.extract_tb(problem.__traceback__)
        if is_users(frame.filename)
    ]
    return "{}:{}".format(*(found[0] if found else own[-1] if own else ("unknown file", 0)))


def _example_of(tensor: Any) -> Any:
    return (
        tensor
        if hasattr(tensor, "numpy")
        else tf.ones([2 if size is None else size for size in tensor.shape], tensor.dtype)
    )


@dataclass
class _TracingAttempt:
    """One attempt to trace the function.

    is_first: False if the function is traced again under the same hypotheses.
    created: counter of the variables that this attempt creates.
    """

    request: Request
    hypotheses: TracingHypotheses
    is_first: bool = True
    created: VariableCounter = field(default_factory=VariableCounter)

    def run(self) -> Recording | Refutation[TracingHypotheses]:
        """Trace the function. Return the recording, or a ``Refutation`` with further places of state.

        The function may run again if it created variables or had unbuilt layers.
        """
        with reserved() as locks:
            return self._run(locks)

    def _run(self, locks: Reserved) -> Recording | Refutation[TracingHypotheses]:
        request, hypotheses = self.request, self.hypotheses
        leaves, tree = flatten((request.args, request.kwargs), is_array, opens)
        self.tree: Tree = plain_classes(tree)
        self.reached = reached = reach_of(self._referred())
        refuse_outside(reached.found())
        self.globals = GlobalReads(reached.functions)
        self.session = Session(outside=tf.init_scope, concrete=_example_of)
        layers = layers_of(reached, self._referred())
        self.python_state = PythonState(request.function, layers, hypotheses.known, hypotheses.numbers)
        locks.only(self.python_state.may_change)
        outside = outside_guards(reached, self._referred(), self.python_state.free())
        # These guards hold before the call. One that fails afterwards tells what the function has changed.
        self.before = EnvironmentGuards([*guards_on_all_globals(reached.functions), *outside])
        self.mode = mode_of(request.function)
        self.weights = VariableWeights(
            (request.function, getattr(request.function, "__self__", None), *reached.found()), self.mode
        )
        self.recorder = Recorder(request.name, "tensorflow")
        self.weights.places = self.python_state.places
        locator = Locator()
        count, was_unbuilt = self.created.count, not all(layer.built for layer in layers)
        self.reader = GraphReader(self.recorder, self.weights, _HANDLERS, (layer.name for layer in layers))
        is_open = len(hypotheses.fixed) < sum(as_tensor(leaf).shape.rank for leaf in leaves)
        trace = TensorFlowTrace(self.recorder, self.reader, locator, hypotheses.reading, is_open)
        self.session.symbols = symbols = symbols_of(trace)
        spaces = (function.__globals__ for function in reached.functions)
        shims = (*self.globals.replacements(), *number_shims(symbols, reached.functions))
        try:
            with preserve_state():
                try:
                    with (
                        patching(_PATCHES, self.session, spaces, shims),
                        self.created.counting(trace.graph, lambda tensor: trace.value_of(tensor).seen),
                        restore_unbuilt(layers),
                    ):
                        result, tree = self._trace(trace, leaves)
                    found = [] if self.before.holds() else self.python_state.found(self.containers)
                finally:
                    # Variables and built layers stay for later calls, so their changes are not undone.
                    makes_what_stays = self.created.count > count or was_unbuilt
                    self.python_state.restore(everything=not makes_what_stays)
                # What changed may be due to the creation of variables, which happens only once.
                if found and makes_what_stays and self.is_first:
                    return _TracingAttempt(request, hypotheses, is_first=False)._run(locks)
                if found and not makes_what_stays:
                    self._refuse_traced(found)
                    return Refutation(replace(hypotheses, known=tuple(merge_places(hypotheses.known, found))))
                self._refuse_changed()
                return self._finish(result, tree)
        # The user's code may raise anything. Variables that the first tracing created exist in the second.
        except Exception as problem:
            if is_fault(problem) or not self.is_first or not (self.created.count or was_unbuilt):
                raise
            self.recorder.note_given_up("recording the call that creates variables or builds layers", problem)
            again = _TracingAttempt(request, hypotheses, is_first=False)._run(locks)
            if isinstance(again, Refutation):
                return again
            return replace(again, gave_up=(*self.recorder.gave_up, *again.gave_up))

    def _trace(self, trace: TensorFlowTrace, leaves: list[Any]) -> tuple[list[Any], Tree]:
        """Run the function on placeholders, and return the leaves and the tree of its result.

        Add the inputs to the recorder, and set ``firsts``, ``containers`` and ``state``.
        """
        names = input_names(_python_callable(self.request.function), self.request.args, self.tree)
        arrays = [
            self._argument(trace, index, name, leaf) for index, (name, leaf) in enumerate(zip(names, leaves))
        ]
        firsts, count = self._first_occurrences(leaves), len(self.recorder.graph.inputs)
        args, kwargs = call_of(
            self.tree, [array if first == NO_ARRAY else arrays[first] for array, first in zip(arrays, firsts)]
        )
        self.python_state.enter(partial(self._state, trace))
        self.firsts = (*firsts, *(NO_ARRAY,) * (len(self.recorder.graph.inputs) - count))
        self.containers = Containers(
            (args, kwargs, self.python_state.values), _is_open, self.python_state.world.knows
        )
        regions = TensorFlowRegions(trace)
        with trace.graph.as_default(), trace.answering(), self.mode.applied(), open_regions(regions):
            result = forward(self.request.function, *args, **kwargs)
            result = unwrap(finish_lists(result, args, kwargs) if regions.lists else result)
            self._refuse_caught(trace)
            self.state = self._state_after(count)
            result = (result, tuple(self.containers.new)) if self.state.updates is not None else result
            found, tree = flatten(
                result,
                lambda item: is_array(item) or is_symbolic(item) or isinstance(item, keras.KerasTensor),
                opens,
            )
            # An input that is returned must be a tensor of this graph, and so must a variable.
            tensors = [item if is_symbolic(item) else tf.identity(item) for item in found]
        with run_eagerly():
            try:
                return [
                    expression_of(item) if is_symbolic(item) else self._output(trace, item)
                    for item in tensors
                ], tree
            except tf.errors.OpError as problem:
                self._refuse_unraised(trace, problem)
                raise

    def _first_occurrences(self, leaves: list[Any]) -> tuple[int, ...]:
        """Return for each leaf the index of the first leaf that is the same object, or ``NO_ARRAY``."""
        # Calls that pass one tensor twice would need a variant of their own, so only code that can tell has
        # this guard.
        if len(leaves) < 2 or not any(map(compares_identities, self.reached.functions)):
            return (NO_ARRAY,) * len(leaves)
        given = list(map(id, leaves))
        return tuple(map(given.index, given))

    def _refuse_caught(self, trace: TensorFlowTrace) -> None:
        # Whether the operation fails may depend on sizes or elements that the graph does not check.
        if trace.failed is not None:
            raise TracingError(
                f"{_user_location(trace.failed)}: {self.request.name} catches what an operation raised "
                f"({str(trace.failed).splitlines()[0]}). A "
                "graph does not catch errors of operations: ask for the size or the elements before "
                "instead (if, tf.cond)"
            )

    def _refuse_unraised(self, trace: TensorFlowTrace, problem: Exception) -> None:
        # Operations are read in order, so the first one without a result is the one that failed.
        unread = (
            operation
            for operation in trace.graph.get_operations()
            if operation.outputs and id(operation.outputs[0]) not in self.reader.held
        )
        handles = any(catches(function.__code__) for function in self.reached.functions)
        if not handles or (failed := next(unread, None)) is None:
            return
        origin = self.reader.origin(failed)
        raise TracingError(
            f"{origin.file}:{origin.line}: an operation fails ({str(problem).splitlines()[0]}), and "
            f"{self.request.name} has a try that might catch it. A graph does not catch errors of "
            "operations: ask for the size or the elements before instead (if, tf.cond)"
        ) from problem

    def _argument(self, trace: TensorFlowTrace, index: int, name: str, leaf: Any) -> Any:
        array = as_tensor(leaf)
        return self._input(
            trace, name, leaf, array, [(index, axis) in self.hypotheses.fixed for axis in range(array.ndim)]
        )

    def _input(self, trace: TensorFlowTrace, name: str, leaf: Any, array: Any, fixed: list[bool]) -> Any:
        if not is_numeric(array.dtype):
            raise UnsupportedOperation(
                f"{self.request.name}: {name} holds {describe(array)}, which have no counterpart in "
                "other frameworks"
            )
        value = self.recorder.add_input(name, leaf, ArraySpec(tuple(array.shape), array.dtype.name))
        for axis, is_fixed in enumerate(fixed):
            # A fixed size is a constant of the graph, so a guard keeps calls with another size from it.
            if is_fixed:
                self.recorder.decide_size(
                    Size.of(Symbol(value, axis, int(array.shape[axis]))), trace.locator.locate("a size", 2)
                )
        return trace.argument(value, array, fixed)

    def _state(self, trace: TensorFlowTrace, name: str, leaf: Any) -> Any:
        if type(leaf) in DTYPES:
            value = self.recorder.add_number(name, DTYPES[type(leaf)])
            return symbolic(trace, Size.of(Symbol(value, 0, leaf, "item")))
        array = as_tensor(leaf)
        return self._input(trace, name, leaf, array, [bool(self.hypotheses.fixed)] * array.ndim)

    def _state_after(self, count: int) -> GraphState:
        """Return the graph's state: the places that the call reads, and its updates of places and containers.

        Set ``call_inputs`` of the graph if it has inputs for state.
        """
        updates, state = self.containers.updates(), self.python_state.recorded(self.containers)
        if len(self.recorder.graph.inputs) > count:
            self.recorder.graph.call_inputs = count
        changes = bool(updates or state.replaced)
        return GraphState(places=state if state.places else None, updates=tuple(updates) if changes else None)

    def _output(self, trace: TensorFlowTrace, tensor: Any) -> Value:
        return self.reader.value(trace.value_of(tensor))

    # ------------------------------------------------------------------------------ the graph
    def _finish(self, outputs: list[Any], tree: Tree) -> Recording:
        graph = self.recorder.graph
        refuse_escapes(
            graph.name,
            tree,
            self.tree,
            lambda item: is_symbolic(item) or isinstance(item, tf.Tensor) and not hasattr(item, "numpy"),
        )
        graph.outputs = outputs
        first: dict[int, int] = {}
        graph.state = replace(
            self.state,
            same_outputs=tuple(first.setdefault(id(item), place) for place, item in enumerate(outputs)),
        )
        with run_eagerly():
            left = {
                name: self.reader.value(self.reader.variables[number])
                for number, name in self.reader.assigned.items()
            }
        graph.effects = [
            Effect("buffer", name, value)
            for name, value in left.items()
            # A variable that holds its old value again at the end needs no assignment.
            if value is not graph.parameters[name]
        ]
        graph.input_tree, graph.output_tree = self.tree, tree
        graph.assume(SameArray(self.firsts))
        self.recorder.forget_arrays()
        is_opened = self.hypotheses.reading.any or bool(self.python_state.places and self.hypotheses.numbers)
        environment = self._environment()
        return Recording(
            move_checks_out(graph, bookkeeping.record_operation),
            self.weights,
            environment,
            self.python_state.places,
            is_opened,
            tuple(self.recorder.gave_up),
        )

    def _referred(self) -> tuple[Any, ...]:
        return (self.request.function, *static_objects(self.tree))

    def _refuse_traced(self, found: list[StatePlace]) -> None:
        # TensorFlow runs such code only while it traces, so the original would not change the place at each
        # call.
        traced = [
            item.python_function for item in (*self._referred(), *self.reached.found()) if is_compiled(item)
        ]
        if traced and self.python_state.is_changed_by(found, traced):
            what = ", ".join(place.name for place in found)
            raise TracingError(
                f"{self.recorder.graph.name}: while it was traced, {what} changed: what a tf.function "
                "keeps has to be in variables, for "
                "its Python code runs only while TensorFlow traces it. Return it, or keep it in a tf.Variable"
            )

    def _refuse_changed(self) -> None:
        if what := self.before.changed():
            raise TracingError(
                f"{self.recorder.graph.name}: while it was traced, {what} changed: what a function of "
                "TensorFlow keeps has to be in variables. Return it, or keep it in a tf.Variable"
            )

    def _environment(self) -> EnvironmentGuards:
        self.reached.extend(self.globals.functions())
        outside = outside_guards(
            self.reached, self._referred(), self.python_state.free(self.containers.compared_with(self.tree))
        )
        guards = [
            *self.globals.guards(),
            *self.session.guards(),
            self.mode.guard(layers_of(self.reached, self._referred())),
            *outside,
            *self.weights.guards(self.reached.names),
        ]
        return EnvironmentGuards(guards, memory_versions if is_readable else None)
