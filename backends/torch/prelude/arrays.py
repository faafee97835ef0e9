"""Casts, padding, indexing, scatters and sets."""

from __future__ import annotations

from typing import Any

import torch


def converted(parts: tuple[torch.Tensor, ...], *dtypes: torch.dtype | None) -> tuple[torch.Tensor, ...]:
    """Cast each tensor to the dtype at the same position. None leaves a tensor unchanged."""
    return tuple(part if dtype is None else part.to(dtype) for part, dtype in zip(parts, dtypes, strict=True))


def as_strided(
    x: torch.Tensor, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0
) -> torch.Tensor:
    """Return a tensor of ``shape`` whose elements are elements of flattened ``x``.

    Element ``i, j, ..`` is element ``offset + i * strides[0] + j * strides[1] + ..`` of flattened ``x``.
    """
    return x.contiguous().view(-1)[offset:].as_strided(shape, strides)


def pad_with_elements(x: torch.Tensor, padding: tuple[tuple[int, int], ...], mode: str) -> torch.Tensor:
    """Pad ``x`` with its own elements; negative amounts remove elements.

    ``padding`` has a pair of amounts, before and after, for each axis. ``mode`` is "reflect", "edge" or
    "wrap".
    """
    for axis, (before, after) in enumerate(padding):
        size = x.shape[axis]
        places = torch.arange(-before, size + after, device=x.device)
        if mode == "reflect":
            places = places.abs()
            places = torch.where(places < size, places, 2 * (size - 1) - places)
        elif mode == "edge":
            places = places.clamp(0, size - 1)
        else:
            first, last = max(-before, 0), size - max(-after, 0)
            places = first + (places - first) % (last - first)
        if before or after:
            x = x.index_select(axis, places)
    return x


def updated(x: torch.Tensor, key: Any, value: torch.Tensor | float) -> torch.Tensor:
    """Return a copy of ``x`` with ``x[key]`` replaced by ``value``."""
    result = x.clone()
    result[key] = value
    return result


def take_along_axis(x: torch.Tensor, indices: torch.Tensor, axis: int) -> torch.Tensor:
    """Select elements along ``axis`` by ``indices``, which may be negative. All other axes broadcast.

    ``axis`` is not negative.
    """
    size = x.shape[axis]
    others = torch.broadcast_shapes(
        *((*part.shape[:axis], 1, *part.shape[axis + 1 :]) for part in (x, indices))
    )
    wide = x.expand(*others[:axis], size, *others[axis + 1 :])
    places = torch.where(indices < 0, indices + size, indices).expand(
        *others[:axis], indices.shape[axis], *others[axis + 1 :]
    )
    return torch.gather(wide, axis, places)


def scatter_reduce_at(
    x: torch.Tensor, key: Any, values: torch.Tensor, reduce: str, include_self: bool
) -> torch.Tensor:
    """Return a copy of ``x`` with each element of ``x[key]`` replaced by the reduction of its ``values``.

    ``reduce`` is a name that ``torch.scatter_reduce`` accepts. The reduction includes the old element if
    ``include_self`` is True.
    """
    places = torch.arange(x.numel(), device=x.device).reshape(x.shape)[key]
    values = values.broadcast_to(places.shape).reshape(-1)
    if x.dtype == torch.bool:
        return scatter_reduce_at(
            x.byte(), key, values.reshape(places.shape).byte(), reduce, include_self
        ).bool()
    if reduce == "prod":
        return scatter_product(x.reshape(-1), 0, places.reshape(-1), values, include_self).reshape(x.shape)
    return (
        x.reshape(-1)
        .scatter_reduce(0, places.reshape(-1), values, reduce, include_self=include_self)
        .reshape(x.shape)
    )


def scatter_product(
    x: torch.Tensor, axis: int, indices: torch.Tensor, values: torch.Tensor, include_self: bool
) -> torch.Tensor:
    """Call ``torch.scatter_reduce`` with "prod".

    In forward mode, raise ``NotImplementedError`` for floats and complex numbers.
    """
    # In forward mode, torch would return the tangent 0.
    if torch.autograd.forward_ad._current_level >= 0 and (x.is_floating_point() or x.is_complex()):
        raise NotImplementedError(
            "torch has no forward mode of products that are scattered; take graph_compiler.transforms, "
            "or reverse mode"
        )
    return torch.scatter_reduce(x, axis, indices, values, "prod", include_self=include_self)


def unique_with_first(
    x: torch.Tensor, dim: int | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the sorted unique elements of ``x``, or slices along ``dim``, and three integer tensors.

    These are the indices of the first occurrences, the indices that rebuild ``x`` from the unique elements,
    and the counts.
    """
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True, dim=dim)
    flat = inverse.reshape(-1)
    first = torch.full_like(counts, len(flat)).scatter_reduce(
        0, flat, torch.arange(len(flat), device=x.device), "amin"
    )
    return values, first, inverse, counts
