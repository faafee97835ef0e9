"""Operations without a derivative in torch, or with a wrong one in forward mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


def _logcumsumexp(x: torch.Tensor, dim: int) -> torch.Tensor:
    """Compute ``torch.logcumsumexp`` by sums of pairs over doubling distances.

    Their derivatives are right in any mode and order. Complex numbers are not supported.
    """
    rows, reach = x.movedim(dim, 0) if x.ndim else x.reshape(1), 1
    while reach < rows.shape[0]:
        rows = torch.cat([rows[:reach], torch.logaddexp(rows[reach:], rows[:-reach])])
        reach *= 2
    return rows.movedim(0, dim) if x.ndim else rows.reshape(())


# Functions whose derivative in forward mode is wrong.
REFUSED = frozenset({"cholesky_inverse"})
# Functions with a wrong derivative in forward mode, and their replacements. Two reverse modes would be no
# remedy, because the second derivative of these functions is NaN. The forward mode of logcumsumexp loses
# values far below the largest.
REPLACED: dict[str, Callable[..., torch.Tensor]] = {"logcumsumexp": _logcumsumexp}


class CorrectForwardMode(TorchFunctionMode):
    """Context in which operations with a wrong forward mode are replaced or raise ``NotImplementedError``."""

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name, given = getattr(function, "__name__", ""), kwargs or {}
        short = name.partition(".")[0]
        if (
            short in REPLACED
            and "out" not in given
            and not any(isinstance(item, torch.Tensor) and item.is_complex() for item in args)
        ):
            return REPLACED[short](*args, **given)
        if short in REFUSED or (name.startswith("scatter_reduce") and _is_product(args, given)):
            raise NotImplementedError(f"torch's forward mode of {name} is wrong")
        return function(*args, **given)


def _is_product(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return kwargs.get("reduce", args[4] if len(args) > 4 else None) == "prod"


def is_without_derivative(problem: Exception) -> bool:
    """Return True if ``problem`` is torch's error for a missing derivative.

    The derivative may be of first or second order, in forward or reverse mode. The error of ``torch.func``
    for calls that it cannot transform, such as ``requires_grad_``, counts too.
    """
    words = ("is not implemented", "set a forward gradient", "being transformed by a functorch transform")
    return isinstance(problem, NotImplementedError) or (
        isinstance(problem, RuntimeError) and any(word in str(problem) for word in words)
    )
