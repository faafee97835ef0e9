"""TensorFlow as a target: canonical operations written as calls of ``tf``."""

from __future__ import annotations

from . import preloading as preloading  # isort: skip
from ...contracts.modules import at_first_use, calls_at_first_use
from . import prelude as prelude
from .dialect import TensorFlowDialect
from .lowering import rows as rows
from .native import target as target

name = "tensorflow"
# Tensors are immutable, so results may alias arguments.
copy_overwritable_values = None
imports = {
    "parallel": "from graph_compiler import parallel",
    "Any": "from typing import Any",
    "Callable": "from collections.abc import Callable",
    "Sequence": "from collections.abc import Sequence",
    "itertools": "import itertools",
    "np": "import numpy as np",
    "tf": "import tensorflow as tf",
}

dialect = TensorFlowDialect(rows, imports, prelude)
derivatives = at_first_use(__name__, "transforms:derivatives")
parallelism = at_first_use(__name__, "parallel:parallelism")
training_engine = at_first_use(__name__, "training:training")
as_module = calls_at_first_use(__name__, "module:as_module")
