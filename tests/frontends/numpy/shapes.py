"""Samples of creation, shapes, indexing, joining and writing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from .arrays import Sample, b, d, f, i, sample

X = f(3, 4)


def _writing(change: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that copies its first array, changes the copy and returns it."""

    def function(x: Any, *others: Any) -> Any:
        x = x.copy()
        change(x, *others)
        return x

    return function


def _assign(index: Any, value: Any = 7.0) -> Callable[..., Any]:
    def function(x: Any) -> Any:
        x = x.copy()
        x[index] = value
        return x

    return function


def _out_of_view(x: Any) -> Any:
    made = np.zeros((2, *x.shape), np.float32)
    np.multiply(x, 2, out=made[0])
    np.add(made[0], 1, out=made[1])
    return made


_INDICES: dict[str, Any] = {
    "one": 1, "last": -1, "slice": slice(1, None), "step": slice(None, None, 2), "reversed": slice(None, None, -1), "two": (1, 2),
    "row and column": (slice(None), 0), "ellipsis": (..., 1), "new axis": (None, slice(None), None),
    "bounds": (slice(0, 2), slice(-2, None)), "list": [0, 2, 1], "lists": ([0, 2], [1, 3]), "list and slice": (slice(None), [0, 3]),
    "number and list": (1, [0, 1]), "empty": slice(0, 0),
    "past the end": slice(1, 99), "negative step": (slice(None), slice(3, 0, -2)),
}  # fmt: skip

SAMPLES: list[Sample] = [
    # ---- creation
    sample("zeros", lambda x: np.zeros(x.shape) + np.zeros((x.shape[0], 1), dtype=np.float32), X),
    sample("ones", lambda x: np.ones(x.shape[1], np.int32), X),
    sample(
        "full", lambda x: (np.full(x.shape, 2.5), np.full((2, x.shape[0]), 3), np.full(2, np.float32(1.5))), X
    ),
    sample("like", lambda x: (np.zeros_like(x), np.ones_like(x, dtype=int), np.full_like(x, 2)), X),
    sample("empty", lambda x: _filled(np.empty(x.shape)), X),
    sample(
        "types as texts",
        lambda x: (
            np.zeros(x.shape, "f4"),
            np.ones(x.shape[1], "int32"),
            np.full(x.shape, 2, "f8"),
            np.eye(x.shape[0], 3, 1, "i4"),
            np.identity(x.shape[1], "f4"),
            np.zeros_like(x, "i8"),
            np.tri(x.shape[0], 3, 0, "f4"),
            np.zeros(x.shape, "f4", "C"),
            np.array(x, "f8"),
            np.asarray([x[0], x[1]], "f8"),
            np.ascontiguousarray(x.T, "f8"),
            np.array([1, 2], "f4"),
        ),
        X,
    ),
    sample("eye", lambda x: (np.eye(x.shape[0]), np.eye(3, x.shape[1], 1), np.identity(x.shape[0])), X),
    sample(
        "arange",
        lambda x: (np.arange(x.shape[0]), np.arange(1, x.shape[1] + 1), np.arange(0, 2 * x.shape[0], 2)),
        X,
    ),
    sample(
        "arange of floats", lambda x: (np.arange(0.0, 1.0, 0.25), np.arange(x.shape[0], dtype=np.float32)), X
    ),
    sample("linspace", lambda x: (np.linspace(0, 1, x.shape[0]), np.linspace(-1, 1, 5, endpoint=False)), X),
    sample("linspace of elements", lambda x: np.linspace(x.min(), x.max(), 5), d(4)),
    sample("logspace", lambda x: (np.logspace(0, 2, x.shape[0]), np.geomspace(1, 100, 4)), X),
    sample("tri", lambda x: (np.tri(x.shape[0]), np.tril(x), np.triu(x, 1)), X),
    sample("tri of rows", lambda x: (np.tril(x, -1), np.triu(x)), f(4)),
    sample(
        "tril_indices_from", lambda x: (x[np.tril_indices_from(x)], x[np.triu_indices_from(x, 1)]), f(3, 4)
    ),
    sample("tril_indices", lambda x: x[np.tril_indices(3)], f(3, 3), grows=False),
    sample("triu_indices", lambda x: x[np.triu_indices(x.shape[0], 1)], f(4, 4)),
    sample("indices", lambda x: np.indices(x.shape), X),
    sample(
        "meshgrid",
        lambda x, y: (np.meshgrid(x, y), np.meshgrid(x, y, indexing="ij", sparse=True)),
        f(3),
        f(4),
    ),
    sample("vander", lambda x: (np.vander(x), np.vander(x, 3, increasing=True)), d(4)),
    sample("windows", lambda x: (np.hanning(x.shape[0]), np.hamming(x.shape[0]), np.blackman(8)), d(8)),
    sample("array of a list", lambda x: x + np.array([1, 2, 3, 4])[:, None][:1, 0], X),
    sample("array of elements", lambda x: np.array([x.sum(), x.mean(), 1.0]), d(3, 4)),
    sample("array of rows", lambda x: np.array([x[0], x[1] * 2]), X),
    sample("asarray", lambda x: np.asarray(x, dtype=np.float64) + np.asarray([1.0]), X),
    sample("copy", lambda x: (np.copy(x), x.copy()), X),
    sample(
        "diag", lambda x, v: (np.diag(x), np.diag(v), np.diag(v, 1), x.diagonal(1), np.diagflat(v)), X, f(3)
    ),
    # ---- shapes
    sample("reshape", lambda x: (x.reshape(-1), x.reshape(x.shape[1], -1), np.reshape(x, (-1, 2))), X),
    sample("reshape F", lambda x: x.reshape(-1, order="F"), X),
    sample("ravel", lambda x: (x.ravel(), np.ravel(x), x.flatten(), x.T.ravel()), X),
    sample(
        "transpose",
        lambda x: (x.T, x.transpose(2, 0, 1), np.transpose(x), x.transpose((1, 0, 2)), x.mT),
        f(3, 4, 2),
    ),
    sample(
        "swapaxes",
        lambda x: (
            x.swapaxes(0, -1),
            np.moveaxis(x, 0, -1),
            np.moveaxis(x, [0, 1], [1, 0]),
            np.rollaxis(x, 2),
        ),
        f(3, 4, 2),
    ),
    sample("squeeze", lambda x: (x.squeeze(), x.squeeze(1), np.squeeze(x, axis=(1,))), f(3, 1, 4)),
    sample("expand_dims", lambda x: (np.expand_dims(x, 0), np.expand_dims(x, (0, -1)), x[:, None]), X),
    sample("atleast", lambda x: (np.atleast_1d(x), np.atleast_2d(x), np.atleast_3d(x)), f(4)),
    sample("broadcast_to", lambda x: np.broadcast_to(x, (2, *x.shape)), X),
    sample("broadcast_arrays", np.broadcast_arrays, f(3, 1), f(4)),
    sample(
        "shape functions",
        lambda x: (np.shape(x), np.ndim(x), np.size(x), len(x), x.size, x.nbytes),
        X,
        again=True,
    ),
    # ---- order
    sample("flip", lambda x: (np.flip(x), np.flip(x, 0), np.fliplr(x), np.flipud(x)), X),
    sample("rot90", lambda x: (np.rot90(x), np.rot90(x, 2), np.rot90(x, 3)), X),
    sample("roll", lambda x: (np.roll(x, 1), np.roll(x, -1, axis=1), np.roll(x, (1, 2), axis=(0, 1))), X),
    sample("repeat", lambda x: (np.repeat(x, 2), x.repeat(3, axis=1)), X),
    sample("repeat by an array", lambda x, k: np.repeat(x, k, axis=0), X, i(3, low=0, high=4)),
    sample("tile", lambda x: (np.tile(x, 2), np.tile(x, (2, 1, 3))), X),
    sample("pad", lambda x: (np.pad(x, 1), np.pad(x, ((0, 1), (2, 0)), constant_values=3.0)), X),
    *(
        sample(f"pad {mode}", lambda x, mode=mode: np.pad(x, ((1, 2), (0, 2)), mode=mode), X)
        for mode in ("edge", "reflect", "symmetric", "wrap")
    ),
    # ---- joining
    sample(
        "concatenate",
        lambda x, y: (
            np.concatenate([x, y]),
            np.concatenate((x, x), axis=1),
            np.concatenate([x, y], axis=None),
        ),
        X,
        f(2, 4),
    ),
    sample("concatenate promotes", lambda x, y: np.concatenate([x, y]), f(3), i(4)),
    sample("stack", lambda x: (np.stack([x, x * 2]), np.stack((x, x), axis=-1)), X),
    sample(
        "hstack",
        lambda x: (
            np.hstack([x, x]),
            np.vstack([x, x]),
            np.dstack([x, x]),
            np.hstack([x[0], x[1]]),
            np.vstack([x[0], x[1]]),
        ),
        X,
    ),
    sample("column_stack", lambda x: np.column_stack([x[:, 0], x]), X),
    sample("c_ and r_", lambda x: (np.c_[x[:, 0], x], np.r_[x[0], 1.0, x[1]], np.r_[0 : x.shape[0], 7]), X),
    sample(
        "grids", lambda x: (np.mgrid[0 : x.shape[0], 1:3], np.ogrid[: x.shape[1], 0:4:2], np.mgrid[0:1:5j]), X
    ),
    sample("block", lambda x: np.block([[x, x * 2], [x * 3, x * 4]]), X),
    sample("append", lambda x: (np.append(x, 1.0), np.append(x, x, axis=0)), X),
    sample("delete", lambda x: (np.delete(x, 1, axis=0), np.delete(x, -1)), X),
    sample("delete several", lambda x: (np.delete(x, [2, 0], axis=0), np.delete(x, (-1, -2), axis=1)), X),
    sample(
        "pad by statistics",
        lambda x: [np.pad(x, ((1, 2), (0, 1)), mode=mode) for mode in ("maximum", "minimum", "mean")],
        X,
    ),
    sample("insert", lambda x: (np.insert(x, 1, 5.0, axis=0), np.insert(x[0], 2, 5.0)), X),
    sample("split", lambda x: (np.split(x, 2, axis=1), np.split(x, [1], axis=0), np.hsplit(x, 2)), X),
    sample("array_split", lambda x: np.array_split(x, 3, axis=1), X, again=True),
    sample("unstack", lambda x: np.unstack(x, axis=1), f(3, 2)),
    # ---- indices
    *(sample(f"getitem {name}", lambda x, index=index: x[index], X) for name, index in _INDICES.items()),
    *(sample(f"setitem {name}", _assign(index), X) for name, index in _INDICES.items()),
    sample("separated arrays", lambda x: x[[0, 1], :, [1, 0]], f(3, 4, 2)),
    sample("separated number", lambda x: x[0, :, [1, 0]], f(3, 4, 2)),
    sample("index array", lambda x, k: (x[k], x[:, k], x[k, 0]), f(5, 5), i(3, low=-5, high=5)),
    sample("index arrays", lambda x, k: x[k[:, None], k], f(5, 5), i(3, low=0, high=5)),
    sample("mask", lambda x: x[x > 0], X),
    sample("mask of rows", lambda x, m: x[m], X, b(3)),
    sample("mask and slice", lambda x, m: x[m, 1:], X, b(3)),
    sample("computed index", lambda x: x[x[:, 0].argmax()], X),
    sample("computed index of a column", lambda x: x[np.arange(x.shape[0]), x.argmax(axis=1)], X),
    sample("size as an index", lambda x: x[x.shape[0] - 1, : x.shape[1] // 2], X),
    sample(
        "packbits",
        lambda x, y: (
            np.packbits(x),
            np.packbits(x, axis=0),
            np.packbits(y > 0, axis=-1, bitorder="little"),
            np.packbits(y, axis=1),
        ),
        b(3, 4, 3),
        i(3, 12),
    ),
    sample(
        "unpackbits",
        lambda x: (
            np.unpackbits(x),
            np.unpackbits(x, axis=1, bitorder="little"),
            np.unpackbits(x, 0, count=5),
            np.unpackbits(x, count=-3),
        ),
        i(3, 4, low=0, high=256, dtype="uint8"),
    ),
    sample(
        "unpackbits beyond the end",
        lambda x: np.unpackbits(x, axis=0, count=60),
        i(3, 4, low=0, high=256, dtype="uint8"),
    ),
    sample(
        "take",
        lambda x, k: (np.take(x, k), x.take(k, axis=0), np.take(x, k, axis=1, mode="clip")),
        f(5, 5),
        i(3, low=0, high=5),
    ),
    sample("take_along_axis", lambda x: np.take_along_axis(x, np.argsort(x, axis=1), axis=1), X),
    sample("ix_", lambda x: x[np.ix_([0, 2], [1, 3])], X),
    sample("unravel_index", lambda x: np.unravel_index(x.argmax(), x.shape), X),
    sample("ravel_multi_index", lambda k: np.ravel_multi_index((k, k), (5, 6)), i(4, low=0, high=5)),
    sample("iteration", lambda x: [row.sum() for row in x], X, again=True),
    # ---- writing
    sample("write a row", _writing(lambda x, y: x.__setitem__(0, y)), X, f(4)),
    sample("write a mask", _writing(lambda x: x.__setitem__(x < 0, 0)), X),
    sample("write a mask of elements", _writing(lambda x, y: x.__setitem__(x < 0, y[x < 0])), X, X),
    sample(
        "write at arrays",
        _writing(lambda x, k, y: x.__setitem__((slice(None), k), y)),
        f(3, 5),
        i(2, low=0, high=2),
        f(3, 1),
        grows=False,
    ),
    sample("write a number to ints", _assign(0, 2.7), i(3, 4)),
    sample("write a list", _assign((slice(None), [0, 1]), [1.0, 2.0]), X),
    sample("add in place", _writing(lambda x: x.__iadd__(1)), X),
    sample("write through a view", lambda x: _through_view(x.copy()), X),
    sample("write through a transpose", lambda x: _through_transpose(x.copy()), X),
    sample("write through a diagonal of flat", lambda x: _flat_diagonal(x.copy()), f(4, 4)),
    sample("reshaped view", lambda x: _through_reshape(x.copy()), X),
    sample("imag of an array", lambda x: _through_real(x * 1j), d(4)),
    sample("overlapping write", _writing(lambda x: x.__setitem__(slice(1, None), x[:-1])), f(4)),
    sample("out of a view", _out_of_view, X),
    sample("fill", _writing(lambda x: x[1:].fill(3)), X),
    sample("fill_diagonal", _writing(lambda x: np.fill_diagonal(x, 9.0)), X),
    sample(
        "write a diagonal of einsum",
        _writing(lambda x: np.einsum("ii->i", x[:3, :3]).__setitem__(..., 7)),
        f(4, 3),
    ),
    sample("copyto", _writing(lambda x: np.copyto(x, 0.0, where=x < 0)), X),
    sample("putmask", _writing(lambda x: np.putmask(x, x > 0, -x)), X),
    sample("place", _writing(lambda x: np.place(x, x > 0, [4.0])), X),
    sample("put", _writing(lambda x: np.put(x, [0, 2], [8.0, 9.0])), X),
    *(
        sample(f"{change.__name__} by keywords", _writing(lambda x, g=change, n=named: g(**n(x))), f(4, 3))
        for change, named in (
            (np.copyto, lambda x: {"src": x[::-1].copy(), "dst": x}),
            (np.place, lambda x: {"mask": x > 0, "vals": [4.0], "arr": x}),
            (np.put, lambda x: {"ind": [0, 2], "v": [8.0, 9.0], "a": x}),
            (np.fill_diagonal, lambda x: {"val": 9.0, "a": x}),
            (
                np.put_along_axis,
                lambda x: {"indices": x[:1].argsort(axis=0), "values": 0.0, "axis": 0, "arr": x},
            ),
            (np.nan_to_num, lambda x: {"copy": np.False_, "nan": 7.0, "x": np.log(x, out=x)}),
        )
    ),
    sample("nan_to_num in place", _writing(lambda x: np.nan_to_num(x, False, 7.0)), f(3, 4, kind="holes")),
    sample(
        "put_along_axis",
        _writing(lambda x: np.put_along_axis(x, x.argmax(axis=1, keepdims=True), 0.0, axis=1)),
        X,
    ),
    # ---- windows on memory
    sample(
        "sliding_window_view", lambda x: (sliding_window_view(x, 2), sliding_window_view(x, 3).mean(-1)), f(8)
    ),
    sample(
        "sliding windows of two axes", lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 2)), f(3, 4)
    ),
    sample("sliding windows of an axis", lambda x: sliding_window_view(x, 2, axis=1).sum(axis=-1), f(3, 4)),
    sample("as_strided", lambda x: as_strided(x, (x.shape[0] - 2, 3), (x.strides[0], x.strides[0])), f(8)),
    sample("as_strided by numbers", lambda x: as_strided(x, (2, 3), (4, 8)), f(3, 4)),
    sample("as_strided of a copy", lambda x: as_strided(x.T.copy() + 1, (2, 3), (4, 8)), f(3, 4)),
    sample("roll along no axes", lambda x: (np.roll(x, 1, axis=()), np.roll(x, (), axis=())), X),
    sample(
        "joined with an empty list",
        lambda x: (
            np.concatenate([x[0], []]),
            np.append(x, []),
            np.append([], x),
            np.hstack([[], x[0]]),
            np.concatenate([x, np.array([[]])], axis=None),
            np.concatenate([x[:1], [[]]], axis=1),
        ),
        X,
    ),
    sample("write a row everywhere", _writing(lambda x: x.__setitem__(True, x[1])), X),
]


def _filled(x: Any) -> Any:
    x[...] = 1.5
    return x


def _through_view(x: Any) -> Any:
    part = x[1:]
    part[:, 0] = 5.0
    part *= 2
    return x, part


def _through_transpose(x: Any) -> Any:
    turned = x.T
    turned[0] = -1.0
    return x + 1, turned


def _flat_diagonal(x: Any) -> Any:
    x.flat[:: x.shape[1] + 1] = 0.5
    return x


def _through_reshape(x: Any) -> Any:
    flat = x.reshape(-1)
    flat[:2] = 3.0
    return x


def _through_real(x: Any) -> Any:
    x.real = 2.0
    return x
