"""Operations without derivatives in torch, forward mode among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


def _logcumsumexp(x: torch.Tensor, dim: int) -> torch.Tensor:
    """Compute ``torch.logcumsumexp`` by sums of two, in steps that double: their derivatives are right in any
    mode and order.
    """
    rows, reach = x.movedim(dim, 0) if x.ndim else x.reshape(1), 1
    while reach < rows.shape[0]:
        rows = torch.cat([rows[:reach], torch.logaddexp(rows[reach:], rows[:-reach])])
        reach *= 2
    return rows.movedim(0, dim) if x.ndim else rows.reshape(())


# Functions whose derivative in forward mode is wrong: none is used.
REFUSED = frozenset({"cholesky_inverse"})
# Functions with a wrong derivative in forward mode, and what is computed in their place: a second derivative
# by two reverse modes would be NaN where the function is differentiated already. That of logcumsumexp loses
# values far below the largest.
REPLACED: dict[str, Callable[..., torch.Tensor]] = {"logcumsumexp": _logcumsumexp}


class RefusingWrong(TorchFunctionMode):
    """Inside of it operations whose forward mode in torch is wrong raise ``NotImplementedError``, as those do
    that have none.
    """

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """The call."""
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
    """Whether torch says by it that an operation has no forward mode, no derivative, or no second one, fails
    at a tangent, or that ``torch.func`` cannot follow it (``requires_grad_``).
    """
    words = ("is not implemented", "set a forward gradient", "being transformed by a functorch transform")
    return isinstance(problem, NotImplementedError) or (
        isinstance(problem, RuntimeError) and any(word in str(problem) for word in words)
    )
