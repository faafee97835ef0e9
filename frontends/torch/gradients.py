"""Gradients in a recording: differentiable values, and reads and changes of ``.grad``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import torch

from ...assumptions import fact_of
from ...errors import TracingError
from ...forwarding import forward
from ...ir.node import CallRecord, Node, Origin, Value, values_in
from ...ops.dtypes import is_inexact
from ...recording.environment_guards import EnvironmentGuard
from ...recording.reachability.snapshot import TrackedContainer
from ...recording.state.places import StatePlace
from .basics import tensors as kinds
from .basics.names import name_of, row_key
from .basics.tensors import is_captured, is_leaf, spec_of
from .compat import is_grad_enabled, is_inference_mode_enabled, no_torch_function
from .state.parameters import TorchWeights
from .trace import Trace


class AutogradHistory:
    """Tracker of the differentiable values of a recording, and of the grad mode.

    ambient: the grad mode when the recording began.
    mode_changed: True once another grad mode than ``ambient`` may have been in effect.
    fixed: True to count gradients as enabled at every call, False to follow torch's grad mode, None to follow
        it only if ``ambient`` is True and count them as enabled otherwise.
    """

    def __init__(self, capture: Trace) -> None:
        self.capture = capture
        self.ambient = is_grad_enabled()
        self.mode_changed = False
        self.fixed: bool | None = None
        # Arguments of the function with a derivative rule whose ``forward`` or ``setup_context`` is running.
        self._arguments: Sequence[Any] = ()
        self._differentiable: set[Value] = set()
        # Results of ``detach`` and ``.data``, and views of these.
        self._detached: set[Value] = set()

    @property
    def enabled(self) -> bool:
        """True if gradients count as enabled for calls made now. Reading it may set ``mode_changed``."""
        # Inference mode, backward passes and C++ code change the mode without a call that is intercepted, so
        # torch's own flag is read.
        enabled = is_grad_enabled()
        if self.fixed is not None:
            return self.fixed or enabled
        self.mode_changed = self.mode_changed or enabled != self.ambient or is_inference_mode_enabled()
        return enabled or not self.ambient

    @contextmanager
    def mode(self, fixed: bool | None, arguments: Sequence[Any] = ()) -> Iterator[None]:
        before = self.fixed, self._arguments
        self.fixed, self._arguments = fixed, arguments
        try:
            yield
        finally:
            self.fixed, self._arguments = before

    def is_argument(self, tensor: torch.Tensor) -> bool:
        return any(tensor is item for item in self._arguments)

    def add(self, *values: Value) -> None:
        for value in values:
            if is_inexact(value.dtype):
                self._differentiable.add(value)

    def is_differentiable(self, value: Value) -> bool:
        return value in self._differentiable

    def record_of(self, key: str, inputs: Any, written: Sequence[Value], **facts: Any) -> CallRecord:
        enabled = self.enabled
        has_differentiable = not self._differentiable.isdisjoint(values_in(inputs))
        aside = any(self._is_aside(value, enabled, has_differentiable) for value in written)
        no_grad = not enabled and has_differentiable
        return CallRecord(
            key, writes=tuple(dict.fromkeys(written)), is_detached_write=aside, no_grad=no_grad, **facts
        )

    def follow(self, node: Node, written: Sequence[Value]) -> None:
        """Update the sets of differentiable and detached values for ``node``, which writes to ``written``."""
        key = node.key
        if key not in kinds.DETACHING and not self._differentiable.isdisjoint(node.uses):
            self.add(*(node.outputs if self.enabled else [node.outputs[index] for index in node.views]))
            if self.enabled:
                # A write through a detached tensor is hidden from the owner of its memory.
                owners = (
                    self.capture.recorder.base_of(value) for value in written if value not in self._detached
                )
                self.add(*written, *owners)
        self._detached.update(
            node.outputs[index]
            for index, viewed in node.views.items()
            if key in kinds.DETACHING or viewed in self._detached
        )
        if key == "requires_grad_":
            self.add(*written)
        # Calls that create tensors take ``requires_grad``.
        if node.params.get("requires_grad") is True:
            self.add(*node.outputs)

    def _is_aside(self, value: Value, enabled: bool, has_differentiable: bool) -> bool:
        base = self.capture.recorder.base_of(value)
        if enabled and value in self._detached:
            counts = has_differentiable or base in self._differentiable
        else:
            counts = base in self._differentiable and not (enabled and value in self._differentiable)
        if not counts:
            return False
        parameters = self.capture.recorder.graph.parameters
        name = next((name for name, parameter in parameters.items() if parameter is base), None)
        return name is None or self.capture.weights.is_trained(name)


class CallsByKernel:
    """Set of the names of calls that must be recorded by what they run: kernels, or unrolled control flow.

    The node of a public call hides tensors that it saves for its gradient or keeps aside.

    names: calls that earlier attempts have requested.
    asked: calls requested until now.

    >>> calls = CallsByKernel()
    >>> calls.ask("torch.nn.functional.cross_entropy"), calls.next_attempt(), calls.next_attempt()
    (None, True, False)
    >>> sorted(calls.names)
    ['torch.nn.functional.cross_entropy']
    """

    def __init__(self) -> None:
        self.names: frozenset[str] = frozenset()
        self.asked: set[str] = set()

    def ask(self, name: str | None) -> None:
        self.asked.update(filter(None, (name,)))

    @property
    def has_asked(self) -> bool:
        return not self.asked <= self.names

    def next_attempt(self) -> bool:
        new = self.has_asked
        self.names |= self.asked
        return new


def run_portable_kernels(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    # Fused attention kernels save tensors for their gradient that other frameworks do not have.
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return forward(function, *args, **kwargs)


class _GradientBefore(NamedTuple):
    """Autograd properties that a tensor had when it was first met."""

    tensor: torch.Tensor
    grad: torch.Tensor | None
    requires_grad: bool

    @classmethod
    def of(cls, tensor: torch.Tensor) -> _GradientBefore:
        return cls(tensor, tensor.grad, tensor.requires_grad)

    def restore(self) -> None:
        if _grad(self.tensor) is not self.grad:
            self.tensor.grad = self.grad
        if is_leaf(self.tensor) and self.tensor.requires_grad is not self.requires_grad:
            self.tensor.requires_grad_(self.requires_grad)


class Gradients:
    """Record of the gradients (``.grad``) that tensors had at first, to guard, check and restore them.

    last: source location of the last backward pass, or None.
    """

    def __init__(self, weights: TorchWeights) -> None:
        self._weights = weights
        self._before: dict[int, _GradientBefore] = {}
        for tensor in weights.trained():
            self._before[id(tensor)] = _GradientBefore.of(tensor)
        self.last: Origin | None = None
        self._asked: dict[tuple[int, str], EnvironmentGuard] = {}
        # Ids of tensors whose gradients are state.
        self._followed: set[int] = set()
        # Ids of those tensors whose gradients are inputs.
        self._placed: set[int] = set()

    def follow(self, gradients: Iterable[TrackedContainer], places: Iterable[StatePlace]) -> None:
        self._followed = {id(held.item) for held in gradients}
        self._placed = {id(place.held.item) for place in places} & self._followed

    def is_input(self, tensor: torch.Tensor) -> bool:
        return id(tensor) in self._placed

    def fact(self, given: Any, fact: str) -> Any:
        before = self._before.get(id(given))
        if before is None or fact not in ("has_grad", "requires_grad"):
            return fact_of(given, fact)
        return before.requires_grad if fact == "requires_grad" else before.grad is not None

    def add(self, tensor: torch.Tensor) -> None:
        if id(tensor) in self._before:
            return
        with no_torch_function():
            if is_leaf(tensor):
                self._before[id(tensor)] = _GradientBefore.of(tensor)

    def guard_property(self, tensor: torch.Tensor, key: str) -> None:
        path = self._weights.name_of(tensor)
        held = None if path is None else self._weights.holder_of(path)
        with no_torch_function():
            before, name = self._before.get(id(tensor)), key.strip("_")
            known = {} if before is None else {"grad": before.grad, "requires_grad": before.requires_grad}
            found = known[name] if name in known else getattr(tensor, key)
            self._asked.setdefault((id(tensor), key), _fact_of_captured(tensor, held, key, found))

    def guards(self) -> list[EnvironmentGuard]:
        return list(self._asked.values())

    def came_with(self, tensor: torch.Tensor, gradient: torch.Tensor) -> bool:
        return any(found.tensor is tensor and found.grad is gradient for found in self._before.values())

    def restore(self) -> None:
        for found in self._before.values():
            if id(found.tensor) not in self._followed:
                found.restore()

    def check(self, name: str) -> None:
        for found in self._before.values():
            if id(found.tensor) in self._followed or _grad(found.tensor) is found.grad:
                continue
            raise TracingError(
                f"{self.last or name} leaves gradients on its arguments, or on tensors that nothing holds "
                "(by backward), which a graph cannot do; compute them with torch.autograd.grad and return "
                "them"
            )


def _grad(tensor: torch.Tensor) -> torch.Tensor | None:
    return tensor.grad if is_leaf(tensor) else None


def _fact_of_captured(tensor: torch.Tensor, held: Any, key: str, found: Any) -> EnvironmentGuard:
    name, relation = key.strip("_"), "==" if isinstance(found, torch.device) else "is"
    place, objects = ("{}", (tensor,)) if held is None else ("{}[{}]", held)
    return EnvironmentGuard(
        f"{place}.{name} {relation} {{}}", (*objects, found), f"{name} of a captured tensor"
    )


class GradientTrace(Trace, Protocol):
    """Protocol of a recording in progress that also tracks gradients."""

    gradients: Gradients
    by_kernel: CallsByKernel

    @property
    def history(self) -> AutogradHistory: ...


# Maps a property to the facts about an input that its value follows from.
READS: dict[str, tuple[str, ...]] = {
    "requires_grad": ("requires_grad",),
    "is_leaf": ("is_leaf",),
    "grad_fn": ("is_leaf",),
    "grad": ("has_grad",),
    "_grad": ("has_grad",),
}


def answer(capture: GradientTrace, function: Any, args: Any, kwargs: Any) -> Any:
    tensor, key = args[0], row_key(name_of(function))
    seen = capture.run(function, args, kwargs)
    # Only arrays of torch can be asked, and the rule must have gradients of all arguments.
    if key == "requires_grad" and not capture.for_torch and capture.history.is_argument(tensor):
        return is_inexact(spec_of(tensor).dtype)
    if key in ("grad", "_grad") and capture.gradients.is_input(tensor):
        return seen
    if is_captured(capture, tensor):
        capture.gradients.guard_property(tensor, key)
        return seen
    if key in ("grad", "_grad") and seen is not None and capture.gradients.came_with(tensor, seen):
        raise TracingError(
            f"{capture.here()}: the gradient that an argument came with is read, which is no part of the "
            "call; pass it as an argument of its own"
        )
    for fact in READS[key]:
        capture.guard_fact_if_varying(fact, tensor)
    return seen
