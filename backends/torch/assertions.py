"""Guards on elements while torch traces a function.

There are no concrete elements to check, so a guard becomes an operation of the traced program.
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
    """Return True while torch traces the current code (``export``, ``compile``, ``make_fx``, ``jit.trace``).

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
    """Return ``result`` of a traced program that raises at run time if a guard does not hold.

    ``checks`` are the elements that ``guards`` are on. A check that is a Python number is checked at once,
    and raises ``GuardFailed`` while tracing.
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
    return (
        f"GuardFailed: elements handed to Python were {expected!r} while recording and are others now, read "
        f"by {origin}"
    )


# torch.compile cannot trace this text, so it evaluates the function while tracing.
_message._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _make_dependent(result: Any, holds: torch.Tensor, message: str) -> Any:
    # torch.jit.trace drops operations without used results, so all results depend on the assertion.
    kept = torch.ops.aten._functional_assert_async.msg(holds, message, torch.ones((), dtype=torch.bool))
    leaves, tree = flatten(result, torch.is_tensor)
    return unflatten(tree, [torch.where(kept, leaf, leaf) for leaf in leaves])


def _matches_recorded(check: torch.Tensor, guard: Guard) -> torch.Tensor:
    """Return a 0-d bool tensor: True if ``check`` equals the recorded elements of ``guard``.

    Floats may differ by ``guard.rounding``, relative to the recorded ones. NaN equals NaN, and 0.0 differs
    from -0.0. Raise ``GuardFailed`` if the shapes differ.
    """
    expected = torch.tensor(guard.expected, dtype=check.dtype, device=check.device)
    if check.ndim != expected.ndim or any(size != other for size, other in zip(check.shape, expected.shape)):
        raise GuardFailed(
            f"elements handed to Python were {guard.expected!r} while recording and are of the shape "
            f"{tuple(check.shape)} now"
        )
    if not check.is_floating_point():
        return (check == expected).all()
    near = (check - expected).abs() <= guard.rounding * expected.abs()
    same = ((check == expected) | near) & (check.signbit() == expected.signbit())
    return (same | (check.isnan() & expected.isnan())).all()
