"""Samples of torch's internal kernels (``torch.ops.aten``) that code calls by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from tests.support.samples import Array, Sample, array, bools, ints, quietly

aten = torch.ops.aten
X, Y = array(3, 4), array(5, 2)
UNIT, OTHER_UNIT = array(3, 4, kind="fraction"), array(5, 2, kind="fraction")
LINE, OTHER_LINE = array(2, 3, 8), array(1, 4, 6)
IMAGE, OTHER_IMAGE = array(2, 3, 6, 8), array(1, 3, 4, 6)
VOLUME, OTHER_VOLUME = array(1, 2, 4, 6, 4), array(2, 2, 6, 4, 8)
SQUARE, OTHER_SQUARE = array(2, 3, 3), array(1, 4, 4)


def _kernel(
    name: str, call: Callable[..., Any], args: tuple[Any, ...], other: tuple[Any, ...] | None = None
) -> Sample:
    return Sample(call, args, {}, other, f"aten.{name}")


def _definite(x: torch.Tensor) -> torch.Tensor:
    return x @ x.mT + 3 * torch.eye(x.shape[-1])


def _pair(x: Array, y: Array) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    return (x, x), (y, y)


SAMPLES: list[Sample] = [
    _kernel("_softmax", lambda x: aten._softmax(x, -1, False), (X,), (Y,)),
    _kernel("elu", lambda x: aten.elu(x, 0.7), (X,), (Y,)),
    _kernel("log_sigmoid", aten.log_sigmoid, (X,), (Y,)),
    # ------------------------------------------------------------------------------------- losses
    _kernel("mse_loss", aten.mse_loss, *_pair(X, Y)),
    _kernel("l1_loss", lambda x, y: aten.l1_loss(x, y, 2), *_pair(X, Y)),
    _kernel("smooth_l1_loss", lambda x, y: aten.smooth_l1_loss(x, y, 1, 0.5), *_pair(X, Y)),
    _kernel("soft_margin_loss", aten.soft_margin_loss, *_pair(X, Y)),
    _kernel("binary_cross_entropy", aten.binary_cross_entropy, *_pair(UNIT, OTHER_UNIT)),
    _kernel(
        "cross_entropy_loss",
        aten.cross_entropy_loss,
        (X, ints(3, low=0, high=4)),
        (Y, ints(5, low=0, high=2)),
    ),
    _kernel(
        "nll_loss",
        lambda x, y: aten.nll_loss(x.log_softmax(1), y),
        (X, ints(3, low=0, high=4)),
        (Y, ints(5, low=0, high=2)),
    ),
    _kernel(
        "multi_margin_loss", aten.multi_margin_loss, (X, ints(3, low=0, high=4)), (Y, ints(5, low=0, high=2))
    ),
    _kernel(
        "multilabel_margin_loss",
        aten.multilabel_margin_loss,
        (X, ints(3, 4, low=-1, high=4)),
        (Y, ints(5, 2, low=-1, high=2)),
    ),
    # ------------------------------------------------------------------------------------- linear algebra
    _kernel("_linalg_det", lambda x: aten._linalg_det(x)[0], (SQUARE,), (OTHER_SQUARE,)),
    _kernel("_linalg_slogdet", lambda x: aten._linalg_slogdet(x)[:2], (SQUARE,), (OTHER_SQUARE,)),
    _kernel("_linalg_eigh", lambda x: aten._linalg_eigh(_definite(x))[0], (SQUARE,), (OTHER_SQUARE,)),
    _kernel("_linalg_svd", lambda x: aten._linalg_svd(x)[1], (SQUARE,), (OTHER_SQUARE,)),
    _kernel(
        "_linalg_solve_ex",
        lambda x, y: aten._linalg_solve_ex(_definite(x), y)[0],
        *_pair(SQUARE, OTHER_SQUARE),
    ),
    _kernel(
        "linalg_cholesky_ex", lambda x: aten.linalg_cholesky_ex(_definite(x))[0], (SQUARE,), (OTHER_SQUARE,)
    ),
    _kernel("_fft_r2c", lambda x: aten._fft_r2c(x, [1], 0, True), (X,), (Y,)),
    _kernel(
        "_fft_c2r",
        lambda x: aten._fft_c2r(x, [1], 0, 6),
        (Array((3, 4), "complex64"),),
        (Array((5, 4), "complex64"),),
    ),
    # ------------------------------------------------------------------------------------- layers
    _kernel(
        "_convolution_mode",
        lambda x, w: (
            aten.conv2d.padding(x, w, None, [1, 1], "same"),
            aten._convolution_mode(x, w, None, [1, 1], "same", [1, 1], 1),
        ),
        (IMAGE, array(4, 3, 3, 3)),
        (OTHER_IMAGE, array(4, 3, 3, 3)),
    ),
    _kernel(
        "conv2d of groups",
        lambda x, w: aten.conv2d(x, w, None, [1, 1], [1, 1], [1, 1], 3),
        (IMAGE, array(3, 1, 3, 3)),
        (OTHER_IMAGE, array(3, 1, 3, 3)),
    ),
    _kernel(
        "slow_conv_dilated2d",
        lambda x, w: aten.slow_conv_dilated2d(x, w, [3, 3], None, [1, 1], [2, 2], [2, 2]),
        (IMAGE, array(4, 3, 3, 3)),
        (OTHER_IMAGE, array(4, 3, 3, 3)),
    ),
    _kernel(
        "slow_conv_transpose2d",
        lambda x, w: aten.slow_conv_transpose2d(x, w, [3, 3]),
        (IMAGE, array(3, 2, 3, 3)),
        (OTHER_IMAGE, array(3, 2, 3, 3)),
    ),
    _kernel(
        "thnn_conv2d",
        lambda x, w: aten.thnn_conv2d(x, w, [3, 3]),
        (IMAGE, array(4, 3, 3, 3)),
        (OTHER_IMAGE, array(4, 3, 3, 3)),
    ),
    _kernel(
        "_native_batch_norm_legit_no_training",
        lambda x, m, v: aten._native_batch_norm_legit_no_training(x, None, None, m, v, 0.1, 1e-5)[0],
        (IMAGE, array(3), array(3, kind="positive")),
        (OTHER_IMAGE, array(3), array(3, kind="positive")),
    ),
    _kernel(
        "_native_batch_norm_legit_functional",
        lambda x, m, v: aten._native_batch_norm_legit_functional(x, None, None, m, v, True, 0.1, 1e-5)[0],
        (IMAGE, array(3), array(3, kind="positive")),
        (OTHER_IMAGE, array(3), array(3, kind="positive")),
    ),
    _kernel(
        "_native_batch_norm_legit",
        lambda x: aten._native_batch_norm_legit.no_stats(x, None, None, True, 0.1, 1e-5)[0],
        (IMAGE,),
        (OTHER_IMAGE,),
    ),
    _kernel(
        "_weight_norm_interface",
        lambda v, g: aten._weight_norm_interface(v, g, 0)[0],
        (X, array(3, 1)),
        (Y, array(5, 1)),
    ),
    _kernel(
        "_scaled_dot_product_flash_attention_for_cpu",
        lambda x, y: aten._scaled_dot_product_flash_attention_for_cpu(x, y, y),
        (array(2, 3, 5, 4), array(2, 3, 6, 4)),
        (array(1, 2, 4, 8), array(1, 2, 3, 8)),
    ),
    _kernel(
        "_scaled_dot_product_flash_attention_for_cpu of earlier positions",
        lambda x: aten._scaled_dot_product_flash_attention_for_cpu(x, x, x, 0.0, True, scale=0.3),
        (array(2, 3, 5, 4),),
        (array(1, 2, 7, 8),),
    ),
    _kernel("reflection_pad1d", lambda x: aten.reflection_pad1d(x, [1, 2]), (LINE,), (OTHER_LINE,)),
    _kernel("replication_pad1d", lambda x: aten.replication_pad1d(x, [1, 2]), (LINE,), (OTHER_LINE,)),
    _kernel(
        "adaptive_max_pool3d", lambda x: aten.adaptive_max_pool3d(x, [2, 2, 2]), (VOLUME,), (OTHER_VOLUME,)
    ),
    _kernel(
        "max_unpool2d",
        lambda x: aten.max_unpool2d(*aten.max_pool2d_with_indices(x, [2, 2]), [6, 8]),
        (IMAGE,),
    ),
    # ------------------------------------------------------------------------------------- resampling
    _kernel("upsample_nearest1d", lambda x: aten.upsample_nearest1d(x, [16]), (LINE,), (OTHER_LINE,)),
    _kernel(
        "upsample_nearest3d", lambda x: aten.upsample_nearest3d(x, [8, 12, 8]), (VOLUME,), (OTHER_VOLUME,)
    ),
    _kernel("upsample_linear1d", lambda x: aten.upsample_linear1d(x, [12], False), (LINE,), (OTHER_LINE,)),
    _kernel(
        "upsample_bicubic2d", lambda x: aten.upsample_bicubic2d(x, [9, 7], False), (IMAGE,), (OTHER_IMAGE,)
    ),
    _kernel(
        "upsample_trilinear3d",
        lambda x: aten.upsample_trilinear3d(x, [6, 5, 7], True),
        (VOLUME,),
        (OTHER_VOLUME,),
    ),
    _kernel(
        "_upsample_nearest_exact1d", lambda x: aten._upsample_nearest_exact1d(x, [12]), (LINE,), (OTHER_LINE,)
    ),
    _kernel(
        "_upsample_nearest_exact2d",
        lambda x: aten._upsample_nearest_exact2d(x, [9, 7]),
        (IMAGE,),
        (OTHER_IMAGE,),
    ),
    _kernel(
        "_upsample_nearest_exact3d",
        lambda x: aten._upsample_nearest_exact3d(x, [6, 5, 7]),
        (VOLUME,),
        (OTHER_VOLUME,),
    ),
    _kernel(
        "_upsample_bilinear2d_aa",
        lambda x: aten._upsample_bilinear2d_aa(x, [3, 5], False),
        (IMAGE,),
        (OTHER_IMAGE,),
    ),
    _kernel(
        "_upsample_lanczos2d_aa",
        lambda x: aten._upsample_lanczos2d_aa(x, [3, 5], False),
        (IMAGE,),
        (OTHER_IMAGE,),
    ),
    _kernel(
        "_upsample_bicubic2d_aa",
        lambda x: aten._upsample_bicubic2d_aa(x, [3, 5], False),
        (IMAGE,),
        (OTHER_IMAGE,),
    ),
    _kernel("upsample", lambda x: quietly(F.upsample, x, scale_factor=2.0), (IMAGE,), (OTHER_IMAGE,)),
    _kernel(
        "upsample_nearest", lambda x: quietly(F.upsample_nearest, x, scale_factor=2), (IMAGE,), (OTHER_IMAGE,)
    ),
    _kernel(
        "upsample_bilinear",
        lambda x: quietly(F.upsample_bilinear, x, scale_factor=2),
        (IMAGE,),
        (OTHER_IMAGE,),
    ),
    # -------------------------------------------------------------------- functions that seldom stand in code
    _kernel("adaptive_max_pool1d", lambda x: F.adaptive_max_pool1d(x, 4), (LINE,)),
    _kernel(
        "fractional_max_pool2d",
        lambda x, u: (
            F.fractional_max_pool2d(x, 2, (3, 4), _random_samples=u),
            aten.fractional_max_pool2d(x, [2, 2], [3, 4], u),
        ),
        (IMAGE, array(2, 3, 2, kind="fraction")),
        (array(1, 3, 5, 9), array(1, 3, 2, kind="fraction")),
    ),
    _kernel(
        "fractional_max_pool3d",
        lambda x, u: (
            F.fractional_max_pool3d(x, 2, (2, 3, 2), _random_samples=u),
            aten.fractional_max_pool3d(x, [2, 2, 2], [2, 3, 2], u),
        ),
        (array(2, 3, 8, 9, 7), array(2, 3, 3, kind="fraction")),
        (array(1, 4, 7, 9, 12), array(1, 4, 3, kind="fraction")),
    ),
    _kernel(
        "embedding_renorm",
        lambda w, k: (F.embedding(k, w.clone(), max_norm=1.0), aten.embedding_renorm(w, k, 1.0, 2.0)),
        (X, ints(5, low=0, high=3)),
        (Y, ints(7, low=0, high=5)),
    ),
    _kernel(
        "max_pool3d_with_indices_backward",
        lambda x, g: aten.max_pool3d_with_indices_backward(
            g,
            x,
            [2, 2, 2],
            [2, 2, 2],
            [0, 0, 0],
            [1, 1, 1],
            False,
            F.max_pool3d(x, 2, return_indices=True)[1],
        ),
        (VOLUME, array(1, 2, 2, 3, 2)),
        (OTHER_VOLUME, array(2, 2, 3, 2, 4)),
    ),
    _kernel(
        "adaptive_max_pool3d_backward",
        lambda x, g: aten.adaptive_max_pool3d_backward(
            g, x, F.adaptive_max_pool3d(x, 2, return_indices=True)[1]
        ),
        (VOLUME, array(1, 2, 2, 2, 2)),
        (OTHER_VOLUME, array(2, 2, 2, 2, 2)),
    ),
    _kernel(
        "multilabel_soft_margin_loss",
        lambda x, m: F.multilabel_soft_margin_loss(x, m.float()),
        (X, bools(3, 4)),
        (Y, bools(5, 2)),
    ),
    _kernel("iteration", lambda x: torch.stack([row * 2 for row in x]), (X,)),
    # ------------------------------------------------------------------------------------- searching
    _kernel("_unique2", lambda x: aten._unique2(x, True, True, True), (ints(12),), (ints(9),)),
    _kernel("where", lambda m, x: aten.where(m, x, -x), (bools(3, 4), X), (bools(5, 2), Y)),
]
