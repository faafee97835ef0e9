"""Settings of the process that the user's code reads, and what gives something else each time."""

from __future__ import annotations

import decimal
import gc
import locale
import logging
import os
import random
import secrets
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ...forwarding import forwards
from .files import FILES
from .imports import IMPORTS
from .kinds import ASSUME, REFUSE
from .new_names import NAMES
from .probe import Probe


@forwards
def as_told(original: Any, *args: Any, **kwargs: Any) -> Any:
    """What is compared of most settings: the answer itself."""
    return original(*args, **kwargs)


def assumed(rows: dict[Any, tuple[str, ...]], compared: Callable[..., Any] = as_told) -> tuple[Probe, ...]:
    """Functions that only tell a setting, by what holds them."""
    return tuple(Probe(owner, name, ASSUME, compared) for owner, names in rows.items() for name in names)


def refused(rows: dict[Any, tuple[str, ...]], unless: Callable[..., bool] = lambda *args, **kwargs: False) -> tuple[Probe, ...]:
    """Functions that give something else each time, by what holds them."""
    return tuple(Probe(owner, name, REFUSE, unless) for owner, names in rows.items() for name in names)


def _of_logger(ask: Any, *args: Any, **kwargs: Any) -> Any:
    logger = ask(*args, **kwargs)
    return logger.level, logger.getEffectiveLevel(), logger.disabled, [*logger.handlers]


def _of_state(ask: Any, *args: Any, **kwargs: Any) -> Any:
    return [part.tobytes() if isinstance(part, np.ndarray) else str(part) for part in ask(*args, **kwargs)]


def _is_seeded(*args: Any, **kwargs: Any) -> bool:
    return any(item is not None for item in (*args, *kwargs.values()))


SETTINGS: tuple[Probe, ...] = (
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
    # whose answers do not tell by themselves whether they are others
    *assumed({decimal: ("getcontext",)}, lambda ask, *args: repr(ask(*args))),
    *assumed({logging: ("getLogger",)}, _of_logger),
    *assumed({np.random: ("get_state",)}, _of_state),
    *FILES,
    *IMPORTS,
    *NAMES,
    *refused({
        os: ("urandom",),
        secrets: ("token_bytes", "token_hex", "token_urlsafe", "randbelow", "randbits", "choice"),
    }),
    *refused({np.random: ("default_rng",)}, unless=_is_seeded),  # else by the operating system
)  # fmt: skip
