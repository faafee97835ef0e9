"""The axes of devices that the code of this moment runs over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

_running: ContextVar[Mapping[str, str]] = ContextVar(
    "axes", default=MappingProxyType({})
)  # name of an axis -> its framework, innermost last


@contextmanager
def running_over(axis_name: str, framework: str) -> Iterator[None]:
    """Inside of the block code runs over this axis."""
    token = _running.set({**_running.get(), axis_name: framework})
    try:
        yield
    finally:
        _running.reset(token)


def axes() -> Mapping[str, str]:
    """Names of the axes, each with the framework that runs over it."""
    return _running.get()


__all__ = ["axes", "running_over"]
