"""Sizes that reach kernels of backward passes as plain numbers, found by the autograd node that runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ....forwarding import forward
from ....ir.node import Node, Value
from ..basics.tensors import hints
from ..compat import current_autograd_node, current_transform, is_wrapped, unwrapped
from .derivatives import KNOWN, RULES, BackwardKernel, UnknownSize
from .kernel_sizes import computing, is_sized
from .running import RunningTrace
from .unrecorded import guard_lengths, shape_of


class BackwardSizes:
    """Finder of the numbers that are sizes in kernels of backward passes, by the autograd node that runs."""

    def __init__(self, capture: RunningTrace) -> None:
        self.capture = capture
        self._values: dict[tuple[int, int], Value] = {}
        self._calls: dict[int, tuple[Node, bool]] = {}
        self._last: Sequence[torch.Tensor] = ()
        self._passing = self._batched = False

    def note(self, tensors: Sequence[torch.Tensor]) -> None:
        self._look()
        self._last = tensors

    def _look(self) -> None:
        # A reference to an autograd node would keep its saved tensors alive, so nodes are known by their
        # sequence numbers.
        for tensor in self._last:
            node = tensor.grad_fn if tensor.requires_grad else None
            if node is not None and (value := self._found(tensor)) is not None:
                self._values[node._sequence_nr(), tensor.output_nr] = value

    def run(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.capture.quietly(self._look)
        made_by = set(map(self.capture.recorder.maker, self._values.values()))
        # The derivative of a broadcast sums over axes of length 1.
        meeting = [
            node
            for node in made_by
            if node is not None and sum(value.ndim > 0 for value in set(node.uses)) > 1
        ]
        guard_lengths(
            self.capture,
            [shape_of(self.capture, value) for node in meeting for value in (*node.uses, *node.outputs)],
        )
        before = self._passing, self._batched
        self._passing, self._batched = True, current_transform() is not None
        try:
            return forward(function, *hints(args), **hints(kwargs))
        finally:
            self._passing, self._batched = before

    def with_sizes(self, function: Any, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        rule = RULES.get(function._schema.name)
        derivative = self._running(args) if rule is not None else None
        try:
            return None if rule is None or derivative is None else rule(derivative)
        except UnknownSize:
            return None

    def has_no_sizes(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        derivative, numbers = self._running(args), computing(function, args, kwargs)
        # No autograd node runs outside of derivatives, and where torch accumulates gradients.
        if derivative is None or function is torch.ops.aten.add.Tensor:
            return self._passing and not numbers
        if function._schema.name in RULES:
            return False
        return derivative.is_plain() and not is_sized(function) if numbers else derivative.name in KNOWN

    def _running(self, args: tuple[Any, ...]) -> BackwardKernel | None:
        node = current_autograd_node() if self._passing else None
        if node is None:
            return None
        self.capture.quietly(self._look)
        call, direct = self._call(node)
        name = re.fullmatch(r"(\w+)Backward\d+", node.name())
        made = self._values.get((node._sequence_nr(), 0))
        inputs = [None if edge is None else self._value(edge, number) for edge, number in node.next_functions]
        shapes = [None if value is None else shape_of(self.capture, value) for value in (made, *inputs)]
        return BackwardKernel(
            self.capture,
            node,
            name[1] if name else "",
            args,
            shapes[1:],
            shapes[0],
            call,
            direct,
            self._batched,
        )

    def _call(self, node: Any) -> tuple[Node | None, bool]:
        """Return the recorded call of an autograd node, or None, and a bool.

        It is True if the node made a result of the call and its edges lead to recorded values.
        """
        made = self._values.get((node._sequence_nr(), 0))
        call = None if made is None else self.capture.recorder.maker(made)
        if call is None:
            return self._calls.get(node._sequence_nr(), (None, False))
        inner = [
            edge
            for edge, number in node.next_functions
            if edge is not None and self._value(edge, number) is None
        ]
        # A public call may have several autograd nodes. Those whose result was not recorded belong to the
        # call of the node after them.
        for edge in inner:
            self._calls[edge._sequence_nr()] = call, False
        return call, not inner

    def _value(self, node: Any, number: int) -> Value | None:
        # The autograd node of a leaf refers to it as ``variable``.
        leaf = getattr(node, "variable", None)
        return self._found(leaf) if leaf is not None else self._values.get((node._sequence_nr(), number))

    def _found(self, tensor: torch.Tensor) -> Value | None:
        while is_wrapped(tensor):
            tensor = unwrapped(tensor)
        found: Value | None = self.capture.recorder.find(tensor)
        return found
