"""XLA's programs are kept between processes: JAX's own cache, in a folder of ours, while a graph is compiled and not longer. Where the user
has set or disabled that cache, it is left as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax.experimental.compilation_cache import compilation_cache

from ..compile_cache import cache_folder

_SETTINGS = {"jax_persistent_cache_min_compile_time_secs": 0.1}


class PersistentCache:
    """Of one function. Its body runs while JAX traces it, and XLA compiles what was traced before the call returns."""

    def __init__(self) -> None:
        self._before: dict[str, Any] | None = None

    def opened_by(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function to be compiled, whose trace opens the cache."""

        def traced(*args: Any) -> Any:
            result = function(*args)
            self._open()
            return result

        return traced

    def _open(self) -> None:
        folder = cache_folder("xla")
        is_users = jax.config.jax_compilation_cache_dir or not jax.config.jax_enable_compilation_cache
        if self._before is not None or is_users or folder is None:
            return
        settings = {"jax_compilation_cache_dir": folder, **_SETTINGS}
        self._before = {name: getattr(jax.config, name) for name in settings}
        for name, value in settings.items():
            jax.config.update(name, value)

    def closed_after(self, compiled: Callable[..., Any]) -> Callable[..., Any]:
        """The compiled function; whatever comes of a call, the cache is as before."""

        def call(*args: Any) -> Any:
            try:
                return compiled(*args)
            finally:
                if self._before is not None:
                    self._close(self._before)

        return call

    def _close(self, before: dict[str, Any]) -> None:
        for name, value in before.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()
        self._before = None
