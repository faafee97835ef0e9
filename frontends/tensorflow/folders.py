"""Whether a file is the user's, or belongs to TensorFlow or a library built on it."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from pathlib import Path

import keras
import tensorflow as tf

from ... import errors

_PYTHONS = frozenset({"contextlib.py", "functools.py"})
_LIBRARIES = tuple(
    f"{os.sep}site-packages{os.sep}{name}{os.sep}"
    for name in ("keras", "keras_hub", "tensorflow_probability", "wrapt")
)
# Packages whose code must see that a function is traced. All other code believes that it runs eagerly.
BELOW = ("tensorflow.", "numpy.", "wrapt.", "graph_compiler.", "functools.", "contextlib.")
PACKAGES = (*BELOW, "keras.", "keras_hub.")


def _folders_of(*files: str | None) -> Iterator[str]:
    for file in (Path(file) for file in files if file):
        yield from (f"{folder}{os.sep}" for folder in (file.absolute().parent, file.resolve().parent))


_INTERNAL = tuple(_folders_of(tf.__file__, keras.__file__, errors.__file__, str(Path(__file__).parent)))


@functools.lru_cache(maxsize=4096)
def is_users(file: str) -> bool:
    """Return True if ``file`` belongs neither to TensorFlow or a library built on it, nor to this package.

    Code that AutoGraph generated and Python's ``functools`` and ``contextlib`` are not the user's either.

    >>> is_users(tf.__file__), is_users("model.py")
    (False, True)
    """
    inside = file.startswith((*_INTERNAL, "<frozen", "<__autograph")) or any(
        library in file for library in _LIBRARIES
    )
    return not (inside or Path(file).name in _PYTHONS)
