"""Names of JAX's public functions, primitives and folders, and the source text of primitives."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
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

    Raise ``AttributeError`` if this version of JAX does not have it.

    >>> resolve("jax.nn.softmax").__name__
    'softmax'
    """
    holder, short = holder_of(name)
    return getattr(holder, short)


def holder_of(name: str) -> tuple[Any, str]:
    """Return the module of a public function, and its name there.

    Raise ``AttributeError`` if this version of JAX does not have it.

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
    """Return the module that exports a primitive, as source text names it (``"lax.linalg"``), or None."""
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
    """Value numbering: values that are found to be computed in the same way get equal numbers."""

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}
        self._numbers: dict[Value, Any] = {}

    def follow(self, inputs: Sequence[Value], given: Sequence[Any], nodes: Sequence[Node]) -> None:
        self._numbers.update(zip(inputs, given))
        for node in nodes:
            self._node(node)

    def of(self, item: Any) -> Any:
        if isinstance(item, Value):
            return self._numbers.get(item, item)
        return ("size", item) if isinstance(item, Size) else (type(item), item)

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


_OPERATORS = {
    "add_p": "+", "sub_p": "-", "mul_p": "*", "div_p": "/",
    "gt_p": ">", "ge_p": ">=", "lt_p": "<", "le_p": "<=", "eq_p": "==", "ne_p": "!=",
}  # fmt: skip
# For integers the operator `/` of jax.numpy is true division, which lax.div is not.
_FLOATING = frozenset({"div_p"})
_PLAIN = frozenset({
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "conj", "cos", "cosh",
    "digamma", "erf", "erf_inv", "erfc", "exp", "exp2", "expm1", "floor", "imag", "is_finite", "lgamma",
    "log", "log1p", "log2", "logistic", "not", "real", "rsqrt", "sign", "sin", "sinh", "sqrt", "square",
    "tan", "tanh",
})  # fmt: skip
_LAX = {"not": "bitwise_not"}
# Parameters that all have their defaults.
_SAID: tuple[dict[str, None], ...] = ({"accuracy": None}, {"out_dtype": None}, {})
Written = Callable[[Node, Callable[[Any], Any]], "str | None"]


def readable_source(key: str, node: Node, text: Callable[[Any], Any]) -> str | None:
    """Write a primitive call as an operator, method or public function. Return None if that is not possible.

    ``key`` is the primitive's name with ``_p``, and ``text`` returns the text of an operand.
    """
    if node.depends_on_devices or key in OF_KEYS:
        return _ROWS[key](node, text)
    if node.record is None or node.record.weak:
        return None
    if key in _OPERATORS and node.params in _SAID:
        return _operator(key, node, text)
    name = key.removesuffix("_p")
    if (
        name in _PLAIN
        and node.params in _SAID
        and len(node.inputs) == 1
        and isinstance(node.inputs[0], Value)
    ):
        return f"lax.{_LAX.get(name, name)}({text(node.inputs[0])!r})"
    row = _ROWS.get(key)
    return None if row is None else row(node, text)


def _operator(key: str, node: Node, text: Callable[[Any], Any]) -> str | None:
    arrays = [item for item in node.inputs if isinstance(item, Value)]
    numbers = [item for item in node.inputs if not isinstance(item, Value)]
    if (
        not arrays
        or len({(item.spec.hints, item.dtype) for item in arrays}) != 1
        or len(set(map(id, arrays))) + len(numbers) != 2
    ):
        return None
    plain = [_plain(item, arrays[0].dtype) for item in numbers]
    if None in plain or (key in _FLOATING and "float" not in arrays[0].dtype):
        return None
    written = [
        repr(text(item)) if isinstance(item, Value) else factor(repr(_plain(item, arrays[0].dtype)))
        for item in node.inputs
    ]
    return f" {_OPERATORS[key]} ".join(written)


def _plain(number: Any, dtype: str) -> Any:
    """Return ``number`` as an int or float that acts on arrays of ``dtype`` in the same way, or None."""
    if (
        not isinstance(number, np.generic)
        or str(number.dtype) != dtype
        or number.dtype.kind not in "if"
        or not np.isfinite(number)
    ):
        return None
    plain = int(number) if number.dtype.kind == "i" else float(str(number))
    return plain if number.dtype.type(plain) == number and not (plain == 0 and np.signbit(number)) else None


def short_scalar(item: Any) -> Any:
    """Return a NumPy scalar as short text (``np.float32(0.5)``) if possible, and any other item unchanged."""
    if (
        not isinstance(item, np.generic)
        or item.dtype.kind not in "iufb"
        or not hasattr(np, str(item.dtype))
        or not np.isfinite(item)
    ):
        return item
    return Text(f"np.{item.dtype if item.dtype.kind != 'b' else 'bool_'}({item!s})")


# ------------------------------------------------------------------------------------- rows
def _broadcast(node: Node, text: Callable[[Any], Any]) -> str | None:
    shape, axes = node.params["shape"], node.params["broadcast_dimensions"]
    if node.params.get("sharding") is not None:
        return None
    (item, *_) = node.inputs
    number = None if isinstance(item, Value) else _plain(item, node.outputs[0].dtype)
    if number is not None and not axes:
        return f"jnp.full({text(shape)!r}, {number!r}, jnp.{node.outputs[0].dtype})"
    return (
        f"lax.broadcast_in_dim({text(item)!r}, {text(shape)!r}, {axes!r})"
        if isinstance(item, Value)
        else None
    )


def _converted(node: Node, text: Callable[[Any], Any]) -> str | None:
    params, (item, *_) = node.params, node.inputs
    if params.get("weak_type") or params.get("sharding") is not None or not isinstance(item, Value):
        return None
    dtype = str(node.outputs[0].dtype)
    return (
        f"{text(item)!r}.astype(jnp.{'bool_' if dtype == 'bool' else dtype})"
        if hasattr(jax.numpy, dtype) or dtype == "bool"
        else None
    )


def _reduced(name: str) -> Written:
    def row(node: Node, text: Callable[[Any], Any]) -> str | None:
        said = {key for key, item in node.params.items() if item is not None}
        return (
            f"lax.{name}({text(node.inputs[0])!r}, {node.params['axes']!r})"
            if said == {"axes"} and hasattr(jax.lax, name)
            else None
        )

    return row


def _selected(node: Node, text: Callable[[Any], Any]) -> str | None:
    arrays = [item for item in node.inputs if isinstance(item, Value)]
    if len(arrays) != 3 or arrays[0].dtype != "bool" or len({item.spec.hints for item in arrays}) != 1:
        return None
    pred, first, second = map(text, arrays)
    return f"jnp.where({pred!r}, {second!r}, {first!r})"


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


def _transposed(node: Node, text: Callable[[Any], Any]) -> str:
    axes = node.params["permutation"]
    return (
        f"{text(node.inputs[0])!r}.T"
        if axes == tuple(range(len(axes)))[::-1]
        else f"{text(node.inputs[0])!r}.transpose({', '.join(map(str, axes))})"
    )


def _power(node: Node, text: Callable[[Any], Any]) -> str | None:
    return (
        f"{text(node.inputs[0])!r} ** {node.params['y']}"
        if set(node.params) == {"y"} and node.params["y"] > 0
        else None
    )


def _iota(node: Node, text: Callable[[Any], Any]) -> str | None:
    params = node.params
    if len(params["shape"]) != 1 or params.get("sharding") is not None or node.inputs:
        return None
    return f"lax.iota(jnp.{node.outputs[0].dtype}, {text(params['shape'][0])!r})"


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


_ROWS: dict[str, Written] = {
    "broadcast_in_dim_p": _broadcast,
    "convert_element_type_p": _converted,
    "integer_pow_p": _power,
    "iota_p": _iota,
    "random_bits_p": _random_function("jax.random.bits({0}, {shape}, jnp.uint{bit_width})"),
    "random_fold_in_p": _random_function("jax.random.fold_in({0}, {1})"),
    "random_seed_p": _key_function("jnp.vectorize(functools.partial(jax.random.key, impl={impl!r}))({0})"),
    "random_split_p": _random_function("jax.random.split({0}, {shape})"),
    "random_unwrap_p": _key_function("jax.random.key_data({0})"),
    "random_wrap_p": _key_function("jax.random.wrap_key_data({0}, impl={impl!r})"),
    "reshape_p": _reshaped,
    "select_n_p": _selected,
    "transpose_p": _transposed,
    **{f"device_{name}_p": _collective(name) for name in (*REDUCTIONS, "all_gather")},
    "device_axis_index_p": lambda node, text: f"parallel.axis_index({node.params['axis_name']!r})",
    "device_axis_indices_p": lambda node, text: (
        f"jnp.arange(parallel.axis_size({node.params['axis_name']!r}))"
    ),
    "device_sharding_hint_p": lambda node, text: (
        f"parallel.hint({text(node.inputs[0])!r}, {node.params['layout']!r})"
    ),
    **{f"reduce_{name}_p": _reduced(f"reduce_{name}") for name in ("sum", "max", "min", "prod", "and", "or")},
}
