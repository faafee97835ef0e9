"""Types that torch has few kernels for, computed in int64: unsigned integers of 16 and 32 bits, which wrap around when they are given, and truth values in products."""

from __future__ import annotations

from typing import Any

from ...ops import ArraySpec
from ...ops.text import Text
from ..rows import Operand, Rows, operand

_UNSIGNED = frozenset({"uint16", "uint32"})
_TEXTS = tuple(f"torch.{dtype}" for dtype in sorted(_UNSIGNED))

# Operations that torch has for them, or that have a way of their own.
_AS_THEY_ARE = frozenset({
    "asarray", "astype", "bitcast", "bitwise_and", "bitwise_or", "bitwise_xor", "broadcast_to", "concat", "copy", "dropout", "empty", "equal", "expand_dims", "full",
    "getitem", "multiply", "not_equal", "ones", "permute_dims", "refuse_gradient", "reshape", "split", "squeeze", "stack", "stop_gradient", "threefry",
    "unstack", "where", "with_gradient", "zeros",
})  # fmt: skip


# Sums of products, for which torch has no kernels of truth values.
_PRODUCTS = frozenset({"matmul", "tensordot", "vecdot", "einsum", "inner", "multi_dot"})


class TorchRows(Rows):
    """Rows that see int64 where torch has no kernel for the type of an array."""

    def expression(self, name: str, operands: tuple[Any, ...], params: dict[str, Any], out: tuple[ArraySpec, ...]) -> str:
        """The expression that computes operation ``name``."""
        lacking = _lacking(name)
        specs = [item.spec for item in operands if isinstance(item, Operand) and item.spec is not None]
        if len(out) > 1 or not any(spec.dtype in lacking for spec in (*specs, *out)):
            return super().expression(name, operands, params, out)
        params = {key: Text("torch.int64") if str(value) in _TEXTS else value for key, value in params.items()}
        widened = tuple(_widened(item, lacking) for item in operands)
        text = super().expression(name, widened, params, tuple(_wide(spec, lacking) for spec in out))
        return f"({text}).to(torch.{out[0].dtype})" if out[0].dtype in lacking else text


def _lacking(name: str) -> frozenset[str]:
    """The types that torch does not compute an operation in."""
    if name in _PRODUCTS:
        return _UNSIGNED | {"bool"}
    return frozenset() if name in _AS_THEY_ARE or name.startswith("random_") else _UNSIGNED


def _wide(spec: ArraySpec, lacking: frozenset[str]) -> ArraySpec:
    return ArraySpec(spec.shape, "int64") if spec.dtype in lacking else spec


def _widened(item: Any, lacking: frozenset[str]) -> Any:
    if not isinstance(item, Operand) or item.spec is None or item.dtype not in lacking:
        return item
    return operand(f"{item}.to(torch.int64)", _wide(item.spec, lacking))
