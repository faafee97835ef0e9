"""Import of ``triton`` before TensorFlow, if it is installed (builds of torch for CUDA bring it along).

If it is loaded after TensorFlow, it may end the process, because each brings its own LLVM.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys

if "tensorflow" not in sys.modules and importlib.util.find_spec("triton") is not None:
    # The import runs code of another package, which may raise anything.
    with contextlib.suppress(Exception):
        importlib.import_module("triton")
