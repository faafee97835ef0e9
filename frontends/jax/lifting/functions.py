"""Rows of JAX's public functions.

A row has the signature of the function, after the builder, for the arguments that it accepts. Calls with
other arguments are lifted primitive by primitive.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ....ir import Value
from ....ops.dtypes import UNSIGNED, complex_of, is_complex, is_floating, real_of
from ....sizes import Size, apply, hint_of
from ...common.indexing import read_index, write_index
from ...common.read_numbers import read
from ..dtypes import dtype_name
from ..names import READ_NUMBER, SETITEM
from .indexing import default_fill
from .table import JaxBuilder, clamp_index, is_inside, rows


@rows.row("jax.numpy.asarray")
def asarray(b: JaxBuilder, x: Any, dtype: Any = None) -> Any:
    if isinstance(x, (tuple, list)):
        raise NotImplementedError
    return b.as_result(x)


@rows.row(READ_NUMBER)
def item(b: JaxBuilder, x: Value) -> Value:
    return read(b, x, is_constant=False)


rows.table({
    # Folded Python loops are written with the first four.
    "jax.numpy.arange": (
        lambda b, start, stop, step: b.arange(start=start, stop=stop, step=step, dtype="int64")
    ),
    "jax.numpy.logical_and": lambda b, x, y: b.logical_and(x, y),
    "jax.numpy.logical_or": lambda b, x, y: b.logical_or(x, y),
    "jax.numpy.logical_not": lambda b, x: b.logical_not(x),
    # JAX arrays are immutable, so a copy is the same value.
    "jax.numpy.copy": lambda b, x: b.as_result(x),
})  # fmt: skip


@rows.row("jax.Array.__getitem__")
def getitem(b: JaxBuilder, x: Any, index: Any) -> Any:
    items = index if isinstance(index, tuple) else (index,)
    # The size of what a mask selects depends on elements, and JAX indexes by a list as by an array.
    if any(
        isinstance(item, (list, bool, np.ndarray)) or (isinstance(item, Value) and item.dtype == "bool")
        for item in items
    ):
        raise NotImplementedError
    if not all(
        item is None or item is Ellipsis or isinstance(item, (int, slice, Value, Size)) for item in items
    ):
        raise NotImplementedError
    if any(isinstance(item, slice) and isinstance(item.step, int) and item.step < 0 for item in items):
        raise NotImplementedError
    # JAX clamps the elements of index arrays to the axis.
    return read_index(b, x, _clamp_indices(b, x, items))


def _clamp_indices(b: JaxBuilder, x: Value, items: tuple[Any, ...]) -> tuple[Any, ...]:
    axes = iter(x.shape[: sum(item is not None for item in items)])
    if Ellipsis in [item for item in items if not isinstance(item, Value)]:
        place = next(place for place, item in enumerate(items) if item is Ellipsis)
        behind = sum(item is not None for item in items[place + 1 :])
        axes = iter(
            (*x.shape[: sum(item is not None for item in items[:place])], None, *x.shape[x.ndim - behind :])
        )
    sizes = [None if item is None else next(axes) for item in items]
    return tuple(
        clamp_index(b, item, size) if isinstance(item, Value) else item for item, size in zip(items, sizes)
    )


@rows.row(SETITEM)
def setitem(b: JaxBuilder, x: Value, index: Any, values: Any) -> Any:
    return write_index(b, x, index, values)


# A polynomial of more coefficients stays the loop that JAX computes it by.
_MOST_STEPS = 64


def _of_integers(name: str) -> Callable[..., Any]:
    def row(b: JaxBuilder, x1: Any, x2: Any) -> Any:
        if "int" not in b.result.dtype:
            raise NotImplementedError
        return getattr(b, name)(b.as_result(x1), b.as_result(x2))

    return row


rows.row("jax.numpy.gcd")(_of_integers("gcd"))
rows.row("jax.numpy.lcm")(_of_integers("lcm"))


def _of_floats(name: str) -> Callable[..., Any]:
    def row(b: JaxBuilder, x1: Any, x2: Any) -> Any:
        if not is_floating(b.result.dtype):
            raise NotImplementedError
        return getattr(b, name)(b.as_result(x1), b.as_result(x2))

    return row


rows.row("jax.numpy.logaddexp")(_of_floats("logaddexp"))
rows.row("jax.numpy.logaddexp2")(_of_floats("logaddexp2"))


@rows.row("jax.numpy.sinc")
def sinc(b: JaxBuilder, x: Any) -> Any:
    if not is_floating(b.result.dtype):
        raise NotImplementedError
    return b.sinc(b.as_result(x))


@rows.row("jax.numpy.polyval")
def polyval(b: JaxBuilder, p: Any, x: Any, *, unroll: int = 16) -> Any:
    if p.ndim != 1:
        raise NotImplementedError
    count = b.fix(p.shape[0])
    if not 0 < count <= _MOST_STEPS:
        raise NotImplementedError
    p, x = b.as_result(p), b.as_result(x)
    value = b.broadcast_to(b.getitem(p, key=(0,)), shape=x.shape)
    for place in range(1, count):
        value = b.add(b.multiply(value, x), b.getitem(p, key=(place,)))
    return value


_REAL_INPUT = ("rfft", "rfftn", "ihfft")


def _floating(b: JaxBuilder, x: Any, name: str) -> Any:
    if 0 in x.spec.hints:
        raise NotImplementedError("the transform of no elements")
    real = real_of(b.result.dtype)
    return b.astype(x, dtype=complex_of(real) if is_complex(x.dtype) and name not in _REAL_INPUT else real)


def _one(name: str) -> Callable[..., Any]:
    def row(b: JaxBuilder, a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
        x = _floating(b, a, name)
        # These take complex numbers, but JAX accepts real ones.
        x = b.astype(x, dtype=complex_of(x.dtype)) if name in ("irfft", "hfft") else x
        return getattr(b, name)(x, n=n, axis=axis % x.ndim, norm=norm or "backward")

    return row


def _several(name: str, default: Any) -> Callable[..., Any]:
    def row(b: JaxBuilder, a: Any, s: Any = None, axes: Any = default, norm: Any = None) -> Any:
        x = _floating(b, a, name)
        x = b.astype(x, dtype=complex_of(x.dtype)) if name == "irfftn" else x
        if axes is None:
            axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
        places = tuple(axis % x.ndim for axis in axes)
        return getattr(b, name)(x, s=None if s is None else tuple(s), axes=places, norm=norm or "backward")

    return row


for _fft_function in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    if _fft_function not in ("hfft", "ihfft"):
        rows.row(f"jax.numpy.fft.{_fft_function}")(_one(_fft_function))
for _fft_function in ("fft", "ifft", "rfft", "irfft"):
    rows.row(f"jax.numpy.fft.{_fft_function}n")(_several(f"{_fft_function}n", None))
    rows.row(f"jax.numpy.fft.{_fft_function}2")(_several(f"{_fft_function}n", (-2, -1)))


def _shift(name: str) -> Callable[..., Any]:
    def row(b: JaxBuilder, x: Any, axes: Any = None) -> Any:
        if not isinstance(x, Value):
            raise NotImplementedError
        places = range(x.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
        # torch shifts all axes if it is given none.
        return getattr(b, name)(x, axes=tuple(axis % x.ndim for axis in places)) if len(places) else x

    return row


rows.row("jax.numpy.fft.fftshift")(_shift("fftshift"))
rows.row("jax.numpy.fft.ifftshift")(_shift("ifftshift"))


def _frequencies(name: str) -> Callable[..., Any]:
    def row(b: JaxBuilder, n: Any, d: Any = 1.0) -> Any:
        if not isinstance(d, (int, float)):
            raise NotImplementedError
        return getattr(b, name)(n=n, d=float(d), dtype=b.result.dtype)

    return row


rows.row("jax.numpy.fft.fftfreq")(_frequencies("fftfreq"))
rows.row("jax.numpy.fft.rfftfreq")(_frequencies("rfftfreq"))


def _floating_matrix(b: JaxBuilder, x: Any) -> Any:
    return b.as_result(x)


rows.table({
    ("jax.numpy.matmul", "jax.numpy.linalg.matmul"): (
        lambda b, a, b_, *, precision=None, preferred_element_type=None: b.matmul(
            b.as_result(a), b.as_result(b_)
        )
    ),
    "jax.numpy.linalg.det": lambda b, a: b.det(_floating_matrix(b, a)),
    "jax.numpy.linalg.slogdet": lambda b, a, *, method=None: b.slogdet(_floating_matrix(b, a)),
    "jax.numpy.linalg.inv": lambda b, a: b.inv(_floating_matrix(b, a)),
    "jax.numpy.linalg.solve": lambda b, a, b_: b.solve(_floating_matrix(b, a), _floating_matrix(b, b_)),
    ("jax.numpy.diagonal", "jax.Array.diagonal", "jax.numpy.linalg.diagonal"): (
        lambda b, a, offset=0, axis1=0, axis2=1: b.diagonal(
            a, offset=offset, axis1=axis1 % a.ndim, axis2=axis2 % a.ndim
        )
    ),
    "jax.numpy.tril": lambda b, m, k=0: b.tril(m, k=k),
    "jax.numpy.triu": lambda b, m, k=0: b.triu(m, k=k),
})  # fmt: skip


@rows.row("jax.numpy.dot")
def dot(b: JaxBuilder, a: Any, b_: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    # A number has no axes.
    ranks = getattr(a, "ndim", 0), getattr(b_, "ndim", 0)
    if 0 in ranks or ranks[1] > 2:
        raise NotImplementedError
    return b.matmul(b.as_result(a), b.as_result(b_))


@rows.row("jax.numpy.tensordot", "jax.numpy.linalg.tensordot")
def tensordot(
    b: JaxBuilder,
    a: Any,
    b_: Any,
    axes: Any = 2,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    a, b_ = b.as_result(a), b.as_result(b_)
    if isinstance(axes, int):
        pairs = tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes))
    else:
        left, right = ((one,) if isinstance(one, int) else tuple(one) for one in axes)
        pairs = tuple(axis % a.ndim for axis in left), tuple(axis % b_.ndim for axis in right)
    return b.tensordot(a, b_, axes=pairs)


@rows.row("jax.numpy.einsum")
def einsum(
    b: JaxBuilder,
    subscripts: Any,
    *operands: Any,
    optimize: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    if not isinstance(subscripts, str):
        raise NotImplementedError
    equation = subscripts.replace(" ", "")
    inputs, arrow, result = equation.partition("->")
    if any(len(set(part.replace("...", ""))) != len(part.replace("...", "")) for part in inputs.split(",")):
        raise NotImplementedError
    if not arrow:
        if "." in inputs:
            raise NotImplementedError
        # Without an arrow, the result has the letters that occur once, in alphabetical order.
        letters = inputs.replace(",", "")
        result = "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    return b.einsum(*map(b.as_result, operands), equation=f"{inputs}->{result}")


@rows.row("jax.numpy.trace", "jax.Array.trace")
def trace(b: JaxBuilder, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    found = b.diagonal(a, offset=offset, axis1=axis1 % a.ndim, axis2=axis2 % a.ndim)
    return b.sum(found, axis=found.ndim - 1, dtype=b.result.dtype)


@rows.row("jax.numpy.diag")
def diag(b: JaxBuilder, v: Any, k: int = 0) -> Any:
    return (
        b.diag_embed(v, offset=k, axis1=0, axis2=1)
        if v.ndim == 1
        else b.diagonal(v, offset=k, axis1=0, axis2=1)
    )


@rows.row("jax.numpy.outer", "jax.numpy.linalg.outer")
def outer(b: JaxBuilder, a: Any, b_: Any) -> Any:
    # A number has no axes.
    if any(getattr(item, "ndim", 0) != 1 for item in (a, b_)):
        raise NotImplementedError
    return b.outer(b.as_result(a), b.as_result(b_))


_ACTIVATIONS = {
    "relu": "relu", "relu6": "relu6", "sigmoid": "sigmoid", "silu": "silu", "swish": "silu",
    "soft_sign": "soft_sign", "hard_sigmoid": "hard_sigmoid", "hard_silu": "hard_swish",
    "hard_swish": "hard_swish", "selu": "selu", "mish": "mish", "log_sigmoid": "log_sigmoid",
}  # fmt: skip


# Cached, so that two names of one JAX function share a row.
@functools.cache
def _activation(name: str) -> Any:
    return lambda b, x: getattr(b, name)(_float(b, x))


def _float(b: JaxBuilder, x: Any) -> Any:
    if not isinstance(x, Value) or not is_floating(x.dtype) or x.dtype != b.result.dtype:
        raise NotImplementedError
    return x


for _public, _nn_function in _ACTIVATIONS.items():
    rows.row(f"jax.nn.{_public}")(_activation(_nn_function))


@rows.row("jax.nn.gelu")
def gelu(b: JaxBuilder, x: Any, approximate: bool = True) -> Any:
    return b.gelu(_float(b, x), approximate=bool(approximate))


@rows.row("jax.nn.elu")
def elu(b: JaxBuilder, x: Any, alpha: Any = 1.0) -> Any:
    return b.elu(_float(b, x), alpha=_number(alpha))


rows.table({
    "jax.nn.celu": lambda b, x, alpha=1.0: b.celu(_float(b, x), alpha=_number(alpha)),
    # JAX's derivative at both ends is 1, as that of clip.
    "jax.nn.hard_tanh": lambda b, x: b.clip(_float(b, x), -1.0, 1.0),
})  # fmt: skip


@rows.row("jax.nn.leaky_relu")
def leaky_relu(b: JaxBuilder, x: Any, negative_slope: Any = 1e-2) -> Any:
    # JAX's derivative at 0 is that of positive numbers.
    return b.leaky_relu(_float(b, x), negative_slope=_number(negative_slope), right=True)


def _number(x: Any) -> float:
    if not isinstance(x, (int, float)):
        raise NotImplementedError
    return float(x)


@rows.row("jax.nn.softmax")
def softmax(b: JaxBuilder, x: Any, axis: Any = -1, where: Any = None) -> Any:
    if not isinstance(axis, int) or where is not None or x.ndim == 0:
        raise NotImplementedError
    return b.softmax(_float(b, x), axis=axis % x.ndim)


@rows.row("jax.nn.log_softmax")
def log_softmax(b: JaxBuilder, x: Any, axis: Any = -1, where: Any = None) -> Any:
    if not isinstance(axis, int) or where is not None or x.ndim == 0:
        raise NotImplementedError
    return b.log_softmax(_float(b, x), axis=axis % x.ndim)


@rows.row("jax.nn.logsumexp", "jax.scipy.special.logsumexp")
def logsumexp(b: JaxBuilder, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    places = (
        axis
        if axis is None
        else axis % a.ndim
        if isinstance(axis, int)
        else tuple(one % a.ndim for one in axis)
    )
    return b.logsumexp(_float(b, a), axis=places, keepdims=bool(keepdims))


@rows.row("jax.nn.one_hot")
def one_hot(b: JaxBuilder, x: Any, num_classes: Any, *, dtype: Any = None, axis: Any = -1) -> Any:
    if not isinstance(x, Value) or isinstance(num_classes, Value) or axis not in (-1, x.ndim):
        raise NotImplementedError
    classes = b.arange(stop=num_classes, dtype=x.dtype)
    return b.astype(b.equal(b.reshape(x, shape=(*x.shape, 1)), classes), dtype=b.result.dtype)


@rows.row("jax.nn.dot_product_attention")
def dot_product_attention(
    b: JaxBuilder,
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: Any = None,
    is_causal: bool = False,
    implementation: Any = None,
) -> Any:
    if (
        isinstance(bias, Value)
        and isinstance(mask, Value)
        or isinstance(scale, Value)
        or query.ndim not in (3, 4)
    ):
        raise NotImplementedError
    if (
        any(not _guard_equal(b, query.shape[-2], x.shape[-2]) for x in (key, value))
        or query.dtype != "float32"
        or (is_causal and mask is not None)
    ):
        raise NotImplementedError
    mask = bias if mask is None else mask
    if mask is not None and (mask.ndim != query.ndim or mask.dtype not in ("bool", query.dtype)):
        raise NotImplementedError
    order = (0, 2, 1, 3) if query.ndim == 4 else (1, 0, 2)
    query, key, value = (b.permute_dims(x, axes=order) for x in (query, key, value))
    found = b.scaled_dot_product_attention(query, key, value, mask, is_causal=bool(is_causal), scale=scale)
    return b.permute_dims(found, axes=order)


def _guard_equal(b: JaxBuilder, left: Any, right: Any) -> bool:
    if left == right:
        return True
    if hint_of(left) != hint_of(right):
        return False
    b.guard(apply("eq", left, right))
    return True


@rows.row("jax.numpy.searchsorted")
def searchsorted(
    b: JaxBuilder, a: Any, v: Any, side: str = "left", sorter: Any = None, *, method: Any = None
) -> Any:
    if a.ndim != 1:
        raise NotImplementedError
    v = b.array(v, a.dtype)
    kind = dtype_name(jax.numpy.promote_types(a.dtype, v.dtype)).replace("bool", "uint8")
    found = b.searchsorted(b.astype(a, dtype=kind), b.astype(v, dtype=kind), sorter, side=side)
    return b.astype(found, dtype=b.result.dtype)


@rows.row("jax.numpy.take")
def take(b: JaxBuilder, a: Any, indices: Any, axis: Any = None, *, mode: Any = None) -> Any:
    if (
        not isinstance(axis, int)
        or not isinstance(indices, Value)
        or mode is not None
        or indices.dtype == "bool"
    ):
        raise NotImplementedError
    axis, size = axis % a.ndim, a.shape[axis]
    if b.maker(indices) is None and indices in b.graph.inputs or is_inside(b, indices, -size, size - 1):
        return b.take(a, indices, axis=axis)
    if indices.dtype in UNSIGNED:
        raise NotImplementedError
    places = clamp_index(b, indices, size)
    shape = (*(1,) * axis, *indices.shape, *(1,) * (a.ndim - axis - 1))
    is_there = b.reshape(b.equal(b.astype(indices, dtype=places.dtype), places), shape=shape)
    return b.where(is_there, b.take(a, places, axis=axis), default_fill(a.dtype))


@rows.row("jax.numpy.take_along_axis")
def take_along_axis(b: JaxBuilder, arr: Any, indices: Any, axis: Any = -1, *, mode: Any = None) -> Any:
    if not isinstance(axis, int) or mode is not None or arr.ndim != indices.ndim:
        raise NotImplementedError
    if not is_inside(b, indices, -arr.shape[axis], arr.shape[axis] - 1):
        raise NotImplementedError
    return b.take_along_axis(arr, indices, axis=axis % arr.ndim)


@rows.row("jax.numpy.sort")
def sort(b: JaxBuilder, a: Any, axis: Any = -1, *, stable: bool = True, descending: bool = False) -> Any:
    if not isinstance(axis, int) or a.dtype.startswith("complex"):
        raise NotImplementedError
    ascending = b.sort(a, axis=axis % a.ndim, stable=True)
    # JAX reverses the order of equal elements in a descending sort.
    return b.flip(ascending, axis=(axis % a.ndim,)) if descending else ascending


@rows.row("jax.numpy.argsort")
def argsort(b: JaxBuilder, a: Any, axis: Any = -1, *, stable: bool = True, descending: bool = False) -> Any:
    if not isinstance(axis, int) or a.dtype.startswith("complex"):
        raise NotImplementedError
    return b.astype(
        b.argsort(a, axis=axis % a.ndim, descending=bool(descending), stable=True), dtype=b.result.dtype
    )
