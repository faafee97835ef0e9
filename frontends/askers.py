"""Whose code asks: the user's, or a library's for its own ends."""

from __future__ import annotations

import sys
from types import FrameType

# Code that asks for its own ends: what it computes is the same.
_LIBRARIES = frozenset({
    "torch", "numpy", "jax", "jaxlib", "flax", "equinox", "haiku", "keras", "optax", __name__.partition(".")[0], "logging", "warnings", "linecache", "inspect", "importlib",
    "tempfile",
})  # fmt: skip


def user_of(frame: FrameType | None) -> FrameType | None:
    """The frame of the user's code that asks, itself or through functions of Python's; None where a library asks for its own ends."""
    while frame is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package in _LIBRARIES:
            return None
        if package not in sys.stdlib_module_names:
            return frame
        frame = frame.f_back
    return None
