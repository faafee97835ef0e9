"""Errors for code that needs the elements of a tracer, with the user's line."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax

from ...errors import CallMismatch, TracingError
from .equations import is_users

_CONVERSIONS = (
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)
# JAX's error about an escaped tracer names the place of the function that was traced.
_RECORDING = str(Path(__file__).with_name("recording.py"))


@contextmanager
def explain_outer_trace(name: str, leaves: Sequence[Any]) -> Iterator[None]:
    """Turn JAX's errors about elements into :class:`CallMismatch` if one of ``leaves`` is a tracer.

    These are tracers of a transformation around the call. Without one, JAX's error propagates.
    """
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
    """Turn errors about unknown elements or other threads into :class:`TracingError`.

    Flax's errors about trace levels are among them.
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
    """Raised if the recorded function needs elements of an array, which a tracer does not have."""


def _unknown_elements(name: str, problem: Exception) -> TracingError:
    return UnknownElements(
        f"{_place_of(problem)}: {name} needs the elements of an array while it is recorded "
        f"({str(problem).splitlines()[0]}), and code of "
        "JAX or NumPy reads them. Read them in a line of the function (if, int(x), float(x), x.tolist()), "
        "where they can be guarded, or "
        "compute with the array instead (jnp.where)"
    )
