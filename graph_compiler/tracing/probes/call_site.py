"""Whose code asks: the user's, or a library's for its own ends."""

from __future__ import annotations

from types import FrameType

from ..reach.origin import owner_of, package_of

# Of Python, what asks for its own ends: what it computes is the same.
_ASKING = frozenset({"logging", "warnings", "linecache", "inspect", "importlib", "tempfile"})


_MECHANISM = __name__.rpartition(".")[0]


def behind(frame: FrameType) -> FrameType:
    """The frame of whoever called a shim, behind those of this package: shims of several tables call one another."""
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(_MECHANISM):
        frame = frame.f_back
    return frame


def user_of(frame: FrameType | None) -> FrameType | None:
    """The frame of the user's code that asks, itself or through functions of Python's; None where a library asks for its own ends."""
    frame = None if frame is None else behind(frame)
    while frame is not None:
        owner = owner_of(frame)
        if owner in ("framework", "own") or package_of(frame.f_globals.get("__name__")) in _ASKING:
            return None
        if owner != "python":
            return frame
        frame = frame.f_back
    return None
