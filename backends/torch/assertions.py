"""Guards on elements while torch traces a function: there are no elements to look at, so the check becomes an
operation of the traced program.
"""

from __future__ import annotations

from typing import Any

import torch

from ...errors import GuardFailed
from ...ir.graph import Guard
from ...recording import active
from ...trees import flatten, unflatten

_FAKE, _PROXY = torch._C._TorchDispatchModeKey.FAKE, torch._C._TorchDispatchModeKey.PROXY


def is_tracing() -> bool:
    """Whether ``torch.export``, ``torch.compile``, ``make_fx`` or ``torch.jit.trace`` records what runs now;
    a recording of this package is none of them.
    """
    mode = torch._C._get_dispatch_mode  # asked for each guard of each call: no loop
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


def asserted(result: Any, checks: tuple[Any, ...], guards: tuple[Guard, ...]) -> Any:
    """``result`` of a traced program that raises, when it runs, where a guard does not hold."""
    for check, guard in zip(checks, guards):
        if not isinstance(check, torch.Tensor):  # a number of Python, or one that torch guards by itself
            guard.require(check)
            continue
        holds, message = _as_expected(check, guard), _message(guard.expected, guard.origin)
        if torch.jit.is_tracing():
            result = _depending(result, holds, message)
        else:
            torch._assert_async(holds, message)
    return result


def _message(expected: Any, origin: Any) -> str:
    return f"GuardFailed: elements handed to Python were {expected!r} while recording and are others now, read by {origin}"


_message._dynamo_marked_constant = True  # type: ignore[attr-defined]  # run while torch.compile traces, which cannot follow such a text


def _depending(result: Any, holds: torch.Tensor, message: str) -> Any:
    kept = torch.ops.aten._functional_assert_async.msg(holds, message, torch.ones((), dtype=torch.bool))
    leaves, tree = flatten(result, torch.is_tensor)
    return unflatten(tree, [torch.where(kept, leaf, leaf) for leaf in leaves])


def _as_expected(check: torch.Tensor, guard: Guard) -> torch.Tensor:
    """Whether the elements are those that were seen while recording: NaN is NaN, and 0.0 is not -0.0."""
    expected = torch.tensor(guard.expected, dtype=check.dtype, device=check.device)
    if check.ndim != expected.ndim or any(size != other for size, other in zip(check.shape, expected.shape)):
        raise GuardFailed(
            f"elements handed to Python were {guard.expected!r} while recording and are of the shape {tuple(check.shape)} now"
        )
    if not check.is_floating_point():
        return (check == expected).all()
    near = (check - expected).abs() <= guard.rounding * expected.abs()
    same = ((check == expected) | near) & (check.signbit() == expected.signbit())
    return (same | (check.isnan() & expected.isnan())).all()
