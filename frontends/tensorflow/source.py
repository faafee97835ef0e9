"""Writes recorded operations as operators and public functions, or as raw operations."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from ...ir.node import Node, Value
from ...ops.text import factor
from ...sizes import Size, Symbol, hint_of
from ..common.lifter import CALLS, RecordedCalls
from .evaluation import has_grouped_gradient, has_kernel
from .names import CONVERT, READ, REFUSE_GRADIENT, WITH_GRADIENT, definition, dtype_name, row_key
from .operations import dtypes_of_operands

_OPERATORS = {
    "AddV2": "+", "Sub": "-", "Mul": "*", "RealDiv": "/", "FloorDiv": "//", "FloorMod": "%", "Pow": "**",
    "Greater": ">", "GreaterEqual": ">=", "Less": "<", "LessEqual": "<=",
}  # fmt: skip
_FUNCTIONS = {
    "Exp": "exp", "Log": "math.log", "Sqrt": "sqrt", "Rsqrt": "math.rsqrt", "Square": "square",
    "Tanh": "tanh", "Sigmoid": "sigmoid", "Relu": "nn.relu", "Softmax": "nn.softmax", "Abs": "abs",
    "Sin": "sin", "Cos": "cos", "Floor": "floor", "Erf": "math.erf", "Softplus": "nn.softplus",
    "Selu": "nn.selu", "Elu": "nn.elu", "Sign": "sign", "Log1p": "math.log1p", "Expm1": "math.expm1",
    "SelectV2": "where", "Maximum": "maximum", "Minimum": "minimum", "LogicalAnd": "logical_and",
    "LogicalNot": "logical_not", "LogicalOr": "logical_or",
}  # fmt: skip
# Helpers of generated code for operations that ``tf.raw_ops`` lacks.
_HELPERS = {"XlaDynamicUpdateSlice": "dynamic_update_slice"}
# Parameters of ``tf.raw_ops`` that have another name than their attributes.
_RENAMED = {("Squeeze", "axis"): "squeeze_dims"}
_DEFAULTS: dict[type, str] = {bool: "bool", int: "int32", float: "float32", complex: "complex128"}


class TensorFlowCalls(RecordedCalls):
    """Dialect that writes recorded TensorFlow graphs as TensorFlow code."""

    imports: Mapping[str, str] = {
        "tf": "import tensorflow as tf",
        "parallel": "from graph_compiler import parallel",
    }
    prelude = (
        "size", "sizes", "scalar", "item", "refuse_gradient", "with_gradient", "while_loop", "iterate",
        "scan", "run_again", "dynamic_update_slice", "grouped_conv2d", "compiled_by_xla",
    )  # fmt: skip

    def dtype_text(self, dtype: str) -> str:
        return f"tf.{dtype}"

    def expression(self, node: Node, text: Callable[[Any], Any]) -> str:
        key = row_key(node.op)
        if node.op == CONVERT:
            written, dtype = repr(text(node.inputs[0])), f"tf.{node.params['dtype']}"
            return (
                f"{'scalar' if isinstance(node.inputs[0], Size) else 'tf.convert_to_tensor'}({written}, "
                f"{dtype})"
            )
        if node.op == REFUSE_GRADIENT:
            return f"refuse_gradient({text(node.inputs[0])!r}, message={text(node.params['message'])!r})"
        if node.op == WITH_GRADIENT:
            value, source = (repr(text(item)) for item in node.inputs)
            return f"with_gradient({value}, {source}, tf.ones_like({source}))"
        if node.op == READ:
            return f"item({text(node.inputs[0])!r})"
        if node.op.startswith(CALLS):
            return _collective_call(
                key, [repr(text(item)) for item in (*node.inputs, node.params["axis_name"])]
            )
        operands = [
            _operand(*each, text) for each in zip(node.inputs, _missing_types(node), dtypes_of_operands(node))
        ]
        # Without an array among the operands, an operator would compute with Python's numbers.
        if key in _OPERATORS and any(map(_is_array, node.inputs)):
            return f"{factor(operands[0])} {_OPERATORS[key]} {factor(operands[1])}"
        if key in _FUNCTIONS:
            return f"tf.{_FUNCTIONS[key]}({', '.join(operands)})"
        if key in _HELPERS:
            # Unlike an operation of TensorFlow, a helper does not make tensors of numbers.
            arrays = (
                item if isinstance(value, Value) else f"tf.convert_to_tensor({text(value)!r}, tf.{dtype})"
                for item, value, dtype in zip(operands, node.inputs, dtypes_of_operands(node))
            )
            return f"{_HELPERS[key]}({', '.join(arrays)})"
        names = parameters_of(key)
        # The helper also has a gradient on processors without a kernel for it.
        groups = _groups_without_gradient(node) if key == "Conv2D" else 1
        declared = {_RENAMED.get((key, name), name): name for name in names}
        texts = {
            name: self._attribute(key, own, node.params[own], text)
            for own, name in declared.items()
            if own in node.params
        }
        defaults = _default_attributes(key)
        attributes = [f"{name}={value}" for name, value in texts.items() if defaults.get(name) != value]
        named = [f"{name}={operand}" for name, operand in zip(names, operands)]
        if not has_kernel(node, names):
            return f"compiled_by_xla(tf.raw_ops.{key})({', '.join([*named, *attributes])})"
        if groups > 1:
            # The helper has no defaults.
            attributes = [f"{name}={value}" for name, value in texts.items()]
            return f"grouped_conv2d({', '.join([*operands, f'{groups=}', *attributes])})"
        return (
            f"tf.raw_ops.{key}({', '.join([*named, *attributes])}){'[0]' if _gives_list_of_one(node) else ''}"
        )

    def _attribute(self, key: str, name: str, value: Any, text: Callable[[Any], Any]) -> str:
        kind = next(attribute.type for attribute in definition(key).attr if attribute.name == name)
        if kind == "type":
            return f"tf.{value}"
        if kind == "list(type)":
            return f"[{', '.join(f'tf.{dtype}' for dtype in value)}]"
        return repr(list(value)) if isinstance(value, tuple) else repr(text(value))

    def size(self, array: str, symbol: Symbol) -> str:
        return f"size({array}, {symbol.axis})"

    def sizes(self, array: str) -> str:
        return f"sizes({array})"


def _groups_without_gradient(node: Node) -> int:
    x, kernel = node.inputs
    groups = int(x.shape[node.params["data_format"].index("C")]) // int(kernel.shape[2])
    return groups if groups > 1 and not has_grouped_gradient(x.dtype) else 1


def _collective_call(name: str, operands: list[str]) -> str:
    return (
        f"tf.range(parallel.axis_size({operands[0]}))"
        if name == "axis_indices"
        else f"parallel.{name}({', '.join(operands)})"
    )


@functools.cache
def parameters_of(key: str) -> tuple[str, ...]:
    """Return the names of the parameters that an operation has in ``tf.raw_ops``, except for ``name``.

    >>> parameters_of("Sum")
    ('input', 'axis', 'keep_dims')
    """
    return tuple(name for name in inspect.signature(getattr(tf.raw_ops, key)).parameters if name != "name")


@functools.cache
def _default_attributes(key: str) -> dict[str, str]:
    """Return the source texts of the defaults of an operation in ``tf.raw_ops``, except for ``name``.

    >>> _default_attributes("Sum")
    {'keep_dims': 'False'}
    """
    parameters = inspect.signature(getattr(tf.raw_ops, key)).parameters
    defaults = {name: each.default for name, each in parameters.items() if name != "name"}
    return {
        name: f"tf.{default.name}" if isinstance(default, tf.DType) else repr(default)
        for name, default in defaults.items()
        if default is not inspect.Parameter.empty
    }


def _gives_list_of_one(node: Node) -> bool:
    made = definition(row_key(node.op)).output_arg
    # ``tf.raw_ops`` returns a list for an output that is declared as a list, even if it has one element.
    return len(node.outputs) == len(made) == 1 and bool(made[0].number_attr or made[0].type_list_attr)


def _missing_types(node: Node) -> list[Any]:
    key = row_key(node.op)
    declared, own = definition(key).input_arg, _types_by_default(key)
    of_arrays = [
        argument.type_attr if _is_array(item) else "" for argument, item in zip(declared, node.inputs)
    ]

    def missing(told: list[str], attribute: str, item: Any, dtype: Any) -> Any:
        if isinstance(dtype, tuple):
            return tuple(missing(told, attribute, *each) for each in zip(item, dtype))
        is_told = bool(attribute) and attribute in told
        return None if is_told or _is_array(item) or own.get(attribute, _default(item)) == dtype else dtype

    # In a traced function, only an earlier array operand determines the dtype of a number, except of an
    # operator of Python.
    return [
        missing(of_arrays if key in _OPERATORS else of_arrays[:place], argument.type_attr, *each)
        for place, (argument, *each) in enumerate(zip(declared, node.inputs, dtypes_of_operands(node)))
    ]


@functools.cache
def _types_by_default(key: str) -> dict[str, str]:
    """Return the default dtypes that an operation declares for its type attributes.

    >>> _types_by_default("Range")
    {'Tidx': 'int32'}
    """
    return {
        attribute.name: dtype_name(tf.as_dtype(attribute.default_value.type))
        for attribute in definition(key).attr
        if attribute.default_value.type
    }


def _is_array(item: Any) -> bool:
    return any(map(_is_array, item)) if isinstance(item, tuple) else isinstance(item, Value)


def _default(item: Any) -> str:
    while isinstance(item, tuple) and item:
        item = item[0]
    if item == ():
        return "float32"
    return _DEFAULTS.get(type(hint_of(item) if isinstance(item, Size) else item), "int32")


def _operand(item: Any, dtype: Any, own: Any, text: Callable[[Any], Any]) -> str:
    if isinstance(own, tuple):
        return f"[{', '.join(_operand(*each, text) for each in zip(item, dtype, own))}]"
    written = repr(text(item))
    # In a traced function an unknown size is an int32 scalar tensor.
    if isinstance(item, Size) and own != "int32":
        return f"scalar({written}, tf.{own})"
    return f"tf.constant({written}, tf.{dtype})" if isinstance(dtype, str) else written
