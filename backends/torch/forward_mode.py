"""Operations without derivatives in torch, forward mode among them."""

from __future__ import annotations

from typing import Any

from torch.overrides import TorchFunctionMode


class RefusingWrong(TorchFunctionMode):
    """Inside of it operations whose forward mode in torch is wrong raise ``NotImplementedError``, as those do that have none."""

    def __torch_function__(self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        """The call."""
        name, given = getattr(function, "__name__", ""), kwargs or {}
        if name.startswith("cholesky_inverse") or (name.startswith("scatter_reduce") and _is_product(args, given)):
            raise NotImplementedError(f"torch's forward mode of {name} is wrong")
        return function(*args, **given)


def _is_product(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whose tangent would be 0."""
    return kwargs.get("reduce", args[4] if len(args) > 4 else None) == "prod"


def is_without_derivative(problem: Exception) -> bool:
    """Whether torch says by it that an operation has no forward mode, no derivative, or no second one, fails at a tangent, or that
    ``torch.func`` cannot follow it (``requires_grad_``)."""
    words = ("is not implemented", "set a forward gradient", "being transformed by a functorch transform")
    return isinstance(problem, NotImplementedError) or (isinstance(problem, RuntimeError) and any(word in str(problem) for word in words))
