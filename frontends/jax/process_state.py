"""The configuration of JAX, put back after a recording: what the function sets, calls of a graph do not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import jax


@contextmanager
def restored() -> Iterator[None]:
    """Put the configuration back after the block, whether or not it raises."""
    before = dict(jax.config.values)
    try:
        yield
    finally:
        now = jax.config.values
        for name, item in before.items():
            if now[name] != item:
                jax.config.update(name, item)
