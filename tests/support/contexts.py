"""One MLIR context for many JAX programs.

To create and destroy a context takes a fifth of the time of compiling a small program.
"""

from __future__ import annotations

import importlib
import itertools
import sys
from typing import Any

# Number of programs of one context, which keeps the types and constants of all of them.
_PROGRAMS = 1000


def share_contexts() -> None:
    """Let JAX lower its programs in a shared MLIR context, which is replaced after 1,000 programs.

    Do nothing if JAX is not imported or has no ``make_ir_context``.
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
    """Return a context manager that enables 64-bit types in JAX. The name of its function is public only
    since jax 0.8.
    """
    import jax

    enable = (
        jax.enable_x64
        if hasattr(jax, "enable_x64")
        else importlib.import_module("jax.experimental").enable_x64
    )
    return enable(True)
