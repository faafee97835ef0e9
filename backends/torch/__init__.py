"""torch as a target: canonical operations written in ``torch`` and ``torch.nn.functional``."""

from __future__ import annotations

from typing import Any

from ..dialect import CanonicalDialect
from . import prelude as prelude
from .lowering import rows as rows
from .memory import copy_aliased_outputs as copy_aliased_outputs
from .native import target as target

name = "torch"
imports = {
    "parallel": "from graph_compiler import parallel",
    "Any": "from typing import Any",
    "Callable": "from collections.abc import Callable",
    "Sequence": "from collections.abc import Sequence",
    "GradientRefused": "from graph_compiler.errors import GradientRefused",
    "F": "import torch.nn.functional as F",
    "checkpoint": "from torch.utils.checkpoint import checkpoint",
    "torch": "import torch",
}


def dtype_text(dtype: str) -> str:
    """``torch.float32``."""
    return f"torch.{dtype}"


dialect = CanonicalDialect(rows, imports, prelude, dtype_text)


def as_module(graph: Any) -> Any:
    """See :func:`graph_compiler.backends.torch.module.as_module`; the library of modules is loaded at the first use."""
    from .module import as_module as made

    return made(graph)


def derivatives() -> Any:
    """See :mod:`graph_compiler.backends.torch.transforms`, which is loaded at the first use."""
    from .transforms import derivatives as found

    return found


def parallelism() -> Any:
    """See :mod:`graph_compiler.backends.torch.parallel`, which is loaded at the first use."""
    from .parallel import parallelism as found

    return found


def training_engine() -> Any:
    """See :mod:`graph_compiler.backends.torch.training`, which is loaded at the first use."""
    from .training import training as found

    return found
