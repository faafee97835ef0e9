"""Numbers that Python read from tensors: the calls that read them, and the calls in which they may differ from call to call."""

from __future__ import annotations

from typing import Any

from ....ops.dtypes import is_floating
from ....sizes import Size, apply, product
from ...read_numbers import fixed, is_read
from .table import TorchBuilder, rows

# bare name -> positions and keywords of the arguments that are elements, in which a number may be another at each call; None: of all.
# In every other argument (a size, an axis, a bound, a rate) it is what it was while recording, as a guard.
_ELEMENTS: dict[str, frozenset[Any] | None] = {
    **dict.fromkeys(
        (
            "add", "__add__", "__radd__", "sub", "subtract", "__sub__", "rsub", "__rsub__", "mul", "multiply", "__mul__", "__rmul__", "pow", "__pow__",
            "__rpow__", "div", "divide", "true_divide", "__div__", "__truediv__", "__rdiv__", "__rtruediv__", "floor_divide", "__floordiv__",
            "__rfloordiv__", "remainder", "__mod__", "__rmod__", "eq", "__eq__", "ne", "not_equal", "__ne__", "lt", "less", "__lt__", "le", "less_equal",
            "__le__", "gt", "greater", "__gt__", "ge", "greater_equal", "__ge__", "clamp", "clip", "clamp_min", "clamp_max", "where", "fill",
            "tensor", "as_tensor", "scalar_tensor", "new_tensor", "masked_fill", "maximum", "minimum",
        )
    ),
    "full": frozenset({1, "fill_value"}),
    "full_like": frozenset({1, "fill_value"}),
    "new_full": frozenset({2, "fill_value"}),
    "__setitem__": frozenset({2}),
    "lerp": frozenset({2, "weight"}),
    **dict.fromkeys(("addcmul", "addcdiv"), frozenset({"value"})),
    **dict.fromkeys(("addmm", "addmv", "addr", "baddbmm", "addbmm"), frozenset({"alpha"})),
}  # fmt: skip


def with_fixed_numbers(b: TorchBuilder, key: str, args: list[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call with numbers left open only where the table says so."""
    if not b.reads_numbers:
        return args, kwargs
    if key == "__getitem__":
        return [args[0], _index(b, args[0], args[1])], kwargs
    free = _ELEMENTS.get(key, frozenset())
    if free is None:
        return args, kwargs
    return (
        [item if place in free else fixed(b, item) for place, item in enumerate(args)],
        {name: item if name in free else fixed(b, item) for name, item in kwargs.items()},
    )


def _index(b: TorchBuilder, x: Any, index: Any) -> Any:
    """Among whole numbers and slices a number that was read picks as an array does, where it lies inside of its axis."""
    parts = index if isinstance(index, tuple) else (index,)
    if not all(isinstance(part, (slice, Size)) or type(part) is int for part in parts):
        return fixed(b, index)
    picked = tuple(_place(b, part, x.shape[axis]) if is_read(part) else fixed(b, part) for axis, part in enumerate(parts))
    return picked if isinstance(index, tuple) else picked[0]


def _place(b: TorchBuilder, number: Size, size: Any) -> Any:
    place = b.array(number, "int64")
    b.expect(b.logical_and(b.greater_equal(place, -size), b.less(place, size)), True)
    return place


@rows.row("item")
def item(b: TorchBuilder, input: Any) -> Any:
    """torch.Tensor.item: a 0-d array of int64 or float64, of which no gradient is taken."""
    b.reads_numbers = True
    b.guard(apply("eq", product(input.shape), 1))
    kind = "float64" if is_floating(input.dtype) else "int64"
    return b.cast(b.reshape(b.stop_gradient(input) if is_floating(input.dtype) else input, shape=()), kind)


@rows.row("tolist")
def tolist(b: TorchBuilder, input: Any) -> Any:
    """torch.Tensor.tolist: nested lists of such arrays."""
    if not input.ndim:
        return item(b, input)
    rows_of = [b.getitem(input, key=(place,)) for place in range(b.fix(input.shape[0]))]
    return [tolist(b, row) for row in rows_of]
