"""Reference runs of the original function: random inputs, and intermediate results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import jax
import numpy as np

from ...forwarding import forward
from ...ir.graph import Graph
from ...ir.node import Value
from ...ops.dtypes import KEYS
from ...trees import flatten
from ..common import reference
from ..common.reference import Range, random_array
from . import recording
from .calls import as_jax
from .parameters import JaxWeights

# JAX arrays are immutable, so there is nothing to restore or to watch.
saved = watching = None
COPY = "jax.numpy.copy"
# JAX has no global generator.
RANDOM_STATE = ("", "")


def is_array(item: Any) -> bool:
    return recording.is_array(item)


def leaves(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    return list(map(as_jax, flatten((args, kwargs), recording.is_array, recording.opens)[0]))


def ranges(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Range, ...]:
    return tuple(map(_range, leaves(args, kwargs)))


def _range(array: Any) -> Range:
    # Tracers have no elements, empty arrays no minimum, complex numbers and keys no order.
    if (
        isinstance(array, jax.core.Tracer)
        or array.size == 0
        or jax.dtypes.issubdtype(array.dtype, np.complexfloating)
        or jax.dtypes.issubdtype(array.dtype, jax.dtypes.extended)
    ):
        return (0.0, 0.0)
    plain = to_numpy(array).astype(np.float64)
    return (float(plain.min()), float(plain.max()))


def fresh(shape: Sequence[int], dtype: str, seen: Range, seed: int) -> Any:
    """Return a random JAX array, made by :func:`random_array`, or random keys if ``dtype`` is one of keys.

    >>> fresh((2,), "int32", (3.0, 3.0), seed=0)
    Array([3, 3], dtype=int32)
    """
    if dtype.startswith("key<"):
        return jax.random.split(jax.random.key(seed, impl=KEYS[dtype]), tuple(shape))
    return jax.numpy.asarray(random_array(shape, dtype, seen, seed)).astype(dtype)


def with_facts(array: Any, facts: Mapping[str, Any]) -> Any:
    """Return ``array``, converted to a weakly typed array if ``facts["weak_type"]`` is true.

    >>> with_facts(fresh((2,), "float32", (0.0, 1.0), seed=0), {"weak_type": True}).weak_type
    True
    """
    return (
        jax.lax.convert_element_type_p.bind(array, new_dtype=array.dtype, weak_type=True, sharding=None)
        if facts.get("weak_type")
        else array
    )


def copied(leaves: Sequence[Any]) -> list[Any]:
    return list(leaves)


def to_numpy(array: Any) -> Any:
    if jax.dtypes.issubdtype(array.dtype, jax.dtypes.extended):
        array = jax.random.key_data(array)
    # NumPy itself has no bfloat16; float32 represents each of its values.
    return np.asarray(array.astype(jax.numpy.float32) if array.dtype == jax.numpy.bfloat16 else array)


def restoring_random_state() -> AbstractContextManager[None]:
    # Not jax.ensure_compile_time_eval: in it the lowering of an operation (lu) compiles other programs, which
    # fails if programs are cached on disk (jax_compilation_cache_dir).
    outside: AbstractContextManager[None] = jax.core.eval_context()
    return outside


@contextmanager
def restoring_state(weights: JaxWeights, seed: int) -> Iterator[None]:
    with weights.holding(weights.arrays()):
        yield


def observe(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[tuple[str, list[Any]]]:
    forward(function, *args, **kwargs)
    return []


def with_intermediates(graph: Graph) -> tuple[Graph, list[Value]]:
    return reference.with_intermediates(graph)
