"""The kinds of probes: what a shim does where it is called, and whose calls concern a recording."""

from __future__ import annotations

import functools
import sys
from typing import Any

from ...errors import TracingError
from ...forwarding import forwards
from .call_site import user_of
from .probe import Probe, Probes


def ASSUME(probe: Probe, probes: Probes, original: Any) -> Any:
    """The answer stays what it is: ``on_read(original, *args)`` gives what is compared of it before each call.

    Questions of libraries for their own ends count not: they change how a library computes, and not the result.
    """

    def again(*args: Any, **kwargs: Any) -> Any:
        try:
            return probe.on_read(original, *args, **kwargs)
        # The original is Python's or another library's, and its exception is the answer.
        except Exception as problem:
            return type(problem)

    @forwards
    def asked(*args: Any, **kwargs: Any) -> Any:  # noted first: that it fails is an answer as well
        if (sessions := probes.here()) and user_of(sys._getframe(1)) is not None:
            key = (probe.name, *map(id, args), *kwargs, *map(id, kwargs.values()))
            for session in sessions:
                session.assume(probe.name, key, functools.partial(again, *args, **kwargs))
        return original(*args, **kwargs)

    return named_as(original, asked)


def REFUSE(probe: Probe, probes: Probes, original: Any) -> Any:
    """``TracingError`` with the line of the user's code that calls it, unless ``on_read(*args)``: it gives something else each time, and
    nothing can ask beforehand."""

    @forwards
    def refused(*args: Any, **kwargs: Any) -> Any:
        frame = user_of(sys._getframe(1)) if probes.here() else None
        if frame is None or probe.on_read(*args, **kwargs):
            return original(*args, **kwargs)
        raise TracingError(
            f"{probe.owner.__name__}.{probe.name} at {frame.f_code.co_filename}:{frame.f_lineno} gives something else at each call, and "
            "would become a constant. Pass what it gives as an argument"
        )

    return named_as(original, refused)


def NOTE(probe: Probe, probes: Probes, original: Any) -> Any:
    """``on_read(session, *args)``, for each session of the thread, before each call."""

    @forwards
    def noted(*args: Any, **kwargs: Any) -> Any:
        for session in probes.here():
            probe.on_read(session, *args, **kwargs)
        return original(*args, **kwargs)

    return named_as(original, noted)


def STAND_IN(probe: Probe, probes: Probes, original: Any) -> Any:
    """``on_read(session, original, *args)`` is the answer, where a session of the thread is open: the innermost one."""

    @forwards
    def answered(*args: Any, **kwargs: Any) -> Any:
        sessions = probes.here()
        return probe.on_read(sessions[-1], original, *args, **kwargs) if sessions else original(*args, **kwargs)

    return named_as(original, answered)


def INPUT(probe: Probe, probes: Probes, original: Any) -> Any:
    """As :data:`STAND_IN`, for numbers that come from outside of a function. Other threads draw from the same source: there
    ``on_read(session, original, *args)`` is given the session of another thread."""

    @forwards
    def drawn(*args: Any, **kwargs: Any) -> Any:
        sessions = probes.here() or probes.anywhere()
        return probe.on_read(sessions[-1], original, *args, **kwargs) if sessions else original(*args, **kwargs)

    return named_as(original, drawn)


def named_as(original: Any, shim: Any) -> Any:
    """A shim with the name of its original. ``functools.wraps`` takes five times as long."""
    shim.__wrapped__, shim.__doc__ = original, getattr(original, "__doc__", None)
    shim.__name__ = getattr(original, "__name__", shim.__name__)
    shim.__qualname__ = getattr(original, "__qualname__", shim.__qualname__)
    return shim
