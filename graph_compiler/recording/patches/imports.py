"""Patches of imports: what the top level of a module does during its first import is not recorded."""

from __future__ import annotations

import builtins
import importlib
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.util import resolve_name
from typing import Any

from ...forwarding import forwards
from .patch import Patch, PatchSet, paused


def run_outside(probe: Patch, probes: PatchSet, original: Any) -> Any:
    """Make a shim that pauses all recordings of this thread while the original runs.

    If ``on_read(*args)`` is True, it calls the original as usual.
    """

    @forwards
    def imported(*args: Any, **kwargs: Any) -> Any:
        sessions = probes.here()
        if not sessions or probe.on_read(*args, **kwargs):
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
    """Return True if an import statement finds its module, and the names it takes from it, loaded."""
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
