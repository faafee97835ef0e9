"""Custom gradient rules of ``torch.autograd.Function`` and tensor hooks, which become regions of the graph.

If a rule cannot be recorded, the graph raises an error if a gradient of the results is taken.
"""

from __future__ import annotations

import functools
import re
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import torch
from torch.autograd import function as functions
from torch.utils.hooks import BackwardHook

from ...errors import GradientRefused, TracingError
from ...ir.builder import Body, close
from ...ir.graph import Guard
from ...ir.node import CallRecord, Node, Origin, Value, values_in
from ...recording.faults import is_fault
from ...recording.patches import Patch, PatchSet, Session, replace_call
from ...recording.reachability.references import cell_is_filled
from ...recording.reachability.snapshot import ObjectSnapshot
from ...sizes import Size, Symbol
from ...trees import iterate_structure
from . import numbers
from .basics.tensors import DATA_SIZED, version
from .compat import (
    count_dispatch_modes,
    count_function_modes,
    dispatch_mode_at,
    function_mode_at,
    has_transforms,
)
from .gradients import GradientTrace
from .trace import Trace

REFUSE_GRADIENT = "torch.ops.graph_compiler.refuse_gradient"


class ResultMemory(Enum):
    """Relation of the result of ``_RefuseGradient`` to its argument: a copy, a view, or the same tensor."""

    OWN = "own"
    VIEW = "view"
    ARGUMENT = "argument"


class _RefuseGradient(torch.autograd.Function):
    """Identity of its first argument, which raises ``GradientRefused`` if it gets a gradient."""

    generate_vmap_rule = True

    @staticmethod
    def forward(value: Any, message: str, memory: ResultMemory, *sources: Any) -> Any:
        # torch makes a view of an argument that is returned, unless it is marked as dirty.
        return value.clone() if memory is ResultMemory.OWN else value

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.set_materialize_grads(False)
        ctx.message, ctx.count = inputs[1], len(inputs)
        if inputs[2] is ResultMemory.ARGUMENT:
            ctx.mark_dirty(inputs[0])

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        if gradient is not None:
            raise GradientRefused(ctx.message)
        return (None,) * ctx.count


def _refuse_gradient(value: Any, sources: Sequence[Any], message: str, memory: str = "own") -> Any:
    if not (torch.is_grad_enabled() and any(source.requires_grad for source in (value, *sources))):
        return value.detach()
    return _RefuseGradient.apply(value, message, ResultMemory(memory), *sources)


# The operator exists as long as this object.
_library = torch.library.Library("graph_compiler", "DEF")
_library.define("refuse_gradient(Tensor value, Tensor[] sources, str message, str memory='own') -> Tensor")
_library.impl("refuse_gradient", _refuse_gradient, "CompositeImplicitAutograd")


@dataclass(frozen=True)
class RecordedRule:
    """The recorded calls of a gradient rule, with the values that it takes and returns.

    results: values that the rule differentiates.
    sources: values with respect to which the results are differentiated.
    cotangents: gradients of the results, which the rule takes.
    gradients: gradients of the sources.
    before: recorded calls that the graph makes before the rule, because guards or sizes depend on them.
    """

    results: Sequence[Value]
    sources: Sequence[Value]
    cotangents: Sequence[Value]
    gradients: Sequence[Value]
    nodes: Sequence[Node]
    before: Sequence[Node] = ()

    @classmethod
    def of(
        cls,
        capture: GradientTrace,
        results: Sequence[torch.Tensor],
        args: Sequence[Any],
        rule: Callable[..., Any],
    ) -> RecordedRule:
        """Run ``rule`` on cotangents of ones and record it.

        ``rule`` takes a gradient for each of ``results``, and returns those of ``args`` in their order.
        """
        graph = capture.recorder.graph
        guards, values = len(graph.guards), [capture.value(item) for item in results]
        ones = [torch.ones_like(item) for item in results]
        cotangents, first = [capture.value(item) for item in ones], len(graph.nodes)
        capture.history.add(*cotangents)
        for value in cotangents:
            value.name = "gradient"
        given = rule(*ones)
        given = given if isinstance(given, (tuple, list)) else (given,)
        pairs = [
            (arg, item)
            for arg, item in zip(args, given)
            if isinstance(arg, torch.Tensor) and item is not None
        ]
        gradients = [_reduce_gradient(capture, item, arg) for arg, item in pairs]
        made = cls(
            values, [capture.value(arg) for arg, _ in pairs], cotangents, gradients, graph.nodes[first:]
        )
        made = made._with_decisions_before(capture, graph.guards[guards:])
        made._check(capture)
        made._decide_sizes(capture, graph.guards[guards:])
        return made

    def _with_decisions_before(self, capture: Trace, guards: Sequence[Guard]) -> RecordedRule:
        """Return this rule with the calls moved to ``before`` that a size or a guard depends on."""
        base_of = capture.recorder.base_of
        # Calls by the values that they make and the memory that they write to.
        calls: dict[Value, list[Node]] = {}
        for node in self.nodes:
            for value in (*node.outputs, *map(base_of, _written_by(node))):
                calls.setdefault(value, []).append(node)
        read = [(node.inputs, node.params) for node in self.nodes]
        waiting = _elements_in([*read, *(guard.condition for guard in guards)])
        waiting += [guard.condition for guard in guards if isinstance(guard.condition, Value)]
        moved: set[int] = set()
        while waiting:
            value = waiting.pop()
            if value in self.cotangents:
                raise TracingError("elements of a gradient decide in Python")
            for node in (*calls.get(value, ()), *calls.get(base_of(value), ())):
                if id(node) not in moved:
                    moved.add(id(node))
                    waiting += node.uses
        self._require_order(base_of, moved)
        before = [node for node in self.nodes if id(node) in moved]
        return replace(self, nodes=[node for node in self.nodes if id(node) not in moved], before=before)

    def _require_order(self, base_of: Callable[[Value], Value], moved: set[int]) -> None:
        later: set[Value] = set()
        for node in self.nodes:
            written = {base_of(value) for value in _written_by(node)}
            if id(node) not in moved:
                later.update(map(base_of, node.uses))
            elif node.is_random or not written <= self._inner - later:
                raise TracingError("elements that a rule draws or writes decide in Python")

    @functools.cached_property
    def _inner(self) -> set[Value]:
        return {*self.cotangents, *(value for node in self.nodes for value in node.outputs)}

    def _decide_sizes(self, capture: Trace, guards: Sequence[Guard]) -> None:
        """Replace guards that read values of the rule by guards on sizes of values outside of it."""
        # A guard of the graph cannot read a value of a rule.
        decided = [guard for guard in guards if not self._inner.isdisjoint(values_in((guard.condition,)))]
        if not decided:
            return
        if any(map(_has_data_size, self.nodes)):
            raise TracingError("sizes that depend on elements of a gradient decide in Python")
        for value in (*self.results, *self._read()):
            if value not in self._inner:
                numbers.decide_sizes(capture, value)
        graph = capture.recorder.graph
        graph.guards[:] = [
            guard for guard in graph.guards if not any(guard is replaced for replaced in decided)
        ]

    def _check(self, capture: Trace) -> None:
        recorder = capture.recorder
        written = {recorder.base_of(value) for node in self.nodes for value in _written_by(node)}
        if any(node.is_random for node in self.nodes) or not written <= self._inner:
            raise TracingError("a rule draws random numbers, or writes to what is not its own")
        if not self.sources:
            raise TracingError("a rule that gives no gradient")

    def add(self, capture: GradientTrace, name: str, forward: Sequence[Node]) -> tuple[Value, ...]:
        """Add a ``custom_derivative`` node with this rule, and return its outputs.

        ``forward`` are the recorded calls of the function that the rule is for.
        """
        recorder, origin = capture.recorder, capture.here()
        made = {value for node in forward for value in node.outputs}
        written = {recorder.base_of(value) for node in forward for value in node.writes}
        # Numbers that were read from arrays have no gradients.
        symbols = _symbols_in([(node.inputs, node.params) for node in self.nodes])
        scalars = {symbol.source for symbol in symbols if symbol.kind in ("item", "number")}
        kept = [
            value
            for value in self._read()
            if value in made and value not in self.results and value not in scalars
        ]
        # The memory of a source without a gradient now has what the function wrote, which has one.
        sources = [
            _detached(capture, value, origin)
            if recorder.base_of(value) in written and not capture.history.is_differentiable(value)
            else value
            for value in self.sources
        ]
        operands = [
            *(_detached(capture, value, origin) for value in self.results),
            *sources,
            *(_detached(capture, value, origin) for value in kept),
        ]
        given = [Value(value.name, value.spec) for value in self.results]
        function = Body(
            name,
            (*given, *(Value(value.name, value.spec) for value in operands[len(given) :])),
            (),
            tuple(given),
        )
        unused = [Value(value.name, value.spec) for value in self.results]
        taken = [*self.results, *self.cotangents, *unused, *self.sources, *kept]
        regions, captured = close(function, Body(f"{name}_rule", taken, self.nodes, tuple(self.gradients)))
        places = tuple(range(len(given), len(given) + len(self.sources)))
        outputs = tuple(Value(value.name, value.spec) for value in self.results)
        params = {"kind": "vjp", "differentiated": places, "residuals": 0}
        views = {
            place: operands[place]
            for place, value in enumerate(self.results)
            if recorder.base_of(value) is not value
        }
        record = CallRecord("custom_derivative", result=outputs, views=views)
        recorder.add_call(
            "custom_derivative", (*operands, *captured), params, origin, outputs, record, regions
        )
        return outputs

    def _read(self) -> list[Value]:
        return list(dict.fromkeys([*(value for node in self.nodes for value in node.uses), *self.gradients]))


def _written_by(node: Node) -> Sequence[Value]:
    return () if node.key == "requires_grad_" else node.writes


def _has_data_size(node: Node) -> bool:
    if node.key == "__getitem__":
        return any(value.dtype in ("bool", "uint8") for value in node.uses)
    return node.key in DATA_SIZED


def _elements_in(items: Any) -> list[Value]:
    return [symbol.source for symbol in _symbols_in(items) if symbol.kind != "size"]


def _symbols_in(items: Any) -> list[Symbol]:
    sizes = [item for item in iterate_structure(items) if isinstance(item, Size)]
    return [symbol for size in sizes for symbol in size.symbols()]


def _reduce_gradient(capture: Trace, gradient: Any, arg: torch.Tensor) -> Value:
    found, wanted = capture.value(gradient).spec, capture.value(arg).spec
    if found.hints != wanted.hints:
        more = len(found.hints) - len(wanted.hints)
        # Sizes of the argument are read instead of those of the gradient, which a guard must not contain.
        single = [
            axis
            for axis, size in enumerate(arg.shape)
            if found.hints[more + axis] != wanted.hints[axis] and size == 1
        ]
        if more < 0 or len(single) != sum(a != b for a, b in zip(found.hints[more:], wanted.hints)):
            raise TracingError(
                f"it gives a gradient of the shape {list(found.hints)} for an argument of the shape "
                f"{list(wanted.hints)}"
            )
        gradient = gradient.sum([more + axis for axis in single], keepdim=True) if single else gradient
        gradient = gradient.sum(list(range(more))) if more else gradient
    if found.dtype != wanted.dtype:
        gradient = gradient.to(arg.dtype)
    made: Value = capture.value(gradient)
    return made


def _detached(capture: Trace, value: Value, origin: Any) -> Value:
    made = Value(value.name, value.spec)
    capture.recorder.add_call(
        "torch.Tensor.detach",
        (value,),
        {},
        origin,
        (made,),
        CallRecord("detach", result=made, views={0: value}),
    )
    return made


# ``apply`` is C++ code without ``__code__`` since torch 2.14.
_APPLY = getattr(getattr(torch.autograd.Function.apply, "__func__", None), "__code__", None)
_MATERIALIZES = "_graph_compiler_materializes"
_READ_BY_APPLY = "_backward_cls"
_DEEPEST = 3
_FOLDERS = re.compile(r"\S*[/\\]")
_CHECKPOINT = "torch.utils.checkpoint"
# Modules of torch with gradient rules that count. Other functions of torch have the gradients of the calls
# that they make.
_WITH_RULES = (
    "torch._functorch.",
    "torch.distributions.",
)


class GradientRules:
    """Recorder of custom gradient rules, which patches ``torch.autograd.Function`` classes for a call.

    is_torchs_rule: True if the rule that is being recorded is torch's own.
    """

    def __init__(self, capture: GradientTrace) -> None:
        self.capture = capture
        # Triples of class, attribute and the class's own previous value.
        self._covered: list[tuple[type, str, Any]] = []
        self._handles: list[Any] = []
        self.is_torchs_rule = False
        # Number of rules that are being recorded inside of each other.
        self._depth = 0

    @property
    def are_recorded(self) -> bool:
        return self._depth > 0

    @contextmanager
    def patches_undone(self) -> Iterator[None]:
        try:
            yield
        finally:
            while self._covered:
                self._uncover()
            for handle in self._handles:
                handle.remove()

    def before_forward(self, frame: types.FrameType, has_setup: bool) -> None:
        """Prepare to record the gradient rule of a class if ``frame`` runs its ``apply`` in recorded code."""
        # The check is the one step of ``Function.apply`` that runs in Python for every function.
        if frame.f_code is _APPLY and _comes_to(self.capture):
            cls = frame.f_locals["cls"]
            if self._depth and _is_endless(cls, frame):
                raise TracingError(
                    f"the backward of {cls.__name__} takes gradients of {cls.__name__} again and again"
                )
            self._follow(cls, frame.f_locals["args"], has_setup)

    def applied(self, cls: Any) -> None:
        if _comes_to(self.capture):
            self._follow(cls, None, functions._is_setup_context_defined(cls.setup_context))

    def hook(self, tensor: torch.Tensor, function: Callable[[Any], Any], handle: Any) -> None:
        if self.capture.recorder.maker(self.capture.value(tensor)) is None:
            self._handles.append(handle)
        self.follow_hook(tensor, function, "a hook of a tensor")

    def follow_hook(self, tensor: torch.Tensor, function: Callable[[Any], Any], what: str) -> None:
        def rule(gradient: Any) -> Any:
            changed = function(gradient)
            return gradient if changed is None else changed

        if why := self.follow("hook", [tensor], (tensor,), rule):
            self.refuse([tensor], (), what, why=why)

    # ------------------------------------------------------------------------------ torch.autograd.Function
    def _follow(self, cls: Any, args: tuple[Any, ...] | None, has_setup: bool) -> None:
        """Patch ``forward`` of ``cls`` for its next call, in which its gradient rule may be recorded.

        ``args`` are the arguments of that call, or None to take them from it.
        """
        history = self.capture.history
        enabled = history.enabled
        is_ruled = args is not None and enabled and _is_ruled(cls, args)
        forward, setup = cls.forward, cls.setup_context
        # Index of the first node of the forward.
        started = [0]

        def running(*given: Any, **keywords: Any) -> Any:
            nonlocal args, is_ruled
            self._uncover()
            if args is None:
                args = given if has_setup else given[1:]
                is_ruled = enabled and _is_ruled(cls, args)
                if has_setup and is_ruled:
                    self._cover(cls, "setup_context", setting_up)
            if is_ruled and not has_setup:
                given[0].needs_input_grad = _need_gradient(args)
            started[:] = [len(self.capture.recorder.graph.nodes)]
            versions = [version(item) if isinstance(item, torch.Tensor) else 0 for item in args]
            # What forward computes has no gradients but those of the rule, wherever forward leaves it.
            with history.mode(False, args) if is_ruled else history.mode(enabled or history.fixed):
                result = forward(
                    *map(self._outside, given) if cls.__module__ == _CHECKPOINT else given, **keywords
                )
                if not is_ruled:
                    return result
                result = _apart(
                    result,
                    [
                        item
                        for item, before in zip(args, versions)
                        if isinstance(item, torch.Tensor) and version(item) == before
                    ],
                )
            if not has_setup:
                self._apply(cls, given[0], args, result, self.capture.recorder.graph.nodes[started[0] :])
            return result

        def setting_up(ctx: Any, inputs: Any, output: Any) -> Any:
            self._uncover()
            ctx.needs_input_grad = _need_gradient(inputs)
            with history.mode(False, inputs):
                setup(ctx, inputs, output)
            self._apply(cls, ctx, args or (), output, self.capture.recorder.graph.nodes[started[0] :])

        if has_setup and is_ruled:
            self._cover(cls, "setup_context", setting_up)
        self._cover(cls, "forward", running)

    def _outside(self, item: Any) -> Any:
        if not isinstance(item, (types.FunctionType, types.MethodType, functools.partial, torch.nn.Module)):
            return item

        def run(*args: Any, **kwargs: Any) -> Any:
            # A checkpointed function runs with gradients, as if it were not checkpointed.
            with self.capture.history.mode(None), torch.enable_grad():
                return item(*args, **kwargs)

        # ``Capture.forget_arrays`` clears ``capture`` once the recording is over.
        is_over: bool = self.capture is None
        return item if is_over else run

    def _cover(self, cls: type, name: str, function: Any) -> None:
        self._covered.append((cls, name, vars(cls).get(name)))
        setattr(cls, name, staticmethod(function))

    def _uncover(self) -> None:
        cls, name, own = self._covered.pop()
        if own is None:
            delattr(cls, name)
        else:
            setattr(cls, name, own)

    def _apply(self, cls: Any, ctx: Any, args: tuple[Any, ...], result: Any, forward: Sequence[Node]) -> None:
        known = _RuleContext(ctx, args)
        results = list(result) if isinstance(result, tuple) else [result]
        # torch differentiates a tensor that is returned twice as the last of these results.
        last = {id(item): position for position, item in enumerate(results)}
        ruled = [item for position, item in enumerate(results) if last[id(item)] == position]
        ruled = [item for item in ruled if _has_gradient(item)]
        for item in ruled:
            if any(item is one for one in known.without_gradient()):
                self._detach(item)
        ruled = [item for item in ruled if not any(item is one for one in known.without_gradient())]
        sources = [item for item in args if _has_gradient(item)]
        backward = cls.backward if cls.vjp is torch.autograd.Function.vjp else cls.vjp

        def rule(*cotangents: Any) -> Any:
            given = {last[id(item)]: cotangent for item, cotangent in zip(ruled, cotangents)}
            return backward(
                known, *(given.get(place, known.missing(item)) for place, item in enumerate(results))
            )

        # The function has written to these arguments.
        written = [item for item in ruled if any(item is given for given in args)]
        why = (
            "it has written to an argument"
            if written
            else self.follow(cls.__name__, ruled, args, rule, forward, _is_torchs(cls))
        )
        if why:
            self.refuse(ruled, sources, f"the rule of {cls.__name__}", why=why)

    # ------------------------------------------------------------------------------ rules of any kind
    def follow(
        self,
        name: str,
        results: Sequence[torch.Tensor],
        args: Sequence[Any],
        rule: Callable[..., Any],
        forward: Sequence[Node] = (),
        is_torchs: bool = False,
    ) -> str:
        """Record ``rule``, which computes gradients of ``args`` from those of ``results``.

        Return an empty string, or the reason if the rule could not be recorded.
        """
        if self._depth >= _DEEPEST:
            return f"rules that apply rules are recorded to {_DEEPEST} levels, one for each derivative"
        recorder, history = self.capture.recorder, self.capture.history
        graph = recorder.graph
        nodes, assumed = len(graph.nodes), recorder.savepoint()
        world = ObjectSnapshot((), called=[rule])
        recorded, why = None, ""
        before, self.is_torchs_rule = self.is_torchs_rule, is_torchs
        self._depth += 1
        try:
            # As in a backward pass with ``create_graph=True``, in which a rule may disable gradients.
            with torch.enable_grad(), history.mode(False):
                recorded = RecordedRule.of(self.capture, results, args, rule)
            if any(world.changes()):
                recorded, why = None, "it changes what it finds outside of its arguments"
        # The rule is the user's code, and may do or refuse anything.
        except Exception as problem:
            # Another attempt records the kernels of the call whose tensors the rule reads.
            if is_fault(problem) or not is_torchs and self.capture.by_kernel.has_asked:
                raise
            recorded, why = None, f"{problem}".strip().partition("\n")[0] or type(problem).__name__
        finally:
            self._depth -= 1
            self.is_torchs_rule = before
            world.restore()
        del graph.nodes[nodes:]
        graph.nodes += () if recorded is None else recorded.before
        if recorded is None:
            recorder.give_up(assumed)
            return why
        for new, tensor in zip(recorded.add(self.capture, name, forward), results):
            self.capture.history.add(self.capture.recorder.track(tensor, new))
        return ""

    def refuse(
        self,
        results: Any,
        sources: Sequence[torch.Tensor],
        what: str,
        values: Sequence[Value] = (),
        why: str = "",
    ) -> None:
        """Make it an error in the graph to take gradients of the float and complex tensors in ``results``."""
        message = _message(what, self.capture.here(), why)
        for result in iterate_structure((results,)):
            if _has_gradient(result):
                self._note(result, message, sources, values)

    def _detach(self, tensor: torch.Tensor) -> None:
        value = self.capture.value(tensor)
        made = (value.name, tensor, value.spec)
        self.capture.recorder.add_value(
            "torch.Tensor.detach", (value,), self.capture.here(), made, CallRecord("detach", views={0: value})
        )

    def _note(
        self, tensor: torch.Tensor, message: str, sources: Sequence[torch.Tensor], more: Sequence[Value]
    ) -> None:
        capture, is_argument = self.capture, any(tensor is source for source in sources)
        value = capture.value(tensor)
        shares = is_argument or capture.recorder.base_of(value) is not value
        memory = ResultMemory.ARGUMENT if is_argument else ResultMemory.VIEW if shares else ResultMemory.OWN
        made: Value = capture.recorder.add_value(
            REFUSE_GRADIENT,
            (value, [*map(capture.value, sources), *more], message, memory.value),
            capture.here(),
            (value.name, tensor, value.spec),
            CallRecord("refuse_gradient", views={0: value} if shares else {}),
        )
        capture.history.add(made)


class _RuleContext:
    """Replacement for the ``ctx`` that ``backward`` gets, with the attributes that the function set on it."""

    def __init__(self, ctx: Any, args: tuple[Any, ...]) -> None:
        vars(self).update(vars(ctx))
        self.saved_tensors = self.saved_variables = tuple(ctx.to_save or ())
        self.needs_input_grad = _need_gradient(args)
        self._without_gradient = tuple(ctx.non_differentiable or ())

    def without_gradient(self) -> tuple[torch.Tensor, ...]:
        return self._without_gradient

    def missing(self, result: Any) -> Any:
        materializes = vars(self).get(_MATERIALIZES, True)
        return torch.zeros_like(result) if materializes and isinstance(result, torch.Tensor) else None


def _has_gradient(item: Any) -> bool:
    return isinstance(item, torch.Tensor) and (item.is_floating_point() or item.is_complex())


def _need_gradient(args: Sequence[Any]) -> tuple[bool, ...]:
    # A graph has one rule for all calls, whichever arguments a call differentiates.
    return tuple(map(_has_gradient, args))


def _is_endless(cls: Any, frame: types.FrameType | None) -> bool:
    code, count = getattr(cls.backward, "__code__", None), 0
    while frame is not None and count <= _DEEPEST:
        count += frame.f_code is code
        frame = frame.f_back
    return count > _DEEPEST


def _comes_to(capture: GradientTrace) -> bool:
    # torch calls again with the unwrapped arrays.
    if has_transforms():
        return False
    height, kernels = count_function_modes(), count_dispatch_modes()
    if height > 0 and function_mode_at(height - 1) is capture:
        return True
    return (
        kernels > 0 and dispatch_mode_at(kernels - 1) is capture.kernels and not capture.kernels.inside_call
    )


def _is_ruled(cls: Any, args: tuple[Any, ...]) -> bool:
    has_rule = (
        cls.backward is not torch.autograd.Function.backward or cls.vjp is not torch.autograd.Function.vjp
    )
    if not has_rule or not any(map(_has_gradient, args)):
        return False
    return cls.__module__.startswith(_WITH_RULES) or not cls.__module__.startswith("torch.")


def _apart(result: Any, unwritten: Sequence[torch.Tensor]) -> Any:
    def apart(item: Any) -> Any:
        return item.view_as(item) if any(item is other for other in unwritten) else item

    # torch differentiates tensors in other containers than this tuple as what they are.
    return tuple(map(apart, result)) if isinstance(result, tuple) else apart(result)


def _is_torchs(cls: type) -> bool:
    # Under `vmap`, torch wraps the class of the user in a class of its own, whose `backward` closes over it.
    cells = getattr(cls.backward, "__closure__", None) or ()  # type: ignore[attr-defined]
    held = [
        cell.cell_contents
        for cell in cells
        if cell_is_filled(cell) and isinstance(cell.cell_contents, type) and cell.cell_contents is not cls
    ]
    inner = next((item for item in held if issubclass(item, torch.autograd.Function)), None)
    return cls.__module__.startswith("torch.") if inner is None else _is_torchs(inner)


def _message(what: str, origin: Origin, why: str) -> str:
    line = f" at {Path(origin.file).name}:{origin.line}" if origin.file else ""
    reason = f" ({_FOLDERS.sub('', why)})".replace('"', "'").replace("\\", "/") if why else ""
    return (
        f"a gradient is taken through {what}{line}, which the graph does not know{reason}; take it in torch, "
        "of the original"
    )


def _applied(session: Session, asked: Callable[[Any], bool], setup_context: Any) -> bool:
    has_setup = asked(setup_context)
    session.trace.rules.before_forward(sys._getframe(2), has_setup)
    return has_setup


def _materialized(session: Session, end: Callable[..., Any], ctx: Any, value: bool) -> Any:
    # torch has no way to read the setting back.
    setattr(ctx, _MATERIALIZES, value)
    return end(ctx, value)


def _hooked(session: Session, end: Callable[..., Any], hook: Any, arrays: Any) -> Any:
    given = [item for item in iterate_structure((arrays,)) if isinstance(item, torch.Tensor)]
    made = end(hook, arrays)
    # torch detaches the result from its origin, so the refusal must know both.
    if made is not arrays:
        session.trace.rules.refuse(made, given, f"a backward hook of {type(hook.module).__name__}")
    return made


def _class_reads(patch: Patch, patches: PatchSet, original: Any) -> Any:
    """Return a shim of ``type.__getattribute__`` that notices ``Function.apply`` before it runs ``forward``.

    ``apply`` itself cannot be patched, because it may be stored under any name.
    """

    def read(cls: Any, name: str) -> Any:
        if name == _READ_BY_APPLY and (sessions := patches.here()):
            patch.on_read(sessions[-1], cls)
        return type.__getattribute__(cls, name)

    return read


RULES = (
    Patch(functions, "_is_setup_context_defined", replace_call, _applied)
    if _APPLY is not None
    else Patch(
        functions.FunctionMeta,
        "__getattribute__",
        _class_reads,
        lambda session, cls: session.trace.rules.applied(cls),
    ),
    Patch(functions.FunctionCtx, "set_materialize_grads", replace_call, _materialized),
    *(Patch(BackwardHook, name, replace_call, _hooked) for name in ("setup_input_hook", "setup_output_hook")),
)
