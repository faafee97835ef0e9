"""Files that the user's code reads: what is compared of them before each call."""

from __future__ import annotations

import builtins
import io
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

_SHORT = 1 << 16  # bytes: two writes may bear one time, and be of one length
_stat = os.stat  # which has a stand-in while something is recorded


def _of_file(file: Any, *_: Any, **__: Any) -> Any:
    """What stands in a file, of a large one when it was written last; None where there is none, and for what is no name of a file."""
    try:
        told = _stat(file)
        is_short = stat.S_ISREG(told.st_mode) and told.st_size <= _SHORT and not isinstance(file, int)
        return Path(file).read_bytes() if is_short else (told.st_mtime_ns, told.st_size, told.st_ino)
    except (OSError, TypeError, ValueError):
        return None


def _of_opened(file: Any, mode: str = "r", *_: Any, **__: Any) -> Any:
    """As :func:`_of_file`, where it is not written to."""
    return None if set(mode) & set("wax+") else _of_file(file)


def _of_loaded(file: Any = None, *_: Any, fname: Any = None, **__: Any) -> Any:
    return _of_file(fname if file is None else file)


# Of functions that read a file, or look for one, what is compared is the file.
FILES: dict[tuple[Any, str], Callable[..., Any]] = {
    (os, "stat"): _of_file,
    (builtins, "open"): _of_opened,
    (io, "open"): _of_opened,
    **{(np, name): _of_loaded for name in ("load", "loadtxt", "genfromtxt", "fromfile")},
}
