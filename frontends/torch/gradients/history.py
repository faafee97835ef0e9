"""Which recorded values torch takes gradients of, and whether it does so just now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....ir.node import Node, Value, values_in
from ....ir.record import CallRecord
from ....ops.dtypes import is_inexact
from ..basics import kinds
from ..compat import is_grad_enabled, is_inference_mode_enabled
from ..trace import Trace


class History:
    """What a recording knows of it."""

    def __init__(self, capture: Trace) -> None:
        self.capture = capture
        self.ambient = is_grad_enabled()
        self.mode_changed = False
        self.forwards = 0  # how many torch.autograd.Functions are at their forward, where torch switches gradients off
        self._differentiable: set[Value] = set()

    @property
    def enabled(self) -> bool:
        """Whether a call that is made now takes part in gradients, as far as the function itself decides it.

        torch knows best: inference mode, backward passes and code in C++ change it unseen.
        """
        enabled = is_grad_enabled()
        self.mode_changed = self.mode_changed or enabled != self.ambient or is_inference_mode_enabled()
        return self.forwards > 0 or enabled or not self.ambient

    def add(self, *values: Value) -> None:
        """These may have gradients, where they are of a type that can."""
        for value in values:
            if is_inexact(value.dtype):
                self._differentiable.add(value)

    def record_of(self, key: str, inputs: Any, written: Sequence[Value], **facts: Any) -> CallRecord:
        """What is to be noted of a call that is made now, with more ``facts`` of it."""
        enabled = self.enabled
        aside = bool(written) and any(self._is_aside(value, enabled) for value in written)
        no_grad = not enabled and not self._differentiable.isdisjoint(values_in(inputs))
        return CallRecord(key, writes=tuple(dict.fromkeys(written)), aside=aside, no_grad=no_grad, **facts)

    def follow(self, node: Node, written: Sequence[Value]) -> None:
        """What a call has made of values with gradients has them too; a view that is taken without gradients says that it requires them."""
        key = node.key
        if key not in kinds.CUT and not self._differentiable.isdisjoint(node.uses):
            self.add(*(node.outputs if self.enabled else [node.outputs[index] for index in node.views]))
        if key == "requires_grad_":
            self.add(*written)
        if node.params.get("requires_grad") is True:  # of a call that creates
            self.add(*node.outputs)

    def _is_aside(self, value: Value, enabled: bool) -> bool:
        """Whether a write changes elements that have gradients but not these: it is made without gradients, or through ``detach`` or
        ``.data``."""
        base = self.capture.recorder.base_of(value)
        if base not in self._differentiable or enabled and value in self._differentiable:
            return False
        parameters = self.capture.recorder.graph.parameters
        name = next((name for name, parameter in parameters.items() if parameter is base), None)
        return name is None or self.capture.weights.is_trained(name)
