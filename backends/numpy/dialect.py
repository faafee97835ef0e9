"""Writing of canonical nodes for NumPy, with most half-precision operations computed in float32.

Generated functions ignore floating-point errors such as overflow, as tensor libraries do.
"""

from __future__ import annotations

import ast
from typing import Any

from ...ir.graph import Graph
from ...ops import ArraySpec
from ...ops.text import Text
from ..common.row_texts import HALF, rounded_literal
from ..common.rows import CanonicalDialect, Operand, Rows, operand


def dtype_text(dtype: str) -> str:
    return {"bool": "np.bool_", "bfloat16": "ml_dtypes.bfloat16"}.get(dtype, f"np.{dtype}")


class NumpyDialect(CanonicalDialect):
    def decorators(self, graph: Graph) -> tuple[str, ...]:
        return ('@np.errstate(all="ignore")',)


# --------------------------------------------------------------------------------------------- half precision
# Half precision in NumPy: computed in float32 and rounded once, as tensor libraries do.
#
# float16 would accumulate rounding errors. bfloat16 (of ``ml_dtypes``) has no matrix products and no place in
# NumPy's type promotion.

_HALF_TEXTS = tuple(map(dtype_text, HALF))

# Operations that compute no elements, or that depend on the precision, so they run in half precision.
_AS_THEY_ARE = frozenset({
    "asarray", "astype", "bitcast", "boolean_mask", "broadcast_to", "concat", "copy", "diag_embed",
    "diagonal", "eye", "flip", "full", "gather_nd", "getitem", "im2col", "nan_to_num", "nextafter", "one_hot",
    "ones", "permute_dims", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "random_uniform", "repeat",
    "reshape", "roll", "setitem", "sliding_window", "split", "stack", "stop_gradient", "take",
    "take_along_axis", "tile", "tril", "triu", "unstack", "zeros", "as_strided", "embedding", "with_gradient",
    "refuse_gradient",
})  # fmt: skip
# Operators that round once, so they run in half precision, too. With a Python number as an operand, bfloat16
# would become float32, so then they are computed in float32.
_ROUNDED_ONCE = frozenset({
    "abs", "add", "divide", "equal", "greater", "greater_equal", "less", "less_equal", "maximum", "minimum",
    "multiply", "negative", "not_equal", "subtract", "where", "isnan", "isinf", "isfinite",
})  # fmt: skip
# Operations whose decomposition is computed in float32 as a whole, so that it is rounded only once.
_OPENED_IN_FLOAT32 = frozenset({"lstm", "gru", "rnn"})


def compute_dtype(op: str, dtype: str) -> str | None:
    """Return the dtype in which the decomposition of ``op`` computes, or None if it is ``dtype``.

    >>> compute_dtype("lstm", "bfloat16"), compute_dtype("lstm", "float64")
    ('float32', None)
    """
    return "float32" if op in _OPENED_IN_FLOAT32 and dtype in HALF else None


class NumpyRows(Rows):
    """Lowering table that writes most operations on half-precision arrays with casts to float32 and back."""

    def expression(
        self, name: str, operands: tuple[Any, ...], params: dict[str, Any], out: tuple[ArraySpec, ...]
    ) -> str:
        if not _is_widened(name, operands, out):
            return super().expression(name, operands, params, out)
        half = next(spec.dtype for spec in (*_specs(operands), *out) if spec.dtype in HALF)
        # A number has the precision of the arrays that it is combined with, so it is rounded first.
        wide = tuple(_widened(rounded_literal(item, name, half)) for item in operands)
        params = {
            key: Text("np.float32") if str(value) in _HALF_TEXTS else value for key, value in params.items()
        }
        text = super().expression(name, wide, params, tuple(_wide_spec(spec) for spec in out))
        return _narrowed(text, out)


def _is_widened(name: str, operands: tuple[Any, ...], out: tuple[ArraySpec, ...]) -> bool:
    if name in _AS_THEY_ARE or not any(spec.dtype in HALF for spec in (*_specs(operands), *out)):
        return False
    return name not in _ROUNDED_ONCE or any(
        isinstance(item, Operand) and item.spec is None for item in operands
    )


def _specs(operands: tuple[Any, ...]) -> list[ArraySpec]:
    return [item.spec for item in operands if isinstance(item, Operand) and item.spec is not None]


def _wide_spec(spec: ArraySpec) -> ArraySpec:
    return ArraySpec(spec.shape, "float32") if spec.dtype in HALF else spec


def _widened(item: Any) -> Any:
    if not isinstance(item, Operand) or item.spec is None or item.dtype not in HALF:
        return item
    return operand(f"{item}.astype(np.float32)", _wide_spec(item.spec))


def _narrowed(text: str, out: tuple[ArraySpec, ...]) -> str:
    # Results that are indices or booleans are not cast.
    half = {spec.dtype for spec in out} & set(HALF)
    if not half:
        return text
    dtype = dtype_text(half.pop())
    if len(out) > 1:
        return f"rounded({text}, {dtype})"
    return f"{text if is_call(text) else f'({text})'}.astype({dtype})"


def is_call(text: str) -> bool:
    """Return True if the expression ``text`` is a call as a whole.

    >>> is_call("np.sum(x + 1, axis=0)"), is_call("(a + b) * f(c)"), is_call("f('(') + f(')')")
    (True, False, False)
    """
    return isinstance(ast.parse(text, mode="eval").body, ast.Call)
