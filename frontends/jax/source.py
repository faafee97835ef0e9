"""Source text of recorded JAX calls."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np
from jax.extend.core import Primitive

from ...ir.node import Node
from ...ops.text import factor
from ..common.indexing import index_text
from ..common.lifter import RecordedCalls
from .equations import AxisNumbers, EnumMember
from .names import CUSTOM, METHOD, OWN, is_primitive, place_of, readable_source, row_key, short_scalar
from .programs import BoundPrimitive, jax_record

# Primitives written as the public function of the same name, which implies the program of the update.
_PUBLIC = frozenset(f"scatter{kind}_p" for kind in ("", "_add", "_sub", "_mul", "_min", "_max"))
_SHORT = (("jax.numpy.", "jnp."), ("jax.lax.", "lax."))


class JaxCalls(RecordedCalls):
    """Dialect that writes recorded JAX calls as source text."""

    imports: Mapping[str, str] = {
        "functools": "import functools",
        "jax": "import jax",
        "jnp": "import jax.numpy as jnp",
        "lax": "from jax import lax",
        "np": "import numpy as np",
        "primitives": "from jax.extend.core import primitives",
        "parallel": "from graph_compiler import parallel",
    }
    prelude = ("bounded_while", "refuse_gradient")

    def expression(self, node: Node, text: Callable[[Any], Any]) -> str:
        inputs = [text(short_scalar(item)) for item in node.inputs]
        params = [f"{key}={text(item)!r}" for key, item in node.params.items()]
        key = row_key(node.op)
        if key == "__getitem__":
            return f"{factor(repr(inputs[0]))}[{index_text(inputs[1])}]"
        if key == "__setitem__":
            return f"{factor(repr(inputs[0]))}.at[{index_text(inputs[1])}].set({inputs[2]!r})"
        if node.op == CUSTOM:
            return f"{inputs[0]!r}({', '.join([*map(repr, inputs[1:]), *params])})"
        if node.op.startswith(METHOD):
            return f"{factor(repr(inputs[0]))}.{key}({', '.join([*map(repr, inputs[1:]), *params])})"
        if not is_primitive(node.op):
            return f"{_shortened(node.op)}({', '.join([*map(repr, inputs), *params])})"
        if node.op in OWN:
            return f"{key.removesuffix('_p')}({', '.join([*map(repr, inputs), *params])})"
        if (found := readable_source(key, node, text)) is not None:
            return found
        if key == "neg_p":
            return f"-{factor(repr(inputs[0]))}"
        if isinstance(bound := jax_record(node).primitive, BoundPrimitive):
            return f"{text(bound)!r}({', '.join(map(repr, inputs))})"
        if key in _PUBLIC:
            return f"lax.{key.removesuffix('_p')}({', '.join([*map(repr, inputs), *params])})"
        written = _primitive(key) or repr(text(jax_record(node).primitive))
        return f"{written}.bind({', '.join([*map(repr, inputs), *params])})"

    def spell(self, item: Any) -> str | None:
        if isinstance(item, np.dtype):
            return f'jnp.dtype("{item}")'
        if isinstance(item, type) and hasattr(item, "dtype"):
            return f'jnp.dtype("{item.dtype}")'
        if isinstance(item, np.generic):
            return (
                f'jnp.dtype("{item.dtype}").type({item.item()!r})'.replace("(inf)", '("inf")')
                .replace("(-inf)", '("-inf")')
                .replace("(nan)", '("nan")')
            )
        if isinstance(item, Primitive):
            return _primitive(f"{item.name}_p") or None
        if isinstance(item, EnumMember):
            return f"lax.{item.kind}.{item.name}"
        if isinstance(item, AxisNumbers):
            return f"lax.{item.name}({', '.join(f'{name}={axes!r}' for name, axes in item.fields)})"
        if isinstance(item, enum.Enum) and hasattr(jax.lax, type(item).__name__):
            return f"lax.{type(item).__name__}.{item.name}"
        return None


def _primitive(name: str) -> str:
    place = place_of(name)
    return "" if place is None else f"{place}.{name}"


def _shortened(name: str) -> str:
    for bound, short in _SHORT:
        if name.startswith(bound):
            return short + name.removeprefix(bound)
    return name
