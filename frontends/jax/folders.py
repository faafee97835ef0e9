"""Folders whose code is not the user's, as the lines of a traceback begin."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import jax


def folders_of(*files: str) -> Iterator[str]:
    """The folder of each file, as it was imported and with links followed: frames tell the first, also in an environment that is a link."""
    for file in map(Path, files):
        yield from (f"{folder}{os.sep}" for folder in (file.absolute().parent, file.resolve().parent))


JAX = tuple(folders_of(jax.__file__))
