"""Reads of ``requires_grad``, ``grad`` and the like on arguments and captured tensors: each becomes an assumption or a guard."""

from __future__ import annotations

from typing import Any

from ....errors import TracingError
from ..basics.captured import is_captured
from ..basics.names import name_of, row_key
from .trace import GradientTrace

# What is read -> the facts that its answer follows from.
READS: dict[str, tuple[str, ...]] = {
    "requires_grad": ("requires_grad",),
    "is_leaf": ("is_leaf",),
    "grad_fn": ("is_leaf",),
    "grad": ("has_grad",),
    "_grad": ("has_grad",),
}


def answer(capture: GradientTrace, function: Any, args: Any, kwargs: Any) -> Any:
    """The answer of the moment. ``TracingError`` where it is the gradient that an argument came with, which is no argument of the graph."""
    tensor, key = args[0], row_key(name_of(function))
    seen = capture.run(function, args, kwargs)
    if key in ("grad", "_grad") and capture.gradients.is_input(tensor):
        return seen
    if is_captured(capture, tensor):
        capture.gradients.asked(tensor, key)
        return seen
    if key in ("grad", "_grad") and seen is not None and capture.gradients.came_with(tensor, seen):
        raise TracingError(
            f"{capture.here()}: the gradient that an argument came with is read, which is no part of the call; pass it as an argument of "
            "its own"
        )
    for fact in READS[key]:
        capture.depends_on(fact, tensor)
    return seen
