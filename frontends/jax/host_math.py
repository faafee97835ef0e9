"""Python's ``math`` while a JAX function is traced."""

from __future__ import annotations

import math
import sys
import types
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

import jax

from ...sizes import Size, computed, expression_of, is_symbolic
from ..conversions import conversions_in, places_of
from ..host_math import Symbols, math_shims
from ..shims import shimmed, under_any_name
from .asking import is_jax
from .sizes import decided, symbolic


def math_seen(spaces: Iterable[dict[str, Any]]) -> AbstractContextManager[None]:
    """Inside of the block these functions take symbols of the user's code as they are: as attributes of their module, and under any name in
    these globals."""
    return shimmed(under_any_name((vars(math), *spaces), math_shims(_SYMBOLS)))


def conversions_seen(functions: Iterable[types.FunctionType]) -> AbstractContextManager[None]:
    """Inside of the block ``int``, ``float`` and ``len`` give symbols where the code of these functions looks them up."""
    return conversions_in(places_of(functions), _SYMBOLS, _length)


def dimensions_seen() -> AbstractContextManager[None]:
    """Inside of the block sizes are dimensions that are not known, for code that asks ``jax.export.is_symbolic_dim`` whether one is a
    number (Keras)."""
    export = sys.modules.get("jax.export")
    asked = getattr(export, "is_symbolic_dim", None)
    places = [(vars(export), "is_symbolic_dim", lambda item: is_symbolic(item) or asked(item))] if export and asked else []
    return shimmed(places)


def _length(item: Any) -> Any:
    return item.shape[0] if isinstance(item, jax.core.Tracer) and item.ndim and is_symbolic(item.shape[0]) else None


def _opened(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    operands = tuple(map(expression_of, args))
    is_open = all(isinstance(item, (Size, int, float)) for item in operands)
    return operands if is_open and not is_jax(sys._getframe(2)) else None  # JAX's own code gets numbers


_SYMBOLS = Symbols(is_symbolic, _opened, lambda function, operands: symbolic(computed(function, operands, decided)))
