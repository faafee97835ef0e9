"""Calls that depend on strides: ``as_strided``, and ``Tensor.stride``."""

from __future__ import annotations

from typing import Any

import torch

from ....forwarding import forward
from ....sizes import Size, Symbol
from ..basics.tensors import fills_memory
from ..sizes import symbolic
from .memory import MemoryTrace


def stride(capture: MemoryTrace, function: Any, args: Any, kwargs: Any) -> Any:
    """Return what ``Tensor.stride`` returns, as symbols, and guard on what it depends on.

    Return plain numbers for a weight, for a tensor that does not vary between calls, and, in a graph for
    another framework, for a non-contiguous tensor that the function computed.
    """
    value, steps = capture.value(args[0]), args[0].stride()
    capture.depends_on("layout", args[0])
    if not capture.recorder.varies(value) or capture.is_weight(value):
        return forward(function, *args, **kwargs)
    if not capture.for_torch and capture.recorder.maker(value) is not None and not args[0].is_contiguous():
        capture.fix_all_sizes()
        return forward(function, *args, **kwargs)
    all_steps = tuple(
        symbolic(Size.of(Symbol(value, axis, step, "stride")), capture.decide)
        for axis, step in enumerate(steps)
    )
    dim = args[1] if len(args) > 1 else kwargs.get("dim")
    return all_steps if dim is None else all_steps[dim]


def on_owner(
    capture: MemoryTrace, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return arguments that apply ``as_strided`` to the recorded tensor that fills the storage.

    Return the arguments unchanged if ``args[0]`` itself fills its storage, or if no recorded tensor does.
    Guards on layouts are added, and on all sizes if the tensor is another one.
    """
    tensor, size, step, *rest = (
        args if len(args) > 2 else (*args, *(kwargs[name] for name in ("size", "stride")[len(args) - 1 :]))
    )
    offset = rest[0] if rest else kwargs.get("storage_offset")
    # Other frameworks can compute ``as_strided`` of a tensor that fills its storage.
    owner = tensor if fills_memory(tensor) else _owner(capture, tensor)
    if owner is None:
        return args, kwargs
    capture.depends_on("layout", owner)
    if offset is not None:
        capture.depends_on("storage_offset", owner)
    if owner is tensor:
        return args, kwargs
    # The offset of a view depends on sizes.
    capture.fix_all_sizes()
    return (owner, size, step, tensor.storage_offset() if offset is None else offset), {}


def _owner(capture: MemoryTrace, tensor: torch.Tensor) -> torch.Tensor | None:
    """Return a tensor whose elements fill the storage of ``tensor`` in row-major order, or None.

    The result is a new alias of a recorded tensor of the same dtype.
    """
    if tensor.is_conj() or tensor.is_neg():
        return None
    for (dtype, shape, steps, offset), value in capture.memory.values_in(tensor).items():
        if dtype == tensor.dtype and offset == 0:
            owner = tensor.as_strided(shape, steps, 0)
            if fills_memory(owner):
                capture.recorder.track(owner, value)
                return owner
    return None
