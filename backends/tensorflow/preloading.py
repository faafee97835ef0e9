"""What is loaded before TensorFlow: ``triton``, where it is installed (builds of torch for CUDA bring it along).

Loaded after TensorFlow it ends the process, for each brings its own LLVM; torch loads it with its compiler.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys

if "tensorflow" not in sys.modules and importlib.util.find_spec("triton") is not None:
    # Code of another package is imported, and may raise anything; one that cannot be loaded can do no harm later.
    with contextlib.suppress(Exception):
        importlib.import_module("triton")
