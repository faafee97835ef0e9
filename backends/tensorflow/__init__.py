"""TensorFlow as a target: canonical operations written in the public functions of ``tf``."""

from __future__ import annotations

from typing import Any

from . import preloading as preloading  # isort: skip
from ..first_use import at_first_use
from . import prelude as prelude
from .dialect import TensorFlowDialect
from .lowering import rows as rows
from .native import target as target

name = "tensorflow"
copy_aliased_outputs = None  # its arrays never change
imports = {
    "parallel": "from graph_compiler import parallel",
    "Any": "from typing import Any",
    "Callable": "from collections.abc import Callable",
    "GradientRefused": "from graph_compiler.errors import GradientRefused",
    "Sequence": "from collections.abc import Sequence",
    "itertools": "import itertools",
    "np": "import numpy as np",
    "tf": "import tensorflow as tf",
}

dialect = TensorFlowDialect(rows, imports, prelude)
derivatives = at_first_use(__name__, "transforms:derivatives")
parallelism = at_first_use(__name__, "parallel:parallelism")
training_engine = at_first_use(__name__, "training:training")


def as_module(graph: Any) -> Any:
    """See :func:`graph_compiler.backends.tensorflow.module.as_module`; the library of modules is loaded at the first use."""
    from .module import as_module as made

    return made(graph)
