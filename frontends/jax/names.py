"""Names of JAX's public functions, primitives and folders, and the source text of primitives."""

from __future__ import annotations

import importlib
import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.extend.core import Primitive, primitives

from ...ir.node import Node, Value
from ...ops.collectives import REDUCTIONS
from ...ops.dtypes import KEYS
from ...ops.text import Text, factor
from ...sizes import Size
from ...trees import map_structure
from .programs import jax_record

# ---------------------------------------------------------------------------------------------------- folders
# Folders of JAX's own code, as prefixes of file names.


def folders_of(*files: str) -> Iterator[str]:
    for file in map(Path, files):
        yield from (f"{folder}{os.sep}" for folder in (file.absolute().parent, file.resolve().parent))


JAX = tuple(folders_of(jax.__file__))


# ------------------------------------------------------------------------------------------------------ names
PRIMITIVE = "jax.lax."
METHOD = "jax.Array."
# The only element of an array as a Python number.
READ_NUMBER = f"{METHOD}item"
# A copy with other elements at an index (`x.at[index].set`).
SETITEM = f"{METHOD}__setitem__"
INDEXED = ("__getitem__", "__setitem__")
# A call of the user's function with a derivative rule; the function is the first argument.
CUSTOM = "jax.custom"
REFUSE_GRADIENT = f"{PRIMITIVE}refuse_gradient_p"
# Functions that folded Python loops are written with. The user's own calls of these are read as primitives.
OF_LOOPS = frozenset(
    {"jax.numpy.arange", "jax.numpy.logical_and", "jax.numpy.logical_or", "jax.numpy.logical_not"}
)
# Operations that JAX does not have; helper functions in the generated source implement them.
OWN = frozenset({REFUSE_GRADIENT})


def row_key(op: str) -> str:
    """Return the last part of the name of a call.

    >>> row_key("jax.numpy.sum"), row_key("jax.lax.add_p")
    ('sum', 'add_p')
    """
    return op.rpartition(".")[2]


def resolve(name: str) -> Any:
    """Return the function with a dotted public name.

    Raise ``AttributeError`` if no module of this version of JAX has it.

    >>> resolve("jax.nn.softmax").__name__
    'softmax'
    """
    holder, short = holder_of(name)
    return getattr(holder, short)


def holder_of(name: str) -> tuple[Any, str]:
    """Return the module of a public function, and its name there.

    Raise ``AttributeError`` if no module of this version of JAX has it.

    >>> holder_of("jax.numpy.sum")[0].__name__
    'jax.numpy'
    """
    path, _, short = name.rpartition(".")
    try:
        module: Any = importlib.import_module(path)
    except ModuleNotFoundError:
        raise AttributeError(name) from None
    getattr(module, short)
    return module, short


def is_primitive(op: str) -> bool:
    return op.startswith(PRIMITIVE) and op.endswith("_p")


def primitive(name: str) -> Any:
    place = place_of(name)
    return None if place is None else getattr(_PLACES[place], name)


def place_of(name: str) -> str | None:
    """Return the name of the module in which source text finds a primitive (``"lax.linalg"``), or None."""
    return next(
        (
            place
            for place, module in _PLACES.items()
            if hasattr(module, name) and (place != "primitives" or name in _DRAWING)
        ),
        None,
    )


_PLACES = {"lax": jax.lax, "lax.linalg": jax.lax.linalg, "primitives": primitives}
# Primitives that source text can only express by functions of jax.random.
OF_KEYS = frozenset({"random_wrap_p", "random_unwrap_p", "random_seed_p"})
_DRAWING = frozenset({"random_bits_p", "random_fold_in_p", "random_split_p", "threefry2x32_p"})


class ValueNumbers:
    """Numbering in which values that are found to be computed in the same way have equal numbers."""

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}
        self._numbers: dict[Value, Any] = {}

    def follow(self, inputs: Sequence[Value], given: Sequence[Any], nodes: Sequence[Node]) -> None:
        self._numbers.update(zip(inputs, given))
        for node in nodes:
            self._node(node)

    def of(self, item: Any) -> Any:
        """Return an object that is equal for items that are found to be the same or computed in the same way.

        >>> ValueNumbers().of(0.0) == ValueNumbers().of(-0.0)
        False
        """
        if isinstance(item, Value):
            return self._numbers.get(item, item)
        if isinstance(item, Size):
            return ("size", item)
        # The texts of 0.0 and -0.0 differ, and those of two NaN do not. A literal is a scalar of NumPy or
        # of ``ml_dtypes``.
        is_number = isinstance(item, (float, complex)) or hasattr(item, "dtype")
        return (type(item), repr(item) if is_number else item)

    def _node(self, node: Node) -> None:
        # The results of a custom derivative are those of its function.
        if node.op == "custom_derivative":
            block = node.regions[0].block
            self.follow(block.inputs, [self.of(item) for item in node.inputs], block.nodes)
            self._numbers.update(zip(node.outputs, map(self.of, block.outputs)))
            return
        if node.op == REFUSE_GRADIENT:
            self._numbers[node.outputs[0]] = self.of(node.inputs[0])
            return
        known = None if node.regions else self._call(node)
        for place, value in enumerate(node.outputs):
            self._numbers[value] = (
                object() if known is None else self._known.setdefault((known, place), len(self._known))
            )

    def _call(self, node: Node) -> Any:
        inner = jax_record(node).primitive if is_primitive(node.op) else None
        if inner is not None and not isinstance(inner, Primitive):
            return None
        call = (
            node.op,
            _hashable(map_structure(self.of, node.inputs)),
            _hashable(map_structure(self.of, node.params)),
        )
        try:
            hash(call)
        except TypeError:
            return None
        return call


def _hashable(item: Any) -> Any:
    if isinstance(item, Mapping):
        return tuple((key, _hashable(part)) for key, part in item.items())
    if isinstance(item, (list, tuple)):
        return (type(item), *map(_hashable, item))
    return item


Written = Callable[[Node, Callable[[Any], Any]], "str | None"]

# Operators and functions of jax.numpy. They convert operands of different types, and then bind the primitive.
_OPERATORS = {
    "add_p": "{} + {}", "sub_p": "{} - {}", "mul_p": "{} * {}", "div_p": "{} / {}",
    "gt_p": "{} > {}", "ge_p": "{} >= {}", "lt_p": "{} < {}", "le_p": "{} <= {}",
    "eq_p": "{} == {}", "ne_p": "{} != {}", "and_p": "{} & {}", "or_p": "{} | {}", "xor_p": "{} ^ {}",
    "shift_left_p": "{} << {}", "shift_right_arithmetic_p": "{} >> {}", "shift_right_logical_p": "{} >> {}",
    "max_p": "jnp.maximum({}, {})", "min_p": "jnp.minimum({}, {})",
}  # fmt: skip
# Beginnings of the dtypes for which an operator binds the primitive: `/` of integers is true division, `<` of
# complex numbers compares their parts, and `>>` is an arithmetic shift for signed integers only.
_OF_DTYPES = {
    "div_p": ("float", "bfloat", "complex"),
    **dict.fromkeys(("gt_p", "ge_p", "lt_p", "le_p"), ("float", "bfloat", "int", "uint", "bool")),
    "shift_right_arithmetic_p": ("int",),
    "shift_right_logical_p": ("uint",),
}
# Primitives that a function in jax.lax binds to its operands. `_LAX` has the names that differ.
_PLAIN = frozenset({
    "abs", "acos", "acosh", "add", "and", "asin", "asinh", "atan", "atan2", "atanh", "bessel_i0e",
    "bessel_i1e", "cbrt", "ceil", "clamp", "clz", "complex", "cos", "cosh", "digamma", "div", "eq", "erf",
    "erf_inv", "erfc", "exp", "exp2", "expm1", "floor", "ge", "gt", "igamma", "igammac", "imag", "is_finite",
    "le", "lgamma", "log", "log1p", "log2", "logistic", "lt", "max", "min", "mul", "ne", "nextafter", "or",
    "polygamma", "population_count", "pow", "real", "rem", "rsqrt", "select_n", "shift_left",
    "shift_right_arithmetic", "shift_right_logical", "sign", "sin", "sinh", "sqrt", "square", "sub", "tan",
    "tanh", "xor", "zeta",
})  # fmt: skip
_LAX = {"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}
# Parameters that all have their defaults.
_SAID: tuple[dict[str, None], ...] = ({"accuracy": None}, {"out_dtype": None}, {})


def readable_source(key: str, node: Node, text: Callable[[Any], Any]) -> str | None:
    """Write a primitive call as an operator, method or public function, or return None.

    ``key`` is the primitive's name with ``_p``.
    """
    if node.depends_on_devices or key in OF_KEYS:
        return _ROWS[key](node, text)
    if node.record is None:
        return None
    rows = (None if node.record.weak else _PROMOTING.get(key), _ROWS.get(key))
    return next((found for row in rows if row is not None and (found := row(node, text)) is not None), None)


def is_operator(key: str, node: Node) -> bool:
    """Return True if the entry of ``key`` in ``_OPERATORS`` binds the primitive for ``node``."""
    dtypes = {item.dtype for item in node.inputs if isinstance(item, Value)}
    return (
        key in _OPERATORS
        and node.params in _SAID
        and len(dtypes) == 1
        and dtypes.pop().startswith(_OF_DTYPES.get(key, ""))
    )


def _operator(key: str) -> Written:
    def row(node: Node, text: Callable[[Any], Any]) -> str | None:
        if not is_operator(key, node):
            return None
        dtype = next(item.dtype for item in node.inputs if isinstance(item, Value))
        numbers = [plain_number(item, dtype) for item in node.inputs if not isinstance(item, Value)]
        if any(number is None for number in numbers):
            return None
        rest, template = iter(numbers), _OPERATORS[key]
        written = [repr(text(item if isinstance(item, Value) else next(rest))) for item in node.inputs]
        return template.format(*(written if template.endswith(")") else map(factor, written)))

    return row


def is_size(item: Any) -> bool:
    return isinstance(item, Size) and all(symbol.kind == "size" for symbol in item.symbols())


def plain_number(number: Any, dtype: str) -> Any:
    """Return ``number`` as an int or float that acts on arrays of ``dtype`` in the same way, or None.

    An expression over sizes of axes is returned unchanged.
    """
    if is_size(number):
        return number
    if type(number) in (int, float) and type(number).__name__ in dtype and hasattr(np, dtype):
        number = np.dtype(dtype).type(number)
    if (
        not isinstance(number, np.generic)
        or str(number.dtype) != dtype
        or number.dtype.kind not in "iuf"
        or not np.isfinite(number)
    ):
        return None
    if number.dtype.kind != "f":
        # JAX takes Python integers as int32, unless 64-bit types are enabled.
        return int(number) if -(2**31) <= int(number) < 2**31 else None
    plain = float(str(number))
    return plain if number.dtype.type(plain) == number and not (plain == 0 and np.signbit(number)) else None


def short_scalar(item: Any) -> Any:
    if (
        not isinstance(item, np.generic)
        or item.dtype.kind not in "iufb"
        or not hasattr(np, str(item.dtype))
        or not np.isfinite(item)
    ):
        return item
    return Text(f"np.{item.dtype if item.dtype.kind != 'b' else 'bool_'}({item!s})")


# ------------------------------------------------------------------------------------- rows
def _has_array(node: Node) -> bool:
    return any(isinstance(item, Value) for item in node.inputs)


def _argument(item: Any, text: Callable[[Any], Any]) -> str:
    if isinstance(item, np.dtype) and (item.kind == "b" or hasattr(jax.numpy, str(item))):
        return _dtype(str(item))
    return repr(text(short_scalar(item)))


def _dtype(name: str) -> str:
    return f"jnp.{'bool_' if name == 'bool' else name}"


def _same(item: Any, default: Any) -> bool:
    return type(item) is type(default) and bool(item == default or item != item and default != default)


def _function(name: str, *positional: str, joined: slice | None = None, **defaults: Any) -> Written:
    """Return the row of a function of ``jax.lax`` that binds the primitive to its operands.

    positional: parameters that follow the operands.
    joined: operands that the function takes as one tuple, which may be empty.
    defaults: default of each parameter that is passed by keyword, or a function that returns it for the node;
        ``...`` if it has none. Other parameters, also those that this version's function lacks, have to be
        None.
    """
    function = getattr(jax.lax, name, None)
    accepted = inspect.signature(function).parameters if function is not None else {}
    defaults = {key: item for key, item in defaults.items() if key in accepted}

    def row(node: Node, text: Callable[[Any], Any]) -> str | None:
        params = {key: item for key, item in node.params.items() if item is not None}
        if not _has_array(node) or function is None or not params.keys() >= set(positional):
            return None
        if not params.keys() <= {*positional, *defaults}:
            return None
        known = {key: item(node) if callable(item) else item for key, item in defaults.items()}
        # The function would take its default for a parameter that is None.
        if any(key not in params and known[key] is not None and known[key] is not ... for key in known):
            return None
        operands = [_argument(item, text) for item in node.inputs]
        if joined is not None:
            operands[joined] = [f"({', '.join(operands[joined])}{',' * (len(operands[joined]) == 1)})"]
        arguments = [
            *operands,
            *(_argument(params[key], text) for key in positional),
            *(
                f"{key}={_argument(item, text)}"
                for key, item in params.items()
                if key in known and not _same(item, known[key])
            ),
        ]
        return f"lax.{name}({', '.join(arguments)})"

    return row


def _plain_function(name: str) -> Written:
    row = _function(_LAX.get(name, name))
    return lambda node, text: row(node, text) if node.params in _SAID else None


def _inverted(node: Node, text: Callable[[Any], Any]) -> str:
    return f"~{factor(repr(text(node.inputs[0])))}"


def _last_axis(node: Node) -> int:
    return len(node.inputs[0].shape) - 1


def _broadcast(node: Node, text: Callable[[Any], Any]) -> str | None:
    shape, axes = node.params["shape"], node.params["broadcast_dimensions"]
    if node.params.get("sharding") is not None:
        return None
    (item, *_) = node.inputs
    # A Python number is a weakly typed array, which `jnp.full` does not return.
    number = plain_number(item, node.outputs[0].dtype) if isinstance(item, np.generic) else None
    if number is not None and not axes:
        return f"jnp.full({text(shape)!r}, {number!r}, {_dtype(node.outputs[0].dtype)})"
    return f"lax.broadcast_in_dim({_argument(item, text)}, {text(shape)!r}, {axes!r})"


def _converted(node: Node, text: Callable[[Any], Any]) -> str | None:
    params, (item, *_) = node.params, node.inputs
    if params.get("weak_type") or params.get("sharding") is not None or not isinstance(item, Value):
        return None
    dtype = str(node.outputs[0].dtype)
    # The method takes the real parts of complex numbers first.
    if "complex" in item.dtype and "complex" not in dtype:
        return None
    return (
        f"{factor(repr(text(item)))}.astype({_dtype(dtype)})"
        if hasattr(jax.numpy, dtype) or dtype == "bool"
        else None
    )


def _chosen_index(name: str) -> Written:
    def row(node: Node, text: Callable[[Any], Any]) -> str | None:
        axes, dtype = node.params["axes"], node.params["index_dtype"]
        return (
            f"lax.{name}({text(node.inputs[0])!r}, axis={axes[0]}, index_dtype={_argument(dtype, text)})"
            if len(axes) == 1
            else None
        )

    return row


def _selected(node: Node, text: Callable[[Any], Any]) -> str | None:
    if len(node.inputs) != 3:
        return None
    pred, *cases = node.inputs
    dtype = node.outputs[0].dtype
    plain = [item if isinstance(item, Value) else plain_number(item, dtype) for item in cases]
    if not isinstance(pred, Value) or pred.dtype != "bool":
        return None
    if any(item is None for item in plain) or not any(isinstance(item, Value) for item in cases):
        return None
    return f"jnp.where({text(pred)!r}, {text(plain[1])!r}, {text(plain[0])!r})"


def _reshaped(node: Node, text: Callable[[Any], Any]) -> str | None:
    params = node.params
    if params.get("dimensions") is not None or params.get("sharding") is not None:
        return None
    sizes = ", ".join(repr(text(size)) for size in params["new_sizes"]) or "()"
    return (
        f"{factor(repr(text(node.inputs[0])))}.reshape({sizes})"
        if isinstance(node.inputs[0], Value)
        else None
    )


def _transposed(node: Node, text: Callable[[Any], Any]) -> str | None:
    if not isinstance(node.inputs[0], Value):
        return None
    axes, array = node.params["permutation"], factor(repr(text(node.inputs[0])))
    is_reversed = axes == tuple(range(len(axes)))[::-1]
    return f"{array}.T" if is_reversed else f"{array}.transpose({', '.join(map(str, axes))})"


def _power(node: Node, text: Callable[[Any], Any]) -> str | None:
    # The power of a Python number is a Python number.
    return (
        f"{factor(repr(text(node.inputs[0])))} ** {node.params['y']}"
        if set(node.params) == {"y"} and node.params["y"] > 0 and isinstance(node.inputs[0], Value)
        else None
    )


def _iota(node: Node, text: Callable[[Any], Any]) -> str | None:
    params, dtype = node.params, _dtype(node.outputs[0].dtype)
    shape = params["shape"]
    if params.get("sharding") is not None or node.inputs:
        return None
    if len(shape) == 1:
        return f"lax.iota({dtype}, {text(shape[0])!r})"
    return f"lax.broadcasted_iota({dtype}, {text(shape)!r}, {params['dimension']})"


def _product(node: Node, text: Callable[[Any], Any]) -> str | None:
    given = {key: item for key, item in node.params.items() if item is not None}
    if len(node.inputs) != 2 or not all(isinstance(item, Value) for item in node.inputs):
        return None
    first, second = node.inputs
    ranks = len(first.shape), len(second.shape)
    batch = tuple(range(max(ranks) - 2))
    numbers = (((ranks[0] - 1,), (max(ranks[1] - 2, 0),)), (batch, batch))
    if (
        first.dtype != second.dtype
        or given.keys() != {"dimension_numbers", "preferred_element_type"}
        or given["dimension_numbers"] != numbers
        or given["preferred_element_type"] != first.dtype
        or batch
        and (ranks[0] != ranks[1] or 1 in first.spec.hints[:-2])
    ):
        return None
    return f"{text(first)!r} @ {text(second)!r}"


_SPATIAL = "DHW"
_CONVOLVED = _function(
    "conv_general_dilated",
    "window_strides",
    "padding",
    lhs_dilation=lambda node: (1,) * len(node.params["window_strides"]),
    rhs_dilation=lambda node: (1,) * len(node.params["window_strides"]),
    dimension_numbers=None,
    feature_group_count=1,
    batch_group_count=1,
    precision=None,
    preferred_element_type=None,
)


def _convolved(node: Node, text: Callable[[Any], Any]) -> str | None:
    params = dict(node.params)
    params["dimension_numbers"] = _layouts(params["dimension_numbers"])
    # The function refuses a word for the padding of a dilated operand.
    if params["padding"] == ((0, 0),) * len(params["padding"]) and set(params["lhs_dilation"]) <= {1}:
        params["padding"] = "VALID"
    return None if params["dimension_numbers"] == () else _CONVOLVED(replace(node, params=params), text)


def _layouts(numbers: Any) -> tuple[str, ...] | None:
    """Return the letters of the axes of a convolution.

    Return None if the function takes these by default, and () if letters do not express their order.
    """
    axes = (numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec)
    count = len(axes[0])
    if all(each == tuple(range(count)) for each in axes):
        return None
    if count - 2 > len(_SPATIAL):
        return ()
    spatial = _SPATIAL[len(_SPATIAL) + 2 - count :]
    written = tuple(
        "".join(letter for _, letter in sorted(zip(each, kinds + spatial)))
        for each, kinds in zip(axes, ("NC", "OI", "NC"))
    )
    read = jax.lax.conv_dimension_numbers((1,) * count, (1,) * count, written)
    return written if (read.lhs_spec, read.rhs_spec, read.out_spec) == axes else ()


def _fill_of(node: Node) -> Any:
    """Return the default ``fill_value`` of ``lax.gather`` for a node; None if its mode fills nothing."""
    if node.params["mode"].name != "FILL_OR_DROP":
        return None
    dtype = node.inputs[0].dtype
    if dtype == "bool":
        return True
    if "int" not in dtype:
        return float("nan")
    limits = jax.numpy.iinfo(dtype)
    return int(limits.max if dtype.startswith("u") else limits.min)


_SORTED = _function("sort", dimension=_last_axis, is_stable=True, num_keys=1)
_SORTED_TOGETHER = _function("sort", dimension=_last_axis, is_stable=True, num_keys=1, joined=slice(None))


def _sorted(node: Node, text: Callable[[Any], Any]) -> str | None:
    return (_SORTED if len(node.inputs) == 1 else _SORTED_TOGETHER)(node, text)


_IS_EXACT = "allow_negative_indices" in inspect.signature(jax.lax.dynamic_slice).parameters


def _dynamic(name: str, arrays: int, *positional: str) -> Written:
    """Return the row of a function that takes the operands after the first ``arrays`` ones as one tuple."""
    row = _function(name, *positional, joined=slice(arrays, None), allow_negative_indices=True)

    def exact(node: Node, text: Callable[[Any], Any]) -> str | None:
        # An older version of JAX always adds the size of the axis to a negative index.
        if not _IS_EXACT or not all(isinstance(item, Value) for item in node.inputs):
            return None
        return row(replace(node, params={**node.params, "allow_negative_indices": False}), text)

    return exact


_SCATTERED: dict[str, Any] = {"indices_are_sorted": False, "unique_indices": False, "mode": ...}


def _random_function(written: str) -> Written:
    return lambda node, text: (
        written.format(
            *(repr(text(item)) for item in node.inputs),
            **{name: repr(text(item)) for name, item in node.params.items()},
        )
        if all(item.spec.shape == () for item in node.inputs if isinstance(item, Value))
        else None
    )


def _key_function(written: str) -> Written:
    return lambda node, text: (
        written.format(repr(text(node.inputs[0])), **node.params)
        if any(value.dtype in KEYS for value in (*node.uses, *node.outputs))
        else None
    )


def _collective(name: str) -> Written:
    return lambda node, text: f"parallel.{name}({text(node.inputs[0])!r}, {node.params['axis_name']!r})"


# Rows of operators and functions that convert their operands to a common type.
_PROMOTING: dict[str, Written] = {
    **{key: _operator(key) for key in _OPERATORS},
    "dot_general_p": _product,
    "integer_pow_p": _power,
    "select_n_p": _selected,
}
# Rows of functions that take operands as they are.
_ROWS: dict[str, Written] = {
    **{f"{name}_p": _plain_function(name) for name in _PLAIN},
    "argmax_p": _chosen_index("argmax"),
    "argmin_p": _chosen_index("argmin"),
    "bitcast_convert_type_p": _function("bitcast_convert_type", "new_dtype"),
    "broadcast_in_dim_p": _broadcast,
    "concatenate_p": _function("concatenate", "dimension", joined=slice(None)),
    "conv_general_dilated_p": _convolved,
    "convert_element_type_p": _converted,
    **{
        f"{name}_p": _function(name, axis=..., reverse=False)
        for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
    },
    "dot_general_p": _function(
        "dot_general", "dimension_numbers", precision=None, preferred_element_type=None
    ),
    "dynamic_slice_p": _dynamic("dynamic_slice", 1, "slice_sizes"),
    "dynamic_update_slice_p": _dynamic("dynamic_update_slice", 2),
    "gather_p": _function(
        "gather",
        "dimension_numbers",
        "slice_sizes",
        **_SCATTERED,
        fill_value=_fill_of,
    ),
    "integer_pow_p": _function("integer_pow", "y"),
    "iota_p": _iota,
    "not_p": _inverted,
    "pad_p": _function("pad", "padding_config"),
    "random_bits_p": _random_function("jax.random.bits({0}, {shape}, jnp.uint{bit_width})"),
    "random_fold_in_p": _random_function("jax.random.fold_in({0}, {1})"),
    "random_seed_p": _key_function("jnp.vectorize(functools.partial(jax.random.key, impl={impl!r}))({0})"),
    "random_split_p": _random_function("jax.random.split({0}, {shape})"),
    "random_unwrap_p": _key_function("jax.random.key_data({0})"),
    "random_wrap_p": _key_function("jax.random.wrap_key_data({0}, impl={impl!r})"),
    "reduce_precision_p": _function("reduce_precision", "exponent_bits", "mantissa_bits"),
    "reshape_p": _reshaped,
    "rev_p": _function("rev", "dimensions"),
    "slice_p": _function("slice", "start_indices", "limit_indices", strides=None),
    "sort_p": _sorted,
    "split_p": _function("split", "sizes", axis=...),
    "squeeze_p": _function("squeeze", "dimensions"),
    "top_k_p": _function("top_k", "k", axis=_last_axis, is_stable=True),
    "transpose_p": _transposed,
    **{f"device_{name}_p": _collective(name) for name in (*REDUCTIONS, "all_gather")},
    "device_axis_index_p": lambda node, text: f"parallel.axis_index({node.params['axis_name']!r})",
    "device_axis_indices_p": lambda node, text: (
        f"jnp.arange(parallel.axis_size({node.params['axis_name']!r}))"
    ),
    "device_sharding_hint_p": lambda node, text: (
        f"parallel.hint({text(node.inputs[0])!r}, {node.params['layout']!r})"
    ),
    **{
        f"reduce_{name}_p": _function(f"reduce_{name}", "axes")
        for name in ("sum", "max", "min", "prod", "and", "or", "xor")
    },
    **{
        f"scatter{kind}_p": _function(f"scatter{kind}", "dimension_numbers", **_SCATTERED)
        for kind in ("", "_add", "_sub", "_mul", "_min", "_max")
    },
}
