"""Unsigned integers of 16 and 32 bits in torch, which has few kernels for them: computed in int64, and what is given wraps around."""

from __future__ import annotations

from typing import Any

from ...ops import ArraySpec
from ...ops.text import Text
from ..rows import Operand, Rows, operand

_UNSIGNED = ("uint16", "uint32")
_TEXTS = tuple(f"torch.{dtype}" for dtype in _UNSIGNED)

# Operations that torch has for them, or that have a way of their own.
_AS_THEY_ARE = frozenset({
    "asarray", "astype", "bitcast", "bitwise_and", "bitwise_or", "bitwise_xor", "broadcast_to", "concat", "copy", "dropout", "empty", "equal", "expand_dims", "full",
    "getitem", "multiply", "not_equal", "ones", "permute_dims", "refuse_gradient", "reshape", "split", "squeeze", "stack", "stop_gradient", "threefry",
    "unstack", "where", "with_gradient", "zeros",
})  # fmt: skip


class TorchRows(Rows):
    """Rows that see int64 where an array has 16 or 32 bits without a sign."""

    def expression(self, name: str, operands: tuple[Any, ...], params: dict[str, Any], out: tuple[ArraySpec, ...]) -> str:
        """The expression that computes operation ``name``."""
        specs = [item.spec for item in operands if isinstance(item, Operand) and item.spec is not None]
        if (
            name in _AS_THEY_ARE
            or name.startswith("random_")
            or len(out) > 1
            or not any(spec.dtype in _UNSIGNED for spec in (*specs, *out))
        ):
            return super().expression(name, operands, params, out)
        params = {key: Text("torch.int64") if str(value) in _TEXTS else value for key, value in params.items()}
        text = super().expression(name, tuple(map(_widened, operands)), params, tuple(map(_wide, out)))
        return f"({text}).to(torch.{out[0].dtype})" if out[0].dtype in _UNSIGNED else text


def _wide(spec: ArraySpec) -> ArraySpec:
    return ArraySpec(spec.shape, "int64") if spec.dtype in _UNSIGNED else spec


def _widened(item: Any) -> Any:
    if not isinstance(item, Operand) or item.spec is None or item.dtype not in _UNSIGNED:
        return item
    return operand(f"{item}.to(torch.int64)", _wide(item.spec))
