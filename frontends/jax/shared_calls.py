"""Functions under ``jax.jit`` that a program calls several times: each stays one function of what is written."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from jax.extend.core import ClosedJaxpr

from ...ir.node import Value
from .nested import programs_in
from .ruled import Call

if TYPE_CHECKING:
    from .equations import Reader

_FEWEST = 3  # equations: what is shorter reads better where it is called


def repeated(program: ClosedJaxpr) -> frozenset[int]:
    """The ``id`` of each program that the user's own functions under ``jax.jit`` are called for more than once, at any depth."""
    from .equations import is_users

    counts: Counter[int] = Counter()
    kept: set[int] = set()

    def count(jaxpr: Any) -> None:
        for equation in jaxpr.eqns:
            inner = equation.params.get("jaxpr") if equation.primitive.name in ("jit", "pjit") else None
            if inner is not None:
                counts[id(inner)] += 1
                place = (inner.jaxpr.debug_info.func_src_info or "").partition(" at ")[2]
                if len(inner.jaxpr.eqns) >= _FEWEST and is_users(place.rpartition(":")[0]):
                    kept.add(id(inner))
            if inner is None or counts[id(inner)] == 1:
                for each in programs_in(equation.params):
                    count(each)

    count(program.jaxpr)
    return frozenset(key for key in kept if counts[key] > 1)


def shared_call(reader: Reader, equation: Any, inner: ClosedJaxpr, operands: list[Any]) -> list[Any]:
    """The results of one call of such a function; where it is called with numbers alone, these are computed here."""
    if not any(isinstance(item, Value) for item in operands):
        return reader.inlined(equation, inner, operands)
    return Call(reader, equation, inner, operands).kept()
