"""Creation of tensors: filled, as ranges, or from Python numbers and lists; copies, casts and padding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from ....ir import Value
from ....ops import ArraySpec
from ....ops.dtypes import is_complex, is_inexact, is_integer
from ....sizes import Size, apply, hint_of
from ....trees import iterate_structure
from ...common.builder import convert_number
from ...common.read_numbers import is_read
from ..basics.tensors import dtype_name, result_type, torch_dtype
from .manipulation import given
from .table import TorchBuilder, assume, rows

_METHODS = {
    "bfloat16": "bfloat16", "bool": "bool", "byte": "uint8", "cdouble": "complex128", "cfloat": "complex64",
    "char": "int8", "double": "float64", "float": "float32", "half": "float16", "int": "int32",
    "long": "int64", "short": "int16",
}  # fmt: skip
# Functions that return the elements of their operand, perhaps on another device or in another layout.
_SAME = (
    "alias", "alias_copy", "clone", "contiguous", "cpu", "cuda", "ipu", "lift", "lift_fresh",
    "lift_fresh_copy", "mps", "mtia", "pin_memory", "positive", "__pos__", "requires_grad_", "resolve_conj",
    "resolve_neg", "share_memory", "share_memory_", "to_dense", "xpu",
)  # fmt: skip


def _register_method(name: str, dtype: str) -> None:
    @rows.row(name)
    def method(b: TorchBuilder, input: Any, memory_format: Any = None) -> Any:
        return b.cast(input, dtype)


for _name, _dtype in _METHODS.items():
    _register_method(_name, _dtype)


@rows.row(*_SAME)
def same(b: TorchBuilder, input: Any, *_options: Any, **_named: Any) -> Any:
    return input


rows.table({
    # ``copy.deepcopy`` makes no difference in a pure graph.
    "__deepcopy__": lambda b, input, memo=None: input,
    # Integers and bools have no gradient to stop.
    ("detach", "detach_copy", "data"): lambda b, input:
        b.stop_gradient(input) if is_inexact(input.dtype) else input,
    "type_as": lambda b, input, other: b.cast(input, other.dtype),
})  # fmt: skip


@rows.row("to", "_to_copy")
def to(
    b: TorchBuilder, input: Any, *target: Any, dtype: Any = None, other: Any = None, **_options: Any
) -> Any:
    for item in (*target, other):
        if isinstance(item, (torch.dtype, type)):
            dtype = item
        elif hasattr(item, "spec"):
            dtype = item.dtype
    return input if dtype is None else b.cast(input, dtype)


@rows.row("type")
def type_(b: TorchBuilder, input: Any, dtype: Any = None, non_blocking: bool = False, **_options: Any) -> Any:
    if isinstance(dtype, str):
        dtype = getattr(torch, dtype.rpartition(".")[2])
    return b.cast(input, getattr(dtype, "dtype", dtype))


# Arrays of numbers with more elements become constants of the graph, not literals.
_LITERAL_ELEMENTS = 64


def shape_from(size: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    return tuple(item if isinstance(item, Size) else int(item) for item in size)


def filled(b: TorchBuilder, shape: tuple[Any, ...], value: Any, dtype: Any = None) -> Any:
    """Build an array of ``shape`` filled with ``value``, a number, a size or an array of one element.

    Without ``dtype`` it has the dtype that torch infers from ``value``.
    """
    name = dtype_name(dtype) if dtype is not None else result_type(value)
    if isinstance(value, Value) or is_read(value):
        return b.broadcast_to(b.reshape(b.array(value, name), shape=()), shape=shape)
    return b.full(shape=shape, fill_value=convert_number(value, name), dtype=name)


# ------------------------------------------------------------------------------ filled arrays
# Not every target has uninitialized arrays, so those of ``empty`` are zeros.
@rows.row("zeros", "empty", "empty_permuted")
def zeros(b: TorchBuilder, *size: Any, dtype: Any = None, **options: Any) -> Any:
    return b.zeros(shape=_size(size, options), dtype=dtype_name(dtype))


rows.table({
    "ones": lambda b, *size, dtype=None, **options:
        b.ones(shape=_size(size, options), dtype=dtype_name(dtype)),
    "empty_strided": lambda b, size, stride=None, *, dtype=None, **_options:
        b.zeros(shape=shape_from((size,)), dtype=dtype_name(dtype)),
    ("zeros_like", "empty_like", "zero"): lambda b, input, *, dtype=None, **_options: b.zeros(
        shape=input.shape, dtype=dtype_name(dtype or input.dtype)
    ),
    "ones_like": lambda b, input, *, dtype=None, **_options:
        b.ones(shape=input.shape, dtype=dtype_name(dtype or input.dtype)),
    "full_like": lambda b, input, fill_value, *, dtype=None, **_options:
        filled(b, input.shape, fill_value, dtype or input.dtype),
    "fill": lambda b, input, value: filled(b, input.shape, value, input.dtype),
    "nn.init.constant_": lambda b, tensor, val: filled(b, tensor.shape, val, tensor.dtype),
    # ``copy_`` casts and broadcasts ``src`` to the array that it writes to.
    "copy": lambda b, input, src, non_blocking=False:
        b.broadcast_to(b.array(src, input.dtype), shape=input.shape),
    "new_empty_strided": lambda b, input, size, stride=None, *, dtype=None, **_options: b.zeros(
        shape=shape_from((size,)), dtype=dtype_name(dtype or input.dtype)
    ),
    "new_ones": lambda b, input, *size, dtype=None, **options:
        b.ones(shape=_size(size, options), dtype=dtype_name(dtype or input.dtype)),
    "new_full": lambda b, input, size, fill_value, *, dtype=None, **_options: filled(
        b, shape_from((size,)), fill_value, dtype or input.dtype
    ),
})  # fmt: skip


def _size(size: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
    if not size:
        return shape_from((options["size"],))
    return shape_from(size[:1]) if isinstance(size[0], (tuple, list)) else shape_from(size)


@rows.row("full")
def full(b: TorchBuilder, size: Any, fill_value: Any, *, dtype: Any = None, **_options: Any) -> Any:
    if dtype is None and isinstance(fill_value, Value):
        dtype = b.recorded[0].dtype
    return filled(b, shape_from((size,)), fill_value, dtype)


@rows.row("_new_zeros_with_same_feature_meta")
def zeros_of_tangent(b: TorchBuilder, input: Any, other: Any, *, self_num_batch_dims: int = 0) -> Any:
    return b.zeros(shape=(*input.shape[:self_num_batch_dims], *other.shape), dtype=other.dtype)


@rows.row("new_zeros", "new_empty")
def new_zeros(b: TorchBuilder, input: Any, *size: Any, dtype: Any = None, **options: Any) -> Any:
    return b.zeros(shape=_size(size, options), dtype=dtype_name(dtype or input.dtype))


@rows.row("new")
def new(b: TorchBuilder, input: Any, *given: Any, **options: Any) -> Any:
    if len(given) == 1 and not isinstance(given[0], (int, Size)):
        return as_tensor(b, given[0], dtype=torch_dtype(input.dtype))
    return new_zeros(b, input, *given, **options) if given else new_zeros(b, input, 0)


# ------------------------------------------------------------------------------ ranges
@rows.row("arange")
def arange(
    b: TorchBuilder,
    *bounds: Any,
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    dtype: Any = None,
    **_options: Any,
) -> Any:
    if len(bounds) == 1 and end is None:
        bounds = (start, *bounds)
    start, end, step = (*bounds, *(start, end, step)[len(bounds) :])
    name = _counted(dtype, start, end, step)
    if is_integer(name) and any(type(hint_of(number)) is float for number in (start, end, step)):
        return _whole_steps(b, start, end, step, name)
    if _may_wrap(name, start, end):
        return b.cast(b.arange(start=start, stop=end, step=step, dtype="int64"), name)
    return b.arange(start=start, stop=end, step=step, dtype=name)


def _may_wrap(name: str, *bounds: Any) -> bool:
    # NumPy raises for a bound outside of the range of a narrow integer dtype, while torch wraps around.
    if name not in _NARROW:
        return False
    least, most = _NARROW[name]
    return not all(type(number) is int and least <= number <= most for number in bounds)


_NARROW = {"uint8": (0, 255), "int8": (-128, 127), "int16": (-(2**15), 2**15 - 1), "uint16": (0, 2**16 - 1)}


def _whole_steps(b: TorchBuilder, start: Any, end: Any, step: Any, name: str) -> Any:
    # torch truncates the start and the step, but computes the count from the given numbers, except for int64.
    first, by = (apply("trunc", number) for number in (start, step))
    if name == "int64":
        return b.arange(start=first, stop=apply("trunc", end), step=by, dtype=name)
    counted = b.arange(stop=apply("ceil", (end - start) / step), dtype="int32")
    return b.cast(b.add(b.multiply(counted, by), first), name)


def _counted(dtype: Any, *numbers: Any) -> str:
    if dtype is not None:
        return dtype_name(dtype)
    return dtype_name(None) if any(type(hint_of(number)) is float for number in numbers) else "int64"


@rows.row("range")
def range_(
    b: TorchBuilder, start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None, **_options: Any
) -> Any:
    start, end = (0, start) if end is None else (start, end)
    count = apply("floor", (end - start) / step) + 1
    name = dtype_name(dtype)
    return b.add(
        b.multiply(b.arange(stop=count, dtype=name), convert_number(step, name)), convert_number(start, name)
    )


@rows.row("linspace")
def linspace(b: TorchBuilder, start: Any, end: Any, steps: Any, *, dtype: Any = None, **_options: Any) -> Any:
    name = _inexact(dtype, start, end)
    ends = [
        b.cast(item, name) if isinstance(item, Value) and not is_integer(name) else item
        for item in (start, end)
    ]
    return b.linspace(*ends, num=steps, dtype=name)


@rows.row("logspace")
def logspace(
    b: TorchBuilder, start: Any, end: Any, steps: Any, base: Any = 10.0, *, dtype: Any = None, **_options: Any
) -> Any:
    name = _inexact(dtype, start, end)
    # An integer result depends on the last digit, so torch computes it.
    if is_integer(name) and not any(isinstance(item, (Value, Size)) for item in (start, end, steps, base)):
        return _constant(b, torch.logspace(start, end, steps, base, dtype=torch_dtype(name)), name)
    counted = name if not is_integer(name) else "float64"
    exponents = b.linspace(start, end, num=steps, dtype=counted)
    return b.cast(b.pow(b.array(base, counted), exponents), name)


def _inexact(dtype: Any, *numbers: Any) -> str:
    if dtype is not None:
        return dtype_name(dtype)
    return (
        result_type(1j, torch_scalar(None))
        if any(isinstance(number, complex) for number in numbers)
        else dtype_name(None)
    )


def torch_scalar(dtype: Any) -> Any:
    return ArraySpec((), dtype_name(dtype))


rows.table({
    "eye": lambda b, n, m=None, *, dtype=None, **_options:
        b.eye(n_rows=n, n_cols=n if m is None else m, dtype=dtype_name(dtype)),
    "tril": lambda b, input, diagonal=0: b.tril(input, k=diagonal),
    "triu": lambda b, input, diagonal=0: b.triu(input, k=diagonal),
    "tril_indices": lambda b, row, col, offset=0, *, dtype=torch.int64, **_options: b.tril_indices(
        n_rows=row, n_cols=col, k=offset, dtype=dtype_name(dtype)
    ),
    "triu_indices": lambda b, row, col, offset=0, *, dtype=torch.int64, **_options: b.triu_indices(
        n_rows=row, n_cols=col, k=offset, dtype=dtype_name(dtype)
    ),
})  # fmt: skip


@rows.row("vander")
def vander(b: TorchBuilder, x: Any, N: Any = None, increasing: bool = False) -> Any:
    count = x.shape[0] if N is None else N
    dtype = result_type(x, 1) if x.dtype == "bool" or "int" in x.dtype else x.dtype
    dtype = "int64" if is_integer(dtype) else dtype
    column = b.reshape(b.cast(x, dtype), shape=(*x.shape, 1))
    # The complex power ``0 ** 0`` is NaN, so powers are computed as products.
    if is_complex(dtype):
        return _products(b, column, count, increasing)
    bounds = {"start": 0, "stop": count} if increasing else {"start": count - 1, "stop": -1, "step": -1}
    return b.pow(column, b.arange(**bounds, dtype=dtype))


def _products(b: TorchBuilder, column: Any, count: Any, increasing: bool) -> Any:
    is_first = b.equal(b.arange(stop=count, dtype="int64"), 0)
    powers = b.cumulative_prod(b.where(is_first, b.array(1, column.dtype), column), axis=column.ndim - 1)
    return powers if increasing else b.flip(powers, axis=column.ndim - 1)


@rows.row("linalg_vander")
def linalg_vander(b: TorchBuilder, x: Any, *, N: Any = None) -> Any:
    x = x if x.ndim else b.reshape(x, shape=(1,))
    assume(b, "gt", x.shape[-1] if N is None else N, 1)
    return vander(b, x, x.shape[-1] if N is None else N, increasing=True)


# ------------------------------------------------------------------------------ arrays of given numbers
@rows.row("tensor")
def tensor(b: TorchBuilder, data: Any, *, dtype: Any = None, **_options: Any) -> Any:
    made = as_tensor(b, data, dtype)
    # ``torch.tensor`` copies the elements, so no gradient flows to ``data``.
    return (
        b.stop_gradient(made)
        if is_inexact(made.dtype) and any(isinstance(item, Value) for item in iterate_structure(data))
        else made
    )


@rows.row("as_tensor", "asarray")
def as_tensor(b: TorchBuilder, data: Any, dtype: Any = None, **_options: Any) -> Any:
    if isinstance(data, Value):
        return data if dtype is None else b.cast(data, dtype)
    if isinstance(data, (torch.Tensor, np.ndarray, np.generic)):
        array = torch.as_tensor(data, dtype=dtype)
        return _constant(b, array, dtype_name(array.dtype))
    leaves = list(_leaves(data))
    name = dtype_name(dtype) if dtype is not None else _element_type(b, leaves)
    if not isinstance(data, (list, tuple)):
        return filled(b, (), data, name)
    if any(isinstance(leaf, Value) or is_read(leaf) for leaf in leaves):
        return _stacked(b, leaves, _nested_shape(data), name)
    if len(leaves) <= _LITERAL_ELEMENTS or any(isinstance(leaf, Size) for leaf in leaves):
        return b.asarray(data=_tuples(data, name), dtype=name)
    return _constant(b, torch.tensor(data, dtype=torch_dtype(name)), name)


rows.table({
    "new_tensor": lambda b, input, data, *, dtype=None, **_options:
        tensor(b, data, dtype=dtype or torch_dtype(input.dtype)),
    # The result has the default float type, even for an integer.
    "scalar_tensor": lambda b, s, *, dtype=None, **_options: filled(b, (), s, dtype_name(dtype)),
    "complex": lambda b, real, imag: b.complex(real, imag),
    # The complex number is ``abs * (cos(angle) + 1j * sin(angle))``.
    "polar": lambda b, abs, angle: b.complex(b.multiply(abs, b.cos(angle)), b.multiply(abs, b.sin(angle))),
    ("view_as_real", "view_as_real_copy"): lambda b, input: b.view_as_real(input),
})  # fmt: skip


def _constant(b: TorchBuilder, array: torch.Tensor, dtype: str) -> Any:
    if 0 < array.numel() <= _LITERAL_ELEMENTS and array.ndim:
        return b.asarray(data=_tuples(array.tolist(), dtype), dtype=dtype)
    return b.constant("constant", ArraySpec(tuple(array.shape), dtype), array)


def _leaves(data: Any) -> Iterator[Any]:
    if isinstance(data, (list, tuple)):
        for item in data:
            yield from _leaves(item)
    elif isinstance(data, (np.ndarray, torch.Tensor)) and data.ndim:
        yield from _leaves(data.tolist())
    else:
        yield data.item() if isinstance(data, (np.generic, np.ndarray, torch.Tensor)) else data


def _element_type(b: TorchBuilder, leaves: list[Any]) -> str:
    if b.recorded:
        return b.recorded[0].dtype
    kinds = {leaf.dtype if isinstance(leaf, Value) else result_type(leaf) for leaf in leaves} or {
        dtype_name(None)
    }
    found = torch_dtype(kinds.pop())
    for kind in kinds:
        found = torch.promote_types(found, torch_dtype(kind))
    return dtype_name(found)


def _nested_shape(data: Any) -> tuple[int, ...]:
    return (len(data), *(_nested_shape(data[0]) if data else ())) if isinstance(data, (list, tuple)) else ()


def _tuples(data: Any, dtype: str) -> Any:
    if isinstance(data, (np.ndarray, torch.Tensor)):
        data = data.tolist()
    if isinstance(data, (list, tuple)):
        return tuple(_tuples(item, dtype) for item in data)
    data = data.item() if isinstance(data, np.generic) else data
    return convert_number(data, dtype)


def _stacked(b: TorchBuilder, leaves: list[Any], shape: tuple[int, ...], dtype: str) -> Any:
    arrays = [b.reshape(b.array(leaf, dtype), shape=()) for leaf in leaves]
    return b.reshape(b.stack(*arrays, axis=0), shape=shape)


@rows.row("view_as_complex", "view_as_complex_copy")
def view_as_complex(b: TorchBuilder, input: Any) -> Any:
    b.guard(apply("eq", input.shape[-1], 2))
    return b.view_as_complex(input)


_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@rows.row("pad")
def _pad(b: TorchBuilder, input: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    # The pairs in ``pad`` begin with the last axis.
    amounts = given((pad,))
    pairs = tuple(zip(amounts[::2], amounts[1::2], strict=False))[::-1]
    padding = ((0, 0),) * (input.ndim - len(pairs)) + pairs
    return b.pad(input, padding=padding, mode=_MODES[mode], value=b.operand(value or 0, input.dtype))


rows.table({
    "constant_pad_nd": lambda b, input, pad, value=0: _pad(b, input, pad, "constant", value),
    # ATen has a kernel for each of these modes of ``pad``.
    ("reflection_pad1d", "reflection_pad2d", "reflection_pad3d"): lambda b, input, padding:
        _pad(b, input, padding, "reflect"),
    ("replication_pad1d", "replication_pad2d", "replication_pad3d"): lambda b, input, padding:
        _pad(b, input, padding, "replicate"),
})  # fmt: skip
