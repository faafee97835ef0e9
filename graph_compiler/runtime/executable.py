"""``Executable``: a loaded function, compiled if wanted, with the weights and constants that it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from ..codegen import Program, load
from ..contracts import Live, Target
from ..errors import GuardFailed
from ..ir.graph import Graph as IRGraph
from ..trees import leaves_at
from .boundary import raise_refused
from .calling.matcher import CallCode, leaf_texts
from .weights import (
    CapturedArguments,
    NativeWeights,
    capture_constants,
    capture_weights,
    foreign_weight_error,
    missing_weight_error,
    order_weights,
    require_shapes,
    weights_reader,
)

# ------------------------------------------------------------------------------------------------ compilation
# Compilation of generated functions by the target's own compiler.


@dataclass(frozen=True)
class Compilation:
    """Values of the options ``return_backend_compiled_fn`` and ``compile_options``.

    is_wanted: True to compile, False not to; None for the target's default.
    """

    is_wanted: bool | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def is_compiled(self, target: Target) -> bool:
        return target.compiles_by_default if self.is_wanted is None else self.is_wanted

    def with_rounding(self, target: Target, program: Program) -> Program:
        if not self.is_compiled(target) or not program.checks:
            return program
        return replace(program, checks=tuple(guard.with_rounding_of_compilers() for guard in program.checks))

    def options_for(self, target: Target) -> dict[str, Any] | None:
        return dict(self.options) if self.is_compiled(target) else None

    def compile(
        self,
        target: Target,
        function: Callable[..., Any],
        static: tuple[int, ...] = (),
        text: str | None = None,
    ) -> Callable[..., Any]:
        """Return ``function`` compiled for ``target``, or unchanged if it is not to be compiled.

        static: positions of arguments that are Python numbers which sizes depend on.
        text: source of the function if it depends on nothing else, as a key for stored programs; or None.
        """
        options = self.options_for(target)
        if options is None:
            return function
        if self.is_wanted is None:
            return target.compile_by_default(function, static, text)
        return target.compile(function, options, static, text)


def describe_compilation(function: Callable[..., Any]) -> str:
    describe: Callable[[], str] | None = getattr(function, "describe_compilation", None)
    return "" if describe is None else describe()


# ------------------------------------------------------------------------------------------------- executable
class Executable:
    """Loaded flat function of a program, compiled if wanted, and the arguments before its inputs.

    A flat function takes the arrays and numbers in a call one by one.

    called: what calls run: ``function``, or a compiled function with other arguments before its inputs.
    leading(given=None): returns the arguments before the inputs of ``called``; with weights ``given``, those
        of ``function``.
    is_derived: True if the weights are read while the condition of the environment is evaluated.
    read_weights(): returns the weights by name, as the flat function takes them.
    returns_more: True if ``called`` returns its result with the values of effects and guards.
    """

    def __init__(
        self,
        graph: IRGraph,
        program: Program,
        target: Target,
        parameters: Live,
        constants: Mapping[str, Any],
        compilation: Compilation,
        *,
        is_writing: bool,
        is_derived: bool,
        keeps_calls: bool,
    ) -> None:
        self._graph, self._program, self._target = graph, program, target
        self._wait = target.waiter()
        self._keeps_calls = keeps_calls
        self._parameters, self._constants, self.is_derived = cast(Any, parameters), constants, is_derived
        self.flat = flat = target.on_device_of_inputs(load(program), graph, program)
        self.compile_options = compilation.options_for(target)
        static = self._static()
        self.function = compilation.compile(target, flat, static, program.whole)
        passed = CapturedArguments(flat, program.arguments, constants)
        if self.compile_options is not None and not static and not is_writing:
            passed = capture_weights(parameters, program, passed)
            if constants and target.folds_captured_arrays:
                passed = capture_constants(graph, target, passed)
            if target.sorts_dicts and passed.names[:1] == ("parameters",) and not program.stacks:
                passed = order_weights(parameters, passed)
        self._passed = passed
        self.called = self.function if passed.function is flat else self._compiled(compilation)
        self.read_weights = weights_reader(parameters, program, graph, flat)
        self.leading = self._leading_arguments()
        self._shapes = {name: value.spec.hints for name, value in graph.parameters.items()}
        self.returns_more = bool(graph.effects or program.checks)

    def _compiled(self, compilation: Compilation) -> Callable[..., Any]:
        whole, added = self._program.whole, self._passed.text
        text = None if whole is None or added is None else whole + added
        return compilation.compile(self._target, self._passed.function, text=text)

    def _static(self) -> tuple[int, ...]:
        # A compiler has to take Python numbers for sizes as static arguments.
        numbers = self._graph.numbers_of_sizes()
        return tuple(
            len(self._program.arguments) + place
            for place, value in enumerate(self._graph.inputs)
            if value in numbers
        )

    def _leading_arguments(self) -> Callable[..., tuple[Any, ...]]:
        read, parameters = self.read_weights, self._parameters
        whole = (self._constants,) if "constants" in self._program.arguments else ()
        passed = (self._passed.constants,) if "constants" in self._passed.names else ()
        if "parameters" not in self._program.arguments:
            return lambda given=None: passed if given is None else whole
        if "weights" in self._passed.names:
            return lambda given=None: (
                (parameters.for_call().arrays, *passed) if given is None else (given, *whole)
            )
        if "parameters" not in self._passed.names:
            return lambda given=None: passed if given is None else (given, *whole)
        if self.is_derived:
            return lambda given=None: (parameters.current, *passed) if given is None else (given, *whole)
        return lambda given=None: (read(), *passed) if given is None else (given, *whole)

    @property
    def are_watched(self) -> bool:
        """True if calls convert weights, and watch them for changes."""
        is_passed = self._passed.names[:1] in (("parameters",), ("weights",)) and not self.is_derived
        return is_passed and isinstance(self.read_weights, NativeWeights)

    def run(self, leading: Sequence[Any], leaves: Sequence[Any]) -> Any:
        """Call ``called``, and wait if it may still read weights that the user's code may write to."""
        outcome = self.called(*leading, *leaves)
        if self._waits and cast(Any, self._parameters).latest.may_be_written:
            self._wait(self._leaves(outcome))
        return outcome

    @property
    def _waits(self) -> bool:
        return self.are_watched and self._target.runs_asynchronously is not None

    def _leaves(self, outcome: Any) -> list[Any]:
        result, effects, _ = self.parts(outcome)
        return [*leaves_at(self._graph.output_tree, result), *effects]

    def call_code(self, names: Sequence[str], result: str, bound: Mapping[str, Any]) -> CallCode:
        """Return expressions that call ``called``.

        names: variables that hold the inputs of the call.
        result: expression over ``outcome`` for the result of the call.
        bound: objects that ``result``, and the code around the call, refer to.
        """
        # Derived parameters are current once the environment's condition was evaluated.
        known = "parameters.current" if self.is_derived else "parameters()"
        leading = {
            "weights": "latest.arrays",
            "parameters": "latest.native" if self.are_watched else known,
            "constants": "constants",
        }
        call = f"function({', '.join([*(leading[name] for name in self._passed.names), *names])})"
        own = {
            "function": self.called,
            "parameters": self.read_weights,
            "constants": self._passed.constants,
            "wait": self._wait,
            "leaves_of": self._leaves,
        }
        leaves = "leaves_of(outcome)"
        if not self.returns_more:
            leaves = leaf_texts(self._graph.output_tree, "outcome", "leaves_of")
        return CallCode(call, leaves, result, {**own, **bound}, self.are_watched, self._waits)

    def parts(self, outcome: Any) -> tuple[Any, Any, Any]:
        return outcome if self.returns_more else (outcome, (), ())

    def require_shapes(self, parameters: Mapping[str, Any]) -> None:
        require_shapes(self._graph.name, self._shapes, parameters)

    def evaluate(self, leading: tuple[Any, ...], leaves: tuple[Any, ...], compiled: bool) -> Any:
        """Call the flat function or its compiled form, and translate exceptions with a known cause."""
        try:
            return (self.function if compiled else self.flat)(*leading, *leaves)
        # The target may raise anything. What it raises is translated, or raised again.
        except Exception as problem:
            name = problem.args[0] if isinstance(problem, KeyError) and problem.args else None
            if name in self._graph.parameters:
                raise missing_weight_error(self._graph, name) from None
            # AutoGraph of TensorFlow converts this method, and cannot convert an assignment expression.
            foreign = foreign_weight_error(self._graph, self._target, leading)
            if foreign is not None:
                raise foreign from problem
            is_open = any(None in tuple(getattr(leaf, "shape", ())) for leaf in leaves)
            if not (is_open and isinstance(problem, (TypeError, AttributeError))):
                raise_refused(problem, self._program, self._target, self._keeps_calls)
            raise GuardFailed(
                f"{self._graph.name}: Python has to know a size that is not known yet ({problem}); give the "
                "shapes"
            ) from problem
