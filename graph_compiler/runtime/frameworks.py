"""Frontends and backends by name: each is imported when it is first needed, and held to its contract."""

from __future__ import annotations

import functools
import importlib
import sys
from contextlib import nullcontext
from typing import Any

from ..contracts import Backend, Frontend, LoadsModels, require
from ..registration import backends, frontends
from ..tracing.probes.host_random import host_state_kept


def frontend_of(name: str) -> Frontend:
    """The frontend of a name. Raises ``UnknownFramework``, ``FrameworkNotInstalled``, ``InvalidRegistration`` (it lacks members)."""
    entry = frontends.get(name)
    entry.require()
    found: Frontend = _loaded(entry.name, entry.module, LoadsModels if entry.loads_models else Frontend)
    return found


def backend_of(name: str) -> Backend:
    """The backend of a name; errors as :func:`frontend_of`."""
    entry = backends.get(name)
    entry.require()
    found: Backend = _loaded(entry.name, entry.module, Backend)
    return found


def pretrained(source: str) -> Any:
    """A model from a folder, or by its name on a hub, as the frontend that loads models gives it."""
    entry = next(entry for entry in frontends.known().values() if entry.loads_models)
    loads: Any = frontend_of(entry.name)
    return loads.pretrained(source)


@functools.cache
def _loaded(name: str, module: str, contract: type) -> Any:
    """What the module of an entry is, or the object in it that is named behind a colon."""
    file, _, inside = module.partition(":")
    with nullcontext() if file in sys.modules else host_state_kept():
        found: Any = importlib.import_module(file)
    found = getattr(found, inside) if inside else found
    require(contract, found, f"{module}, registered as {name!r},")
    return found
