"""Numbers that Python read from tensors: the calls that read them, and the calls in which they may differ from call to call."""

from __future__ import annotations

from typing import Any

from ....ir import Graph
from ....ir.node import distinct
from ....sizes import Size
from ....trees import iterate_structure, map_structure
from ...read_numbers import as_index, fixed, read
from .table import TorchBuilder, rows

# bare name -> positions and keywords of the arguments that are elements, in which a number may be another at each call; None: of all.
# In every other argument (a size, an axis, a bound, a rate) it is what it was while recording, as a guard.
_ELEMENTS: dict[str, frozenset[Any] | None] = {
    **dict.fromkeys(
        (
            "add", "__add__", "__radd__", "sub", "subtract", "__sub__", "rsub", "__rsub__", "mul", "multiply", "__mul__", "__rmul__", "pow",
            "__pow__", "__rpow__", "div", "divide", "true_divide", "__div__", "__truediv__", "__rdiv__", "__rtruediv__", "floor_divide",
            "__floordiv__", "__rfloordiv__", "remainder", "__mod__", "__rmod__", "eq", "__eq__", "ne", "not_equal", "__ne__", "lt", "less",
            "__lt__", "le", "less_equal", "__le__", "gt", "greater", "__gt__", "ge", "greater_equal", "__ge__", "clamp", "clip",
            "clamp_min", "clamp_max", "where", "fill", "tensor", "as_tensor", "scalar_tensor", "new_tensor", "masked_fill", "maximum",
            "minimum",
        )
    ),
    "full": frozenset({1, "fill_value"}),
    "full_like": frozenset({1, "fill_value"}),
    "new_full": frozenset({2, "fill_value"}),
    "lerp": frozenset({2, "weight"}),
    **dict.fromkeys(("batch_norm", "instance_norm"), frozenset({6, "momentum"})),
    **dict.fromkeys(("addcmul", "addcdiv"), frozenset({"value"})),
    **dict.fromkeys(("addmm", "addmv", "addr", "baddbmm", "addbmm"), frozenset({"alpha"})),
}  # fmt: skip


# As above, of floats that are computed from sizes: rows write them into the source as expressions.
_FLOATS: dict[str, frozenset[Any]] = {
    **dict.fromkeys(("arange", "linspace", "range"), frozenset({0, 1, 2, "start", "end", "step"})),
    "interpolate": frozenset({2, "scale_factor"}),
    "scaled_dot_product_attention": frozenset({"scale"}),
    "pad": frozenset({3, "value"}),
    **dict.fromkeys(("index_fill", "scatter"), frozenset({3, "value"})),
    "fill_diagonal": frozenset({1, "fill_value"}),
    **dict.fromkeys(("fmod", "float_power", "xlogy"), frozenset({0, 1})),
    **dict.fromkeys(("addmm", "addmv", "addr", "baddbmm", "addbmm"), frozenset({"beta"})),
    **dict.fromkeys(("trapezoid", "trapz", "cumulative_trapezoid"), frozenset({"dx"})),
    **dict.fromkeys(("quantile", "nanquantile"), frozenset({1, "q"})),
    "histc": frozenset({2, 3, "min", "max"}),
}
_NONE: frozenset[Any] = frozenset()


def with_fixed_numbers(b: TorchBuilder, key: str, args: list[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call with numbers left open only where the tables say so."""
    if not (b.reads_numbers or b.has_floats):
        return args, kwargs
    if key == "__getitem__":
        return [args[0], as_index(b, args[0], args[1])], kwargs
    if key == "__setitem__":
        return [args[0], as_index(b, args[0], args[1]), *args[2:]], kwargs
    free = _ELEMENTS.get(key, _NONE)
    if free is None:
        return args, kwargs
    floats = free | _FLOATS.get(key, _NONE)
    return (
        [_settled(b, item, place in free, place in floats) for place, item in enumerate(args)],
        {name: _settled(b, item, name in free, name in floats) for name, item in kwargs.items()},
    )


def has_floats(graph: Graph) -> bool:
    """Whether calls of a recorded graph are given floats that are computed from sizes."""
    return any(_is_float(item) for node in distinct(graph.nodes) for item in iterate_structure((node.inputs, node.params)))


def _settled(b: TorchBuilder, argument: Any, numbers: bool, floats: bool) -> Any:
    """An argument in which ``numbers`` that were read may stay open, and ``floats`` computed from sizes."""
    argument = argument if numbers else fixed(b, argument)
    return argument if floats else map_structure(lambda item: b.fix_number(item) if _is_float(item) else item, argument)


def _is_float(item: Any) -> bool:
    return isinstance(item, Size) and item.type is float and not item.reads_elements()


@rows.row("item")
def item(b: TorchBuilder, input: Any) -> Any:
    """torch.Tensor.item: a 0-d array of int64 or float64, of which no gradient is taken."""
    return read(b, input)


@rows.row("tolist")
def tolist(b: TorchBuilder, input: Any) -> Any:
    """torch.Tensor.tolist: nested lists of such arrays."""
    if not input.ndim:
        return item(b, input)
    rows_of = [b.getitem(input, key=(place,)) for place in range(b.fix(input.shape[0]))]
    return [tolist(b, row) for row in rows_of]
