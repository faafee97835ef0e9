"""What JAX code refers to outside of its arguments: closures, globals, attributes. JAX arrays never change; numpy's are compared by their
bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import jax
import numpy as np

from ...tracing import Reached, facts_outside
from ...tracing.environment.conjunction import EnvironmentGuard
from ...tracing.reach.walk import Policy
from .models import is_model, settings_of
from .models.nnx import is_nnx

_PLAIN = (bool, int, float, str, type(None))


def outside_of(reached: Reached) -> list[EnvironmentGuard]:
    """What callables refer to; of models what they consist of, for their arrays are parameters."""
    wide = EnvironmentGuard("{}.jax_enable_x64 is {}", (jax.config, jax.config.jax_enable_x64), "jax_enable_x64")
    return [wide, *facts_outside(reached, _of_model, _contents)]


def reach_of(objects: Iterable[Any]) -> Reached:
    """All that these callables refer to, behind wrappers such as that of ``jax.vmap``."""
    return Reached(objects, Policy(_is_leaf, lambda item: _called(item) if is_model(item) else ()))


def _called(model: Any) -> list[Any]:
    """The code of a model."""
    return [method for name in ("__call__", "call") if (method := getattr(type(model), name, None)) is not None]


def _is_leaf(item: Any) -> bool:
    return isinstance(item, (jax.Array, np.ndarray))


def _of_model(model: Any) -> Iterator[EnvironmentGuard]:
    """Settings of the parts of a model, and which parts these are."""
    for part, key in settings_of(model):
        own, item = vars(part), vars(part)[key]
        if isinstance(item, _PLAIN) or is_nnx(item):
            yield EnvironmentGuard("{}.get({}) is {}", (own, key, item), f"the attribute {key} of a {type(part).__name__}", own)


def _contents(item: Any) -> bytes | None:
    return item.tobytes() if isinstance(item, np.ndarray) else bytes(item) if isinstance(item, bytearray) else None
