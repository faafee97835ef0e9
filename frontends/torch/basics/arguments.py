"""Arguments of a call: which objects are arrays, which containers are flattened, and how inputs are named."""

from __future__ import annotations

import copy
import enum
import functools
import inspect
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import numpy as np
import torch

from ....errors import TracingError
from ....registration import responds_to
from ....trees import Tree, classes, is_plain_nest, static_paths
from ...common import lifter as signatures
from ..sizes import NUMBERS, is_symbolic
from .names import name_of, row_key, schemas

_METHOD = "torch.Tensor."
_PLAIN = (type(None), bool, int, float, str)


# Names that functions of torch in C++ accept for their first parameter. The last three are NumPy's.
_OPERAND = ("input", "self", "x", "a", "x1")


def operand_first(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call with the first parameter positional, if it was given by a known keyword.

    >>> operand_first(torch.squeeze, (), {"dim": 0, "input": 1.5})
    ((1.5,), {'dim': 0})
    >>> operand_first(torch.where, (), {"input": 1.5, "condition": True, "other": 2.5})
    ((True,), {'input': 1.5, 'other': 2.5})
    """
    if args or not kwargs:
        return args, kwargs
    name = next((one for one in _first_names(function, frozenset(kwargs)) if one in kwargs), None)
    if name is None:
        return args, kwargs
    return (kwargs[name],), {key: item for key, item in kwargs.items() if key != name}


@functools.cache
def _first_names(function: Any, given: frozenset[str]) -> tuple[str, ...]:
    if isinstance(function, FunctionType):
        return tuple(inspect.signature(function).parameters)[:1]
    kernels = [[one.name for one in schema.arguments] for schema in schemas(row_key(name_of(function)))]
    fitting = [names for names in kernels if names and given <= {*names, *_OPERAND}]
    names = tuple(dict.fromkeys(names[0] for names in fitting or filter(None, kernels)))
    # Schemas call the parameter ``self`` that functions call ``input``.
    return (*_OPERAND, *names) if {"input", "self"} & set(names) else names


# Functions with deprecated overloads: the number of operands, and the names of numbers that were positional.
_DEPRECATED: dict[str, tuple[int, tuple[str, ...]]] = {
    **dict.fromkeys(("add", "sub"), (2, ("alpha",))),
    **dict.fromkeys(("addcmul", "addcdiv"), (3, ("value",))),
    **dict.fromkeys(("addmm", "addmv", "addr", "addbmm", "baddbmm"), (3, ("beta", "alpha"))),
}


def without_deprecated_order(
    key: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call with the positional factors of a deprecated overload as keywords.

    >>> x = torch.ones(2)
    >>> args, kwargs = without_deprecated_order("add", (x, 2, x), {})
    >>> len(args), kwargs
    (2, {'alpha': 2})
    """
    # The key of a kernel of the user has the name of its library, as in ``toy.add``.
    count, names = _DEPRECATED.get(key.removesuffix("_"), (len(args), ()))
    if len(args) <= count:
        return args, kwargs
    operands = tuple(item for item in args if isinstance(item, torch.Tensor))
    factors = [item for item in args if not isinstance(item, torch.Tensor)]
    return (operands, {**kwargs, **dict(zip(names, factors))}) if len(operands) == count else (args, kwargs)


def without_defaults(
    name: str, inputs: tuple[Any, ...], params: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Drop keywords and last arguments that are known to equal the defaults of the function ``name``.

    >>> without_defaults("torch.nn.functional.linear", (1.5, 2.5, None), {})
    ((1.5, 2.5), {})
    >>> named = {"padding_idx": None, "norm_type": 1.0, "sparse": False}
    >>> without_defaults("torch.nn.functional.embedding", (1.5, 2.5), named)
    ((1.5, 2.5), {'norm_type': 1.0})
    """
    known = {} if name.startswith(_METHOD) else _defaults(name)
    params = {key: item for key, item in params.items() if not (key in known and _same(item, known[key][1]))}
    places = dict(known.values())
    while inputs and len(inputs) - 1 in places and _same(inputs[-1], places[len(inputs) - 1]):
        inputs = inputs[:-1]
    return inputs, params


def _same(item: Any, default: Any) -> bool:
    if isinstance(item, (tuple, list)) and isinstance(default, (tuple, list)):
        return len(item) == len(default) and all(map(_same, item, default))
    return isinstance(item, _PLAIN) and type(item) is type(default) and item == default


@functools.cache
def _defaults(name: str) -> dict[str, tuple[int, Any]]:
    """Map parameters that have defaults to their positions (-1 if keyword-only) and defaults."""
    function: Any = torch
    for part in name.split(".")[1:]:
        function = getattr(function, part, None)
    if isinstance(function, FunctionType):
        given = enumerate(inspect.signature(function).parameters.values())
        return {
            p.name: (-1 if p.kind is p.KEYWORD_ONLY else place, p.default)
            for place, p in given
            if p.default is not p.empty
        }
    kernels = schemas(row_key(name))
    tables = [_of_schema(schema) for schema in kernels if not schema.overload_name.endswith("out")]
    return (
        {
            key: entry
            for key, entry in tables[0].items()
            if all(_agrees(table.get(key), entry) for table in tables)
        }
        if tables
        else {}
    )


def _of_schema(schema: Any) -> dict[str, tuple[int, Any]]:
    given = enumerate(schema.arguments)
    return {
        one.name: (-1 if one.kwarg_only else place, one.default_value)
        for place, one in given
        if one.has_default_value()
    }


def _agrees(other: tuple[int, Any] | None, entry: tuple[int, Any]) -> bool:
    return other is not None and other[0] == entry[0] and _same(other[1], entry[1])


@contextmanager
def tensors_pass_from_numpy() -> Iterator[None]:
    # No mode intercepts this function.
    original = torch.from_numpy

    def from_numpy(array: Any) -> torch.Tensor:
        return array if isinstance(array, torch.Tensor) else original(array)

    torch.from_numpy = from_numpy
    try:
        yield
    finally:
        torch.from_numpy = original


_WRITABLE = (np.ndarray, array, bytearray)


def is_array(item: Any) -> bool:
    if isinstance(item, (torch.Tensor, np.ndarray)):
        return True
    # Reading an attribute of a symbolic number would add a guard, so it is told by its class first.
    if isinstance(item, (np.generic, type)) or is_symbolic(item):
        return False
    # Python looks special methods up on the class, too.
    cls = type(item)
    return (responds_to(cls, "__dlpack__") or responds_to(cls, "__array__")) and responds_to(
        item, "dtype", "shape"
    )


def opens(item: Any) -> bool:
    return not isinstance(item, (torch.nn.Module, torch.Generator, torch.device, torch.dtype))


def to_tensor(item: Any) -> torch.Tensor:
    """Convert an array to a tensor, which may share its memory.

    Raise ``TracingError`` for a tensor that is quantized or whose layout is not ``torch.strided``.
    """
    if isinstance(item, torch.Tensor):
        return _dense(item)
    # The DLPack export of a tf.Variable ends the process, so its value is read first.
    if hasattr(type(item), "read_value"):
        item = item.read_value()
    if not isinstance(item, np.ndarray):
        try:
            return (
                torch.from_dlpack(item).clone()
                if hasattr(item, "__dlpack__")
                else torch.from_numpy(np.array(item))
            )
        # DLPack cannot export the array, for example because it is sharded over devices.
        except BufferError:
            return torch.from_numpy(np.array(item))
    if not item.dtype.isnative:
        item = item.astype(item.dtype.newbyteorder("="))
    return torch.from_numpy(
        item if item.flags.writeable and min(item.strides, default=0) >= 0 else item.copy()
    )


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.layout is not torch.strided:
        raise TracingError(
            f"an argument is a tensor of the layout {tensor.layout}, and a graph takes dense arrays; pass "
            "tensor.to_dense(), or its indices and values"
        )
    if tensor.is_quantized:
        raise TracingError(
            f"an argument is a quantised tensor ({tensor.dtype}), and a graph takes plain numbers; pass "
            "tensor.dequantize(), or its int_repr(), scale and zero point"
        )
    return tensor


def as_recorded(item: Any) -> Any:
    """Return the value of a NumPy scalar or numeric enum, a copy of a NumPy array or buffer, or the item.

    >>> numbers = np.ones(2)
    >>> as_recorded(np.int64(3)), as_recorded(numbers) is numbers
    (3, False)
    """
    if type(item) in NUMBERS:
        return item
    if isinstance(item, np.generic):
        return item.item()
    if isinstance(item, (int, float)) and isinstance(item, enum.Enum):
        return item.value
    # The function may write to the array later.
    return copy.copy(item) if isinstance(item, _WRITABLE) else item


def input_names(function: Callable[..., Any], args: tuple[Any, ...], tree: Tree) -> list[str]:
    return signatures.input_names(_called(function), args, tree)


def _called(function: Callable[..., Any]) -> Callable[..., Any]:
    return function.forward if isinstance(function, torch.nn.Module) else function


def given_objects(function: Callable[..., Any], args: tuple[Any, ...], tree: Tree) -> list[tuple[str, Any]]:
    if is_plain_nest(tree):
        return []
    positional = signatures.positional_names(_called(function), len(args))
    objects = [
        (signatures.name_at(path, positional), item)
        for path, item in static_paths(tree)
        if len(path) > 1 and (callable(item) or hasattr(item, "__dict__"))
    ]
    return [
        *objects,
        *((cls.__name__, cls) for cls in dict.fromkeys(classes(tree)) if cls.__module__ != "builtins"),
    ]
