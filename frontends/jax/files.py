"""Calls and objects of JAX that a saved graph may contain: public functions, primitives, and data."""

from __future__ import annotations

import re
from typing import Any

import jax
import numpy as np
from jax.extend.core import Primitive

from ...errors import InvalidFile
from ...ir.graph import Graph
from ...ir.node import every
from ...ops.control import has_regions
from .equations import AxisNumbers, EnumMember
from .names import METHOD, OF_KEYS, OWN, is_primitive, primitive, row_key
from .source import JaxCalls

# A file is untrusted, so its text is matched with these patterns and never evaluated.
_DTYPE = re.compile(r'jnp\.dtype\("(\w+)"\)')
_NUMBER = re.compile(r'jnp\.dtype\("(\w+)"\)\.type\("?([\w.+\-()]+)"?\)')
_ENUM = re.compile(
    r"lax\.(GatherScatterMode|Precision|RandomAlgorithm|FftType|AccuracyMode|RoundingMethod)\.(\w+)"
)
_DATA = re.compile(
    r"lax\.(GatherDimensionNumbers|ScatterDimensionNumbers|ConvDimensionNumbers)\(([\w=(), ]*)\)"
)
_PRIMITIVE = re.compile(r"lax\.(\w+_p)")
_FIELD = re.compile(r"(\w+)=\(([\d, ]*)\)")


def spell(item: Any) -> str | None:
    return JaxCalls().spell(item)


def read(text: str) -> Any:
    """Return the object that ``text`` names: a dtype, number, enum member, primitive or named tuple of axes.

    Raise :class:`InvalidFile` if it names none.

    >>> read('jnp.dtype("float32")')
    dtype('float32')
    """
    dtype, number, enum, data, known = (
        pattern.fullmatch(text) for pattern in (_DTYPE, _NUMBER, _ENUM, _DATA, _PRIMITIVE)
    )
    try:
        if dtype:
            return jax.numpy.dtype(dtype[1])
        if number:
            return np.asarray(_python(number[2])).astype(jax.numpy.dtype(number[1]))[()]
        if enum:
            return EnumMember(enum[1], getattr(getattr(jax.lax, enum[1]), enum[2]).name)
        if data:
            fields = (
                (name, tuple(int(n) for n in items.split(",") if n.strip()))
                for name, items in _FIELD.findall(data[2])
            )
            return AxisNumbers(data[1], tuple(fields))
        if known and isinstance(found := primitive(known[1]), Primitive):
            return found
    except (TypeError, KeyError, ValueError, AttributeError, OverflowError) as problem:
        raise InvalidFile(f"{text!r:.80} is no object of JAX: {problem}") from problem
    raise InvalidFile(f"{text!r:.80} is no object that a saved JAX graph may hold")


def _python(text: str) -> Any:
    if text in ("True", "False"):
        return text == "True"
    return complex(text) if "j" in text else float(text) if not re.fullmatch(r"-?\d+", text) else int(text)


def check(graph: Graph) -> None:
    from .lifting.driver import rows

    for node in every(graph.nodes):
        key = row_key(node.op)
        known = (
            primitive(key) is not None and key.isidentifier()
            if is_primitive(node.op)
            else rows.get(node.op) is not None
        )
        if not known and key not in OF_KEYS and node.op not in OWN and not has_regions(node.op):
            raise InvalidFile(f"a saved JAX graph may not call {node.op!r:.80}")
        if node.op.startswith(METHOD) and not node.inputs:
            raise InvalidFile(f"{node.op} is called without its array")
