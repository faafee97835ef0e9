"""Registration entries of the built-in backends, which are known before their frameworks are imported."""

from __future__ import annotations

from ..registration import BackendEntry

_HERE = __name__.rpartition(".")[0]


def _own(name: str, *packages: str, aliases: tuple[str, ...], has_derivatives: bool = True) -> BackendEntry:
    install = f"pip install graph-compiler[{name}]"
    module, packages = f"{_HERE}.{name}", (name, *packages)
    return BackendEntry(
        name=name,
        module=module,
        packages=packages,
        aliases=aliases,
        install=install,
        has_derivatives=has_derivatives,
    )


torch = _own("torch", aliases=("pytorch",))
jax = _own("jax", "jaxlib", aliases=("jnp", "flax"))
numpy = _own("numpy", aliases=("np",), has_derivatives=False)
tensorflow = _own("tensorflow", aliases=("tf", "keras"))

ENTRIES = (torch, jax, numpy, tensorflow)
