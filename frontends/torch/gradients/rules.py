"""Rules of the user's own for gradients: ``torch.autograd.Function``, backward hooks. The calls inside are recorded; a node says what the gradient is.

A rule that multiplies the gradient by something, element by element, is run once on ones, which gives what it multiplies by. Of any other
rule the graph only knows that it has one: its results are right, and to take a gradient of them is an error.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd import function as functions
from torch.utils.hooks import BackwardHook

from ....errors import TracingError
from ....ir.node import Node, Value
from ....ir.record import CallRecord
from ....tracing.roots import reach
from ....tracing.world import World
from ....trees import iterate_structure
from ..basics.tensors import version
from .ruled import REFUSE_GRADIENT, WITH_GRADIENT

if TYPE_CHECKING:
    from ..capture.capture import Capture

_APPLY = torch.autograd.Function.apply.__func__.__code__
_TIMES, _OVER = frozenset({"mul", "multiply", "mul_", "__rmul__", "__imul__"}), frozenset({"div", "true_divide", "divide", "div_"})
_CHECKPOINT = "torch.utils.checkpoint"
_WITH_RULES = ("torch._functorch.", "torch.distributions.")  # torch's other functions have the gradients of what they run
_SAME = frozenset({"neg", "negative", "__neg__", "neg_", "clone", "detach", "contiguous", "positive"})
_SUM = frozenset({"add", "sub", "add_", "sub_"})
_MASKED = frozenset({"masked_fill", "masked_fill_", "__setitem__"})


class Rules:
    """What a recording does about them."""

    def __init__(self, capture: Capture) -> None:
        self.capture: Any = capture
        self._covered: list[tuple[type, str, Any]] = []  # class, attribute, what it had of its own there
        self._handles: list[Any] = []
        self._untouchable: set[Value] = set()  # share memory with a value that is not known to view them

    @contextmanager
    def seen(self) -> Iterator[None]:
        """Inside of the block, rules are noticed where they are applied. torch's ``Function.apply`` asks one thing in Python of every function."""
        asked, finish = functions._is_setup_context_defined, BackwardHook.setup_output_hook

        def asking(setup_context: Any) -> Any:
            frame = sys._getframe(1)
            has_setup = asked(setup_context)
            if frame.f_code is _APPLY and _comes_to(self.capture):
                self._follow(frame.f_locals["cls"], frame.f_locals["args"], has_setup)
            return has_setup

        def finishing(hook: Any, results: Any) -> Any:
            made = finish(hook, results)
            self.refuse(made, (), f"a backward hook of {type(hook.module).__name__}")
            return made

        functions._is_setup_context_defined, BackwardHook.setup_output_hook = asking, finishing
        try:
            yield
        finally:
            functions._is_setup_context_defined, BackwardHook.setup_output_hook = asked, finish
            while self._covered:
                self._uncover()
            for handle in self._handles:
                handle.remove()

    def hook(self, tensor: torch.Tensor, function: Callable[[Any], Any], handle: Any) -> None:
        """``tensor.register_hook(function)``. On a tensor of the user's it does not stay."""
        if self.capture.recorder.maker(self.capture.value(tensor)) is None:
            self._handles.append(handle)
        if not self.translate(tensor, (tensor,), function):
            self.refuse([tensor], (), "a hook of a tensor")

    # ------------------------------------------------------------------------------ torch.autograd.Function
    def _follow(self, cls: Any, args: tuple[Any, ...], has_setup: bool) -> None:
        """The next call of this function's ``forward`` is looked at."""
        sources = [item for item in args if isinstance(item, torch.Tensor) and item.is_floating_point()]
        has_rule = cls.backward is not torch.autograd.Function.backward or cls.vjp is not torch.autograd.Function.vjp
        enabled = self.capture.history.enabled
        is_ruled = bool(sources and has_rule and enabled) and (
            cls.__module__.startswith(_WITH_RULES) or not cls.__module__.startswith("torch.")
        )
        forward, setup = cls.forward, cls.setup_context

        def running(*given: Any, **keywords: Any) -> Any:
            self._uncover()
            versions = [version(item) if isinstance(item, torch.Tensor) else 0 for item in args]
            with self._forward(enabled):
                result = forward(*map(self._outside, given) if cls.__module__ == _CHECKPOINT else given, **keywords)
                if not is_ruled:
                    return result
                result = _apart(
                    result, [item for item, before in zip(args, versions) if isinstance(item, torch.Tensor) and version(item) == before]
                )
                if not has_setup:
                    self._apply(cls, given[0], args, result)
            return result

        def setting_up(ctx: Any, inputs: Any, output: Any) -> Any:
            self._uncover()
            with self._forward(enabled):
                setup(ctx, inputs, output)
                self._apply(cls, ctx, args, output)

        if has_setup and is_ruled:
            self._cover(cls, "setup_context", setting_up)
        self._cover(cls, "forward", running)

    @contextmanager
    def _forward(self, enabled: bool) -> Iterator[None]:
        """torch runs it without gradients, whether the caller wants them or not."""
        self.capture.history.forwards += enabled
        try:
            yield
        finally:
            self.capture.history.forwards -= enabled

    def _outside(self, item: Any) -> Any:
        """What a checkpoint runs, as if there were no checkpoint: with gradients, where torch will run it again for them."""
        if not isinstance(item, (types.FunctionType, types.MethodType, functools.partial, torch.nn.Module)):
            return item

        def run(*args: Any, **kwargs: Any) -> Any:
            forwards, self.capture.history.forwards = self.capture.history.forwards, 0
            try:
                with torch.enable_grad():
                    return item(*args, **kwargs)
            finally:
                self.capture.history.forwards = forwards

        return run if self.capture is not None else item

    def _cover(self, cls: type, name: str, function: Any) -> None:
        self._covered.append((cls, name, vars(cls).get(name)))
        setattr(cls, name, staticmethod(function))

    def _uncover(self) -> None:
        cls, name, own = self._covered.pop()
        if own is None:
            delattr(cls, name)
        else:
            setattr(cls, name, own)

    def _apply(self, cls: Any, ctx: Any, args: tuple[Any, ...], result: Any) -> None:
        known = _Context(ctx, args)
        results = list(result) if isinstance(result, tuple) else [result]
        sources = [item for item in args if isinstance(item, torch.Tensor) and item.is_floating_point()]
        written = [item for item in results if any(item is given for given in args)]  # mark_dirty
        for number, one in enumerate(results):
            if not isinstance(one, torch.Tensor) or not one.is_floating_point():
                continue
            if any(one is item for item in known.without_gradient()):
                self._detach(one)
                continue
            others = [torch.zeros_like(item) if isinstance(item, torch.Tensor) else None for item in results]

            def rule(ones: Any, number: int = number, others: list[Any] = others) -> Any:
                return cls.backward(known, *others[:number], ones, *others[number + 1 :])

            zeros = [item for item in others if item is not None]
            if written or not self.translate(one, args, rule, zeros):
                self.refuse([one], sources, f"the rule of {cls.__name__}")
            if any(one is item for item in written):
                self._untouchable.add(self.capture.recorder.base_of(self.capture.value(one)))

    # ------------------------------------------------------------------------------ rules of any kind
    def translate(self, result: torch.Tensor, args: Sequence[Any], rule: Callable[[Any], Any], zeros: Sequence[Any] = ()) -> bool:
        """Whether the rule turned out to be a multiplication, which is noted. It gives the gradients of ``args`` from that of ``result``."""
        graph, value = self.capture.recorder.graph, self.capture.recorder.find(result)
        nodes, guards, assumptions = len(graph.nodes), len(graph.guards), graph.assumptions
        world = World(reach([rule]))
        try:
            pairs = self._slopes(result, args, rule, zeros)
            if value is None or any(world.changes()):
                raise _Unknown
        except Exception:
            del graph.nodes[nodes:], graph.guards[guards:]
            graph.assumptions = assumptions
            return False
        finally:
            world.restore()
        slopes = [slope for _, slope in pairs]
        if any(value in node.uses for node in graph.nodes[nodes + 1 :]):
            slopes = [self._once(slope) for slope in slopes]
        self._note(WITH_GRADIENT, "with_gradient", value, result, ([source for source, _ in pairs], slopes))
        return True

    def _slopes(
        self, result: torch.Tensor, args: Sequence[Any], rule: Callable[[Any], Any], zeros: Sequence[Any]
    ) -> list[tuple[Value, Value]]:
        """What the rule multiplies the gradient by, for each argument that gets one; ``_Unknown`` where it does anything else."""
        capture = self.capture
        graph = capture.recorder.graph
        nodes, guards = len(graph.nodes), len(graph.guards)
        ones = torch.ones_like(result)
        gradients = rule(ones)
        gradients = gradients if isinstance(gradients, (tuple, list)) else (gradients,)
        pairs = [(arg, slope) for arg, slope in zip(args, gradients) if isinstance(arg, torch.Tensor) and slope is not None]
        values = [(capture.value(arg), capture.value(slope)) for arg, slope in pairs]
        linear = {capture.value(item) for item in (ones, *zeros)}
        fits = all(arg.spec == slope.spec and arg.dtype == capture.value(ones).dtype for arg, slope in values)
        if not (
            values
            and fits
            and len(graph.guards) == guards
            and _multiplies(graph.nodes[nodes + 1 :], linear, [slope for _, slope in values])
        ):
            raise _Unknown
        return values

    def _once(self, slope: Value) -> Value:
        """The slope, with no derivative: it depends on the result, whose own rule would have to be followed."""
        message = _message("the derivative of a rule of yours (torch.autograd.Function)")
        inputs, made = (slope, [slope], message), ("slope", torch.empty(0), slope.spec)
        return self.capture.recorder.add_value(REFUSE_GRADIENT, inputs, self.capture.here(), made, CallRecord("refuse_gradient"))

    def refuse(self, results: Any, sources: Sequence[torch.Tensor], what: str, values: Sequence[Value] = ()) -> None:
        """To take a gradient of any of the results, with respect to the ``sources`` and ``values`` too, is an error from here on."""
        for result in iterate_structure((results,)):
            if isinstance(result, torch.Tensor) and result.is_floating_point():
                value, given = self.capture.value(result), [*map(self.capture.value, sources), *values]
                self._note(REFUSE_GRADIENT, "refuse_gradient", value, result, (given, _message(what)))

    def refuse_writes(self, written: Iterable[Value], origin: Any) -> None:
        """``TracingError`` where one of the values ``written`` to is a view that a rule has made."""
        if self._untouchable and not self._untouchable.isdisjoint(map(self.capture.recorder.base_of, written)):
            raise TracingError(
                f"{origin}: what a torch.autograd.Function returned is a view or was written to by it, and is written to again, of which no gradient is "
                "known; write to a copy (clone)"
            )

    def _detach(self, tensor: torch.Tensor) -> None:
        """A result that the function has marked as not differentiable."""
        value = self.capture.value(tensor)
        made = (value.name, tensor, value.spec)
        self.capture.recorder.add_value("torch.Tensor.detach", (value,), self.capture.here(), made, CallRecord("detach"))

    def _note(self, name: str, key: str, value: Value, tensor: torch.Tensor, more: tuple[Any, ...]) -> None:
        """From here on the tensor stands for the value with the rule."""
        capture = self.capture
        is_view = capture.recorder.base_of(value) is not value
        result = (value.name, tensor, value.spec)
        made: Value = capture.recorder.add_value(name, (value, *more), capture.here(), result, CallRecord(key))
        capture.history.add(made)
        if is_view:
            self._untouchable.update((made, capture.recorder.base_of(value)))


class _Unknown(Exception):
    """The rule is no multiplication."""


class _Context:
    """What ``backward`` finds in its ``ctx``."""

    def __init__(self, ctx: Any, args: tuple[Any, ...]) -> None:
        vars(self).update(vars(ctx))
        self.saved_tensors = self.saved_variables = tuple(ctx.to_save or ())
        self.needs_input_grad = tuple(isinstance(item, torch.Tensor) and item.is_floating_point() for item in args)
        self._without_gradient = tuple(ctx.non_differentiable or ())

    def without_gradient(self) -> tuple[torch.Tensor, ...]:
        """Results that are marked as not differentiable."""
        return self._without_gradient


def _comes_to(capture: Any) -> bool:
    """Whether calls that are made now come to this recording: in its thread, and not inside of another recording.

    Of what a transform (``torch.vmap``, ``torch.func.grad``) runs, only the kernels come.
    """
    if torch._C._are_functorch_transforms_active():  # torch comes back with the plain arrays below
        return False
    height, kernels = torch._C._len_torch_function_stack(), torch._C._len_torch_dispatch_stack()
    if height > 0 and torch._C._get_function_stack_at(height - 1) is capture:
        return True
    return kernels > 0 and torch._C._get_dispatch_stack_at(kernels - 1) is capture.unseen and not capture.unseen.inside_call


def _apart(result: Any, unwritten: Sequence[torch.Tensor]) -> Any:
    """A result that is an argument itself as a tensor of its own, as torch makes one of it afterwards; not one that was written to."""
    if isinstance(result, torch.Tensor) and any(result is item for item in unwritten):
        return result.view_as(result)
    return result


def _message(what: str) -> str:
    return f"a gradient is taken through {what}, which the graph does not know; take it in torch, of the original, or write the rule as a product"


def _multiplies(nodes: Sequence[Node], linear: set[Value], slopes: Sequence[Value]) -> bool:
    """Whether every slope comes from the ``linear`` values by multiplications with what does not, element by element."""
    for node in nodes:
        held = any(value in linear for value in node.uses)
        if node.is_random or any(value not in linear for value in node.writes) or held and not _keeps_linear(node, linear):
            return False
        if held or node.key == "zeros_like":
            linear.update(node.outputs)
    return all(slope in linear for slope in slopes)


def _keeps_linear(node: Node, linear: set[Value]) -> bool:
    key, inputs = node.key, node.inputs
    of = [isinstance(item, Value) and item in linear for item in inputs]
    shapes = {item.spec.shape for item, is_linear in zip(inputs, of) if is_linear} | {value.spec.shape for value in node.outputs}
    if node.params or len(shapes) > 1 or not inputs:
        return False
    if key == "zeros_like":
        return len(inputs) == 1
    if key in _TIMES:
        return len(inputs) == 2 and of.count(True) == 1
    if key in _OVER:
        return len(inputs) == 2 and of == [True, False]
    if key in _SUM:
        return len(inputs) == 2 and of == [True, True]
    if key in _MASKED:
        return len(inputs) == 3 and of == [True, False, False] and _is_zero(inputs[2])
    if key == "where":
        return len(inputs) == 3 and not of[0] and all(is_linear or _is_zero(item) for is_linear, item in zip(of[1:], inputs[1:]))
    return key in _SAME and len(inputs) == 1


def _is_zero(item: Any) -> bool:
    return isinstance(item, (int, float)) and item == 0
