"""Record a function or model of torch, JAX, TensorFlow or NumPy once, and run it in any of them.

>>> import torch, graph_compiler
>>> graph = graph_compiler.transpile(lambda x: torch.softmax(x, -1), to="jax", args=(torch.zeros(2, 4),))
>>> graph(torch.zeros(1, 2))
Array([[0.5, 0.5]], dtype=float32)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

# Imported first: only then can a bare checkout import its backends and frontends.
from . import _rooms as _rooms
from . import errors as errors

if TYPE_CHECKING:
    from . import parallel as parallel
    from . import training as training
    from . import transforms as transforms
    from .api import compile as compile
    from .api import load as load
    from .api import transpile as transpile
    from .api import unify as unify
    from .recording.control_flow import trace as trace
    from .runtime import Graph as Graph
    from .runtime import LazyGraph as LazyGraph
    from .transforms import jit as jit

__version__ = "0.1.0.dev0"
__all__ = [
    "Graph",
    "LazyGraph",
    "__version__",
    "compile",
    "errors",
    "jit",
    "load",
    "trace",
    "transpile",
    "unify",
]

# Each module is imported when one of its names is first read, so that a program that compiles nothing starts
# fast.
_MODULES = {
    **dict.fromkeys(("compile", "load", "transpile", "unify"), ".api"),
    **dict.fromkeys(("Graph", "LazyGraph"), ".runtime"),
    "jit": ".transforms",
    "trace": ".recording.control_flow",
}
_PARTS = ("parallel", "training", "transforms")


def __getattr__(name: str) -> object:
    if name in _PARTS:
        return import_module(f".{name}", __name__)
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(_MODULES[name], __name__), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PARTS})
