"""Recognition of calls within ``jax.vmap``, where one call has one random key for all rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jax._src import core
from jax._src.interpreters.batching import BatchTrace, BatchTracer


def is_one_call_for_rows(leaves: Iterable[Any]) -> bool:
    """Return True if ``jax.vmap`` is active and computes all rows by one call with these ``leaves``.

    Return False if it maps over directions only, as ``jax.jacfwd`` and ``jax.hessian`` do: the values are
    those of one call, and only the tangents are batched.
    """
    if not _inside_vmap():
        return False
    primals, tangents = [], []
    for leaf in leaves:
        while hasattr(leaf, "primal") and hasattr(leaf, "tangent"):
            tangents.append(leaf.tangent)
            leaf = leaf.primal
        primals.append(leaf)
    are_directions = any(isinstance(item, BatchTracer) for item in tangents)
    return any(isinstance(item, BatchTracer) for item in primals) or not are_directions


def _inside_vmap() -> bool:
    trace: Any = core.trace_ctx.trace
    while trace is not None and not isinstance(trace, BatchTrace):
        trace = getattr(trace, "parent_trace", None)
    return trace is not None
