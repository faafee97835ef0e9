"""Patches of imports, and of functions that read settings of the process, files, or sources of randomness."""

from __future__ import annotations

import builtins
import decimal
import gc
import importlib
import io
import locale
import logging
import os
import pathlib
import random
import secrets
import stat
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from importlib.util import resolve_name
from typing import Any

import numpy as np

from ...forwarding import forwards
from .host_random import NAMES, state_key
from .patch import Patch, PatchSet, assume_result, paused, refuse_call

# -------------------------------------------------------------------------------------------------- imports
# The first import of a module runs code at its top level, which is not recorded.


def run_outside(patch: Patch, patches: PatchSet, original: Any) -> Any:
    """Return a shim that runs ``original`` outside of the open sessions, unless ``on_read`` returns True."""

    @forwards
    def imported(*args: Any, **kwargs: Any) -> Any:
        sessions = patches.here()
        if not sessions or patch.on_read(*args, **kwargs):
            return original(*args, **kwargs)
        with ExitStack() as stack:
            stack.enter_context(paused())
            # The innermost recording is left first.
            for session in reversed(sessions):
                stack.enter_context(session.outside())
            return original(*args, **kwargs)

    imported.__wrapped__ = original  # type: ignore[attr-defined]
    return imported


def _is_statement_loaded(
    name: str, globals: Any = None, locals: Any = None, fromlist: Sequence[str] | None = (), level: int = 0
) -> bool:
    package = (globals or {}).get("__package__") if level else None
    if level and not package:
        return False
    module = sys.modules.get(resolve_name("." * level + name, package) if level else name)
    # ``getattr`` might import a part of the module, so only its namespace is read.
    return module is not None and all(item in vars(module) for item in fromlist or ())


def _is_loaded(name: str, package: str | None = None) -> bool:
    return (resolve_name(name, package) if name.startswith(".") and package else name) in sys.modules


IMPORTS: tuple[Patch, ...] = (
    Patch(builtins, "__import__", run_outside, _is_statement_loaded),
    Patch(importlib, "import_module", run_outside, _is_loaded),
)


# --------------------------------------------------------------------------------------------------- settings
# Two writes may have the same time and size, so short files are compared by content.
_SHORT = 1 << 16
# Parameters of functions for the name of a file.
_NAMES = ("file", "path", "fname")
# ``os.stat`` itself has a shim while something is recorded.
_stat = os.stat


def _of_file(_: Any, *args: Any, **kwargs: Any) -> Any:
    file: Any = args[0] if args else next((kwargs[name] for name in _NAMES if name in kwargs), None)
    try:
        told = _stat(file)
        is_short = stat.S_ISREG(told.st_mode) and told.st_size <= _SHORT and not isinstance(file, int)
        return pathlib.Path(file).read_bytes() if is_short else (told.st_mtime_ns, told.st_size, told.st_ino)
    except (OSError, TypeError, ValueError):
        return None


def _of_opened(_: Any, *args: Any, **kwargs: Any) -> Any:
    mode = args[1] if len(args) > 1 else kwargs.get("mode", "r")
    # A file that is opened for writing may differ at each call.
    return None if set(mode) & set("wax+") else _of_file(_, *args, **kwargs)


# Functions that read or look for a file. The file itself is compared.
FILES: tuple[Patch, ...] = (
    Patch(os, "stat", assume_result, _of_file),
    Patch(builtins, "open", assume_result, _of_opened),
    Patch(io, "open", assume_result, _of_opened),
    *(Patch(np, name, assume_result, _of_file) for name in ("load", "loadtxt", "genfromtxt", "fromfile")),
)
# In Python 3.10 pathlib calls these through an object of its own.
if hasattr(pathlib, "_normal_accessor"):
    FILES += (
        Patch(pathlib._normal_accessor, "stat", assume_result, _of_file),
        Patch(pathlib._normal_accessor, "open", assume_result, _of_opened),
    )


@forwards
def as_told(original: Any, *args: Any, **kwargs: Any) -> Any:
    return original(*args, **kwargs)


def assumed(rows: dict[Any, tuple[str, ...]], compared: Callable[..., Any] = as_told) -> tuple[Patch, ...]:
    return tuple(
        Patch(owner, name, assume_result, compared) for owner, names in rows.items() for name in names
    )


def refused(
    rows: dict[Any, tuple[str, ...]], unless: Callable[..., bool] = lambda *args, **kwargs: False
) -> tuple[Patch, ...]:
    return tuple(Patch(owner, name, refuse_call, unless) for owner, names in rows.items() for name in names)


def _of_logger(ask: Any, *args: Any, **kwargs: Any) -> Any:
    logger = ask(*args, **kwargs)
    return logger.level, logger.getEffectiveLevel(), logger.disabled, [*logger.handlers]


def _of_state(ask: Any, *args: Any, **kwargs: Any) -> Any:
    return state_key(ask(*args, **kwargs))


def _is_seeded(*args: Any, **kwargs: Any) -> bool:
    return any(item is not None for item in (*args, *kwargs.values()))


SETTINGS: tuple[Patch, ...] = (
    *assumed({
        np: ("geterr", "get_printoptions"),
        random: ("getstate",),
        os: ("getcwd", "listdir"),
        os.path: ("exists", "isfile", "isdir", "getmtime", "getsize"),
        sys: ("getrecursionlimit", "gettrace", "getprofile", "getswitchinterval"),
        gc: ("isenabled", "get_threshold", "get_debug"),
        locale: ("getlocale", "localeconv"),
        logging.Logger: ("isEnabledFor", "getEffectiveLevel", "hasHandlers"),
    }),
    # These return mutable objects, so the contents are compared.
    *assumed({decimal: ("getcontext",)}, lambda ask, *args: repr(ask(*args))),
    *assumed({logging: ("getLogger",)}, _of_logger),
    *assumed({np.random: ("get_state",)}, _of_state),
    *FILES,
    *IMPORTS,
    *NAMES,
    *refused({
        os: ("urandom",),
        secrets: ("token_bytes", "token_hex", "token_urlsafe", "randbelow", "randbits", "choice"),
        # Its other methods call these.
        random.SystemRandom: ("random", "getrandbits", "randbytes"),
    }),
    # Without a seed, the operating system provides one.
    *refused({np.random: ("default_rng",)}, unless=_is_seeded),
)  # fmt: skip
