"""What shows code that it is traced: a graph is of the code that runs untraced, so a recording must not be
what code does of a tracer.

Code that asks whether something is a tracer of the recording, or for its class, is told that it is an array.
Code that catches JAX's error about the elements of a tracer goes another way than untraced: that is found,
and refused.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable
from typing import Any

import jax
from jax._src import core
from jax.core import Tracer

from ...errors import TracingError
from ...recording.code.ownership import behind
from ...recording.patches import STAND_IN, Probe, Session, under_any_name
from ...recording.patches.patch import Place
from .dtypes import is_key
from .equations import is_users
from .intercept.reads import Reads

_ERRORS = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerBoolConversionError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)


_is_concrete = core.is_concrete


@functools.cache
def _array_class() -> type:
    return type(jax.numpy.zeros(()))


class Shown:
    """Which errors about elements the user's code was given, and which tracers are those of the recording: of
    :attr:`trace`. ``reads`` answers where Python reads elements of these.
    """

    def __init__(self, reads: Reads | None = None) -> None:
        self.trace: Any = None
        self.reads = reads
        self._array_class = _array_class()
        self.errors: list[Exception] = []

    def places(self, scopes: Iterable[dict[str, Any]]) -> list[Place]:
        """Shims by which tracers are none for the user's code, whose globals are ``scopes``."""
        told = ((Tracer, _shim(self)), (_is_concrete, self._is_concrete))
        by_module = (
            vars(jax.core),
            "is_concrete",
            self._is_concrete,
        )  # which is on its way out, and given by __getattr__
        return [*under_any_name((vars(jax.core), *scopes), told), by_module]

    def handled(self) -> Exception | None:
        """The first error about elements that the user's code has caught; JAX's own code handles some as
        well.
        """
        caught = ((problem, problem.__traceback__) for problem in self.errors)
        return next(
            (
                problem
                for problem, first in caught
                if first is not None and is_users(first.tb_frame.f_code.co_filename)
            ),
            None,
        )

    def _is_concrete(self, item: Any) -> bool:
        return self.is_own(item) or bool(_is_concrete(item))

    def class_of(self, item: Any) -> type:
        """The class of the array that a tracer stands for; the own class of other objects."""
        if not self.is_own(item):
            return item.__class__
        if is_key(item):
            asker = behind(sys._getframe(1))
            place = f"{asker.f_code.co_filename}:{asker.f_lineno}"
            raise TracingError(
                f"{place}: the class of a key of jax.random is not known while it is recorded; ask for its dtype"
            )
        return self._array_class

    def is_own(self, item: Any) -> bool:
        return isinstance(item, Tracer) and item._trace is self.trace

    def own_of(self, item: Any) -> Any:
        while isinstance(item, Tracer) and not self.is_own(item):
            item = getattr(item, "primal", None)
        return item if isinstance(item, Tracer) else None


def _shim(shown: Shown) -> type:
    class Asked(type):
        def __instancecheck__(cls, item: Any) -> bool:
            return isinstance(item, Tracer) and not (
                shown.is_own(item) and is_users(sys._getframe(1).f_code.co_filename)
            )

        def __subclasscheck__(cls, other: type) -> bool:
            return issubclass(other, Tracer)

        def __getattr__(cls, name: str) -> Any:
            return getattr(Tracer, name)

    return Asked("Tracer", (), {"__module__": Tracer.__module__})


def _noted(session: Session, original: Any, problem: Exception, tracer: Any, *args: Any) -> None:
    original(problem, tracer, *args)
    if session.trace.is_own(tracer) or not isinstance(
        tracer, Tracer
    ):  # of a mask among indices JAX gives the type alone
        session.trace.errors.append(problem)


ERRORS = tuple(Probe(cls, "__init__", STAND_IN, _noted) for cls in _ERRORS)
