"""Files that the user's code reads: what is compared of them before each call."""

from __future__ import annotations

import builtins
import io
import os
import pathlib
import stat
from typing import Any

import numpy as np

from .kinds import ASSUME
from .probe import Probe

_SHORT = 1 << 16  # bytes: two writes may bear one time, and be of one length
_NAMES = ("file", "path", "fname")  # under which functions take the name of a file
_stat = os.stat  # which has a shim while something is recorded


def _of_file(_: Any, *args: Any, **kwargs: Any) -> Any:
    """The contents of a file, of a large one its time of writing. None for a missing file, and for objects that name no file."""
    file: Any = args[0] if args else next((kwargs[name] for name in _NAMES if name in kwargs), None)
    try:
        told = _stat(file)
        is_short = stat.S_ISREG(told.st_mode) and told.st_size <= _SHORT and not isinstance(file, int)
        return pathlib.Path(file).read_bytes() if is_short else (told.st_mtime_ns, told.st_size, told.st_ino)
    except (OSError, TypeError, ValueError):
        return None


def _of_opened(_: Any, *args: Any, **kwargs: Any) -> Any:
    """As :func:`_of_file`, where it is not written to."""
    mode = args[1] if len(args) > 1 else kwargs.get("mode", "r")
    return None if set(mode) & set("wax+") else _of_file(_, *args, **kwargs)


# Of functions that read a file, or look for one, what is compared is the file.
FILES: tuple[Probe, ...] = (
    Probe(os, "stat", ASSUME, _of_file),
    Probe(builtins, "open", ASSUME, _of_opened),
    Probe(io, "open", ASSUME, _of_opened),
    *(Probe(np, name, ASSUME, _of_file) for name in ("load", "loadtxt", "genfromtxt", "fromfile")),
)
if hasattr(pathlib, "_normal_accessor"):  # Python 3.10: pathlib calls these by an object of its own
    FILES += (
        Probe(pathlib._normal_accessor, "stat", ASSUME, _of_file),
        Probe(pathlib._normal_accessor, "open", ASSUME, _of_opened),
    )
