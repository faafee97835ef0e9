"""Frontends and backends by name, each imported when it is first needed."""

from __future__ import annotations

import importlib
import sys
from contextlib import nullcontext
from typing import Any

from ..registration import Entry, backends, frontends
from ..tracing.host_random import host_state_kept


def frontend_of(name: str) -> Any:
    """The frontend of a name; ``UnknownFramework``, or ``FrameworkNotInstalled``."""
    return _loaded(frontends.get(name))


def backend_of(name: str) -> Any:
    """The backend of a name; errors as :func:`frontend_of`."""
    return _loaded(backends.get(name))


def _loaded(entry: Entry) -> Any:
    """What the module of an entry is, or the object in it that is named behind a colon."""
    entry.require()
    module, _, name = entry.module.partition(":")
    with nullcontext() if module in sys.modules else host_state_kept():
        found = importlib.import_module(module)
    return getattr(found, name) if name else found
