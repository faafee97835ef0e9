"""Writes that the name of a call does not show.

They are running statistics, and arguments that kernel schemas mark as written. Most writes increment the
version of the tensor. These do not: fused optimizers write to lists of weights, moments and steps,
``GradScaler`` to its tracker, quantization to its observers.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch

from ....trees import iterate_structure
from ..compat import OpOverloadPacket
from .names import is_in_place
from .tensors import version

# Parameters with running statistics. Calls write to them only while training, and the schemas of their
# kernels do not mark them as written.
_STATISTICS: dict[str, tuple[tuple[int, str], ...]] = {
    "batch_norm": ((1, "running_mean"), (2, "running_var"), (3, "running_mean"), (4, "running_var")),
    "instance_norm": ((1, "running_mean"), (2, "running_var"), (3, "running_mean"), (4, "running_var")),
    "_batch_norm_with_update": ((3, "running_mean"), (4, "running_var")),
    "native_batch_norm": ((3, "running_mean"), (4, "running_var")),
    "_native_batch_norm_legit": ((3, "running_mean"), (4, "running_var")),
}

# Position of ``max_norm``, to which these calls rescale the rows of their weight that they look up.
_WITH_NORMS = {"embedding": 3, "embedding_bag": 3}
_RENORMED = ((1, "weight"),)


def statistics_order(key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, ...]:
    """Return the parameter names of a normalization call in order.

    ``torch.batch_norm``, recognized by its argument ``cudnn_enabled`` or more than eight positional ones,
    and native kernels have another order than ``torch.nn.functional.batch_norm``.
    """
    running, affine = ("running_mean", "running_var"), ("weight", "bias")
    native = "native" in key or key == "_batch_norm_with_update" or len(args) > 8 or "cudnn_enabled" in kwargs
    flag = "use_input_stats" if key == "instance_norm" else "training"
    flags = () if key == "_batch_norm_with_update" else (flag,)
    return (
        "input",
        *(affine + running if native else running + affine),
        *flags,
        "momentum",
        "eps",
        "cudnn_enabled",
    )


def _is_trained(tensor: Any, key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return True if the call updates `tensor`, a running statistic, without incrementing its version."""
    if key == "_native_batch_norm_legit" and len(args) + len(kwargs) < 8:
        return False
    order = statistics_order(key, args, kwargs)
    given = {"training": False, "use_input_stats": True, **dict(zip(order, args)), **kwargs}
    trains = key == "_batch_norm_with_update" or given[order[5]]
    return bool(trains) and any(tensor is given.get(name) for name in ("running_mean", "running_var"))


@functools.cache
def written_arguments(key: str) -> tuple[tuple[int, str], ...]:
    """Return the parameters (position, keyword) that calls of the bare name `key` may write to.

    ``out`` and the tensor of an in-place call are left out.

    >>> written_arguments("_amp_update_scale_"), written_arguments("add_")
    (((1, 'growth_tracker'),), ())
    >>> written_arguments("native_batch_norm")
    ((3, 'running_mean'), (4, 'running_var'))
    """
    return _STATISTICS.get(key) or tuple(dict.fromkeys(_marked(key)))


def _marked(key: str) -> Iterator[tuple[int, str]]:
    packet = None if key.startswith("__") else getattr(torch.ops.aten, key, None)
    for name in packet.overloads() if isinstance(packet, OpOverloadPacket) else ():
        for position, argument in enumerate(getattr(packet, name)._schema.arguments):
            is_written = (
                argument.alias_info is not None and argument.alias_info.is_write and not argument.kwarg_only
            )
            if is_written and (position or is_in_place(key) and str(argument.type) == "List[Tensor]"):
                yield position, argument.name


def other_written_tensors(key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """Return the tensors that the call may write to, without its own tensor and ``out``.

    An embedding with ``max_norm`` writes to its weight.
    """
    parameters = _RENORMED if _shortens(key, args, kwargs) else written_arguments(key)
    if not parameters:
        return []
    given = [
        args[position] if position < len(args) else kwargs.get(keyword) for position, keyword in parameters
    ]
    return [item for item in iterate_structure(given) if isinstance(item, torch.Tensor)]


def _shortens(key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    position = _WITH_NORMS.get(key)
    norm = None if position is None else args[position] if position < len(args) else kwargs.get("max_norm")
    # ``torch.embedding`` and ``torch.embedding_bag`` have a bool at this position.
    return norm is not None and not isinstance(norm, bool)


def versions_before(
    key: str, operands: list[torch.Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[int | None]:
    """Return the version of each operand before a call.

    It is None if the call may write to the operand without incrementing the version. None differs from any
    version after the call, so the operand counts as written to.
    """
    if key in _STATISTICS:
        return [None if _is_trained(one, key, args, kwargs) else version(one) for one in operands]
    uncounted = list(map(id, other_written_tensors(key, args, kwargs)))
    return [None if id(one) in uncounted else version(one) for one in operands]
