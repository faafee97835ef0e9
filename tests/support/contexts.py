"""One context of MLIR for many of JAX's programs: making and dropping one takes a fifth of the time in which
a small program is compiled.
"""

from __future__ import annotations

import importlib
import itertools
import sys
from typing import Any

_PROGRAMS = 1000  # of one context, which keeps the types and constants of all of them


def share_contexts() -> None:
    """From here on JAX writes its programs in a shared context; does nothing where JAX is not loaded, or
    makes its contexts otherwise.
    """
    mlir: Any = sys.modules.get("jax._src.interpreters.mlir")
    make = getattr(mlir, "make_ir_context", None)
    if make is None:
        return
    used, shared = itertools.count(), [None]

    def shared_context() -> Any:
        if next(used) % _PROGRAMS == 0:
            shared[0] = make()
        return shared[0]

    mlir.make_ir_context = shared_context


def wide_types() -> Any:
    """The context in which JAX has types of 64 bits; a public name since jax 0.8."""
    import jax

    enable = (
        jax.enable_x64
        if hasattr(jax, "enable_x64")
        else importlib.import_module("jax.experimental").enable_x64
    )
    return enable(True)
