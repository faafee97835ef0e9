"""Loops of the user's code over symbolic lengths, and over the rows of a tensor."""

from __future__ import annotations

import functools
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch

from ....ir.node import Value
from ....tracing.loops import Loops, Means
from ..compat import current_transform
from ..numbers.sizes import expression_of, is_symbolic, symbolic

if TYPE_CHECKING:
    from .running import Running

_ITERATION = torch.Tensor.__iter__.__code__


def loops_of(capture: Running) -> Loops:
    """The loops of a recording of torch."""
    means = Means(
        "torch",
        functools.partial(_value_of, capture),
        lambda item: expression_of(item) if is_symbolic(item) else item,
        lambda size: symbolic(size, capture.decide),
        capture.here,
        lambda: not capture.unseen.inside_call and current_transform() is None,
        lambda: len(capture.recorder.graph.nodes),
    )
    return Loops(capture.recorder, means)


def rows_of(capture: Running, args: tuple[Any, ...], frame: FrameType) -> Any:
    """What a ``for`` over a tensor goes through, where the frame calls ``unbind`` for it; None elsewhere."""
    if frame.f_code is not _ITERATION or frame.f_back is None:
        return None
    with capture:
        steps = capture.loops.steps_of(args[0])
        return None if steps is None else capture.loops.run(frame.f_back, steps)


def _value_of(capture: Running, item: Any) -> tuple[Value, Any] | None:
    if not isinstance(item, torch.Tensor):
        return None
    value = capture.recorder.find(item)
    return None if value is None else (value, (type(item), capture.quietly(_needs, item)))


def _needs(tensor: torch.Tensor) -> bool:
    """Read unseen: what loops ask for themselves the user's code has not asked for, and the recording holds for either answer."""
    return tensor.requires_grad
