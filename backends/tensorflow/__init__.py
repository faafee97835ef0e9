"""TensorFlow as a target: canonical operations written in the public functions of ``tf``."""

from . import before as before  # isort: skip
from . import prelude as prelude
from .dialect import TensorFlowDialect
from .lowering import rows as rows
from .native import target as target

name = "tensorflow"
imports = {
    "Any": "from typing import Any",
    "Callable": "from collections.abc import Callable",
    "GradientRefused": "from graph_compiler.errors import GradientRefused",
    "Sequence": "from collections.abc import Sequence",
    "itertools": "import itertools",
    "np": "import numpy as np",
    "tf": "import tensorflow as tf",
}

dialect = TensorFlowDialect(rows, imports, prelude)
