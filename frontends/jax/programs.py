"""Data that JAX has of a recorded call besides its name and arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Primitive

from ...forwarding import forward
from ...ir.node import Node, Origin, Value
from ...ops.registry import ArraySpec
from ...trees import flatten
from .dtypes import is_key


class ProgramReader(Protocol):
    """Protocol of the reader of jaxprs, for those who read the programs inside of an equation by it.

    The attributes are those of ``Reader``.
    """

    nodes: list[Node]
    constant: Callable[[Any], Value]
    as_words: bool
    stands_for: dict[Value, Value]
    around: Origin
    checks: bool
    orders: int | None

    def read(self, program: ClosedJaxpr, arguments: list[Any]) -> list[Any]: ...

    def inlined(self, equation: Any, inner: ClosedJaxpr, operands: list[Any]) -> list[Any]: ...

    def origin(self, equation: Any, call: str) -> Origin: ...

    def made(
        self, op: str, inputs: tuple[Any, ...], params: dict[str, Any], origin: Origin, aval: Any
    ) -> Value: ...

    def append(self, node: Node) -> None: ...

    def spec(self, aval: Any) -> ArraySpec: ...

    def maker(self, value: Value) -> Node | None: ...

    def has_tangent(self, value: Value) -> bool: ...

    def is_constant(self, value: Value) -> bool: ...


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


@dataclass(frozen=True, eq=False)
class Leaves:
    """Callable that calls ``function`` and returns the arrays in its result as a list."""

    function: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> list[Any]:
        return flatten(forward(self.function, *args, **kwargs), is_array)[0]


def is_array(item: Any) -> bool:
    return isinstance(item, (jax.Array, np.ndarray))
