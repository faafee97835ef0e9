"""Tests of calls that torch rejects (indices, elements, matrices, sizes, strides): a graph recorded with a
valid call of the same signature rejects them too.

A row: function, the arrays of a call that torch accepts, and those of calls that it rejects. Integers are
indices.
"""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("jax")

import numpy as np  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.errors import GuardFailed, TracingError  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402

Arrays = tuple[Any, ...]


def x(*shape: int) -> Any:
    """Return distinct floats between 0 and 1."""
    count = torch.Size(shape).numel()
    return ((torch.arange(count) * 0.61 + 0.3) % 1).reshape(shape)


def ints(*numbers: Any) -> Any:
    return torch.tensor(numbers)


def _mean_of_bags(indices: Any, weight: Any, offsets: Any) -> Any:
    return F.embedding_bag(indices, weight, offsets)


INDICES: dict[str, tuple[Callable[..., Any], Arrays, tuple[Arrays, ...]]] = {
    "embedding": (F.embedding, (ints([0, 3]), x(4, 3)), ((ints([0, 4]), x(4, 3)), (ints([0, -1]), x(4, 3)))),
    "embedding-of-a-view": (
        lambda i, w: F.embedding(i.reshape(-1), w),
        (ints([0, 3]), x(4, 3)),
        ((ints([0, 4]), x(4, 3)),),
    ),
    "embedding_bag": (
        _mean_of_bags,
        (ints(0, 3, 1), x(4, 3), ints(0, 2)),
        ((ints(0, 4, 1), x(4, 3), ints(0, 2)), (ints(0, 3, 1), x(4, 3), ints(0, 4))),
    ),
    "getitem": (lambda a, i: a[i], (x(4, 3), ints(0, -4)), ((x(4, 3), ints(0, 4)), (x(4, 3), ints(0, -5)))),
    "getitem-of-two": (
        lambda a, i, j: a[i, j],
        (x(4, 3), ints(0, 1), ints(2, 2)),
        ((x(4, 3), ints(0, 1), ints(2, 3)),),
    ),
    "gather": (
        lambda a, i: a.gather(1, i),
        (x(2, 3), ints([2], [0])),
        ((x(2, 3), ints([3], [0])), (x(2, 3), ints([-1], [0]))),
    ),
    "gather-of-nothing": (
        lambda a, i: a.gather(0, i),
        (x(4, 3), torch.empty(0, 3, dtype=torch.uint8)),
        ((x(4, 3), torch.zeros(1, 3, dtype=torch.uint8)),),
    ),
    "scatter-of-nothing": (
        lambda a, i, v: a.scatter_add(0, i, v),
        (x(4, 3), torch.empty(0), x(4, 3)),
        ((x(4, 3), torch.zeros(1), x(4, 3)),),
    ),
    "lu_unpack": (
        torch.lu_unpack,
        (x(3, 3), ints(3, 2, 3).int()),
        ((x(3, 3), ints(3, 2, 4).int()), (x(3, 3), ints(0, 2, 3).int())),
    ),
    "lu_solve": (
        torch.linalg.lu_solve,
        (x(2, 2), ints(2, 2).int(), x(2, 1)),
        ((x(2, 2), ints(3, 2).int(), x(2, 1)),),
    ),
    "index_select": (lambda a, i: a.index_select(1, i), (x(2, 3), ints(2, 0)), ((x(2, 3), ints(3, 0)),)),
    "take": (torch.take, (x(2, 3), ints(5, -6)), ((x(2, 3), ints(6, 0)),)),
    "scatter": (
        lambda a, i, v: a.scatter(1, i, v),
        (x(2, 3), ints([2], [0]), x(2, 1)),
        ((x(2, 3), ints([3], [0]), x(2, 1)),),
    ),
    "index_add": (
        lambda a, i, v: a.index_add(0, i, v),
        (x(4, 3), ints(3, 0), x(2, 3)),
        ((x(4, 3), ints(4, 0), x(2, 3)),),
    ),
    "index_put": (
        lambda a, i, v: a.index_put((i,), v),
        (x(4, 3), ints(3, 0), x(2, 3)),
        ((x(4, 3), ints(4, 0), x(2, 3)),),
    ),
    "one_hot": (lambda i: F.one_hot(i, 4), (ints(3, 0),), ((ints(4, 0),), (ints(-1, 0),))),
    "cross_entropy": (
        F.cross_entropy,
        (x(2, 3), ints(2, -100)),
        ((x(2, 3), ints(3, 0)), (x(2, 3), ints(-1, 0))),
    ),
    "nll_loss": (F.nll_loss, (x(2, 3, 2), ints([2, 1], [0, 0])), ((x(2, 3, 2), ints([3, 1], [0, 0])),)),
    "max_unpool1d": (
        lambda a, i: F.max_unpool1d(a, i, 2),
        (x(1, 2, 2), ints([[0, 3], [1, 2]])),
        ((x(1, 2, 2), ints([[0, 4], [1, 2]])),),
    ),
    "bincount": (lambda i: torch.bincount(i, minlength=4), (ints(3, 0),), ((ints(-1, 0),),)),
    "repeat_interleave": (torch.repeat_interleave, (x(2), ints(3, 0)), ((x(2), ints(3, -1)),)),
    "ctc_loss": (
        lambda s, t, n, m: F.ctc_loss(s.log_softmax(-1), t, n, m),
        (x(6, 1, 3), ints([1, 2]), ints(6), ints(2)),
        ((x(6, 1, 3), ints([1, 2]), ints(7), ints(2)), (x(6, 1, 3), ints([1, 2]), ints(6), ints(3))),
    ),
}
ELEMENTS: dict[str, tuple[Callable[..., Any], Arrays, tuple[Arrays, ...]]] = {
    "multinomial": (
        lambda p: torch.multinomial(p, 2) * 0,
        (x(4),),
        ((x(4) - 1,), (x(4) * float("inf"),), (x(1),)),
    ),
    "bernoulli": (lambda p: torch.bernoulli(p) * 0, (x(4),), ((x(4) + 1,),)),
    "poisson": (lambda p: torch.poisson(p) * 0, (x(4),), ((x(4) - 1,),)),
    "normal": (lambda p: torch.normal(0.0, p) * 0, (x(4),), ((x(4) - 1,),)),
    "quantile": (torch.quantile, (x(4), x(2)), ((x(4), x(2) + 1),)),
    "cov": (lambda a, w: torch.cov(a, aweights=w), (x(2, 4), x(4)), ((x(2, 4), x(4) - 1), (x(2, 4), x(1)))),
    "gaussian_nll_loss": (
        F.gaussian_nll_loss,
        (x(2, 3), x(2, 3) * 2, x(2, 3)),
        ((x(2, 3), x(2, 3), x(2, 3) - 1),),
    ),
    "floor_divide": (torch.floor_divide, (ints(5, 6), ints(2, 3)), ((ints(5, 6), ints(2, 0)),)),
    "remainder": (torch.remainder, (ints(5, 6), ints(2, 3)), ((ints(5, 6), ints(2, 0)),)),
    "repeat_interleave": (
        lambda a, n: a.repeat_interleave(n, output_size=5),
        (x(2), ints(3, 2)),
        ((x(2), ints(3, 1)), (x(2), ints(3, 3))),
    ),
    "segment_reduce-lengths": (
        lambda a, n: torch.segment_reduce(a, "sum", lengths=n),
        (x(4), ints(1, 3)),
        ((x(4), ints(1, 2)), (x(4), ints(5, -1))),
    ),
    "segment_reduce-offsets": (
        lambda a, n: torch.segment_reduce(a, "sum", offsets=n),
        (x(4), ints(0, 1, 4)),
        ((x(4), ints(0, 3, 1)),),
    ),
    "embedding_bag": (
        _mean_of_bags,
        (ints(0, 3, 1), x(4, 3), ints(0, 2)),
        ((ints(0, 3, 1), x(4, 3), ints(1, 2)),),
    ),
    "embedding_bag-turned": (
        lambda i, w, o: F.embedding_bag(i, w, o, mode="sum", include_last_offset=True),
        (ints(0, 3, 1), x(4, 3), ints(0, 2, 3)),
        ((ints(0, 3, 1), x(4, 3), ints(0, 3, 2)),),
    ),
    "masked_scatter": (torch.masked_scatter, (x(4), x(4) > 0.5, x(3)), ((x(4), x(4) > 0, x(3)),)),
    "fake_quantize": (
        lambda a, s, z: torch.fake_quantize_per_channel_affine(a, s, z, 1, 0, 3),
        (x(2, 3), x(3), ints(0, 3, 1).int()),
        ((x(2, 3), x(3), ints(0, 4, 1).int()),),
    ),
    "masked_fill": (
        torch.masked_fill,
        (ints(1, 2), x(2) > 0, torch.tensor(1 + 0j)),
        ((ints(1, 2), x(2) > 0, torch.tensor(1 + 2j)),),
    ),
}
_SINGULAR, _INDEFINITE = torch.tensor([[1.0, 2], [2, 4]]), torch.tensor([[-1.0, 0], [0, 1]])
_REGULAR = torch.tensor([[3.0, 1], [1, 2]])
MATRICES: dict[str, tuple[Callable[..., Any], Arrays, tuple[Arrays, ...]]] = {
    "inverse": (lambda a: a.inverse() + 1, (_REGULAR,), ((_SINGULAR,),)),
    "inverse-of-many": (
        torch.linalg.inv,
        (torch.stack([_REGULAR, _REGULAR]),),
        ((torch.stack([_REGULAR, _SINGULAR]),),),
    ),
    "solve": (torch.linalg.solve, (_REGULAR, x(2)), ((_SINGULAR, x(2)),)),
    "matrix_power": (lambda a: torch.linalg.matrix_power(a, -2), (_REGULAR,), ((_SINGULAR,),)),
    "cholesky": (
        torch.linalg.cholesky,
        (_REGULAR,),
        ((_SINGULAR,), (_INDEFINITE,), (_REGULAR * float("nan"),)),
    ),
    "inverse-of-each": (torch.vmap(torch.linalg.inv), (_REGULAR[None],), ((_SINGULAR[None],),)),
    "gradient-of-cholesky": (
        torch.func.grad(lambda a: torch.linalg.cholesky(a).sum()),
        (_REGULAR,),
        ((_INDEFINITE,),),
    ),
    "cholesky-complex": (torch.linalg.cholesky, (_REGULAR + 0j,), ((_INDEFINITE + 0j,),)),
    "lu_factor": (torch.linalg.lu_factor, (_REGULAR,), ((_SINGULAR,),)),
    "svdvals": (torch.linalg.svdvals, (_REGULAR,), ((_REGULAR * float("nan"),),)),
    "tensorinv": (lambda a: torch.linalg.tensorinv(a, ind=1), (_REGULAR,), ((_SINGULAR,),)),
    "cholesky_inverse": (torch.cholesky_inverse, (_REGULAR,), ((torch.diag(torch.tensor([1.0, 0])),),)),
}
SIZES: dict[str, tuple[Callable[..., Any], Arrays, tuple[Arrays, ...]]] = {
    "max_pool1d": (lambda a: F.max_pool1d(a, 3), (x(1, 2, 6),), ((x(1, 2, 2),), (x(1, 0, 6),))),
    "max_pool2d-padded": (lambda a: F.max_pool2d(a, 3, 2, 1), (x(1, 2, 6, 5),), ((x(1, 2, 0, 5),),)),
    "avg_pool2d": (lambda a: F.avg_pool2d(a, 3), (x(1, 2, 6, 5),), ((x(1, 2, 2, 5),),)),
    "lp_pool2d": (lambda a: F.lp_pool2d(a, 2.0, 3), (x(1, 2, 6, 5),), ((x(1, 2, 2, 5),),)),
    "adaptive_avg_pool2d": (lambda a: F.adaptive_avg_pool2d(a, 2), (x(1, 2, 6, 5),), ((x(1, 2, 0, 5),),)),
    "adaptive_max_pool2d": (lambda a: F.adaptive_max_pool2d(a, 2), (x(1, 2, 6, 5),), ((x(1, 0, 6, 5),),)),
    "adaptive_avg_pool3d": (
        lambda a: F.adaptive_avg_pool3d(a, 2),
        (x(1, 2, 6, 5, 3),),
        ((x(1, 0, 6, 5, 3),),),
    ),
    "conv1d": (F.conv1d, (x(1, 2, 6), x(3, 2, 3)), ((x(1, 2, 2), x(3, 2, 3)), (x(1, 4, 6), x(3, 2, 3)))),
    "conv_transpose1d": (F.conv_transpose1d, (x(1, 2, 6), x(2, 3, 3)), ((x(1, 1, 6), x(2, 3, 3)),)),
    "unfold": (lambda a: F.unfold(a, 3), (x(1, 2, 6, 5),), ((x(1, 2, 2, 5),),)),
    "Tensor.unfold": (lambda a: a.unfold(0, 3, 1), (x(6),), ((x(2),),)),
    "reflect": (lambda a: F.pad(a, (2, 2), mode="reflect"), (x(1, 2, 6),), ((x(1, 2, 2),),)),
    "circular": (lambda a: F.pad(a, (3, 0), mode="circular"), (x(1, 2, 6),), ((x(1, 2, 2),),)),
    "cut-off": (lambda a: F.pad(a, (-3, -1)), (x(2, 6),), ((x(2, 3),),)),
    "avg_pool3d-padded": (
        lambda a: F.avg_pool3d(a, (2, 3, 2), 1, 1),
        (x(1, 2, 4, 4, 4),),
        ((x(1, 2, 4, 2, 4),),),
    ),
    "fractional_max_pool2d": (
        lambda a: F.fractional_max_pool2d(a, 2, 3) * 0,
        (x(1, 2, 5, 5),),
        ((x(1, 2, 5, 3),), (x(1, 0, 5, 5),)),
    ),
    "fractional_max_pool3d": (
        lambda a: F.fractional_max_pool3d(a, 2, 3) * 0,
        (x(1, 2, 5, 5, 5),),
        ((x(1, 2, 5, 4, 5),),),
    ),
    "max_unpool1d-to-a-size": (
        lambda a, i: F.max_unpool1d(a, i, 2, output_size=(5,)),
        (x(1, 1, 2), ints([[0, 3]])),
        ((x(1, 1, 4), ints([[0, 3, 1, 2]])), (x(1, 1, 1), ints([[0]]))),
    ),
    "grid_sample": (
        lambda a, g: F.grid_sample(a, g, align_corners=False),
        (x(2, 3, 4, 4), x(2, 5, 5, 2)),
        ((x(2, 3, 4, 4), x(1, 5, 5, 2)), (x(1, 3, 4, 4), x(2, 5, 5, 2)), (x(2, 3, 4, 4), x(2, 5, 5, 3))),
    ),
    "cut-off-and-added": (lambda a: F.pad(a, (1, -2)), (x(2, 6),), ((x(2, 1),),)),
    "interpolate": (lambda a: F.interpolate(a, scale_factor=2), (x(1, 2, 3),), ((x(1, 2, 0),),)),
    "interpolate-to-nothing": (lambda a: F.interpolate(a, scale_factor=0.5), (x(1, 2, 5),), ((x(1, 2, 1),),)),
    "stft": (lambda a: torch.stft(a, 8, window=torch.ones(8), return_complex=True), (x(40),), ((x(4),),)),
    "istft": (
        lambda a: torch.istft(torch.complex(a, a * 0), 8, window=torch.ones(8), onesided=True),
        (x(5, 6),),
        ((x(5, 0),), (x(4, 6),), (x(6, 6),)),
    ),
    "fft": (torch.fft.fft, (x(4),), ((x(0),),)),
    "irfft": (lambda a: torch.fft.irfft(torch.complex(a, a * 0)), (x(4),), ((x(1),),)),
    "amax": (lambda a: a.amax(0), (x(2, 3),), ((x(0, 3),),)),
    "median": (lambda a: a.median(0)[0], (x(3, 3),), ((x(0, 3),),)),
    "cross": (torch.linalg.cross, (x(2, 3), x(2, 3)), ((x(2, 2), x(2, 2)), (x(2, 1), x(2, 3)))),
    "trapezoid": (torch.trapezoid, (x(3), x(3)), ((x(3), x(2)),)),
    "searchsorted": (torch.searchsorted, (x(2, 3).sort()[0], x(2, 3)), ((x(3, 3).sort()[0], x(2, 3)),)),
    "dot": (torch.dot, (x(3), x(3)), ((x(3), x(1)),)),
    "layer_norm": (
        lambda a, w: F.layer_norm(a, (3,), w),
        (x(2, 3), x(3)),
        ((x(2, 1), x(3)), (x(2, 3), x(1))),
    ),
    "rms_norm": (lambda a, w: F.rms_norm(a, (3,), w), (x(2, 3), x(3)), ((x(2, 3), x(1)),)),
    "batch_norm": (lambda a: F.batch_norm(a, None, None, training=True), (x(2, 4),), ((x(1, 4),),)),
    "group_norm": (lambda a: F.group_norm(a, 2), (x(1, 4, 2),), ((x(1, 2, 1),),)),
    "native_group_norm": (
        lambda a: torch.native_group_norm(a, None, None, 2, 4, 3, 2, 1e-5),
        (x(2, 4, 3),),
        ((x(3, 4, 3),), (x(1, 4, 3),), (x(2, 4, 6),)),
    ),
    "instance_norm": (F.instance_norm, (x(2, 4, 3),), ((x(2, 4, 1),),)),
    "index_copy": (
        lambda a, i, v: a.index_copy(0, i, v),
        (x(4, 3), ints(3, 0), x(2, 3)),
        ((x(4, 3), ints(3, 0), x(2, 1)), (x(4, 3), ints(3, 0), x(1, 3))),
    ),
    "scatter-too-many": (
        lambda a, i, v: a.scatter(1, i, v),
        (x(2, 3), ints([2], [0]), x(2, 1)),
        ((x(2, 3), ints([2], [0], [1]), x(3, 1)),),
    ),
    "index_add-of-one": (
        lambda a, i, v: a.index_add(0, i, v),
        (x(), ints(0), x()),
        ((x(), ints(0, 0), x()),),
    ),
    "index_copy-of-one": (
        lambda a, i, v: a.index_copy(0, i, v),
        (x(4), ints(3), x()),
        ((x(4), ints(3, 0), x()),),
    ),
    "view_as-of-one": (lambda a, b: a.view_as(b), (x(), x(1)), ((x(), x(3)),)),
    "multi_margin_loss-of-one": (F.multi_margin_loss, (x(5), ints(1)), ((x(5), ints(1, 2)),)),
    "householder_product": (
        torch.linalg.householder_product,
        (x(4, 3), x(3)),
        ((x(2, 3), x(3)), (x(4, 3), x(4))),
    ),
    "ormqr": (torch.ormqr, (x(3, 2), x(2), x(3, 4)), ((x(3, 2), x(1), x(3, 4)), (x(3, 2), x(3), x(3, 4)))),
    "solve_triangular": (
        lambda a, c: torch.linalg.solve_triangular(a, c, upper=True),
        (_REGULAR, x(2, 3)),
        ((_REGULAR[:1, :1], x(2, 3)), (_REGULAR, x(1, 3))),
    ),
    "cholesky_solve": (
        torch.cholesky_solve,
        (x(2, 3), _REGULAR),
        ((x(2, 3), _REGULAR[:1, :1]), (x(1, 3), _REGULAR)),
    ),
    "lu_solve": (
        torch.linalg.lu_solve,
        (_REGULAR, ints(1, 2).int(), x(2, 3)),
        ((_REGULAR, ints(1).int(), x(2, 3)),),
    ),
    "equal": (lambda a, b: (a == b, a != b), (x(5, 1), x(5)), ((x(7, 2), x(7)),)),
    "copysign": (torch.copysign, (x(5, 1), x(5)), ((x(7, 2), x(7)),)),
    "norm": (lambda a: torch.linalg.vector_norm(a, -1.0), (x(3),), ((x(0),),)),
    "matrix_norm": (lambda a: torch.linalg.matrix_norm(a, -2), (x(3, 3),), ((x(0, 3),), (x(3, 0),))),
    "matrix_norm-of-columns": (lambda a: torch.linalg.matrix_norm(a, -1), (x(3, 3),), ((x(3, 0),),)),
    "matrix_norm-of-rows": (lambda a: torch.linalg.matrix_norm(a, -float("inf")), (x(3, 3),), ((x(0, 3),),)),
    "vander": (torch.linalg.vander, (x(3),), ((x(0),), (x(1),))),
    "embedding-padding": (
        lambda i, w: F.embedding(i, w, padding_idx=3),
        (ints(0, 1), x(4, 3)),
        ((ints(0, 1), x(3, 3)),),
    ),
    "binary_cross_entropy_with_logits": (
        lambda s, t, p: F.binary_cross_entropy_with_logits(s, t, pos_weight=p),
        (x(2, 3), x(2, 3), x(3)),
        ((x(2, 1), x(2, 1), x(3)),),
    ),
    "mse_loss-weights": (
        lambda s, t, w: F.mse_loss(s, t, weight=w),
        (x(2, 3), x(2, 3), x(2, 3)),
        ((x(2, 3), x(2, 3), x(1, 3)),),
    ),
    "prelu": (F.prelu, (x(2), x(1)), ((x(2), x(2)),)),
    "histogramdd": (
        lambda a, w: torch.histogramdd(a, [2, 2], range=(0.0, 1.0, 0.0, 1.0), weight=w)[0],
        (x(4, 2), x(4)),
        ((x(4, 2), x(1)), (x(4, 2), x(5))),
    ),
    "embedding_bag-weights": (
        lambda i, w, p: F.embedding_bag(i, w, mode="sum", per_sample_weights=p),
        (ints([0, 3, 1], [2, 2, 0]), x(4, 3), x(2, 3)),
        ((ints([0, 3, 1], [2, 2, 0]), x(4, 3), x(3, 2)), (ints([0, 3, 1], [2, 2, 0]), x(4, 3), x(1, 3))),
    ),
    "ctc_loss": (
        lambda s, t: F.ctc_loss(s.log_softmax(-1), t, (4,), (2,)),
        (x(4, 1, 5), ints([1, 2])),
        ((x(3, 1, 5), ints([1, 2])), (x(4, 1, 5), ints([1]))),
    ),
    "conv_transpose2d-bias": (
        F.conv_transpose2d,
        (x(1, 2, 3, 3), x(2, 4, 2, 2), x(4)),
        ((x(1, 2, 3, 3), x(2, 4, 2, 2), x(1)),),
    ),
    "conv_tbc-bias": (torch.conv_tbc, (x(4, 2, 3), x(2, 3, 5), x(5)), ((x(4, 2, 3), x(2, 3, 5), x(1)),)),
    "conv1d-of-padding": (
        lambda a, w: F.conv1d(a, w, padding=2),
        (x(1, 2, 6), x(3, 2, 3)),
        ((x(1, 2, 0), x(3, 2, 3)),),
    ),
    "grid_sample-of-nothing": (
        lambda a, g: F.grid_sample(a, g, align_corners=False),
        (x(2, 3, 4, 4), x(2, 5, 5, 2)),
        ((x(2, 3, 0, 4), x(2, 5, 5, 2)),),
    ),
    "affine_grid": (
        lambda t: F.affine_grid(t, (2, 1, 3, 3), align_corners=False),
        (x(2, 2, 3),),
        ((x(1, 2, 3),), (x(3, 2, 3),)),
    ),
    "put": (lambda a, i, v: a.put(i, v), (x(4), ints(3, 0), x(2)), ((x(4), ints(3, 0), x(1)),)),
    "select_scatter": (lambda a, v: torch.select_scatter(a, v, 0, 1), (x(4, 3), x(3)), ((x(4, 3), x(1)),)),
    "slice_scatter": (
        lambda a, v: torch.slice_scatter(a, v, 0, 1, 3),
        (x(4, 3), x(2, 3)),
        ((x(4, 3), x(1, 3)), (x(4, 3), x(2, 1))),
    ),
    "fake_quantize-channels": (
        lambda a, s: torch.fake_quantize_per_channel_affine(a, s, s * 0, 1, 0, 3),
        (x(2, 3), x(3)),
        ((x(2, 3), x(1)),),
    ),
    "diagonal_scatter": (torch.diagonal_scatter, (x(3, 3), x(3)), ((x(3, 3), x(1)),)),
}
# Arrays whose elements lie in another order in memory, or have gaps: the sizes are those of a call that is
# taken.
LAYOUTS: dict[str, tuple[Callable[..., Any], Arrays, tuple[Arrays, ...]]] = {
    "view": (lambda a: a.view(-1) + 1, (x(3, 4),), ((x(4, 3).t(),), (x(3, 8)[:, :4],), (x(4).expand(3, 4),))),
    "view-of-permuted": (lambda a: a.t().view(-1) + 1, (x(4, 3).t(),), ((x(3, 4),), (x(3, 8)[:, :4],))),
    "view-of-computed": (lambda a: (a * 2).view(-1), (x(3, 4),), ((x(4, 3).t(),),)),
    "view-of-convolved": (
        lambda a: F.conv2d(a, torch.ones(4, 3, 2, 2)).view(a.shape[0], -1),
        (x(2, 3, 4, 4),),
        ((x(2, 4, 4, 3).permute(0, 3, 1, 2),),),
    ),
    "view-as-other-type": (lambda a: a.view(torch.int16), (x(3, 4),), ((x(4, 3).t(),),)),
    "view-as-complex": (lambda a: torch.view_as_complex(a) * 1, (x(3, 2),), ((x(2, 3).t(),),)),
}
ROWS = {
    **{f"{name}-indices": row for name, row in INDICES.items()},
    **ELEMENTS,
    **MATRICES,
    **SIZES,
    **LAYOUTS,
}


@pytest.mark.parametrize("to", ["jax", "tensorflow", "numpy"])
@pytest.mark.parametrize("name", ROWS)
def test_calls_that_torch_refuses_are_refused(name: str, to: str) -> None:
    function, good, bad = ROWS[name]
    graph = graph_compiler.compile(function, to=to, args=good)
    assert_same(graph(*good), function(*good))
    for arrays in bad:
        # torch raises exceptions of various classes.
        with pytest.raises(Exception) as refused:
            function(*arrays)
        with pytest.raises(type(refused.value)):
            graph(*arrays)
    assert len(graph.variants) == 1


@pytest.mark.parametrize("to", ["jax", "tensorflow", "numpy"])
def test_a_graph_without_original_says_which_indices_are_wrong(to: str) -> None:
    graph = graph_compiler.compile(F.embedding, to=to, args=(ints([0, 3]), x(4, 3)), on_miss="error")
    with pytest.raises(GuardFailed, match=r"indices input do not lie in \[0, 4\)"):
        graph(ints([0, 4]), x(4, 3))
    with pytest.raises(GuardFailed, match=r"indices input do not lie in \[0, 4\)"):
        graph.functional({}, ints([0, 4]), x(4, 3))


def test_pivots_that_torch_would_look_for_beyond_their_memory_are_refused() -> None:
    graph = graph_compiler.compile(
        torch.lu_unpack, to="numpy", args=(x(3, 3), ints(3, 2, 3).int()), on_miss="error"
    )
    assert_same(graph(x(4, 2), ints(3, 2).int()), torch.lu_unpack(x(4, 2), ints(3, 2).int()))
    with pytest.raises(GuardFailed):
        graph(x(3, 3), ints(3, 2).int())


def test_a_loaded_graph_says_that_an_array_lies_in_another_order(tmp_path: Path) -> None:
    graph_compiler.compile(lambda a: a.view(-1), to="numpy", args=(x(4, 3),)).save(tmp_path / "graph.zip")
    graph = graph_compiler.load(tmp_path / "graph.zip")
    assert_same(graph(x(5, 2)), x(10))
    with pytest.raises(GuardFailed, match="a lies in memory in another order"):
        graph(x(2, 5).t())


def test_a_loaded_graph_of_a_permuted_array_takes_others_of_its_order(tmp_path: Path) -> None:
    graph_compiler.compile(lambda a: (a.is_contiguous(), a * 2), to="numpy", args=(x(4, 3).t(),)).save(
        tmp_path / "graph.zip"
    )
    graph = graph_compiler.load(tmp_path / "graph.zip")
    assert_same(graph(x(5, 2).t()), (False, x(5, 2).t() * 2))
    for other in (x(2, 5), x(2, 10)[:, ::2]):
        with pytest.raises(GuardFailed, match="a lies in memory in another order"):
            graph(other)


def test_a_loaded_graph_looks_at_indices_too(tmp_path: Path) -> None:
    graph_compiler.compile(F.embedding, to="numpy", args=(ints([0, 3]), x(4, 3))).save(tmp_path / "graph.zip")
    graph = graph_compiler.load(tmp_path / "graph.zip")
    assert graph(ints([0, 4]), x(5, 3)).shape == (1, 2, 3)
    with pytest.raises(GuardFailed, match=r"indices input do not lie in \[0, 4\)"):
        graph(ints([0, -1]), x(4, 3))


def test_indices_are_not_looked_at_inside_of_jit() -> None:
    jax = pytest.importorskip("jax")
    graph = graph_compiler.compile(F.embedding, to="jax", args=(ints([0, 3]), x(4, 3)))
    found = jax.jit(lambda i, w: graph.functional({}, i, w))(
        jax.numpy.array([[0, 2]]), jax.numpy.ones((4, 3))
    )
    assert found.shape == (1, 2, 3)


_counter = itertools.count()
_UNPLACED: dict[str, Callable[[Any], Any]] = {
    "iterator": lambda x: x * next(_counter),
    "gradient": lambda x: (x * 2).sum().backward(),
    "copy": lambda x: copy.copy(x) * 2,
}


@pytest.mark.parametrize("name", _UNPLACED)
def test_an_error_of_the_whole_function_names_its_line(name: str) -> None:
    function = _UNPLACED[name]
    with pytest.raises(TracingError, match=re.escape(f"{__file__}:{function.__code__.co_firstlineno}")):
        graph_compiler.compile(function, args=(torch.ones(3, requires_grad=True),))


@pytest.mark.parametrize("source", ["torch", "jax", "numpy"])
@pytest.mark.parametrize(
    "make",
    [
        iter,
        lambda rows: (row for row in rows),
        lambda rows: {"rows": map(abs, rows)},
        lambda rows: iter(rows).__next__,
    ],
)
def test_an_iterator_that_is_an_argument_is_refused_and_loses_nothing(
    make: Callable[[Any], Any], source: str
) -> None:
    ones = {"torch": torch, "jax": pytest.importorskip("jax").numpy, "numpy": np}[source].ones
    graph = graph_compiler.compile(lambda x, rows: x * len([*rows]))
    given = make([ones(2), ones(2)])
    with pytest.raises(
        TracingError, match=f"{re.escape(__file__)}.*Pass a list|Pass a list.*{re.escape(__file__)}"
    ):
        graph(ones(3), given)
    rest = given["rows"] if isinstance(given, dict) else given
    assert len([rest(), rest()] if callable(rest) else [*rest]) == 2


@pytest.mark.parametrize("to", ["jax", "tensorflow", "numpy"])
def test_negative_sizes_as_indices_are_checked(to: str) -> None:
    """An index before the first element must not count from the end again."""
    pytest.importorskip(to)
    graph = graph_compiler.transpile(
        lambda x, y: x[-y.shape[0]], to=to, args=(torch.arange(5.0), torch.ones(3))
    )
    x = torch.arange(5.0)
    for size in (1, 5):
        assert float(graph(x, torch.ones(size))) == float(x[-size])
    with pytest.raises(IndexError):
        graph(x, torch.ones(6))
