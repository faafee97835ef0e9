"""Lowering of operations for dtypes that torch has no kernels for.

:class:`TorchRows` casts the operands to a dtype that torch supports and the results back, by the table of
:func:`compute_dtypes`.
"""

from __future__ import annotations

from typing import Any

from ...ops import ArraySpec
from ...ops.text import Text
from ..common.rows import Operand, Rows, operand

# int64 contains all their values, and a cast of int64 results back to them wraps around as they would.
_UNSIGNED = {"uint16": "int64", "uint32": "int64"}
_HALF = {"float16": "float32", "bfloat16": "float32"}

# Operations that support uint16 and uint32 on every device, or handle them themselves.
_SUPPORT_UNSIGNED = frozenset({
    "asarray", "astype", "bitcast", "broadcast_to", "concat", "copy", "dropout", "empty", "expand_dims",
    "full", "getitem", "ones",
    "permute_dims", "refuse_gradient", "reshape", "split", "squeeze", "stack", "stop_gradient", "threefry",
    "unstack", "with_gradient",
    "zeros",
})  # fmt: skip

# For sets of operations, the dtypes without kernels and the dtypes to compute in. The last set computes the
# same bits in int64 as it would in uint64.
_MISSING_DTYPES: tuple[tuple[dict[str, str], tuple[str, ...]], ...] = (
    ({"bool": "int64"}, ("matmul", "tensordot", "vecdot", "einsum", "inner", "multi_dot")),
    (_HALF, ("solve_triangular", "airy_ai", "spherical_bessel_j0")),
    (_HALF, tuple(f"bessel_{kind}" for kind in ("j0", "j1", "y0", "y1", "k0", "k1", "k0e", "k1e"))),
    (
        {"uint64": "int64"},
        (
            "add",
            "bitwise_and",
            "bitwise_invert",
            "bitwise_left_shift",
            "bitwise_or",
            "bitwise_xor",
            "cumulative_prod",
            "cumulative_sum",
            "einsum",
            "equal",
            "flip",
            "inner",
            "isin",
            "matmul",
            "multiply",
            "negative",
            "not_equal",
            "prod",
            "square",
            "subtract",
            "sum",
            "tensordot",
            "vecdot",
            "where",
        ),
    ),
)
_COMPUTE_DTYPES: dict[str, dict[str, str]] = {}
for _types, _names in _MISSING_DTYPES:
    for _name in _names:
        _COMPUTE_DTYPES.setdefault(_name, {}).update(_types)


# Operations on uint64 that differ from those of int64 on the same bits, so helpers compute them.
_UINT64_HELPERS = {
    "bitwise_right_shift": "shifted_right({0}, {1})", "fmod": "uint64_divmod({0}, {1})[1]",
    "remainder": "uint64_divmod({0}, {1})[1]",
    "floor_divide": "uint64_divmod({0}, {1})[0]", "less": "is_less({0}, {1})", "greater": "is_less({1}, {0})",
    "less_equal": "~is_less({1}, {0})",
    "greater_equal": "~is_less({0}, {1})",
    "minimum": "torch.where(is_less({0}, {1}), bits_as_int64({0}), bits_as_int64({1})).view(torch.uint64)",
    "maximum": "torch.where(is_less({0}, {1}), bits_as_int64({1}), bits_as_int64({0})).view(torch.uint64)",
}  # fmt: skip


class TorchRows(Rows):
    """Table of lowering rows whose text computes in another dtype where torch may lack a kernel."""

    def expression(
        self, name: str, operands: tuple[Any, ...], params: dict[str, Any], out: tuple[ArraySpec, ...]
    ) -> str:
        if name in _UINT64_HELPERS and any(getattr(item, "dtype", None) == "uint64" for item in operands):
            return _UINT64_HELPERS[name].format(*operands)
        types = compute_dtypes(name)
        specs = [item.spec for item in operands if isinstance(item, Operand) and item.spec is not None]
        if not any(spec.dtype in types for spec in (*specs, *out)):
            return super().expression(name, operands, params, out)
        params = {key: _in_compute_dtype(value, types) for key, value in params.items()}
        text = super().expression(
            name,
            tuple(_cast_operand(item, types) for item in operands),
            params,
            tuple(_compute_spec(spec, types) for spec in out),
        )
        back = [f"torch.{spec.dtype}" if spec.dtype in types else None for spec in out]
        if len(out) > 1:
            return f"converted({text}, {', '.join(map(str, back))})" if any(back) else text
        return f"({text}).to({back[0]})" if back[0] else text


def compute_dtypes(name: str) -> dict[str, str]:
    """Return the dtypes to compute the operation ``name`` in, by the dtypes that are cast to them.

    >>> wide = compute_dtypes("solve_triangular")
    >>> wide["bfloat16"], compute_dtypes("cummax")["uint32"], compute_dtypes("concat")
    ('float32', 'int64', {})
    """
    unsigned = {} if name in _SUPPORT_UNSIGNED or name.startswith("random_") else _UNSIGNED
    return {**unsigned, **_COMPUTE_DTYPES.get(name, {})}


def _in_compute_dtype(value: Any, types: dict[str, str]) -> Any:
    dtype = types.get(str(value).removeprefix("torch.")) if isinstance(value, Text) else None
    return value if dtype is None else Text(f"torch.{dtype}")


def _compute_spec(spec: ArraySpec, types: dict[str, str]) -> ArraySpec:
    return ArraySpec(spec.shape, types.get(spec.dtype, spec.dtype))


def _cast_operand(item: Any, types: dict[str, str]) -> Any:
    if not isinstance(item, Operand) or item.spec is None or item.dtype not in types:
        return item
    return operand(f"{item}.to(torch.{types[item.dtype]})", _compute_spec(item.spec, types))
