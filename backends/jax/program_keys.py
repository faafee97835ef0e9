"""By what a lowered program is found: all that a trace of a function reads, as one digest."""

from __future__ import annotations

import hashlib
import re
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import jax
import jaxlib
from jax._src import config

_FORMAT = 1
_HEADER = re.compile(r'\A"""[\s\S]*?"""')  # says what the function was recorded with
_IMPORT = re.compile(r"^(?:from|import) (\w+)", re.MULTILINE)
_OWN = ("jax", "numpy")  # whose versions are told anyway
_INSTALLED = re.compile(r"[\\/](?:site|dist)-packages[\\/]")
_WATCHING = ("jax_debug_nans", "jax_debug_infs", "jax_disable_jit")  # under these JAX runs the function operation by operation


def key_of(text: str, args: Iterable[Any]) -> str | None:
    """The digest for the whole ``text`` of a function, and what it is traced with; None where a trace may read more."""
    is_off = not jax.config.jax_enable_compilation_cache
    if is_off or any(getattr(jax.config, name) for name in _WATCHING) or _is_in_a_context():
        return None
    facts = [_HEADER.sub("", text), *_versions(), *_settings(), *map(_described, args), *_packages(text)]
    return None if None in facts else hashlib.sha256("\0".join(map(str, facts)).encode()).hexdigest()


def _versions() -> Iterator[str]:
    device = jax.local_devices()[0]
    numpy: Any = sys.modules["numpy"]
    yield from (str(_FORMAT), jax.__version__, jaxlib.__version__, numpy.__version__)
    yield from (device.platform, device.device_kind, device.client.platform_version)


def _settings() -> Iterator[str]:
    """Of JAX, but where it keeps what it compiles."""
    return (f"{name}={value!r}" for name, value in sorted(jax.config.values.items()) if "cache" not in name)


def _is_in_a_context() -> bool:
    """Whether a context manager of JAX is open: a mesh, another precision. A thread of its own has none."""
    seen: list[Any] = []
    context = config.trace_context
    thread = threading.Thread(target=lambda: seen.append(context()))
    thread.start()
    thread.join()
    return bool(context() != seen[0])


def _described(arg: Any) -> str | None:
    """An argument: an array, weights by name, or a static number; None of anything else."""
    if isinstance(arg, jax.core.Tracer):
        aval = arg.aval
        return repr((str(aval.dtype), aval.shape, aval.weak_type, str(getattr(aval, "memory_space", ""))))
    if type(arg) is dict:
        parts = {name: _described(array) if isinstance(array, jax.core.Tracer) else None for name, array in arg.items()}
        return None if None in parts.values() else repr(sorted(parts.items()))
    return repr(arg) if type(arg) in (bool, int, float) else None


def _packages(text: str) -> Iterator[str | None]:
    """The versions of what the text imports beside JAX; None for what is not installed, whose code may be another one tomorrow."""
    for name in dict.fromkeys(_IMPORT.findall(text)):
        if name in _OWN or name in sys.stdlib_module_names:
            continue
        module = sys.modules.get(name)
        version, file = getattr(module, "__version__", None), getattr(module, "__file__", None) or ""
        yield f"{name} {version}" if version and _INSTALLED.search(file) and name != "graph_compiler" else None
