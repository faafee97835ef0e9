"""Guards of a graph that torch traces, as operations of the traced program.

:func:`assert_guards` writes guards on elements, and :class:`DynamoTracer` guards that ``torch.compile``
cannot trace.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

import torch

from ...errors import GuardFailed
from ...ir.graph import Guard
from ...ir.quotation import recorded
from ...recording import active
from ...trees import flatten, unflatten

# ------------------------------------------------------------------------------------------------- assertions
# Guards on elements while torch traces a function.
#
# There are no concrete elements to check, so a guard becomes an operation of the traced program.

_FAKE, _PROXY = torch._C._TorchDispatchModeKey.FAKE, torch._C._TorchDispatchModeKey.PROXY


def is_tracing() -> bool:
    """Return True if torch traces the current code (``export``, ``compile``, ``make_fx``, ``jit.trace``).

    A ``FakeTensorMode`` counts as tracing, too. Return False while this package records.
    """
    # This runs for each guard of each call, so a loop would be too slow.
    mode = torch._C._get_dispatch_mode
    is_traced: bool = (
        torch.compiler.is_compiling()
        or torch.jit.is_tracing()
        or mode(_PROXY) is not None
        or mode(_FAKE) is not None
    )
    return is_traced and not _is_recorded()


def _is_recorded() -> bool:
    return active.recording


_is_recorded._dynamo_marked_constant = True  # type: ignore[attr-defined]


def assert_guards(result: Any, checks: tuple[Any, ...], guards: tuple[Guard, ...]) -> Any:
    """Add ``guards`` on the arrays ``checks`` to the traced program, and return ``result``.

    The program raises at run time if a guard does not hold. Under ``torch.jit.trace``, the returned arrays
    depend on the guards. Shapes, and Python numbers in ``checks``, are checked while tracing: raise
    ``GuardFailed`` if one of them differs.
    """
    for check, guard in zip(checks, guards):
        # Python numbers can be checked at once, and torch guards its own symbols.
        if not isinstance(check, torch.Tensor):
            guard.require(check)
            continue
        holds, message = _matches_recorded(check, guard), _message(guard.expected, guard.origin)
        if torch.jit.is_tracing():
            result = _make_dependent(result, holds, message)
        else:
            torch._assert_async(holds, message)
    return result


def _message(expected: Any, origin: Any) -> str:
    return f"GuardFailed: {recorded(origin, expected)} and is not for this call"


# torch.compile cannot trace this text, so it evaluates the function while tracing.
_message._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _make_dependent(result: Any, holds: torch.Tensor, message: str) -> Any:
    # torch.jit.trace drops operations without used results, so all results depend on the assertion.
    kept = torch.ops.aten._functional_assert_async.msg(holds, message, torch.ones((), dtype=torch.bool))
    leaves, tree = flatten(result, torch.is_tensor)
    return unflatten(tree, [torch.where(kept, leaf, leaf) for leaf in leaves])


def _matches_recorded(check: torch.Tensor, guard: Guard) -> torch.Tensor:
    """Return a 0-d bool tensor: True if ``check`` equals the recorded elements of ``guard``.

    Elements are compared as by ``same_elements``. Raise ``GuardFailed`` if the shapes differ.
    """
    expected = torch.tensor(guard.expected, dtype=check.dtype, device=check.device)
    if check.ndim != expected.ndim or any(size != other for size, other in zip(check.shape, expected.shape)):
        raise GuardFailed(f"{guard.recorded()} and has the shape {tuple(check.shape)} for this call")
    if check.is_complex():
        same = _is_same(check.real, expected.real) & _is_same(check.imag, expected.imag)
    elif check.is_floating_point():
        same = _is_same(check, expected)
    else:
        return (check == expected).all()
    tolerance = guard.rounding * expected.abs()
    near = (check != 0) & ((check - expected).abs() <= tolerance) & (tolerance < math.inf)
    return (same | near).all()


def _is_same(check: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    is_equal = (check == expected) & (check.signbit() == expected.signbit())
    return is_equal | (check.isnan() & expected.isnan())


# ----------------------------------------------------------------------------------------- environment guards
# Guards that ``torch.compile`` cannot trace.
#
# An operation of the compiled program evaluates them whenever the program runs.

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
        """Add the check with this ``number`` to the compiled program, which makes it each time it runs.

        An exported program gets no check, because it runs without the original.
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
