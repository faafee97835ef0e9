"""Raises a recorded torch graph: every call becomes canonical operations, and every write becomes a new value.

A recorded value stands for a tensor object; what it *holds* changes when something writes to its memory. The driver keeps the
canonical value that each object holds at the moment: a write through a view becomes a new value of the memory's owner
(the chain of views inverted), and other views of that owner are derived again when they are next read.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ....errors import GraphCompilerError, UnsupportedOperation
from ....ir.graph import Effect, Graph, Guard, Node, Value
from ....ops.dtypes import is_inexact
from ....ops.registry import ArraySpec
from ....passes.aliases import Aliases
from ....sizes import Size, Symbol, hint_of, product, substitute
from ....trees import iterate_structure, map_structure
from ..names import is_in_place, pure_key, row_key
from .opening import open_call
from .statistics import WRITTEN
from .steps import Step
from .table import TorchBuilder, rows

_KEPT_NOTES = ("updates", "state", "call_inputs", "extra_keywords", "input_facts", "same_inputs", "written_inputs")
_RENAMED = {"axis": "dim", "keepdims": "keepdim", "x1": "input", "x2": "other", "x": "input", "a": "input"}


def raise_graph(graph: Graph) -> Graph:
    """The canonical graph of a recorded one; ``UnsupportedOperation`` lists every call that has no row and cannot be opened."""
    return _Raiser(graph).run()


class _Raiser:
    def __init__(self, graph: Graph) -> None:
        self.recorded, self.aliases = graph, Aliases(graph)
        self.result = Graph(graph.name, "canonical", input_tree=graph.input_tree, output_tree=graph.output_tree)
        self.b = TorchBuilder(self.result)
        self.held: dict[Value, Any] = {}
        self.stamp: dict[Value, int] = {}
        self.written: dict[Value, int] = {}
        self.made: set[Node] = set()
        self.raised: dict[Value, Value] = {}  # recorded -> what it held when it was made
        self.problems: list[str] = []

    def run(self) -> Graph:
        graph, b = self.recorded, self.b
        for value in graph.inputs:
            self.held[value] = b.input(value.name, value.spec)
        for name, value in graph.parameters.items():
            self.held[value] = b.parameter(name, value.spec)
        for name, (value, array) in graph.constants.items():
            self.held[value] = b.constant(name, value.spec, array)
        for node in graph.nodes:
            b.origin = node.origin
            self._node(node)
        if self.problems:
            raise UnsupportedOperation(_report(graph.name, self.problems))
        self._finish()
        return self.result

    def _finish(self) -> None:
        graph, result = self.recorded, self.result
        result.notes["raised"] = self.raised
        result.notes.update((name, graph.notes[name]) for name in _KEPT_NOTES if name in graph.notes)
        for effect in graph.effects:
            result.effects.append(Effect(effect.kind, effect.target, self.read(effect.value)))
        result.outputs = [self.mapped(leaf) for leaf in graph.outputs]
        assumed = {guard.condition for guard in result.guards if isinstance(guard.condition, Size)}
        for guard in graph.guards:  # in canonical sizes many of them are the same, or hold always
            condition = self.mapped(guard.condition)
            if condition is not True and not (isinstance(condition, Size) and condition in assumed):
                result.guards.append(Guard(condition, guard.expected, guard.origin))
                assumed.add(condition)
        for value in self.written:
            self._effect(value)

    def _effect(self, value: Value) -> None:
        """What was written to memory that the graph does not own is given back beside the outputs."""
        graph = self.recorded
        if value in graph.inputs[: graph.notes.get("call_inputs")]:  # what is in a place is given back as a new array
            self.result.effects.append(Effect("argument", graph.inputs.index(value), self.read(value)))
        rebound = {effect.target for effect in graph.effects if effect.kind == "buffer"}  # its new array counts, not what the old one holds
        for name, parameter in graph.parameters.items():
            if parameter is value and name not in rebound:
                self.result.effects.append(Effect("buffer", name, self.read(value)))
        for name, (constant, _) in graph.constants.items():
            if constant is value:
                self.result.effects.append(Effect("constant", name, self.read(value)))

    # ------------------------------------------------------------------------------ what objects hold
    def read(self, value: Value) -> Any:
        """The canonical value that a tensor object holds now."""
        base = self.aliases.base_of(value)
        if base is not value and self.stamp.get(value, 0) != self.written.get(base, 0):
            self._derive(value)
        return self.held[value]

    def _derive(self, view: Value) -> None:
        """Takes the view again, of what its memory holds now."""
        assert view.node is not None
        fresh = self._call(view.node)
        self._bind(view.node, fresh, only=view)

    def write(self, value: Value, new: Any) -> None:
        """From now on ``value`` holds ``new``, and so does the memory that it views."""
        base = self.aliases.base_of(value)
        if base is not value:
            owner = self.read(base)
            from .views import write_through

            self.held[base] = write_through(self.b, owner, self._chain(value), new)
        else:
            self.held[base] = new
        self.written[base] = self.written.get(base, 0) + 1
        self.held[value] = new
        self.stamp[value] = self.written[base]

    def _chain(self, view: Value) -> list[Callable[[Any], Any]]:
        """The calls that lead from the owner of the memory to ``view``, each as a function of the array it views."""
        chain: list[Any] = []
        while self.aliases.base_of(view) is not view:
            node = view.node
            assert node is not None
            viewed = node.facts["views"][view.index]
            chain.append(self._replay(node, view, viewed))
            view = viewed
        return chain[::-1]

    def _replay(self, node: Node, view: Value, viewed: Value) -> Any:
        args, kwargs = self._arguments(node)
        position = [id(item) for item in node.inputs].index(id(viewed)) if viewed in node.inputs else 0

        def again(array: Any) -> Any:
            row = self._row(node)
            assert row is not None
            result = row(self.b, *args[:position], array, *args[position + 1 :], **kwargs)
            flat = list(iterate_structure(result))
            return flat[view.index] if len(flat) > 1 else flat[0]

        return Step(row_key(node.op), tuple(args[position + 1 :]), kwargs, again)

    # ------------------------------------------------------------------------------ arguments
    def mapped(self, structure: Any) -> Any:
        """Recorded arguments with canonical values and sizes in them."""
        return map_structure(self._mapped, structure)

    def _mapped(self, item: Any) -> Any:
        if isinstance(item, Value):
            return self.read(item)
        return substitute(item, self._symbol) if isinstance(item, Size) else item

    def _symbol(self, symbol: Symbol) -> Any:
        held = self.read(symbol.source)
        if symbol.kind == "item":
            return Size.of(Symbol(held, 0, symbol.hint, "item"))
        if symbol.kind == "size":
            return held.shape[symbol.axis]
        if symbol.kind == "stride":
            step = product(held.shape[symbol.axis + 1 :])
            if hint_of(step) == symbol.hint:
                return step
            raise UnsupportedOperation(
                f"{self.b.origin}: a stride of an array that is not contiguous was read, which has no meaning outside of torch"
            )
        raise UnsupportedOperation(f"{self.b.origin}: {symbol!r} has no meaning outside of torch")

    def _arguments(self, node: Node) -> tuple[list[Any], dict[str, Any]]:
        args, kwargs = list(self.mapped(node.inputs)), self.mapped(node.params)
        kwargs.pop("out", None)
        if node.facts.get("no_grad"):
            args, kwargs = map_structure(self._without_gradient, (args, kwargs))
        return args, kwargs

    def _without_gradient(self, item: Any) -> Any:
        return self.b.stop_gradient(item) if isinstance(item, Value) and is_inexact(item.dtype) else item

    # ------------------------------------------------------------------------------ calls
    def _row(self, node: Node) -> Callable[..., Any] | None:
        key = row_key(node.op)
        if (
            is_in_place(key) and rows.get(key) and not node.op.startswith("torch.nn.init.")
        ):  # normal_ and bernoulli_ have other arguments than normal and bernoulli
            return rows.get(key)
        if node.op.startswith("torch.nn.init."):
            return rows.get(f"nn.init.{key}") or rows.get(pure_key(key))
        key = pure_key(key)
        if node.op.startswith("torch.nn.functional."):
            return rows.get(f"nn.functional.{key}") or rows.get(key)
        if node.op.startswith("torch.Tensor."):  # x.where(condition, y) has another order than torch.where(condition, x, y)
            return rows.get(f"Tensor.{key}") or rows.get(key)
        return rows.get(key)

    def _call(self, node: Node) -> Any:
        """What a call gives, in canonical values."""
        self.b.recorded = tuple(_seen(item) for item in iterate_structure(node.facts.get("result")) if isinstance(item, Value))
        if node.facts.get("strided"):
            raise UnsupportedOperation(
                "it reads memory of a tensor that is a view or not contiguous, which only torch has; call contiguous() before it"
            )
        args, kwargs = self._arguments(node)
        row = self._row(node)
        self.b.generator = next(
            (item for item in iterate_structure((args, kwargs)) if isinstance(item, Value) and item in self.b.streams), None
        )
        if row is None:
            return open_call(self.b, node, args, kwargs)
        return row(self.b, *args, **_renamed(row, kwargs))

    def _node(self, node: Node) -> None:
        before = len(self.result.nodes)
        try:
            result = self._call(node)
            self.made = set(self.result.nodes[before:])
            self._bind(node, result)
            self._writes(node, result)
        except NotImplementedError as problem:
            self._problem(node, str(problem) or "not implemented")
        except GraphCompilerError as problem:
            self._problem(node, str(problem))
        except Exception as problem:
            raise UnsupportedOperation(
                f"{self.recorded.name}: {node.op} could not be translated ({type(problem).__name__}: {problem})\n  {node.origin}"
            ) from problem

    def _problem(self, node: Node, why: str) -> None:
        self.problems.append(f"{node.op}: {why}\n    {node.origin}")
        for value in node.outputs:
            self.held[value] = Value(value.name, value.spec)

    def _bind(self, node: Node, result: Any, only: Value | None = None) -> None:
        """Gives the call's outputs what the row returned, after checking that it is of the type that torch returned."""
        recorded, raised = list(iterate_structure(node.facts.get("result"))), list(iterate_structure(result))
        if not node.outputs:
            return
        if len(recorded) != len(raised):
            raise UnsupportedOperation(f"its row gives {len(raised)} results where torch gave {len(recorded)}")
        own = set(node.outputs)
        for value, new in zip(recorded, raised):
            if isinstance(value, Value) and value in own and only in (None, value):
                self._check(value, new)
                self._hold(value, new)

    def _hold(self, value: Value, new: Value) -> None:
        self.held[value] = new
        self.raised.setdefault(value, new)
        self.stamp[value] = self.written.get(self.aliases.base_of(value), 0)
        if new.node is not None and new.node in self.made:
            new.name = value.name

    def _check(self, value: Value, new: Any) -> None:
        if new.dtype != value.dtype or new.spec.hints != value.spec.hints:
            raise UnsupportedOperation(
                f"its row gives {new.dtype}{list(new.spec.hints)} where torch gave {value.dtype}{list(value.spec.hints)}"
            )

    def _writes(self, node: Node, result: Any) -> None:
        written: tuple[Value, ...] = node.facts.get("writes", ())
        if not written:
            return
        key = row_key(node.op)
        if key in WRITTEN:
            self._write_all(WRITTEN[key](self.b, *self._arguments(node)), node)
        else:
            for value, new in zip(written, _fresh(node, result)):
                self.write(value, self._as_target(self.read(value), new))

    def _write_all(self, new_values: dict[int | str, Any], node: Node) -> None:
        """``new_values``: position or keyword of an argument -> what it holds after the call."""
        for where, new in new_values.items():
            target = node.inputs[where] if isinstance(where, int) else node.params[where]
            self.write(target, self._as_target(self.read(target), new))

    def _as_target(self, target: Value, new: Any) -> Any:
        """A write keeps the dtype and the sizes of the tensor that is written to."""
        return self.b.broadcast_to(self.b.cast(self.b.array(new, target.dtype), target.dtype), shape=target.shape)


def _fresh(node: Node, result: Any) -> list[Any]:
    flat = list(iterate_structure(result))
    return flat if not is_in_place(row_key(node.op)) else flat[:1]


def _renamed(row: Callable[..., Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """numpy's spellings of keywords (``axis``) as torch's (``dim``), where the row knows only those."""
    kwargs.pop("inplace", None) if "inplace" not in inspect.signature(row).parameters else None
    if not kwargs.keys() & _RENAMED.keys():
        return kwargs
    known = inspect.signature(row).parameters
    return {name if name in known else _RENAMED.get(name, name): value for name, value in kwargs.items()}


def _seen(value: Value) -> ArraySpec:
    return value.spec


def _report(name: str, problems: list[str]) -> str:
    lines = "\n".join(f"  {number}. {problem}" for number, problem in enumerate(dict.fromkeys(problems), 1))
    return (
        f"{name} makes {len(dict.fromkeys(problems))} call(s) that cannot be translated:\n{lines}\n"
        "Replace these calls, or add a row for each (docs/adding_an_operation.md)."
    )
