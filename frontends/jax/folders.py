"""Folders of JAX's own code, as prefixes of file names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import jax


def folders_of(*files: str) -> Iterator[str]:
    for file in map(Path, files):
        yield from (f"{folder}{os.sep}" for folder in (file.absolute().parent, file.resolve().parent))


JAX = tuple(folders_of(jax.__file__))
