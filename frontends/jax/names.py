"""What the public functions of JAX are called, and where they stand."""

from __future__ import annotations

import importlib
from typing import Any

import jax
from jax.extend.core import primitives

PRIMITIVE = "jax.lax."
METHOD = "jax.Array."
READ_NUMBER = f"{METHOD}item"  # the only element as a number of Python
SETITEM = f"{METHOD}__setitem__"  # a copy in which x[index] is something else
INDEXED = ("__getitem__", "__setitem__")
CUSTOM = "jax.custom"  # a call of the user's function, with derivatives of its own, which is the first argument
REFUSE_GRADIENT = f"{PRIMITIVE}refuse_gradient_p"
OF_LOOPS = frozenset({"jax.numpy.arange", "jax.numpy.logical_and", "jax.numpy.logical_or", "jax.numpy.logical_not"})
"""What folded loops of Python's are written with; the user's own calls of these are read as primitives."""
OWN = frozenset({REFUSE_GRADIENT})  # operations of this project's own, written as helpers


def row_key(op: str) -> str:
    """The bare name of a call.

    >>> row_key("jax.numpy.sum"), row_key("jax.lax.add_p")
    ('sum', 'add_p')
    """
    return op.rpartition(".")[2]


def resolve(name: str) -> Any:
    """The function that a dotted public name stands for.

    >>> resolve("jax.nn.softmax").__name__
    'softmax'
    """
    holder, short = holder_of(name)
    return getattr(holder, short)


def holder_of(name: str) -> tuple[Any, str]:
    """The module that a public function stands in, and its name there. ``AttributeError`` where this version of JAX has none.

    >>> holder_of("jax.numpy.sum")[0].__name__
    'jax.numpy'
    """
    path, _, short = name.rpartition(".")
    try:
        module: Any = importlib.import_module(path)
    except ModuleNotFoundError:
        raise AttributeError(name) from None
    getattr(module, short)
    return module, short


def is_primitive(op: str) -> bool:
    """Whether a recorded call is that of a primitive: ``jax.lax.add_p``."""
    return op.startswith(PRIMITIVE) and op.endswith("_p")


def primitive(name: str) -> Any:
    """The primitive of a name (``add_p``), where JAX shows it; None where it does not."""
    place = place_of(name)
    return None if place is None else getattr(_PLACES[place], name)


def place_of(name: str) -> str | None:
    """In which of its modules JAX shows the primitive of a name, as source has it; None where it shows it nowhere."""
    return next((place for place, module in _PLACES.items() if hasattr(module, name) and (place != "primitives" or name in _DRAWING)), None)


_PLACES = {"lax": jax.lax, "lax.linalg": jax.lax.linalg, "primitives": primitives}
OF_KEYS = frozenset({"random_wrap_p", "random_unwrap_p", "random_seed_p"})  # primitives that only functions of jax.random stand for
_DRAWING = frozenset({"random_bits_p", "random_fold_in_p", "random_split_p", "threefry2x32_p"})
