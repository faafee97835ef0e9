"""Data that JAX has of a recorded call besides its name and arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Primitive

from ...ir.node import Node
from .dtypes import is_key


@dataclass(frozen=True, slots=True)
class CallProgram:
    """Data of a recorded JAX call.

    primitive: the primitive of a primitive call, wrapped with its parameters if these cannot be written.
    body: the jaxpr of a public call.
    operands: arguments of ``body``.
    """

    primitive: Primitive | Whole | None = None
    body: ClosedJaxpr | None = None
    operands: tuple[Any, ...] = ()

    def mapped(self, function: Callable[[Any], Any]) -> CallProgram:
        return replace(self, operands=function(self.operands))


def jax_record(node: Node) -> CallProgram:
    extra = None if node.record is None else node.record.extra
    return extra if isinstance(extra, CallProgram) else _UNKNOWN


@dataclass(frozen=True, eq=False)
class Whole:
    """Callable that binds a primitive with parameters that have no source text. It is hashed by identity.

    primitive: the primitive.
    params: its parameters.
    """

    primitive: Any
    params: dict[str, Any]

    def __call__(self, *operands: Any) -> Any:
        return self.primitive.bind(*operands, **self.params)


@dataclass(frozen=True, eq=False)
class OnWords(Whole):
    """Callable that binds a primitive of ``jax.random``, with keys as arrays of their words.

    keys: for each operand, True if it is an array of words that must be wrapped as keys.
    """

    keys: tuple[bool, ...]

    def __call__(self, *operands: Any) -> Any:
        given = (
            jax.random.wrap_key_data(item) if words else item for item, words in zip(operands, self.keys)
        )
        found = super().__call__(*given)
        return jax.random.key_data(found) if is_key(found) else found


_UNKNOWN = CallProgram()
