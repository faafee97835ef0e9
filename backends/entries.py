"""The backends of this package, as they are registered: what the core knows of each before its framework is imported."""

from __future__ import annotations

from ..registration import BackendEntry

_HERE = __name__.rpartition(".")[0]


def _own(name: str, *packages: str, aliases: tuple[str, ...]) -> BackendEntry:
    install = f"pip install graph-compiler[{name}]"
    return BackendEntry(name=name, module=f"{_HERE}.{name}", packages=(name, *packages), aliases=aliases, install=install)


torch = _own("torch", aliases=("pytorch",))
jax = _own("jax", "jaxlib", aliases=("jnp", "flax"))
numpy = _own("numpy", aliases=("np",))
tensorflow = _own("tensorflow", aliases=("tf", "keras"))

ENTRIES = (torch, jax, numpy, tensorflow)
