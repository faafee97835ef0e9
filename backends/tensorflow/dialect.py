"""Canonical nodes as TensorFlow source: dynamic sizes, typed numbers, and casts between dtypes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from ...ir.node import Node, Value
from ...ops import ArraySpec
from ...ops.dtypes import ITEMSIZE, UNSIGNED, is_floating, is_integer
from ...ops.text import Text
from ...sizes import Size, Symbol, hint_of
from ..common.row_texts import HALF, call_of_function, rounded_literal
from ..common.rows import CanonicalDialect, Operand, Rows, operand, with_short_literals
from .compute_dtypes import compute_dtype

_OPERATORS = frozenset({
    "add", "bitwise_and", "bitwise_or", "bitwise_xor", "divide", "equal", "greater", "greater_equal", "less",
    "less_equal", "multiply",
    "not_equal", "remainder", "subtract",
})  # fmt: skip
# The numbers of these operations are counts, independent of the dtype of the arrays next to them.
_TAKES_COUNTS = frozenset({"repeat"})


def dtype_text(dtype: str) -> str:
    return f"tf.{dtype}"


class TensorFlowDialect(CanonicalDialect):
    """Dialect that writes nodes as TensorFlow source, with casts where kernels are missing or inexact."""

    def __init__(self, rows: Rows, imports: Mapping[str, str], prelude: ModuleType) -> None:
        super().__init__(rows, imports, prelude, dtype_text)

    def size(self, array: str, symbol: Symbol) -> str:
        return f"size({array}, {symbol.axis})" if symbol.kind == "size" else f"item({array})"

    def sizes(self, array: str) -> str:
        return f"sizes({array})"

    def expression(self, node: Node, text: Callable[[Any], Any]) -> str:
        dtypes = [item.dtype for item in node.inputs if isinstance(item, Value)]
        cast = _Cast.of(node.op, dtypes)
        params = {name: self._param(name, value, text) for name, value in node.params.items()}
        operands = tuple(cast.operand(item) for item in self._operands(node, text, cast))
        result = self.rows.expression(
            node.op, operands, params, tuple(map(cast.spec, (value.spec for value in node.outputs)))
        )
        return cast.result(result, [value.dtype for value in node.outputs])

    def _operands(self, node: Node, text: Callable[[Any], Any], cast: _Cast) -> list[Any]:
        arrays = [item.dtype for item in node.inputs if isinstance(item, Value) and item.dtype != "bool"]
        beside = cast.to or (
            arrays[0]
            if arrays
            else next((item.dtype for item in node.inputs if isinstance(item, Value)), _default_dtype(node))
        )
        found, seen = [], node.op in _OPERATORS
        for item in with_short_literals(node):
            written = self._number(item, text)
            dtype = "bool" if isinstance(hint_of(item), bool) and not cast.to else beside
            if isinstance(item, Size) and node.op not in _TAKES_COUNTS:
                bare = written.startswith("(") and written.count("(") == 1
                written = operand(f"scalar({written.strip('()') if bare else written}, tf.{dtype})", None)
            elif item is not None and not isinstance(item, Value):
                written = rounded_literal(written, node.op, cast.have) if cast.have in HALF else written
                written = _typed_number(item, written, dtype, typed=not seen)
            seen = seen or (
                isinstance(item, Value) and item.dtype == arrays[0] if arrays else isinstance(item, Value)
            )
            found.append(written)
        return found

    def _number(self, item: Any, text: Callable[[Any], Any]) -> Operand:
        call = call_of_function(item, "float")
        if call is None or not isinstance(size := call.arguments[0], Size):
            return self._operand(item, text)
        # Sizes may be symbolic int32 tensors, which ``float`` rejects, and whose product may overflow.
        terms = [
            " * ".join(
                [
                    *([] if count == 1 and atoms else [repr(float(count))]),
                    *(f"scalar({self._operand(Size.of(atom), text)}, tf.float64)" for atom in atoms),
                ]
            )
            for atoms, count in size.terms()
        ]
        return operand(" + ".join(terms), None)


def _default_dtype(node: Node) -> str:
    dtype: str = node.outputs[0].dtype
    return dtype if is_floating(dtype) else "float32"


def _typed_number(number: Any, text: Operand, dtype: str, typed: bool) -> Operand:
    # Negative numbers wrap around, but TensorFlow does not convert them to unsigned dtypes.
    if dtype in UNSIGNED and isinstance(number, int) and number < 0:
        text = operand(repr(number % (1 << 8 * ITEMSIZE[dtype])), None)
    return operand(f"tf.constant({text.strip('()')}, tf.{dtype})", None) if typed else text


@dataclass(frozen=True)
class _Cast:
    """Conversion of operands of dtype ``have`` to dtype ``to``, and of the result back.

    Both are None if no operand is cast.
    """

    have: str | None = None
    to: str | None = None

    @classmethod
    def of(cls, op: str, dtypes: list[str]) -> _Cast:
        for dtype in dtypes:
            if found := compute_dtype(op, dtype):
                return cls(dtype, found)
        return cls()

    def operand(self, item: Operand | None) -> Operand | None:
        if item is None or item.spec is None or item.dtype != self.have:
            return item
        return operand(f"tf.cast({item}, tf.{self.to})", self.spec(item.spec))

    def spec(self, spec: ArraySpec) -> ArraySpec:
        return ArraySpec(spec.shape, self.to) if self.to and spec.dtype == self.have else spec

    def result(self, text: str, dtypes: list[str]) -> str:
        if self.have not in dtypes:
            return text
        if len(dtypes) == 1 and is_integer(self.have or "") and is_floating(self.to or ""):
            # A cast from float saturates, but integer arithmetic wraps around.
            return f"tf.cast(tf.cast({text}, tf.int64), tf.{self.have})"
        if len(dtypes) == 1:
            return f"tf.cast({text}, tf.{self.have})"
        return f"cast_each({text}, {Text(tuple(f'tf.{dtype}' for dtype in dtypes)).replace(chr(39), '')})"
