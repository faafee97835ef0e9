"""Recording of a JAX function: from its arguments to a graph."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jax._src import config
from jax._src.traceback_util import api_boundary

from ...assumptions import NO_ARRAY, SameArray, assume_fact
from ...errors import TracingError
from ...forwarding import forward
from ...ir.graph import DebugInfo
from ...ir.node import CallRecord, Node, Origin, Value
from ...ops.collectives import RECORDED_DEVICES
from ...ops.registry import ArraySpec
from ...passes.lowering.region_checks import TRUTH, move_checks_out
from ...recording import EnvironmentGuards, Locator, Reached, Recorder, Recording, Request, facts_outside
from ...recording.control_flow import open_regions
from ...recording.control_flow.lists import finish_lists
from ...recording.environment_guards import EnvironmentGuard
from ...recording.escapes import refuse_escapes
from ...recording.faults import is_fault
from ...recording.lock import recording_lock
from ...recording.loop_marks import counting_arguments
from ...recording.patches import PatchSet, Session, patching
from ...recording.patches.builtin_names import builtin_lookups, conversion_replacements, type_replacements
from ...recording.patches.global_reads import GlobalReads, guards_on_all_globals
from ...recording.patches.host_math import MATH
from ...recording.patches.host_random import DRAWS
from ...recording.patches.patch import Replacement
from ...recording.patches.settings import SETTINGS, refused
from ...recording.reachability.walk import WalkPolicy
from ...recording.request import GivenArguments
from ...recording.search import Refutation, search_recording
from ...recording.state.contents import buffer_bytes, refuse_outside
from ...sizes import Size, Symbol, apply, expression_of, is_symbolic
from ...trees import Tree, call_of, flatten, leaves_at, plain_classes, static_objects
from ..common.lifter import argument_names, input_names
from ..common.read_numbers import DTYPES, Reading, decide, with_numbers
from .calls import CUSTOM_RULES, as_jax, dtype_name_of, recording_calls
from .dtypes import dtype_name, is_key, narrow_dtype, words_type
from .equations import Reader
from .intercept.elements import ANSWERS, SYMBOLS, Answers, TracerReads, dimension_shims, update_patches
from .intercept.loops import ROWS, TracedLoops
from .models import CalledGraph, input_checks, is_model, is_nnx, settings_of
from .names import OF_LOOPS, SETITEM, row_key
from .parameters import JaxWeights
from .regions import JaxRegions
from .sizes import deciding, example_of, symbolic
from .tracers import ERRORS, HiddenTracers, UnknownElements, explain_outer_trace, explain_unknown_elements


@dataclass(frozen=True)
class JaxHypotheses:
    """Assumptions and settings of one tracing.

    equal: True if sizes that are equal in the call may share a symbol.
    fixed: axes, as (input, axis), whose size is that of the recorded call; (input, 0) for a number input.
    reads: True if a run before the tracing finds which elements Python reads.
    loops: True if trip counts, and number arguments that count loops, are symbols.
    """

    equal: bool = False
    fixed: frozenset[tuple[int, int]] = frozenset()
    reads: bool = False
    loops: bool = True

    def given_up_of(self, before: JaxHypotheses) -> str:
        if self.loops != before.loops:
            return "making the numbers of iterations symbols"
        if self.fixed != before.fixed:
            return "making all sizes symbols"
        return "telling sizes that are equal in this call apart" if self.equal != before.equal else ""


def record_check(op: str, inputs: tuple[Any, ...], params: dict[str, Any], origin: Origin) -> Node:
    """Return the recorded call of ``jax.numpy`` that computes the canonical operation ``op`` on bools."""
    made = Value("held", TRUTH)
    name, given = (
        ("jax.numpy.asarray", (np.bool_(params["fill_value"]),))
        if op == "full"
        else (f"jax.numpy.{op}", inputs)
    )
    return Node(name, given, {}, origin, (made,), CallRecord(row_key(name), result=made))


_PLAIN = (bool, int, float, str, type(None))


def environment_guards(reached: Reached) -> list[EnvironmentGuard]:
    wide = EnvironmentGuard(
        "{}.jax_enable_x64 is {}", (jax.config, jax.config.jax_enable_x64), "jax_enable_x64"
    )
    return [wide, *facts_outside(reached, _model_guards, buffer_bytes)]


def reach_of(objects: Iterable[Any]) -> Reached:
    return Reached(objects, WalkPolicy(_is_leaf, lambda item: _call_methods(item) if is_model(item) else ()))


def _call_methods(model: Any) -> list[Any]:
    return [
        method for name in ("__call__", "call") if (method := getattr(type(model), name, None)) is not None
    ]


def _is_leaf(item: Any) -> bool:
    return isinstance(item, (jax.Array, np.ndarray))


def _model_guards(model: Any) -> Iterator[EnvironmentGuard]:
    for part, key in settings_of(model):
        own, item = vars(part), vars(part)[key]
        if isinstance(item, _PLAIN) or is_nnx(item):
            yield EnvironmentGuard(
                "{}.get({}) is {}", (own, key, item), f"the attribute {key} of a {type(part).__name__}", own
            )


@contextmanager
def restored_config() -> Iterator[None]:
    before = dict(jax.config.values)
    of_thread = [(state, state.get_local()) for state in config.config_states.values()]
    try:
        yield
    finally:
        # The function may have entered a context such as ``jax.disable_jit()`` and not left it.
        for state, item in of_thread:
            if state.get_local() is not item:
                _set_in_thread(state, item)
        now = jax.config.values
        for name, item in before.items():
            if now[name] != item:
                jax.config.update(name, item)


def _set_in_thread(state: Any, item: Any) -> None:
    state.set_local(item)
    if state._update_thread_local_hook is not None:
        state._update_thread_local_hook(None if item is config.config_ext.unset else item)


_MOST_ATTEMPTS = 8
# User contexts are new in JAX 0.8.
_traced_for = jax.make_user_context(None) if hasattr(jax, "make_user_context") else None


def is_array(item: Any) -> bool:
    if isinstance(item, (jax.Array, np.ndarray)):
        return True
    if isinstance(item, (np.generic, type)) or is_symbolic(item):
        return False
    return (
        hasattr(item, "dtype")
        and hasattr(item, "shape")
        and (hasattr(item, "__dlpack__") or hasattr(item, "__array__"))
    )


def opens(item: Any) -> bool:
    return not is_model(item) and not type(item).__module__.startswith(("flax.", "jax."))


# JAX removes its frames from tracebacks when an exception leaves the outermost of its functions. This
# decorator makes `record` the outermost one, so the frames stay until it is known whose code has raised.
@api_boundary
def record(request: Request) -> Recording:
    """Record a call of ``request.function``, which may run several times, and return the recording."""
    with recording_lock, restored_config():
        return search_recording(
            lambda hypotheses: _Attempt(request, hypotheses).run_or_refuted(),
            JaxHypotheses(loops=request.numbers),
            [],
            _MOST_ATTEMPTS,
            lambda: f"{request.name} could not be traced with symbolic sizes, nor with those of the call",
            request.name,
        )


# Besides changes of settings, random numbers of Python and NumPy are refused, because JAX would trace them as
# constants.
_PATCHES = PatchSet(*SETTINGS, *refused(DRAWS), *MATH, *ERRORS, ROWS)
_WITH_ANSWERS = PatchSet(*ANSWERS)
_WITH_RULES = PatchSet(*CUSTOM_RULES)


class _Attempt:
    """One attempt to trace a function under ``hypotheses``. It implements :class:`SizeRecording`."""

    def __init__(self, request: Request, hypotheses: JaxHypotheses) -> None:
        self.function, self.for_jax, self.hypotheses = request.function, request.same_framework, hypotheses
        # The symbol of the first axis of each current size.
        self.first: dict[int, Size] = {}
        counting = (
            counting_arguments(self.function, request.args, request.kwargs)
            if hypotheses.loops
            else frozenset()
        )
        _, tree = flatten((request.args, request.kwargs), is_array, opens)
        self.tree = with_numbers(plain_classes(tree), counting)
        self.leaves = leaves_at(self.tree, (request.args, request.kwargs))
        self.names = input_names(self.function, request.args, self.tree)
        self.recorder = Recorder(request.name, "jax")
        self.locator = Locator()
        self.reached = reached = reach_of(self._referred())
        self.weights = JaxWeights(
            self.function, reached, argument_names(self.function, request.args, request.kwargs)
        )
        refuse_outside(reached.found())
        functions = reached.functions
        self.spaces = list(
            {id(function.__globals__): function.__globals__ for function in functions}.values()
        )
        self.functions = functions
        self.globals, self.shown = (
            GlobalReads(functions),
            HiddenTracers(self._reads(request.numbers) if hypotheses.reads else None),
        )
        self.loops = TracedLoops(
            self.recorder, self.shown, lambda: self.locator.locate("a step of a loop", 3), hypotheses.loops
        )
        self.session = Session(self.shown, SYMBOLS, jax.core.eval_context, example_of, self._hold)
        self.before = EnvironmentGuards([*guards_on_all_globals(functions), *environment_guards(reached)])
        # Types of the array inputs.
        self.types: list[Any] = []
        # Symbols of the number inputs, by their positions among the leaves.
        self.numbers: dict[int, Any] = {}
        # Device indices along each mesh axis that the function uses.
        self.axes: dict[str, Value] = {}
        self.result: tuple[list[Any], Tree] | None = None

    # ------------------------------------------------------------------------------ tracing
    def run_or_refuted(self) -> Recording | Refutation[JaxHypotheses]:
        """Return the recording, or a ``Refutation`` with the hypotheses for the next attempt.

        Raise the exception of this attempt if no other hypotheses would help.
        """
        try:
            return self.run()
        # JAX, and the user's code that it calls, may raise any exception because of symbolic sizes.
        except Exception as problem:
            if is_fault(problem):
                raise
            more = self.next_hypotheses(problem)
            if more == self.hypotheses:
                raise
            return Refutation(more, problem, more.given_up_of(self.hypotheses))

    def run(self) -> Recording:
        graph = self.recorder.graph
        values = [
            value for index, leaf in enumerate(self.leaves) if (value := self._input(index, leaf)) is not None
        ]
        held = self.weights.arrays()
        for name, array in held.items():
            self.recorder.add_parameter(name, array, self._spec(array))
        types = [jax.ShapeDtypeStruct(array.shape, array.dtype) for array in held.values()]
        with (
            deciding(self),
            recording_calls(_names(), self._scopes()) as replaced,
            patching(_PATCHES, self.session, self.spaces, self._places()),
            patching(update_patches(), self.session),
            patching(_WITH_RULES, self.session) if self.for_jax else nullcontext(),
            patching(_WITH_ANSWERS, self.session) if self.hypotheses.reads else nullcontext(),
            explain_unknown_elements(graph.name),
            _own_caches(bool(self.weights.models)),
        ):
            self.replaced = replaced
            program = jax.make_jaxpr(self._traced)(self.types, types)
            if (problem := self.shown.handled()) is not None:
                raise problem
            if self.shown.reads is not None and not self.shown.reads.answers.are_used():
                raise TracingError(
                    f"{graph.name} does not read the same elements of its arrays twice, so they cannot be "
                    "guarded"
                )
            reader = Reader(graph.nodes, self._constant, not self.for_jax, self.recorder.decide_number)
            found = reader.read_whole(
                program, [*map(self._narrowed, values), *(graph.parameters[name] for name in held)]
            )
            # Any node may compute with the number of devices, so the nodes that provide it come first.
            graph.nodes[:0] = [_indices_of(axis_name, value) for axis_name, value in self.axes.items()]
            self.loops.settle(behind=len(self.axes))
        return self._finished(found, list(held))

    def _traced(self, arrays: list[Any], parameters: list[Any]) -> Any:
        rest = iter(arrays)
        leaves = [
            self.numbers[place] if place in self.numbers else next(rest) for place in range(len(self.leaves))
        ]
        args, kwargs = call_of(self.tree, leaves)
        names = list(self.recorder.graph.parameters)
        self.shown.trace = next(
            (item._trace for item in (*arrays, *parameters) if isinstance(item, jax.core.Tracer)), None
        )
        with self.weights.called_with(dict(zip(names, parameters))) as (called, held):
            with open_regions(regions := JaxRegions(self._expected, self.recorder.numbers)):
                result = forward(self.replaced(called), *args, **kwargs)
                result = finish_lists(result, args, kwargs) if regions.lists else result
            leaves, tree = flatten(result, lambda item: is_array(item) or is_symbolic(item), opens)
            after = held()
        self.result = leaves, tree
        self.changed = [name for name, before in zip(names, parameters) if after[name] is not before]
        arrays_returned = [leaf for leaf in leaves if not is_symbolic(leaf)]
        return arrays_returned, [after[name] for name in self.changed]

    def _reads(self, numbers: bool) -> TracerReads:
        """Run the function untraced, and return its reads of elements as answers for the tracing."""
        answers = Answers()
        args, kwargs = call_of(self.tree, [self._given(leaf) for leaf in self.leaves])
        inside = explain_outer_trace(self.recorder.graph.name, self.leaves)
        held = self.weights.arrays()
        with self.weights.called_with(held) as (called, _held), answers.noting(), inside:
            forward(called, *args, **kwargs)
        # Only a lifted graph computes with numbers inside of jax.jit, and keys and variables of models are
        # not lifted for JAX itself.
        is_lifted = not self.for_jax or not (
            held or any(isinstance(leaf, jax.Array) and is_key(leaf) for leaf in self.leaves)
        )
        return TracerReads(answers, Reading(numbers and is_lifted))

    def _given(self, leaf: Any) -> Any:
        return leaf if type(leaf) in DTYPES else as_jax(leaf)

    def _stands(self, item: Any) -> bool:
        return is_symbolic(item) or self.shown.is_own(item)

    def _places(self) -> list[Replacement]:
        types = type_replacements(
            ((scope, name) for scope in self._scopes() for name in (*scope, "type")),
            self._stands,
            self.shown.class_of,
        )
        numbers = conversion_replacements(builtin_lookups(self.functions), SYMBOLS)
        own = (
            *self.shown.replacements(self._scopes()),
            *self.globals.replacements(),
            *self.loops.shims(self.functions),
        )
        return [*types, *numbers, *own, *dimension_shims(), *input_checks()]

    def _scopes(self) -> list[dict[str, Any]]:
        plain = inspect.unwrap(getattr(self.function, "__func__", self.function))
        return [plain.__globals__] if hasattr(plain, "__globals__") else []

    def _input(self, index: int, leaf: Any) -> Value | None:
        """Add an input for the leaf at ``index``, and return its value, or None for a Python number."""
        if type(leaf) in DTYPES:
            number = self.recorder.add_number(self.names[index], DTYPES[type(leaf)])
            size = Size.of(Symbol(number, 0, leaf, "item"))
            self.numbers[index] = symbolic(self.decide(size) if (index, 0) in self.hypotheses.fixed else size)
            return None
        given = dtype_name_of(leaf)
        keys = isinstance(leaf, jax.Array) and is_key(leaf)
        dtype = narrow_dtype(given) if self.for_jax else given
        value = self.recorder.add_input(
            self.names[index], leaf, self._spec(leaf) if keys else ArraySpec(tuple(leaf.shape), dtype)
        )
        shape = tuple(symbolic(self._size(value, index, axis)) for axis in range(leaf.ndim))
        weak = self.for_jax and bool(getattr(leaf, "weak_type", False))
        self.types.append(
            jax.ShapeDtypeStruct(
                shape, leaf.dtype if keys else jax.numpy.dtype(narrow_dtype(given)), weak_type=weak
            )
        )
        return value

    def _spec(self, array: Any) -> ArraySpec:
        seen = array if self.for_jax else words_type(array)
        return ArraySpec(tuple(seen.shape), dtype_name(seen.dtype))

    def _size(self, value: Value, index: int, axis: int) -> Any:
        size = Size.of(Symbol(value, axis, int(value.spec.shape[axis])))
        if (index, axis) in self.hypotheses.fixed:
            return self.decide(size)
        first = self.first.setdefault(size.hint, size) if self.hypotheses.equal and size.hint > 1 else size
        if first is not size:
            self.decide(apply("eq", first, size))
        return first

    def _narrowed(self, value: Value) -> Value:
        dtype = narrow_dtype(value.dtype)
        if dtype == value.dtype:
            return value
        made = Value(value.name, ArraySpec(value.spec.shape, dtype))
        params, record = {"new_dtype": np.dtype(dtype)}, CallRecord("asarray", result=made)
        self.recorder.graph.nodes.append(
            Node(
                "jax.lax.convert_element_type_p",
                (value,),
                params,
                Origin(call="the argument"),
                (made,),
                record,
            )
        )
        return made

    def _hold(self, called: Any, arrays: Mapping[str, Any]) -> Mapping[str, Any]:
        """Add the ``arrays`` of a called graph to the recorded graph, and return them."""
        # The reader then recognizes the arrays among the constants of the traced program.
        prefix = self.weights.add(called.name, CalledGraph(called))
        for name, array in arrays.items():
            if self.recorder.find(array) is None:
                self.recorder.add_parameter(f"{prefix}{name}", array, self._spec(array))
        return arrays

    def _constant(self, array: Any) -> Value:
        if isinstance(array, jax.core.Tracer):
            raise TracingError(
                f"{self.recorder.graph.name} refers to an array of a transformation around it (jit, grad, "
                "vmap), which is not known here; "
                "pass it as an argument"
            )
        if not self.for_jax and is_key(array):
            array = jax.random.key_data(array)
        known = self.recorder.find(array) if isinstance(array, jax.Array) else None
        if self.for_jax and not isinstance(array, jax.Array):
            # NumPy arrays cannot be indexed by a tracer.
            with jax.ensure_compile_time_eval():
                array = jax.numpy.asarray(array)
        return known or self.recorder.add_constant(
            "constant", array, ArraySpec(tuple(np.shape(array)), dtype_name(array.dtype))
        )

    def note_given_up(self, way: str, problem: Exception) -> None:
        self.recorder.note_given_up(way, problem)

    def decide(self, size: Any) -> Any:
        return decide(self.recorder, size, self.locator.locate("a comparison of numbers", 3))

    def _expected(self, value: Value) -> None:
        self.recorder.decide_number(value, True, Origin(call="assert"))

    def knows(self, size: Any) -> bool:
        numbers = self.shown.reads.numbers if self.shown.reads is not None else ()
        known = (self.recorder.graph.inputs, self.axes.values(), numbers, self.loops.steps)
        return all(any(symbol.source in sources for sources in known) for symbol in size.symbols())

    def size_of_axis(self, axis_name: str) -> Size:
        value = self.axes.setdefault(axis_name, Value(axis_name, ArraySpec((RECORDED_DEVICES,), "int32")))
        return Size.of(Symbol(value, 0, RECORDED_DEVICES))

    def leaves_open(self, size: Any) -> bool:
        return False

    def next_hypotheses(self, problem: Exception) -> JaxHypotheses:
        """Return the hypotheses for the attempt after ``problem``, or the same ones if none would help."""
        shapes = [np.shape(leaf) for leaf in self.leaves]
        sizes = [size for shape in shapes for size in shape if size > 1]
        if isinstance(problem, UnknownElements):
            return replace(self.hypotheses, reads=True)
        if isinstance(problem, TracingError):
            return replace(self.hypotheses, loops=False) if self.numbers else self.hypotheses
        if not self.hypotheses.equal and len(set(sizes)) < len(sizes):
            return replace(self.hypotheses, equal=True)
        if self.hypotheses.loops and self.loops.found:
            return replace(self.hypotheses, equal=False, loops=False)
        every = frozenset((index, axis) for index, shape in enumerate(shapes) for axis in range(len(shape)))
        every |= {(index, 0) for index in self.numbers}
        wanted = [expression_of(dim) for dim in getattr(problem, "sizes_asked", ())]
        inputs = self.recorder.graph.inputs
        found = frozenset(
            (inputs.index(symbol.source), symbol.axis)
            for size in wanted if isinstance(size, Size)
            for symbol in size.symbols() if symbol.source in inputs
        )  # fmt: skip
        fixed = self.hypotheses.fixed | found if found - self.hypotheses.fixed else every
        return replace(self.hypotheses, equal=True, fixed=fixed)

    # ------------------------------------------------------------------------------ the graph
    def _finished(self, found: list[Any], names: list[str]) -> Recording:
        from ...ir.graph import Effect

        graph = self.recorder.graph
        assert self.result is not None
        leaves, output_tree = self.result
        refuse_escapes(graph.name, output_tree, self.tree, _is_traced)
        arrays = iter(found)
        graph.outputs = [
            expression_of(leaf) if is_symbolic(leaf) else self._output(next(arrays)) for leaf in leaves
        ]
        left = {name: self._output(value) for name, value in zip(self.changed, arrays)}
        graph.effects = [
            Effect("buffer", name, value)
            for name, value in left.items()
            if value is not graph.parameters[name]
        ]
        graph.input_tree, graph.output_tree = self.tree, output_tree
        graph.debug = DebugInfo(
            {value: leaf for value, leaf in zip(graph.inputs, self.leaves) if type(leaf) in DTYPES}
        )
        # Arrays are immutable, so it does not matter whether two arguments are the same array.
        graph.assume(SameArray((NO_ARRAY,) * len(self.leaves)))
        if self.for_jax and any(getattr(leaf, "weak_type", False) for leaf in self.leaves):
            assume_fact(graph, "weak_type", [bool(getattr(leaf, "weak_type", False)) for leaf in self.leaves])
        self.recorder.forget_arrays()
        computes_with_elements = self.shown.reads is not None and self.shown.reads.reading.any
        graph.demand(is_lifted=computes_with_elements)
        opened = bool(self.numbers or self.loops.found) or computes_with_elements
        return Recording(
            move_checks_out(graph, record_check),
            self.weights,
            self._unchanged(),
            opened=opened,
            gave_up=tuple(self.recorder.gave_up),
        )

    def _referred(self) -> tuple[Any, ...]:
        function = self.function
        given = (
            (function.function, *function.given.values())
            if isinstance(function, GivenArguments)
            else (function,)
        )
        return (*given, *static_objects(self.tree))

    def _unchanged(self) -> EnvironmentGuards:
        """Return the environment guards of the recording.

        Raise :class:`TracingError` if a guard that was made before the tracing no longer holds.
        """
        if not self.before.holds():
            raise TracingError(
                f"{self.recorder.graph.name}: while it was traced, "
                f"{self.before.changed()} changed: a function of JAX keeps "
                "no state. Pass it in and return it, or keep it in the variables of a module of flax.nnx "
                "that is compiled itself"
            )
        self.reached.extend(self.globals.functions())
        return EnvironmentGuards(
            [*self.globals.guards(), *self.session.guards(), *environment_guards(self.reached)]
        )

    def _output(self, value: Any) -> Value:
        if isinstance(value, Value):
            return value
        return self._constant(jax.numpy.asarray(value))


def _indices_of(axis_name: str, value: Value) -> Node:
    record = CallRecord("device_axis_indices_p", result=value)
    return Node(
        "jax.lax.device_axis_indices_p",
        (),
        {"axis_name": axis_name},
        Origin(call="the devices"),
        (value,),
        record,
    )


@contextmanager
def _own_caches(models: bool) -> Iterator[None]:
    """Use separate tracing caches of JAX in the block, if ``models`` is true and JAX has user contexts."""
    # A jitted function that refers to a model would otherwise return what it traced with other arrays or
    # tracers in it.
    if not models or _traced_for is None:
        yield
        return
    with _traced_for(object()):
        yield


def _is_traced(item: Any) -> bool:
    return isinstance(item, jax.core.Tracer) or is_symbolic(item)


def _names() -> list[str]:
    from .lifting.driver import rows

    return [name for name in rows.names() if "." in name and name not in (SETITEM, *OF_LOOPS)]
