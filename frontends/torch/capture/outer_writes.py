"""Writes inside of a branch or loop body to tensors of the enclosing scope.

A region is pure, so its block writes to a copy, which becomes one more output of the node.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from ....errors import TracingError
from ....ir.node import Node, Origin, Value
from ....recording.control_flow.recorded_regions import PossibleAliases
from ..compat import is_grad_enabled
from ..memory.memory import SavedContents, may_be_written
from ..trace import Trace


@dataclass(slots=True)
class _OpenBlock:
    """A block that is being recorded, and the tensors of enclosing scopes that it writes to.

    may_write: True if it may write to such tensors.
    is_free: True if it may also do so while gradients are enabled.
    written: such tensors that its calls may have written to, by value, with their contents before.
    """

    may_write: bool
    is_free: bool
    written: dict[Value, SavedContents] = field(default_factory=dict)


class OuterWrites:
    """Tracker of writes inside of blocks to tensors of enclosing scopes, which checks them and undoes them.

    tied: record of arrays that may share memory, depending on which block ran, or are frozen.
    """

    def __init__(self, capture: Trace) -> None:
        self.capture = capture
        self._open: list[_OpenBlock] = []
        self.tied = PossibleAliases(capture.recorder)

    @contextmanager
    def undone(self, may_write: bool, is_free: bool = False) -> Iterator[dict[Value, SavedContents]]:
        """Open a block, and at its end restore the outer tensors that it wrote to.

        Yield a dict from their values to their contents before, which is filled during the recording.
        """
        block = _OpenBlock(may_write, is_free)
        self._open.append(block)
        try:
            yield block.written
        finally:
            self._open.pop()
            self._restore(block.written.values())

    def save(self, key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for tensor in may_be_written(key, args, kwargs) if self._open or self.tied.are_any else ():
            self.tied.refuse(self.capture.recorder.base_of(self.capture.value(tensor)), self.capture.here())
            if self._open:
                self._save(tensor)

    def _save(self, tensor: torch.Tensor) -> None:
        recorder = self.capture.recorder
        base = recorder.base_of(self.capture.value(tensor))
        if recorder.is_made_here(base) or recorder.is_given_here(base) or base in self._open[-1].written:
            return
        owner = recorder.array_of(base)
        if owner is not None:
            self._open[-1].written[base] = self.capture.quietly(SavedContents, owner)

    def refuse(self, written: Sequence[Value], origin: Origin) -> None:
        recorder = self.capture.recorder
        for value in written if self._open else ():
            base = recorder.base_of(value)
            block = self._open[-1]
            is_allowed = (
                block.may_write and (block.is_free or not is_grad_enabled()) and base in block.written
            )
            is_allowed = is_allowed or block.is_free and recorder.is_given_here(base)
            if not recorder.is_made_here(base) and not is_allowed:
                raise TracingError(
                    f"{origin}: {value.name} is written to inside of a branch or the body of a loop, which "
                    "torch's operators forbid for what was made outside of it "
                    "(but for cond and while_loop under torch.no_grad). Return the new array instead, or "
                    "write to a copy (clone)"
                )

    def _restore(self, pasts: Iterable[SavedContents]) -> None:
        for past in pasts:
            self.capture.quietly(past.restore)

    def refuse_shared(self, nodes: Sequence[Node], written: Container[Value], origin: Origin) -> None:
        base_of = self.capture.recorder.base_of
        made = {value for node in nodes for value in node.outputs}
        for value in (value for node in nodes for value in node.uses):
            if value not in made and value not in written and base_of(value) in written:
                raise TracingError(
                    f"{origin}: {value.name} is a view, made outside, of {base_of(value).name}, which is "
                    "written to inside of a branch or the body of a loop. Take the "
                    "view inside"
                )

    def run_and_restore(
        self, tensors: Sequence[torch.Tensor], call: Callable[[], Any]
    ) -> tuple[Any, list[torch.Tensor]]:
        """Run ``call``, and restore ``tensors``. Return its result, and ``tensors`` as it left them."""
        quietly = self.capture.quietly
        before = [quietly(SavedContents, tensor) for tensor in tensors]
        result = call()
        after = [quietly(tensor.clone) for tensor in tensors]
        self._restore(before)
        return result, after
