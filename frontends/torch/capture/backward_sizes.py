"""Backward passes inside of the function: from which arrays of the recording the numbers in their kernels come.

A kernel runs for a node of torch's graph; the nodes of recorded arrays are known, and so is the call that each belongs to. What its numbers
stand for, ``derivatives`` says. After anything else the recording is tied to all sizes. Which axes a derivative sums depends on which have
length 1, so the recording holds for the same ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ....ir.node import Node, Value
from ..basics.tensors import hints as hints_in
from ..compat import current_autograd_node, current_transform, is_wrapped, unwrapped
from .derivatives import KNOWN, RULES, Derivative, Untold
from .kernel_numbers import computing, is_sized
from .opened import hold_lengths, shape_of
from .running import Running


class BackwardSizes:
    """The values of a recording by the nodes of torch's graph that made them, and what can be told of kernels by that."""

    def __init__(self, capture: Running) -> None:
        self.capture = capture
        self._values: dict[tuple[int, int], Value] = {}
        self._calls: dict[int, tuple[Node, bool]] = {}
        self._last: Sequence[torch.Tensor] = ()
        self._passing = self._batched = False

    def note(self, tensors: Sequence[torch.Tensor]) -> None:
        """Notes tensors that a call made or wrote to; their autograd nodes are looked up at the next call."""
        self._look()
        self._last = tensors

    def _look(self) -> None:
        """Remembers which nodes the tensors of the last call are of, by sequence numbers: to hold nodes would hold what they keep aside."""
        for tensor in self._last:
            node = tensor.grad_fn if tensor.requires_grad else None
            if node is not None and (value := self._found(tensor)) is not None:
                self._values[node._sequence_nr(), tensor.output_nr] = value

    def run(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call that passes gradients back, with numbers for sizes. Where arrays meet, which axes are summed depends on which have
        length 1."""
        self.capture.quietly(self._look)
        made_by = set(map(self.capture.recorder.maker, self._values.values()))
        meeting = [node for node in made_by if node is not None and sum(value.ndim > 0 for value in set(node.uses)) > 1]
        hold_lengths(self.capture, [shape_of(self.capture, value) for node in meeting for value in (*node.uses, *node.outputs)])
        before = self._passing, self._batched
        self._passing, self._batched = True, current_transform() is not None
        try:
            return function(*hints_in(args), **hints_in(kwargs))
        finally:
            self._passing, self._batched = before

    def told(self, function: Any, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The arguments of a kernel with the sizes that stand behind its numbers; None where there are none, or that cannot be told."""
        rule = RULES.get(function._schema.name)
        derivative = self._running(args) if rule is not None else None
        try:
            return None if rule is None or derivative is None else rule(derivative)
        except Untold:
            return None

    def explains(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether a backward pass runs, and no number of the kernel comes of a size."""
        derivative, numbers = self._running(args), computing(function, args, kwargs)
        if derivative is None or function is torch.ops.aten.add.Tensor:  # outside of derivatives, and where torch adds gradients up
            return self._passing and not numbers
        if function._schema.name in RULES:
            return False
        return derivative.is_plain() and not is_sized(function) if numbers else derivative.name in KNOWN

    def _running(self, args: tuple[Any, ...]) -> Derivative | None:
        node = current_autograd_node() if self._passing else None
        if node is None:
            return None
        self.capture.quietly(self._look)
        call, direct = self._call(node)
        name = re.fullmatch(r"(\w+)Backward\d+", node.name())
        made = self._values.get((node._sequence_nr(), 0))
        inputs = [None if edge is None else self._value(edge, number) for edge, number in node.next_functions]
        shapes = [None if value is None else shape_of(self.capture, value) for value in (made, *inputs)]
        return Derivative(self.capture, node, name[1] if name else "", args, shapes[1:], shapes[0], call, direct, self._batched)

    def _call(self, node: Any) -> tuple[Node | None, bool]:
        """The recorded call that a node of torch's graph belongs to, and whether it is the whole of it."""
        made = self._values.get((node._sequence_nr(), 0))
        call = None if made is None else self.capture.recorder.maker(made)
        if call is None:
            return self._calls.get(node._sequence_nr(), (None, False))
        inner = [edge for edge, number in node.next_functions if edge is not None and self._value(edge, number) is None]
        for edge in inner:
            self._calls[edge._sequence_nr()] = call, False
        return call, not inner

    def _value(self, node: Any, number: int) -> Value | None:
        leaf = getattr(node, "variable", None)  # of torch's node for a leaf
        return self._found(leaf) if leaf is not None else self._values.get((node._sequence_nr(), number))

    def _found(self, tensor: torch.Tensor) -> Value | None:
        while is_wrapped(tensor):
            tensor = unwrapped(tensor)
        found: Value | None = self.capture.recorder.find(tensor)
        return found
