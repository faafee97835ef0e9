"""Lifting of recorded graphs: calls become canonical operations, and in-place writes new values.

A write through a view becomes a new value of the owner of the memory, and other views of that owner are
derived again at their next read.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

from ...assumptions import InputFact
from ...errors import DuplicateRow, GraphCompilerError, UnsupportedOperation
from ...ir.graph import Aliases, DebugInfo, Effect, Graph, Guard, guard_of
from ...ir.node import Node, Origin, Value, distinct
from ...naming import legal
from ...ops.dtypes import DTYPES, is_floating
from ...ops.registry import ArraySpec
from ...passes.lowering.region_checks import move_checks_out
from ...recording.faults import is_fault
from ...sizes import NumberNeeded, Size, Symbol, hint_of, product, substitute
from ...trees import Branch, Path, Tree, count_leaves, iterate_structure, map_structure, paths
from .builder import LiftingBuilder
from .lifted_regions import LiftedRegions
from .read_numbers import is_read, number_of, rounding_of
from .views import ViewStep, write_through

# ------------------------------------------------------------------------------------------------ collectives
# Lifting of the collectives that ``graph_compiler.parallel`` calls in a recorded function.

# Prefix of the names of recorded collectives in frameworks that have none of their own.
CALLS = "graph_compiler.parallel."


def lift_collective(b: Any, name: str, *operands: Any, axis_name: str) -> Any:
    # All gathers over an axis have the same symbolic size, that of its indices.
    if name == "axis_indices":
        return b.indices_of_axis(axis_name)
    if name == "all_gather":
        return b.all_gather(*operands, axis_name=axis_name, size=b.indices_of_axis(axis_name).shape[0])
    return getattr(b, name)(*operands, axis_name=axis_name)


# ----------------------------------------------------------------------------------------------------- lifter
class RecordedCalls:
    """Base of the dialects that write recorded calls as source text, one for each framework.

    Subclasses define ``imports``, and ``expression``, which returns the text of a call.
    """

    imports: Mapping[str, str]
    prelude: ModuleType | tuple[str, ...] | None = None
    # Writers of nodes with regions are those of the framework's backend.
    structured: Mapping[str, Any] = {}

    def decorators(self, graph: Graph) -> tuple[str, ...]:
        return ()

    def size(self, array: str, symbol: Symbol) -> str:
        return f"{array}.shape[{symbol.axis}]"

    def sizes(self, array: str) -> str:
        return f"{array}.shape"

    def context(self, node: Node) -> str:
        return ""

    def shortened(self, graph: Graph) -> Graph:
        """Return the graph to write, from which a subclass may leave out calls that others imply."""
        return graph

    def spell(self, item: Any) -> str | None:
        return None


Row = TypeVar("Row", bound=Callable[..., Any])


class LiftingTable:
    """Table of the lifting rows of one framework, by the name of the recorded call."""

    def __init__(self, framework: str) -> None:
        self.framework = framework
        self._rows: dict[str, Callable[..., Any]] = {}

    def row(self, *names: str) -> Callable[[Row], Row]:
        def register(function: Row) -> Row:
            for name in names:
                if name in self._rows:
                    raise DuplicateRow(f"{self.framework} has two lifting rows for {name!r}")
                self._rows[name] = function
            return function

        return register

    def table(self, rows: Mapping[str | tuple[str, ...], Callable[..., Any]]) -> None:
        for names, function in rows.items():
            self.row(*((names,) if isinstance(names, str) else names))(function)

    def get(self, name: str) -> Callable[..., Any] | None:
        return self._rows.get(name)

    def names(self) -> list[str]:
        return list(self._rows)


def input_names(function: Callable[..., Any], args: tuple[Any, ...], tree: Tree) -> list[str]:
    positional = positional_names(function, len(args))
    return [name_at(path, positional) for path in paths(tree)]


def name_at(path: Path, positional: list[str]) -> str:
    where, first, *rest = path
    head = positional[first] if where == 0 else str(first)
    return legal("_".join([head, *map(str, rest)]))


def argument_names(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[int, str]:
    """Map the ``id`` of each argument of a call to a name for it."""
    return {
        **dict(zip(map(id, args), positional_names(function, len(args)))),
        **{id(item): name for name, item in kwargs.items()},
    }


def positional_names(function: Callable[..., Any], count: int) -> list[str]:
    """Return names for the first ``count`` positional arguments.

    >>> positional_names(lambda x, *rest, scale: x, 3), positional_names(lambda: 0, 1)
    (['x', 'rest_0', 'rest_1'], ['arg_0'])
    """
    named, rest = (
        _of_code(function.__code__)
        if type(function) is FunctionType and not vars(function)
        else _of_signature(function)
    )
    return [*named[:count], *(f"{rest}_{i}" for i in range(count - len(named)))]


def _of_code(code: CodeType) -> tuple[tuple[str, ...], str]:
    # Ten times as fast as inspect.signature, and the same for a function that nothing wraps.
    has_rest = code.co_flags & inspect.CO_VARARGS
    return code.co_varnames[: code.co_argcount], code.co_varnames[
        code.co_argcount + code.co_kwonlyargcount
    ] if has_rest else "arg"


def _of_signature(function: Callable[..., Any]) -> tuple[tuple[str, ...], str]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    named = tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
    return named, next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "arg")


def _viewed(node: Node, view: Value) -> Value:
    return node.views[node.outputs.index(view)]


_KNOWN = frozenset({*DTYPES, "generator"})


class Lifter:
    """Lifting of one recorded graph. Subclasses provide the rows of a framework.

    recorded: graph of the framework's calls.
    aliases: owner of the memory of each recorded array.
    result: canonical graph under construction, written by the builder ``b``.
    current_values: canonical value that was last derived for each recorded array.
    written: how often the memory of each owner was written to.
    stamp: the count in ``written`` at which the value of an array in ``current_values`` was derived.
    made: canonical nodes of the current call.
    lifted: canonical value of each recorded value right after its call.
    loop_indices: inputs of ``scan`` bodies whose operands are ``arange`` nodes.
    problems: a message for each call that cannot be translated.
    """

    framework: str

    def __init__(self, graph: Graph) -> None:
        self.recorded, self.aliases = graph, Aliases(graph)
        self.result = Graph(
            graph.name, "canonical", input_tree=graph.input_tree, output_tree=graph.output_tree
        )
        self.b: Any = self.builder(self.result)
        self.current_values: dict[Value, Any] = {}
        self.stamp: dict[Value, int] = {}
        self.written: dict[Value, int] = {}
        self.made: set[Node] = set()
        self.lifted: dict[Value, Value] = {}
        self.problems: list[str] = []
        self.regions = LiftedRegions(self)
        self.loop_indices: set[Value] = set()
        # Numbers of the sizes that the row of the current call has needed.
        self.fixed: dict[Size, Any] = {}

    @functools.cached_property
    def _inner(self) -> dict[Value, Node]:
        regions = (region for node in distinct(self.recorded.nodes) for region in node.regions)
        return {value: node for region in regions for node in region.block.nodes for value in node.outputs}

    # ------------------------------------------------------------------------------ framework hooks
    def builder(self, graph: Graph) -> LiftingBuilder:
        raise NotImplementedError

    def key(self, node: Node) -> str:
        raise NotImplementedError

    def row(self, node: Node) -> Callable[..., Any] | None:
        raise NotImplementedError

    def call(self, node: Node) -> Any:
        raise NotImplementedError

    def new_elements(self, node: Node, result: Any) -> dict[Value, Any]:
        raise NotImplementedError

    def constant_array(self, array: Any) -> Any:
        """Return ``array``, or a NumPy scalar that can become a literal. The default returns ``array``."""
        return array

    # ------------------------------------------------------------------------------ graph
    def run(self) -> Graph:
        graph, b = self.recorded, self.b
        if reason := graph.demands.source_only:
            raise UnsupportedOperation(reason)
        for value in graph.inputs:
            self.current_values[value] = b.input(value.name, value.spec)
        for name, value in graph.parameters.items():
            self.current_values[value] = b.parameter(name, value.spec)
        for name, (value, array) in graph.constants.items():
            self.current_values[value] = b.constant(name, value.spec, self.constant_array(array))
        self.follow(graph.nodes)
        if self.problems:
            # A call in a region or in an unrolled loop may be lifted several times.
            problems = list(dict.fromkeys(self.problems))
            raise UnsupportedOperation(
                _report(graph.name, problems), (problem.replace("\n    ", "; ") for problem in problems)
            )
        self._finish()
        return move_checks_out(self.result)

    def follow(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            self.b.origin = node.origin
            if node.record is not None and node.record.has_wide_integers and not self.result.demands.wide:
                self.result.demand(wide=str(node.origin))
            self._node(node)

    def _finish(self) -> None:
        graph, result = self.recorded, self.result
        _refuse_kept_views(graph)
        result.call_inputs, result.state, result.debug = (
            graph.call_inputs,
            graph.state,
            DebugInfo(lifted=self.lifted),
        )
        result.demand(
            matmul_precision=graph.demands.matmul_precision, casts_are_written=graph.demands.casts_are_written
        )
        for effect in graph.effects:
            result.effects.append(Effect(effect.kind, effect.target, self.read(effect.value)))
        result.outputs, result.number_outputs = list(map(self.mapped, graph.outputs)), graph.number_outputs
        # The user gets these outputs as Python numbers, but the graph computes arrays.
        if any(map(is_read, result.outputs)):
            read = {place for place, leaf in enumerate(result.outputs) if is_read(leaf)}
            result.number_outputs = tuple(sorted(read.union(graph.number_outputs)))
            result.outputs = [number_of(self.b, leaf) if is_read(leaf) else leaf for leaf in result.outputs]
        if graph.guards:
            self._assume_guards()
        for assumption in graph.assumptions:
            # A fact such as a device concerns only arrays of the source framework.
            if isinstance(assumption, InputFact) and assumption.is_of_source:
                continue
            if (about := assumption.mapped(self.mapped)) is not None:
                result.assume(about)
        for value in self.written:
            self._effect(value)

    def _assume_guards(self) -> None:
        graph, result = self.recorded, self.result
        assumed: set[Any] = {guard.condition for guard in result.guards if isinstance(guard.condition, Size)}
        for guard in graph.guards:
            mapped = guard.mapped(functools.partial(self._condition, guard.origin))
            if mapped is not None and not (
                isinstance(mapped.condition, Size) and mapped.condition in assumed
            ):
                rounding = (
                    rounding_of(self.b, mapped.condition) if isinstance(mapped.condition, Value) else 0.0
                )
                result.guards.append(replace(mapped, rounding=rounding))
                assumed.add(mapped.condition)

    def _checked_here(self, guard: Guard) -> None:
        condition = self._condition(guard.origin, guard.condition)
        if isinstance(condition, Value):
            self.result.guards.append(
                replace(guard, condition=condition, rounding=rounding_of(self.b, condition))
            )
        else:
            self.b.guard(condition)

    def _condition(self, origin: Origin, item: Any) -> Any:
        condition = self.mapped(item)
        if is_read(condition):
            self.b.origin, condition = origin, number_of(self.b, condition)
        return condition

    def _effect(self, value: Value) -> None:
        graph = self.recorded
        if value in graph.inputs_of_call:
            self.result.effects.append(Effect("argument", graph.inputs.index(value), self.read(value)))
        # A graph that was recorded for another framework returns these arrays instead.
        elif value in graph.inputs and not graph.state.returns_written:
            self.result.effects.append(Effect("place", graph.inputs.index(value), self.read(value)))
        # The new array of a rebound buffer counts, not the elements of the old one.
        rebound = {effect.target for effect in graph.effects if effect.kind == "buffer"}
        for name, parameter in graph.parameters.items():
            if parameter is value and name not in rebound:
                self.result.effects.append(Effect("buffer", name, self.read(value)))
        for name, (constant, _) in graph.constants.items():
            if constant is value:
                self.result.effects.append(Effect("constant", name, self.read(value)))

    # ------------------------------------------------------------------------------ reads and writes
    def read(self, value: Value) -> Any:
        """Return the current canonical value of the array object ``value``.

        A view is derived again if its memory was written to since.
        """
        base = self.aliases.base_of(value)
        if base is not value and self.stamp.get(value, 0) != self.written.get(base, 0):
            self._derive(value)
        return self.current_values[value]

    def _derive(self, view: Value) -> None:
        node = self._maker(view)
        assert node is not None
        if node.regions:
            self._hold(
                view, self._with_gradient_of(self.current_values[view], self.read(_viewed(node, view)))
            )
        else:
            self._bind(node, self._call(node), only=view)

    def _with_gradient_of(self, source: Any, elements: Any) -> Any:
        return self.b.with_gradient(elements, source, self.b.ones(shape=source.shape, dtype=source.dtype))

    def write(self, value: Value, new: Any, aside: bool = False) -> None:
        """Set the canonical value of ``value`` to ``new``, and update the owner of its memory.

        If ``aside``, gradients of the owner's elements are computed as if nothing had been written.
        """
        base = self.aliases.base_of(value)
        before = self.read(base)
        self.current_values[base] = (
            new if base is value else write_through(self.b, before, self._chain(value), new)
        )
        if aside:
            self.current_values[base] = self._with_gradient_of(before, self.current_values[base])
            new = self.current_values[base] if base is value else new
        self.written[base] = self.written.get(base, 0) + 1
        self.current_values[value] = new
        self.stamp[value] = self.written[base]

    def _maker(self, value: Value) -> Node | None:
        return self._inner.get(value) or self.recorded.maker(value)

    def _chain(self, view: Value) -> list[Callable[[Any], Any]]:
        chain: list[Any] = []
        while self.aliases.base_of(view) is not view:
            node = self._maker(view)
            assert node is not None
            viewed = _viewed(node, view)
            # A derivative rule with a view as its result leaves the elements as they are.
            if not node.regions:
                chain.append(self._replay(node, view, viewed))
            view = viewed
        return chain[::-1]

    def _replay(self, node: Node, view: Value, viewed: Value) -> Any:
        args, kwargs = self.arguments(node)
        index = node.outputs.index(view)
        position = [id(item) for item in node.inputs].index(id(viewed)) if viewed in node.inputs else 0

        def again(array: Any) -> Any:
            row = self.row(node)
            assert row is not None
            result = row(self.b, *args[:position], array, *args[position + 1 :], **kwargs)
            flat = list(iterate_structure(result))
            return flat[index] if len(flat) > 1 else flat[0]

        return ViewStep(self.key(node), tuple(args[position + 1 :]), kwargs, again)

    # ------------------------------------------------------------------------------ arguments
    def mapped(self, structure: Any) -> Any:
        return map_structure(self._mapped, structure)

    def _mapped(self, item: Any) -> Any:
        if isinstance(item, Value):
            return self.read(item)
        if not isinstance(item, Size):
            return item
        size = substitute(item, self._symbol)
        return self.fixed.get(size, size)

    def _symbol(self, symbol: Symbol) -> Any:
        array = self.read(symbol.source)
        if symbol.kind in ("item", "number"):
            return Size.of(Symbol(array, 0, symbol.hint, symbol.kind))
        if symbol.kind == "size":
            return array.shape[symbol.axis]
        if symbol.kind == "stride":
            # Canonical arrays have no strides, but those of a contiguous array follow from its shape.
            step = product(array.shape[symbol.axis + 1 :])
            if hint_of(step) == symbol.hint:
                return step
            raise UnsupportedOperation(
                f"{self.b.origin}: a stride of an array that is not contiguous was read, which has no "
                "meaning "
                f"outside of {self.framework}"
            )
        raise UnsupportedOperation(f"{self.b.origin}: {symbol!r} has no meaning outside of {self.framework}")

    def arguments(self, node: Node) -> tuple[list[Any], dict[str, Any]]:
        args, kwargs = list(self.mapped(node.inputs)), self.mapped(node.params) if node.params else {}
        kwargs.pop("out", None)
        return (self._with_floats(node, args) if self.loop_indices else args), kwargs

    def _with_floats(self, node: Node, args: list[Any]) -> list[Any]:
        """Cast floats of loop indices in ``args`` to the dtype of a floating operand or result, if any."""
        # Not every target combines a Python float with a loop index that is an array.
        beside = [
            item.dtype
            for item in (*args, *node.outputs)
            if isinstance(item, Value) and is_floating(item.dtype)
        ]

        def array(item: Any) -> Any:
            is_float = (
                isinstance(item, Size)
                and item.type is float
                and any(symbol.source in self.loop_indices for symbol in item.symbols())
            )
            return self.b.cast(number_of(self.b, item), beside[0]) if is_float and beside else item

        return [map_structure(array, item) for item in args]

    # ------------------------------------------------------------------------------ calls
    def _node(self, node: Node) -> None:
        before = len(self.result.nodes)
        if (guard := guard_of(node)) is not None:
            self._checked_here(guard)
            return
        try:
            self._check_types(node)
            result = self.regions.run(node) if node.regions else self._call(node)
            # A call in a region cannot be translated, which is among the problems already.
            if node.regions and result is None:
                return
            self.made = set(self.result.nodes[before:])
            self._bind(node, result)
            if node.record is not None and node.writes:
                for value, new in self.new_elements(node, result).items():
                    self.write(value, self._as_target(self.read(value), new), node.record.is_detached_write)
                    base = self.aliases.base_of(value)
                    # The new array is that of the variable whose elements were written to.
                    if self.b.maker(self.current_values[base]) in self.result.nodes[before:]:
                        self.current_values[base].name = base.name
        except NotImplementedError as problem:
            self._problem(node, str(problem) or "not implemented")
        except GraphCompilerError as problem:
            if is_fault(problem):
                raise
            self._problem(node, str(problem))
        # Rows call frameworks to learn what they return, and these may raise any exception.
        except Exception as problem:
            if is_fault(problem):
                raise
            raise UnsupportedOperation(
                f"{self.recorded.name}: {node.op} could not be translated ({type(problem).__name__}: "
                f"{problem})\n"
                f"  {node.origin}"
            ) from problem

    def _call(self, node: Node) -> Any:
        """Call the row of ``node``. If it needs numbers for sizes, guard them and call it again."""
        if node.record is not None and node.record.strided:
            raise UnsupportedOperation(
                "it reads the memory of an array that is a view or not contiguous, which only "
                f"{self.framework} has; give it a contiguous copy"
            )
        before = len(self.result.nodes)
        try:
            while True:
                try:
                    return self.call(node)
                except NumberNeeded as problem:
                    del self.result.nodes[before:]
                    self._fix_arguments(node, problem)
        finally:
            self.fixed.clear()

    def _fix_arguments(self, node: Node, problem: NumberNeeded) -> None:
        """Guard sizes in the arguments of ``node`` that share a symbol with that in ``problem``, or raise."""
        if isinstance(problem.item, Value):
            if all(problem.item is not item for item in iterate_structure(self.arguments(node))):
                raise problem
            raise UnsupportedOperation(
                "it takes an argument that has to be a number of Python, and this one is computed from "
                "elements of arrays; pass it as an argument of its own"
            )
        symbols = set(problem.item.symbols())
        given = [item for item in iterate_structure(self.arguments(node)) if isinstance(item, Size)]
        needed = [size for size in given if not symbols.isdisjoint(size.symbols())]
        if not needed:
            raise problem
        for size in needed:
            self.fixed[size] = self.b.fix_number(size)

    def _check_types(self, node: Node) -> None:
        for words, values in (("takes", node.uses), ("gives", node.outputs)):
            for value in values:
                if value.dtype not in _KNOWN:
                    raise UnsupportedOperation(
                        f"it {words} {value.dtype}, a data type that no target has; convert to another one "
                        "before"
                    )

    def _problem(self, node: Node, why: str) -> None:
        # The outputs become placeholders, so that the calls that follow are checked as well and all problems
        # are reported at once.
        self.problems.append(f"{node.op}: {why}\n    {node.origin}")
        for value in node.outputs:
            self.current_values[value] = Value(value.name, value.spec)

    def _bind(self, node: Node, result: Any, only: Value | None = None) -> None:
        """Set the outputs of ``node``, or only the output ``only``, to the values in ``result``."""
        recorded, lifted = list(iterate_structure(node.result)), list(iterate_structure(result))
        if not node.outputs:
            return
        if len(recorded) != len(lifted):
            raise UnsupportedOperation(
                f"its row gives {len(lifted)} results where {self.framework} gave {len(recorded)}"
            )
        own = set(node.outputs)
        for value, new in zip(recorded, lifted):
            if isinstance(value, Value) and value in own and only in (None, value):
                self._check(value, new)
                self._hold(value, new)

    def _hold(self, value: Value, new: Value) -> None:
        self.current_values[value] = new
        self.lifted.setdefault(value, new)
        self.stamp[value] = self.written.get(self.aliases.base_of(value), 0)
        # A row may return a value that exists already and has a name of its own.
        if self.b.maker(new) in self.made:
            new.name = value.name

    def _check(self, value: Value, new: Any) -> None:
        # Recorded values have concrete shapes, so only the sizes while recording can be compared.
        if new.dtype != value.dtype or new.spec.hints != value.spec.hints:
            raise UnsupportedOperation(
                f"its row gives {new.dtype}{list(new.spec.hints)} where {self.framework} gave "
                f"{value.dtype}{list(value.spec.hints)}"
            )

    def _as_target(self, target: Value, new: Any) -> Any:
        return self.b.broadcast_to(
            self.b.cast(self.b.array(new, target.dtype), target.dtype), shape=target.shape
        )

    def specs_recorded(self, node: Node) -> tuple[ArraySpec, ...]:
        return tuple(item.spec for item in iterate_structure(node.result) if isinstance(item, Value))


def _report(name: str, problems: list[str]) -> str:
    lines = "\n".join(f"  {number}. {problem}" for number, problem in enumerate(problems, 1))
    return (
        f"{name} makes {len(problems)} call{'' if len(problems) == 1 else 's'} that cannot be translated:\n"
        f"{lines}\n"
        "Replace these calls, or add a row for each (docs/adding_an_operation.md)."
    )


def _refuse_kept_views(graph: Graph) -> None:
    """Raise :class:`UnsupportedOperation` if a call stores a view of a weight or state that it writes to.

    In the written program the view would be a copy and would not show these writes.
    """
    if graph.state.updates is None and not graph.effects:
        return
    aliases = Aliases(graph)
    kept = {*graph.inputs_in_places, *graph.parameters.values()} & aliases.written
    results = (
        count_leaves(graph.output_tree.children[0])
        if graph.state.updates is not None and isinstance(graph.output_tree, Branch)
        else len(graph.outputs)
    )
    left = [*graph.outputs[results:], *(effect.value for effect in graph.effects)]
    for value in left if kept else ():
        if (
            isinstance(value, Value)
            and aliases.base_of(value) is not value
            and aliases.base_of(value) in kept
        ):
            call = graph.maker(value)
            made = f" ({call.op} at {call.origin})" if call is not None else ""
            problem = (
                f"{graph.name} keeps a view of {aliases.base_of(value).name}, which it writes to{made}: in "
                "other "
                "frameworks these would be two arrays. Keep a copy"
            )
            raise UnsupportedOperation(problem, [problem])
