"""Writing through indices, to a copy."""

from __future__ import annotations

from typing import Any

import torch


def updated(x: torch.Tensor, key: Any, value: torch.Tensor | float) -> torch.Tensor:
    """``x`` with ``value`` in the place of ``x[key]``."""
    result = x.clone()
    result[key] = value
    return result


def take_along_axis(x: torch.Tensor, indices: torch.Tensor, axis: int) -> torch.Tensor:
    """``x`` at ``indices`` along an axis, the others broadcast; negative indices count from the end, others outside are an error."""
    size = x.shape[axis]
    others = torch.broadcast_shapes(*((*part.shape[:axis], 1, *part.shape[axis + 1 :]) for part in (x, indices)))
    wide = x.expand(*others[:axis], size, *others[axis + 1 :])
    places = torch.where(indices < 0, indices + size, indices).expand(*others[:axis], indices.shape[axis], *others[axis + 1 :])
    return torch.gather(wide, axis, places)


def scatter_reduce_at(x: torch.Tensor, key: Any, values: torch.Tensor, reduce: str, include_self: bool) -> torch.Tensor:
    """``x`` with the values that meet at each place of ``x[key]`` reduced to one, together with the old element if ``include_self``."""
    places = torch.arange(x.numel(), device=x.device).reshape(x.shape)[key]
    values = values.broadcast_to(places.shape).reshape(-1)
    if x.dtype == torch.bool:
        return scatter_reduce_at(x.byte(), key, values.reshape(places.shape).byte(), reduce, include_self).bool()
    if reduce == "prod":
        return scatter_product(x.reshape(-1), 0, places.reshape(-1), values, include_self).reshape(x.shape)
    return x.reshape(-1).scatter_reduce(0, places.reshape(-1), values, reduce, include_self=include_self).reshape(x.shape)


def scatter_product(x: torch.Tensor, axis: int, indices: torch.Tensor, values: torch.Tensor, include_self: bool) -> torch.Tensor:
    """``torch.scatter_reduce`` with ``"prod"``; ``NotImplementedError`` in forward mode, where torch gives it the tangent 0."""
    if torch.autograd.forward_ad._current_level >= 0 and (x.is_floating_point() or x.is_complex()):
        raise NotImplementedError(
            "torch has no forward mode of products that are scattered; take graph_compiler.transforms, or reverse mode"
        )
    return torch.scatter_reduce(x, axis, indices, values, "prod", include_self=include_self)
