"""Named axes that torch code runs over: the processes of a group, or the slices of a mapped function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch.autograd import Function

from ...contracts.parallelism import native_axis
from ...errors import GradientRefused
from .collectives import Exchanges, exchange


class Axis(Protocol):
    """Axis of devices, or of the slices of a vmap, that collectives run over."""

    @property
    def size(self) -> int: ...

    @property
    def index(self) -> Any:
        """Index of the current device as an int, or of the current slice as an int32 tensor."""

    def exchange(self, array: Any, name: str) -> Any:
        """Apply a collective over the axis.

        ``name`` is ``"total"`` (sum), ``"pmax"``, ``"pmin"``, or ``"stacked"`` (all arrays, along a new first
        axis).
        """


@dataclass(frozen=True)
class ProcessAxis:
    """Axis over the processes of a group."""

    over: Exchanges

    @property
    def size(self) -> int:
        return self.over.size

    @property
    def index(self) -> int:
        return self.over.rank

    def exchange(self, array: Any, name: str) -> Any:
        return exchange(array, name, self.over)


@dataclass(frozen=True)
class VmapAxis:
    """Axis of the slices of ``torch.func.vmap``.

    index: 0-d int32 tensor, batched by the vmap: the index of each slice.
    """

    index: Any
    size: int

    def exchange(self, array: Any, name: str) -> Any:
        return _VmapCollective.apply(array, self.index, name)


class _VmapCollective(Function):
    """Collective over the slices of the vmap that batches ``index``."""

    @staticmethod
    def forward(array: Any, index: Any, name: str) -> Any:
        raise LookupError("the function that is mapped over the axis has returned")

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        _, index, ctx.kind = inputs
        ctx.save_for_backward(index)
        ctx.save_for_forward(index)

    @staticmethod
    def vmap(info: Any, in_dims: Any, array: Any, index: Any, name: str) -> Any:
        axis, axis_of_index, _ = in_dims
        # Another map is active, so the collective is applied to each of its slices.
        if axis_of_index is None:
            return _VmapCollective.apply(array, index, name), axis + (name == "stacked")
        combine, of_equal = _OVER_AXIS[name]
        return (of_equal(array, info.batch_size) if axis is None else combine(array, axis)), None

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        _require_linear(ctx.kind)
        (index,) = ctx.saved_tensors
        total = _VmapCollective.apply(cotangent, index, "total")
        return total.index_select(0, index[None])[0] if ctx.kind == "stacked" else total, None, None

    @staticmethod
    def jvp(ctx: Any, tangent: Any, *_: Any) -> Any:
        _require_linear(ctx.kind)
        return _VmapCollective.apply(tangent, *ctx.saved_tensors, ctx.kind)


# For each collective, its result for an array with an axis of slices, and for one that is the same for all
# slices.
_OVER_AXIS: dict[str, tuple[Any, Any]] = {
    # Without ``dtype``, the sum of small integers would be int64.
    "total": (lambda array, axis: array.sum(axis, dtype=array.dtype), lambda array, size: array * size),
    "pmax": (lambda array, axis: array.amax(axis), lambda array, size: array.clone()),
    "pmin": (lambda array, axis: array.amin(axis), lambda array, size: array.clone()),
    "stacked": (
        lambda array, axis: array.movedim(axis, 0).clone(),
        lambda array, size: torch.stack([array] * size),
    ),
}


def _require_linear(name: str) -> None:
    if name in ("pmax", "pmin"):
        raise GradientRefused(
            "parallel.pmax and pmin have no gradient inside of the function, as in JAX; take "
            "transforms.stop_gradient of what they are "
            "given, or the gradient of the whole map"
        )


def axis_by_name(name: str) -> Axis:
    found: Axis = native_axis(name, "torch")
    return found
