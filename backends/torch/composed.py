"""Operations that torch composes of in-place writes, written without them.

``DTensor`` rejects in-place writes that change the layout.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode


def rms_norm(
    x: torch.Tensor,
    normalized_shape: Sequence[int],
    weight: torch.Tensor | None = None,
    eps: float | None = None,
) -> torch.Tensor:
    """Compute ``torch.nn.functional.rms_norm``. Half precision is computed in float32.

    >>> x = torch.randn(2, 3)
    >>> torch.allclose(rms_norm(x, (3,)), functional.rms_norm(x, (3,)))
    True
    """
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    square = wide.pow(2).mean(tuple(range(-len(normalized_shape), 0)), keepdim=True)
    normed = wide * torch.rsqrt(square + (torch.finfo(wide.dtype).eps if eps is None else eps))
    return (normed if weight is None else normed * weight).to(x.dtype)


_COMPOSED: dict[Any, Callable[..., Any]] = {functional.rms_norm: rms_norm, torch.rms_norm: rms_norm}


class OutOfPlaceMode(TorchFunctionMode):
    """Context in which the operations of ``_COMPOSED`` are computed without in-place writes."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _COMPOSED.get(function, function)(*args, **(kwargs or {}))
