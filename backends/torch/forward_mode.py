"""Operations without derivatives in torch, forward mode among them."""

from __future__ import annotations

from typing import Any

from torch.overrides import TorchFunctionMode


class RefusingProducts(TorchFunctionMode):
    """Inside of it ``scatter_reduce`` with ``"prod"`` raises ``NotImplementedError``, as operations do that have no forward mode: torch's
    own gives it the tangent 0."""

    def __torch_function__(self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        """The call."""
        given = kwargs or {}
        if getattr(function, "__name__", "").startswith("scatter_reduce") and _is_product(args, given):
            raise NotImplementedError("torch's forward mode gives scatter_reduce with 'prod' the tangent 0")
        return function(*args, **given)


def _is_product(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return kwargs.get("reduce", args[4] if len(args) > 4 else None) == "prod"


def is_without_derivative(problem: Exception) -> bool:
    """Whether torch says by it that an operation has no forward mode, no derivative, or no second one."""
    return isinstance(problem, NotImplementedError) or (isinstance(problem, RuntimeError) and "is not implemented" in str(problem))
