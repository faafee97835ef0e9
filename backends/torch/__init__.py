"""torch as a target: canonical operations written as calls of ``torch`` and ``torch.nn.functional``."""

from __future__ import annotations

from ...contracts.modules import at_first_use, calls_at_first_use
from ..common.rows import CanonicalDialect
from . import prelude as prelude
from .lowering import rows as rows
from .native import copy_overwritable_values as copy_overwritable_values
from .native import target as target

name = "torch"
imports = {
    "parallel": "from graph_compiler import parallel",
    "Any": "from typing import Any",
    "Callable": "from collections.abc import Callable",
    "Sequence": "from collections.abc import Sequence",
    "F": "import torch.nn.functional as F",
    "checkpoint": "from torch.utils.checkpoint import checkpoint",
    "torch": "import torch",
}


def dtype_text(dtype: str) -> str:
    return f"torch.{dtype}"


dialect = CanonicalDialect(rows, imports, prelude, dtype_text)
derivatives = at_first_use(__name__, "transforms:derivatives")
parallelism = at_first_use(__name__, "parallel:parallelism")
training_engine = at_first_use(__name__, "training:training")
as_module = calls_at_first_use(__name__, "module:as_module")
