"""Where compiled programs are kept between processes: ``GRAPH_COMPILER_CACHE``, a folder or ``off``; by default the user's cache folder."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "GRAPH_COMPILER_CACHE"
_OFF = ("", "0", "off", "no", "false")


def cache_folder(compiler: str) -> str | None:
    """The folder of one compiler; None where the cache is off, or no folder can be made there.

    >>> import os, tempfile
    >>> before, os.environ["GRAPH_COMPILER_CACHE"] = os.environ.get("GRAPH_COMPILER_CACHE"), "off"
    >>> cache_folder("xla") is None
    True
    >>> if before is not None: os.environ["GRAPH_COMPILER_CACHE"] = before
    """
    told = os.environ.get(VARIABLE)
    if told is not None and told.strip().lower() in _OFF:
        return None
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "graph_compiler"
    folder = (Path(told) if told else usual) / compiler
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # a file system that cannot be written to
        return None
    return str(folder)
