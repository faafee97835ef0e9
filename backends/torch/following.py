"""Guards that ``torch.compile`` cannot trace.

An operation of the compiled program evaluates them whenever the program runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import torch

# Operators take only tensors and numbers, so checks are stored by number.
_checks: dict[int, Callable[[], None]] = {}
_numbers = itertools.count()


@torch.library.custom_op("graph_compiler::still_holds", mutates_args=())
def _still_holds(anchor: torch.Tensor, number: int) -> torch.Tensor:
    _checks[number]()
    return torch.ones((), dtype=torch.bool)


@_still_holds.register_fake
def _(anchor: torch.Tensor, number: int) -> torch.Tensor:
    return torch.ones((), dtype=torch.bool)


class DynamoTracer:
    is_tracing = staticmethod(torch.compiler.is_dynamo_compiling)

    def register_check(self, check: Callable[[], None]) -> int:
        number = next(_numbers)
        _checks[number] = check
        return number

    def require_when_run(self, number: int, leaves: tuple[Any, ...]) -> None:
        """Add the check with this ``number`` to the compiled program, which runs it each time.

        Exported programs get no checks, because they run without the original.
        """
        if torch.compiler.is_exporting():
            return
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        anchor = tensors[0].detach() if tensors else torch.empty(0)
        # The compiler drops operations without used results, so the result is asserted.
        torch._assert_async(
            torch.ops.graph_compiler.still_holds(anchor, number), "what the graph relies on has changed"
        )

    def graph_break(self, message: str) -> None:
        torch._dynamo.graph_break(message)

    def skip(self, functions: Iterable[Any]) -> None:
        """Make ``torch.compile`` skip the code of ``functions`` and all code that they call.

        This holds for the rest of the process.
        """
        from torch._C._dynamo.eval_frame import set_code_exec_strategy
        from torch._dynamo.types import FrameAction, FrameExecStrategy

        for function in functions:
            set_code_exec_strategy(function.__code__, FrameExecStrategy(FrameAction.SKIP, FrameAction.SKIP))
