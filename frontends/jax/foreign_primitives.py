"""Primitives of packages other than JAX, which are read by tracing their implementations."""

from __future__ import annotations

from typing import Any

import jax
from jax.extend.core import ClosedJaxpr

_OWN = ("jax.", "jaxlib.", "graph_compiler.")


def foreign_program(equation: Any) -> ClosedJaxpr | None:
    """Trace the implementation of a primitive of another package. Return None for a primitive of JAX.

    The jaxpr has the operands of ``equation`` as inputs. The implementation is the other package's code,
    so its exceptions propagate.
    """
    primitive = equation.primitive
    if not _is_foreign(primitive):
        return None

    def run(*operands: Any) -> Any:
        return primitive.impl(*operands, **equation.params)

    return jax.make_jaxpr(run)(*(_type(atom.aval) for atom in equation.invars))


def _is_foreign(primitive: Any) -> bool:
    implementation = primitive.impl
    while hasattr(implementation, "func"):
        implementation = implementation.func
    return not f"{getattr(implementation, '__module__', 'jax')}.".startswith(_OWN)


def _type(aval: Any) -> Any:
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=getattr(aval, "weak_type", False))
