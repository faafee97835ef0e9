"""Lookup of frontends and backends by name. Each is imported and checked when it is first needed."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from ..contracts import Backend, Frontend, LoadsModels, require
from ..errors import FrameworkNotInstalled, InvalidFile, InvalidRegistration
from ..recording.patches.host_random import host_state_kept
from ..registration import backends, frontends


def frontend_of(name: str) -> Frontend:
    """Return the frontend ``name``, imported and checked against its contract.

    Raise ``FrameworkNotInstalled`` if its framework is missing.
    """
    entry = frontends.get(name)
    entry.require()
    found: Frontend = _import_checked(
        entry.name, entry.module, LoadsModels if entry.loads_models else Frontend
    )
    return found


def backend_of(name: str) -> Backend:
    """Return the backend ``name``, imported and checked against its contract.

    Raise ``FrameworkNotInstalled`` if its framework is missing.
    """
    entry = backends.get(name)
    entry.require()
    found: Backend = _import_checked(entry.name, entry.module, Backend)
    return found


def pretrained(source: str) -> Any:
    entry = next(entry for entry in frontends.known().values() if entry.loads_models)
    loads: Any = frontend_of(entry.name)
    return loads.pretrained(source)


@functools.cache
def _import_checked(name: str, module: str, contract: type) -> Any:
    file, _, inside = module.partition(":")
    # A framework may draw from, or seed, the generators of Python and NumPy while it is imported.
    with nullcontext() if file in sys.modules else host_state_kept():
        found: Any = _imported(name, file)
    if inside and not hasattr(found, inside):
        raise InvalidRegistration(
            f"{file} has no {inside!r}; the entry {name!r} names {module!r} as its module: correct module="
        )
    found = getattr(found, inside) if inside else found
    require(contract, found, f"{module}, registered as {name!r},")
    return found


def _imported(name: str, file: str) -> Any:
    try:
        return importlib.import_module(file)
    except ModuleNotFoundError as problem:
        # The module exists, and imports another one that does not.
        if problem.name is None or not f"{file}.".startswith(f"{problem.name}."):
            raise
        raise InvalidRegistration(
            f"{problem}; the entry {name!r} names {file!r} as its module: correct module="
        ) from problem


class MissingFrontend:
    """Placeholder for the frontend of a framework that is not installed."""

    class Stamp:
        def __init__(self, array: Any) -> None:
            pass

        def fits(self, array: Any) -> bool:
            return False

    # There is no original to compare with.
    saved = watching = None
    where_parameters_are = ""
    # Unknown for a missing framework, so that graphs do not check computed indices.
    raises_out_of_bounds = False

    def __init__(self, name: str, problem: FrameworkNotInstalled) -> None:
        self.name, self._problem = name, problem
        self.array_access = self.files = self.reference = self

    def __getattr__(self, name: str) -> Any:
        raise FrameworkNotInstalled(
            f"this needs the framework that the graph was recorded in: {self._problem}"
        )

    def is_own(self, item: Any) -> bool:
        return False

    def spell(self, item: Any) -> str | None:
        return None

    def read(self, text: str) -> Any:
        raise InvalidFile(f"it holds {text!r:.80}, an object of {self.name}: {self._problem}")

    def row_key(self, op: str) -> str:
        raise InvalidFile(f"it holds {op!r:.80}, a call of {self.name}: {self._problem}")

    @contextmanager
    def unrecorded(self) -> Iterator[None]:
        yield
