"""Record a function or model written in torch once, and run it as a flat function of torch or of another framework.

>>> import torch, graph_compiler
>>> graph = graph_compiler.transpile(lambda x: torch.softmax(x, -1), to="jax", args=(torch.zeros(2, 4),))
>>> graph(torch.zeros(1, 2))
Array([[0.5, 0.5]], dtype=float32)
"""

from . import _rooms as _rooms  # first: from here on a bare checkout finds its backends and frontends
from . import errors as errors
from .api import compile as compile
from .api import load as load
from .api import transpile as transpile
from .api import unify as unify
from .runtime import Graph as Graph
from .runtime import LazyGraph as LazyGraph

__version__ = "0.1.0.dev0"
__all__ = ["Graph", "LazyGraph", "__version__", "compile", "errors", "load", "transpile", "unify"]
