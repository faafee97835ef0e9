"""What JAX code refers to outside of its arguments: closures, globals, attributes. JAX arrays never change; numpy's are compared by their bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np

from ...tracing import Reach, facts_outside
from ...tracing.conjunction import Fact
from .parameters import held, is_module, modules_of, variables_of

_PLAIN = (bool, int, float, str, type(None))
_INTERNAL = ("jax", "jaxlib", "numpy", "flax", "graph_compiler")


def outside_of(objects: Iterable[Any], own: Any = None) -> list[Fact]:
    """What these callables refer to. Modules hold parameters: of the ``own`` one, which is called, they are inputs, of others constants."""
    reach = reach_of(objects)
    wide = Fact("{}.jax_enable_x64 is {}", (jax.config, jax.config.jax_enable_x64), "jax_enable_x64")
    parts = () if own is None else set(map(id, modules_of(own)))
    return [wide, *facts_outside(reach, lambda owner: _of_module(owner, id(owner) not in parts) if is_module(owner) else (), _contents)]


def reach_of(objects: Iterable[Any]) -> Reach:
    """All that these callables refer to."""
    return Reach(objects, _INTERNAL, _is_leaf, lambda item: [type(item).__call__] if is_module(item) else [])


@contextmanager
def modules_kept(objects: Iterable[Any]) -> Iterator[None]:
    """Modules that these callables refer to hold after an error what they held: flax takes them apart for its transformations, and leaves them so."""
    modules = [part for owner in reach_of(objects).owners if is_module(owner) for part in modules_of(owner)]
    before = [dict(vars(module)) for module in modules]
    try:
        yield
    except BaseException:
        for module, held in zip(modules, before):
            vars(module).clear()
            vars(module).update(held)
        raise


def _is_leaf(item: Any) -> bool:
    return isinstance(item, (jax.Array, np.ndarray))


def _of_module(module: Any, watched: bool) -> Iterator[Fact]:
    for part in modules_of(module):
        own, name = vars(part), type(part).__name__
        for key, item in own.items():
            if isinstance(item, _PLAIN):
                yield Fact("{}.get({}) is {}", (own, key, item), f"the attribute {key} of a {name}", own)
    for path, variable in variables_of(module) if watched else ():
        yield Fact("{}({}) is {}", (held, variable, held(variable)), f"the variable {path} of a {type(module).__name__}")


def _contents(item: Any) -> bytes | None:
    return item.tobytes() if isinstance(item, np.ndarray) else bytes(item) if isinstance(item, bytearray) else None
