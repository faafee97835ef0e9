"""Cache of the programs that XLA compiled, shared by the processes of a run and by later runs.

Reading a program takes a third of the time of compiling it.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / ".pytest_cache" / "jax"
# Older programs are deleted and compiled again.
_SECONDS = 30 * 86400


def keep_programs(folder: Path = FOLDER) -> None:
    """Let JAX in this process read and write compiled programs in ``folder``.

    Do nothing if JAX is not imported, if its version has other internals, or if the folder cannot be
    written. Child processes do not use the cache (``tests/support/environment.py`` disables it).
    """
    jax, files, cache = map(_loaded, ("jax", "jax._src.lru_cache", "jax._src.compilation_cache"))
    if jax is None or not hasattr(files, "LRUCache") or not hasattr(cache, "reset_cache"):
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        drop_old(folder)
    except OSError:
        # The checkout is not writable.
        return
    files.LRUCache.put = _put
    for name, value in {
        "jax_enable_compilation_cache": True,
        "jax_compilation_cache_dir": str(folder),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }.items():
        jax.config.update(name, value)
    # The first program of the process has fixed the old settings.
    cache.reset_cache()


def _loaded(name: str) -> Any:
    return sys.modules.get(name)


def drop_old(folder: Path) -> None:
    """Delete the files of ``folder`` that are older than 30 days."""
    oldest = time.time() - _SECONDS
    for path in folder.iterdir():
        if path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)


def _put(cache: Any, key: str, value: bytes) -> None:
    """Write the file under a temporary name first: another process may be reading it, and this process may be
    killed.
    """
    part = cache.path / f"{key}.{os.getpid()}"
    part.write_bytes(value)
    part.replace(cache.path / f"{key}-cache")
