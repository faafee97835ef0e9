"""Source text of recorded JAX calls."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import is_
from typing import Any

import jax
import numpy as np
from jax.extend.core import Primitive

from ...ir.graph import Graph
from ...ir.node import Block, Node, Value
from ...ops.text import factor, index_text
from ...passes import Pass, dce, run_passes
from ...sizes import Size, apply
from ..common.lifter import RecordedCalls
from .dtypes import is_key
from .equations import AxisNumbers, EnumMember
from .names import (
    CUSTOM,
    METHOD,
    OWN,
    is_operator,
    is_primitive,
    is_size,
    place_of,
    plain_number,
    readable_source,
    row_key,
    short_scalar,
)
from .programs import BoundPrimitive, jax_record

_MATMUL = "jax.numpy.matmul"
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
        if node.op == _MATMUL and not params and all(isinstance(item, Value) for item in node.inputs):
            return " @ ".join(factor(repr(item)) for item in inputs)
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
        written = _primitive(key) or repr(text(jax_record(node).primitive))
        return f"{written}.bind({', '.join([*map(repr, inputs), *params])})"

    def shortened(self, graph: Graph) -> Graph:
        return _without_implied(graph)

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


# ------------------------------------------------------------------------------------------- shorter operands
class _Shortened:
    """Operands of the nodes of a block as the source text names them.

    Operators and functions of jax.numpy convert and broadcast their operands, so the text may leave out some
    casts and broadcasts.

    numbers: NumPy scalars of constants.
    makers: node of each value of the block that is the only result of a node.
    """

    def __init__(self, block: Block, numbers: Mapping[Value, Any]) -> None:
        self.numbers = numbers
        self.makers = {node.outputs[0]: node for node in block.nodes if len(node.outputs) == 1}

    def node(self, node: Node) -> Node:
        if not is_primitive(node.op) or node.regions or node.record is None:
            return node
        key = row_key(node.op)
        if key == "convert_element_type_p":
            return self._converted(node)
        inputs = list(node.inputs)
        if is_operator(key, node) and not node.record.weak:
            inputs = self._operands(*inputs)
        elif key == "select_n_p" and len(inputs) == 3 and not node.record.weak:
            inputs = self._cases(node)
        found = [self._number(item) for item in inputs]
        # Other text of numbers alone would compute with NumPy.
        if key == "broadcast_in_dim_p" or any(isinstance(item, Value) for item in found):
            inputs = found
        return node if all(map(is_, inputs, node.inputs)) else replace(node, inputs=tuple(inputs))

    def _number(self, item: Any) -> Any:
        return self.numbers.get(item, item) if isinstance(item, Value) else item

    def _made_by(self, item: Any, key: str) -> Node | None:
        maker = self.makers.get(item) if isinstance(item, Value) else None
        return maker if maker is not None and row_key(maker.op) == key else None

    def _size(self, item: Any) -> Size | None:
        maker = self._made_by(item, "asarray")
        if maker is None or len(maker.inputs) != 1 or maker.params or not is_size(maker.inputs[0]):
            return None
        size: Size = maker.inputs[0]
        return size

    def _converted(self, node: Node) -> Node:
        """Return ``node``, or for a weak cast of a size to float a node that converts the size itself."""
        size = self._size(node.inputs[0])
        default = jax.dtypes.canonicalize_dtype(float)
        if size is None or not node.params.get("weak_type") or node.params["new_dtype"] != default:
            return node
        assert node.record is not None
        record = replace(node.record, key="asarray", extra=None)
        return replace(node, op="jax.numpy.asarray", inputs=(apply("float", size),), params={}, record=record)

    def _operands(self, first: Any, second: Any) -> list[Any]:
        # The other operand tells the type and the rank, so one of them has to stay.
        made = self._operand(first, second)
        return [first, self._operand(second, first)] if made is first else [made, second]

    def _operand(self, item: Any, other: Any) -> Any:
        if not isinstance(other, Value) or not isinstance(item, Value):
            return item
        cast = self._made_by(item, "convert_element_type_p")
        if cast is not None and not cast.params.get("weak_type") and cast.params.get("sharding") is None:
            size = self._size(cast.inputs[0])
            if size is not None and item.dtype in _OF_SIZES.get(size.type, ()) and other.dtype == item.dtype:
                return size
            # Only a weakly typed array is cast to its own dtype. Next to a number, it would stay weak.
            if (
                isinstance(cast.inputs[0], Value)
                and cast.inputs[0].dtype == item.dtype == other.dtype
                and other not in self.numbers
            ):
                return cast.inputs[0]
        spread = self._made_by(item, "broadcast_in_dim_p")
        if spread is None or len(other.spec.hints) != len(item.spec.hints):
            return item
        before = self._before(spread)
        added = len(item.spec.hints) - len(before.spec.hints) if isinstance(before, Value) else 0
        ones = spread.params["shape"][:added]
        return before if added and ones == (1,) * added and before.spec.hints else item

    def _before(self, spread: Node) -> Any:
        """Return the operand of a broadcast that JAX's operators imply, or None."""
        operand, shape = self._number(spread.inputs[0]), spread.outputs[0].spec.hints
        if spread.params.get("sharding") is not None:
            return None
        if not isinstance(operand, Value):
            return operand
        # JAX may be set to refuse operands of fewer axes.
        if jax.config.jax_numpy_rank_promotion != "allow":
            return None
        kept = operand.spec.hints
        axes = tuple(range(len(shape) - len(kept), len(shape)))
        # An axis of one element could be one that is repeated for arrays of other shapes.
        is_leading = spread.params["broadcast_dimensions"] == axes and shape[len(shape) - len(kept) :] == kept
        return operand if is_leading and 1 not in kept else None

    def _cases(self, node: Node) -> list[Any]:
        full, dtype, pred = node.outputs[0].spec.hints, node.outputs[0].dtype, node.inputs[0]
        if not isinstance(pred, Value) or pred.dtype != "bool":
            return list(node.inputs)
        found = []
        for place, item in enumerate(node.inputs):
            spread = self._made_by(item, "broadcast_in_dim_p")
            before = None if spread is None or item.spec.hints != full else self._before(spread)
            # A condition without axes is not broadcast.
            is_taken = (
                place > 0 and plain_number(before, dtype) is not None
                if not isinstance(before, Value)
                else place > 0 or before.spec.hints
            )
            found.append(before if is_taken else item)
        # One operand has to have all axes, and one case the dtype.
        is_full = any(isinstance(item, Value) and item.spec.hints == full for item in found)
        return found if is_full and any(isinstance(item, Value) for item in found[1:]) else list(node.inputs)


# Dtypes to which JAX converts a number of Python next to an array as it casts an array of the number.
_OF_SIZES = {int: ("float32", "float64", "int32", "int64"), float: ("float32", "float64")}


def _without_implied(graph: Graph) -> Graph:
    """Return ``graph`` without some casts and broadcasts that operators and ``jnp.where`` imply."""
    numbers = {
        value: number
        for value, array in graph.constants.values()
        if (number := _number_of(array)) is not None
    }

    def run(block: Block) -> Block:
        made = _Shortened(block, numbers)
        nodes = tuple(map(made.node, block.nodes))
        return block if all(map(is_, nodes, block.nodes)) else replace(block, nodes=nodes)

    return run_passes(graph, Pass("shortened", run, "deep"), dce)


def _number_of(array: Any) -> Any:
    """Return the NumPy scalar that may replace the constant ``array`` in source text, or None."""
    if not isinstance(array, jax.Array) or array.shape or is_key(array) or array.weak_type:
        return None
    # An array on devices that the user chose brings the result there.
    if array.dtype.kind not in "biuf" or not array.is_fully_addressable or array.committed:
        return None
    number = np.asarray(array)[()]
    return number if np.isfinite(number) else None


def _primitive(name: str) -> str:
    place = place_of(name)
    return "" if place is None else f"{place}.{name}"


def _shortened(name: str) -> str:
    for bound, short in _SHORT:
        if name.startswith(bound):
            return short + name.removeprefix(bound)
    return name
