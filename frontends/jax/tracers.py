"""Hiding of tracers from the user's code, and errors for code that needs their elements.

Code that catches JAX's error about the elements of a tracer would run differently untraced, so the recording
raises that error.
"""

from __future__ import annotations

import functools
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
from jax._src import core
from jax.core import Tracer

from ...errors import CallMismatch, TracingError
from ...recording.code.ownership import skip_patch_frames
from ...recording.patches import Patch, Session, replace_call, under_any_name
from ...recording.patches.patch import Replacement
from .dtypes import is_key
from .equations import is_users
from .intercept.elements import TracerReads

# --------------------------------------------------------------------------------------------- element errors
# Errors for code that needs the elements of a tracer, with the user's line.

_CONVERSIONS = (
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)
# JAX's error about an escaped tracer names the place of the function that was traced.
_RECORDING = str(Path(__file__).with_name("recording.py"))


@contextmanager
def explain_outer_trace(name: str, leaves: Sequence[Any]) -> Iterator[None]:
    """Replace JAX's errors about elements of tracers by :class:`CallMismatch`, if a leaf is a tracer."""
    try:
        yield
    except (jax.errors.ConcretizationTypeError, *_CONVERSIONS) as problem:
        if not any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            raise
        raise CallMismatch(
            f"{_place_of(problem)}: JAX traces this call of {name} from outside (jax.jit, grad, vmap), no "
            "recorded variant fits it, and a "
            "new one cannot be recorded: elements decide, which are not known there. Call it before, "
            "outside, with arrays of these types; "
            "of an array that was made of a number (jnp.asarray(1.0)) the type is weak, which is another one"
        ) from problem


@contextmanager
def explain_unknown_elements(name: str) -> Iterator[None]:
    """Replace some errors of JAX and flax about tracing by :class:`TracingError`.

    For unknown elements, the error is its subclass :class:`UnknownElements`.
    """
    try:
        yield
    except jax.errors.ConcretizationTypeError as problem:
        raise _unknown_elements(name, problem) from problem
    except _CONVERSIONS as problem:
        raise _unknown_elements(name, problem) from problem
    except jax.errors.UnexpectedTracerError as problem:
        # A tracer of a transformation of the user's escapes from it when the original runs, too.
        if _RECORDING not in str(problem):
            raise
        raise TracingError(
            f"{_place_of(problem)}: {name} computes with its arrays in another thread, or in "
            "jax.ensure_compile_time_eval, which cannot be recorded. Compute in the same thread, outside "
            "of it"
        ) from problem
    # flax has no class of its own for all of these.
    except Exception as problem:
        if "trace level" not in str(problem):
            raise
        raise TracingError(
            f"{_place_of(problem)}: {name} gives a module or variable of flax.nnx that it refers to to a "
            "transformation, or changes it "
            f"({str(problem).splitlines()[0]}), which flax cannot trace. Compile the module itself, or split "
            "it (nnx.split) and take "
            "JAX's own transformation"
        ) from problem


def _place_of(problem: Exception) -> str:
    own = [frame for frame in traceback.extract_tb(problem.__traceback__) if is_users(frame.filename)]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else "unknown place"


class UnknownElements(TracingError):
    """Error for a recorded function that needs elements of an array, which a tracer does not have."""


def _unknown_elements(name: str, problem: Exception) -> TracingError:
    return UnknownElements(
        f"{_place_of(problem)}: {name} needs the elements of an array while it is recorded "
        f"({str(problem).splitlines()[0]}), and code of "
        "JAX or NumPy reads them. Read them in a line of the function (if, int(x), float(x), x.tolist()), "
        "where they can be guarded, or "
        "compute with the array instead (jnp.where)"
    )


# ---------------------------------------------------------------------------------------------------- tracers
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


class HiddenTracers:
    """Tracers of one recording, which the user's code takes for arrays, and errors about their elements.

    trace: the trace of the recording's tracers, or None.
    reads: answers reads of elements; None to raise JAX's errors.
    errors: errors of JAX about elements of tracers that were created.
    """

    def __init__(self, reads: TracerReads | None = None) -> None:
        self.trace: Any = None
        self.reads = reads
        self._array_class = _array_class()
        self.errors: list[Exception] = []

    def replacements(self, scopes: Iterable[dict[str, Any]]) -> list[Replacement]:
        told = ((Tracer, _shim(self)), (_is_concrete, self._is_concrete))
        # jax.core returns this deprecated name from its __getattr__, so it is not among its variables.
        by_module = (vars(jax.core), "is_concrete", self._is_concrete)
        return [*under_any_name((vars(jax.core), *scopes), told), by_module]

    def handled(self) -> Exception | None:
        """Return an error of JAX about a tracer's elements that the user's code caught, or None."""
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
        """Return the array class for a tracer of the recording, and the class of any other object.

        Raise :class:`TracingError` for a random key of the recording.
        """
        if not self.is_own(item):
            return item.__class__
        if is_key(item):
            asker = skip_patch_frames(sys._getframe(1))
            place = f"{asker.f_code.co_filename}:{asker.f_lineno}"
            raise TracingError(
                f"{place}: the class of a key of jax.random is not known while it is recorded; ask for its "
                "dtype"
            )
        return self._array_class

    def is_own(self, item: Any) -> bool:
        return isinstance(item, Tracer) and item._trace is self.trace

    def own_of(self, item: Any) -> Any:
        while isinstance(item, Tracer) and not self.is_own(item):
            # In forward mode, a tracer of `jax.jvp` contains that of the recording.
            item = getattr(item, "primal", None)
        return item if isinstance(item, Tracer) else None


def _shim(shown: HiddenTracers) -> type:
    class Asked(type):
        def __instancecheck__(cls, item: Any) -> bool:
            # Only the user's code takes its arrays for concrete; JAX must see tracers.
            return isinstance(item, Tracer) and not (
                shown.is_own(item) and is_users(sys._getframe(1).f_code.co_filename)
            )

        def __subclasscheck__(cls, other: type) -> bool:
            return issubclass(other, Tracer)

        def __getattr__(cls, name: str) -> Any:
            return getattr(Tracer, name)

    return Asked("Tracer", (), {"__module__": Tracer.__module__})


def _note_error(session: Session, original: Any, problem: Exception, tracer: Any, *args: Any) -> None:
    original(problem, tracer, *args)
    # For a mask among indices JAX passes only the type of the tracer.
    if session.trace.is_own(tracer) or not isinstance(tracer, Tracer):
        session.trace.errors.append(problem)


ERRORS = tuple(Patch(cls, "__init__", replace_call, _note_error) for cls in _ERRORS)
