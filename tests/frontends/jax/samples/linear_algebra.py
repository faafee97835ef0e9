"""Samples of products, decompositions, Fourier transforms, convolutions, pooling, attention and gradients."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.scipy as jsp
from jax import lax, nn

from tests.support.samples import Array, array, ints

from .table import calls, each

_A, _OTHER_A = array(3, 3), array(5, 5)
_COMPLEX, _OTHER_COMPLEX = Array((3, 8), "complex64"), Array((5, 6), "complex64")
_REAL, _OTHER_REAL = array(3, 8), array(5, 6)
_IMAGE, _OTHER_IMAGE, _KERNEL = array(2, 3, 8, 8), array(1, 3, 10, 6), array(4, 3, 3, 3)
_LAST, _OTHER_LAST, _LAST_KERNEL = array(2, 8, 8, 3), array(1, 10, 6, 3), array(3, 3, 3, 4)
_HEADS = (array(2, 5, 2, 4), array(2, 5, 2, 4), array(2, 5, 2, 4))
_OTHER_HEADS = (array(3, 7, 2, 4), array(3, 7, 2, 4), array(3, 7, 2, 4))


def _definite(x):
    return x @ x.T + 3 * jnp.eye(x.shape[0])


def _products_with_q(x, y):
    factors, tau = jnp.linalg.qr(x, mode="raw")
    both = [
        lax.linalg.ormqr(factors.mT, tau, y, left=left, transpose=transpose)
        for y, left in ((y, True), (y.mT, False))
        for transpose in (False, True)
    ]
    return [*both, lax.linalg.ormqr(factors.mT[..., :2], tau[..., :1], y)]


# The oldest supported JAX has no such function.
_PRODUCTS_WITH_Q = [
    ("ormqr", _products_with_q, (array(5, 3), array(5, 2)), (array(6, 2), array(6, 3))),
    (
        "ormqr of complex matrices",
        _products_with_q,
        (Array((2, 4, 3), "complex64"), Array((2, 4, 2), "complex64")),
        (Array((3, 5, 2), "complex64"), Array((3, 5, 4), "complex64")),
    ),
] * hasattr(lax.linalg, "ormqr")


def _conv_last(x, w, **options):
    return lax.conv_general_dilated(x, w, dimension_numbers=("NHWC", "HWIO", "NHWC"), **options)


SAMPLES = [
    *each(jnp, "matmul dot inner outer kron vdot", (array(4), array(4)), (array(6), array(6))),
    *each(jnp, "matmul dot", (array(3, 4), array(4, 5)), (array(2, 6), array(6, 3))),
    *each(jnp, "matmul", (array(2, 3, 4), array(2, 4, 5)), (array(3, 2, 6), array(3, 6, 2))),
    *each(jnp, "matmul", (array(2, 3, 4), array(4, 5)), (array(3, 2, 6), array(6, 2))),
    *each(jnp, "matmul", (array(3, 4), array(4)), (array(5, 2), array(2))),
    *each(jnp, "matmul dot", (ints(3, 4), ints(4, 2)), (ints(2, 5), ints(5, 3))),
    *each(
        jnp,
        "matmul inner tensordot",
        (Array((4, 4), "bool"), Array((4, 4), "bool")),
        (Array((6, 6), "bool"), Array((6, 6), "bool")),
    ),
    *each(jnp, "cross", (array(4, 3), array(4, 3)), (array(2, 3), array(2, 3))),
    *each(jnp.linalg, "det inv slogdet matrix_rank pinv", (_A,), (_OTHER_A,)),
    *each(jnp.linalg, "svdvals", (_A,), (_OTHER_A,)),
    *each(
        jnp.fft,
        "fft ifft fft2 ifft2 fftn ifftn irfft fftshift ifftshift irfft2",
        (_COMPLEX,),
        (_OTHER_COMPLEX,),
    ),
    *each(jnp.fft, "fft rfft ifft rfft2 rfftn", (_REAL,), (_OTHER_REAL,)),
    *each(jnp.fft, "fft rfft irfft", (_REAL,), (_OTHER_REAL,), n=6, axis=-1, norm="ortho"),
    *calls(
        [
            (
                "operator @",
                lambda x, y: (x @ y, y.T @ x.T),
                (array(3, 4), array(4, 5)),
                (array(2, 6), array(6, 3)),
            ),
            (
                "einsum",
                lambda x, y: (
                    jnp.einsum("ij,kj->ik", x, y),
                    jnp.einsum("ij,kj", x, y),
                    jnp.einsum("ij->j", x),
                    jnp.einsum("ij,ij->", x, x),
                ),
                (array(3, 4), array(5, 4)),
                (array(2, 6), array(3, 6)),
            ),
            (
                "einsum dots",
                lambda x, y: (jnp.einsum("...ij,...jk->...ik", x, y), jnp.einsum("bij,bjk->bki", x, y)),
                (array(2, 3, 4), array(2, 4, 5)),
                (array(3, 2, 6), array(3, 6, 2)),
            ),
            ("einsum diagonal", lambda x: (jnp.einsum("ii->i", x), jnp.einsum("ii", x)), (_A,), (_OTHER_A,)),
            (
                "einsum three",
                lambda x, y: jnp.einsum("ij,jk,kl->il", x, y, y.T),
                (array(3, 4), array(4, 5)),
                (array(2, 6), array(6, 3)),
            ),
            (
                "tensordot",
                lambda x, y: (jnp.tensordot(x, y, 1), jnp.tensordot(x, y, axes=((1,), (0,)))),
                (array(3, 4), array(4, 5)),
                (array(2, 6), array(6, 3)),
            ),
            (
                "dot_general",
                lambda x, y: lax.dot_general(x, y, (((2,), (1,)), ((0,), (2,)))),
                (array(2, 3, 4), array(5, 4, 2)),
                (array(3, 2, 6), array(4, 6, 3)),
            ),
            (
                "dot_general type",
                lambda x, y: lax.dot_general(
                    x, y, (((1,), (0,)), ((), ())), preferred_element_type=jnp.float32
                ),
                (Array((3, 4), "bfloat16"), Array((4, 2), "bfloat16")),
                None,
            ),
            (
                "solve",
                lambda x, y: (jnp.linalg.solve(_definite(x), y), jnp.linalg.solve(_definite(x), y[:, 0])),
                (_A, array(3, 2)),
                (_OTHER_A, array(5, 3)),
            ),
            ("cholesky", lambda x: jnp.linalg.cholesky(_definite(x)), (_A,), (_OTHER_A,)),
            (
                "cho_solve",
                lambda x, y: jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(_definite(x)), y),
                (_A, array(3)),
                (_OTHER_A, array(5)),
            ),
            (
                "triangular_solve",
                lambda x, y: (
                    jax.scipy.linalg.solve_triangular(jnp.tril(x) + 3 * jnp.eye(x.shape[0]), y, lower=True),
                    jax.scipy.linalg.solve_triangular(jnp.triu(x) + 3 * jnp.eye(x.shape[0]), y, trans=1),
                ),
                (_A, array(3)),
                (_OTHER_A, array(5)),
            ),
            (
                "householder_product",
                lambda x: lax.linalg.householder_product(x, x[0] * 0.1),
                (array(4, 3),),
                (array(6, 3),),
            ),
            ("qr raw", lambda x: jnp.linalg.qr(x, mode="raw"), (array(5, 3),), (array(6, 4),)),
            (
                "qr raw of a wide matrix",
                lambda x: jnp.linalg.qr(x, mode="raw"),
                (array(3, 5),),
                (array(2, 6),),
            ),
            *_PRODUCTS_WITH_Q,
            ("irfftn", jnp.fft.irfftn, (Array((4, 3), "complex64"),), (Array((6, 5), "complex64"),)),
            (
                "tridiagonal_solve",
                lax.linalg.tridiagonal_solve,
                (*(array(5),) * 3, array(5, 2)),
                (*(array(7),) * 3, array(7, 4)),
            ),
            (
                "tridiagonal_solve of several matrices",
                lambda side, middle, y: lax.linalg.tridiagonal_solve(side, 3 * middle, 2 * side, y),
                (array(2, 4), array(2, 4, kind="positive"), array(2, 4, 1)),
                (array(3, 6), array(3, 6, kind="positive"), array(3, 6, 2)),
            ),
            (
                "qr",
                lambda x: (lambda q, r: (q @ r, jnp.abs(r)))(*jnp.linalg.qr(x)),
                (array(5, 3),),
                (array(6, 4),),
            ),
            (
                "svd",
                lambda x: (lambda u, s, v: ((u * s) @ v, s))(*jnp.linalg.svd(x, full_matrices=False)),
                (array(5, 3),),
                (array(4, 6),),
            ),
            (
                "eigh",
                lambda x: (lambda w, v: (w, v @ jnp.diag(w) @ v.T))(*jnp.linalg.eigh(x + x.T)),
                (_A,),
                (_OTHER_A,),
            ),
            ("eigvalsh", lambda x: jnp.linalg.eigvalsh(x + x.T), (_A,), (_OTHER_A,)),
            ("lu", lambda x: jax.scipy.linalg.lu(x), (_A,), (_OTHER_A,)),
            (
                "lstsq",
                lambda x, y: jnp.linalg.lstsq(x, y)[0],
                (array(6, 3), array(6)),
                (array(8, 2), array(8)),
            ),
            (
                "matrix_power",
                lambda x: (jnp.linalg.matrix_power(x, 3), jnp.linalg.matrix_power(_definite(x), -1)),
                (_A,),
                (_OTHER_A,),
            ),
            (
                "multi_dot",
                lambda x, y: jnp.linalg.multi_dot([x, y, y.T]),
                (array(3, 4), array(4, 5)),
                (array(2, 6), array(6, 3)),
            ),
            (
                "convolve",
                lambda x, y: (jnp.convolve(x, y), jnp.convolve(x, y, mode="same"), jnp.correlate(x, y)),
                (array(8), array(3)),
                (array(8), array(3)),
            ),
            (
                "fftfreq",
                lambda x: (jnp.fft.fftfreq(x.shape[1]), jnp.fft.rfftfreq(8, d=0.5)),
                (_REAL,),
                (_OTHER_REAL,),
            ),
            (
                "fft round trip",
                lambda x: jnp.fft.irfft(jnp.fft.rfft(x) * 2, n=x.shape[-1]),
                (_REAL,),
                (array(5, 7),),
            ),
            (
                "conv",
                lambda x, w: (lax.conv(x, w, (1, 1), "SAME"), lax.conv(x, w, (2, 2), "VALID")),
                (_IMAGE, _KERNEL),
                (_OTHER_IMAGE, _KERNEL),
            ),
            (
                "conv channels last",
                lambda x, w: _conv_last(x, w, window_strides=(1, 1), padding="SAME"),
                (_LAST, _LAST_KERNEL),
                (_OTHER_LAST, _LAST_KERNEL),
            ),
            (
                "conv padding",
                lambda x, w: _conv_last(
                    x, w, window_strides=(2, 1), padding=((1, 2), (0, 1)), rhs_dilation=(1, 2)
                ),
                (_LAST, _LAST_KERNEL),
                (_OTHER_LAST, _LAST_KERNEL),
            ),
            (
                "conv groups",
                lambda x, w: _conv_last(x, w, window_strides=(1, 1), padding="VALID", feature_group_count=3),
                (_LAST, array(3, 3, 1, 6)),
                (_OTHER_LAST, array(3, 3, 1, 6)),
            ),
            (
                "conv lhs dilation",
                lambda x, w: _conv_last(
                    x, w, window_strides=(1, 1), padding=((1, 1), (2, 2)), lhs_dilation=(2, 2)
                ),
                (_LAST, _LAST_KERNEL),
                (_OTHER_LAST, _LAST_KERNEL),
            ),
            (
                "conv_transpose",
                lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"),
                (_LAST, _LAST_KERNEL),
                (_OTHER_LAST, _LAST_KERNEL),
            ),
            (
                "conv 1d",
                lambda x, w: lax.conv_general_dilated(
                    x, w, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")
                ),
                (array(2, 8, 3), array(3, 3, 4)),
                (array(1, 6, 3), array(3, 3, 4)),
            ),
            (
                "conv 3d",
                lambda x, w: lax.conv_general_dilated(x, w, (1, 1, 1), "VALID"),
                (array(1, 2, 4, 5, 6), array(3, 2, 2, 2, 2)),
                (array(2, 2, 6, 4, 3), array(3, 2, 2, 2, 2)),
            ),
            (
                "lu_solve",
                lambda x, y: jsp.linalg.lu_solve(jsp.linalg.lu_factor(x), y),
                (array(3, 3), array(3, 2)),
                (array(5, 5), array(5, 1)),
            ),
            (
                "lu_solve of many",
                lambda x, y: jax.vmap(lambda a: jsp.linalg.lu_solve(jsp.linalg.lu_factor(a), y))(x),
                (array(2, 3, 3), array(3)),
                (array(3, 5, 5), array(5)),
            ),
            (
                "ragged_dot",
                lambda x, w, n: lax.ragged_dot(x, w, n),
                (array(7, 4), array(3, 4, 5), ints(3, low=0, high=3)),
                (array(9, 2), array(2, 2, 3), ints(2, low=0, high=4)),
            ),
            (
                "max_pool",
                lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
                (_LAST,),
                (_OTHER_LAST,),
            ),
            (
                "max_pool same",
                lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"),
                (_LAST,),
                (array(1, 8, 8, 3),),
            ),
            (
                "min_pool",
                lambda x: lax.reduce_window(x, jnp.inf, lax.min, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
                (_LAST,),
                (_OTHER_LAST,),
            ),
            (
                "avg_pool",
                lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4,
                (_LAST,),
                (_OTHER_LAST,),
            ),
            (
                "attention",
                lambda q, k, v: (
                    nn.dot_product_attention(q, k, v),
                    nn.dot_product_attention(q, k, v, is_causal=True),
                    nn.dot_product_attention(q, k, v, scale=0.3),
                ),
                _HEADS,
                _OTHER_HEADS,
            ),
            (
                "attention mask",
                lambda q, k, v: nn.dot_product_attention(
                    q, k, v, mask=jnp.tril(jnp.ones((q.shape[1], q.shape[1]), bool))[None, None]
                ),
                _HEADS,
                _OTHER_HEADS,
            ),
            (
                "attention bias",
                lambda q, k, v: nn.dot_product_attention(
                    q, k, v, bias=jnp.ones((1, 1, q.shape[1], q.shape[1]))
                ),
                _HEADS,
                _OTHER_HEADS,
            ),
            (
                "gradient of cumlogsumexp",
                lambda x: jax.grad(lambda y: (lax.cumlogsumexp(y) ** 2).sum())(x),
                (_A,),
                None,
            ),
            (
                "gradient of pinv",
                lambda x: jax.grad(lambda y: (jnp.linalg.pinv(y) ** 2).sum())(x),
                (_A,),
                (_OTHER_A,),
            ),
            (
                "linear_transpose",
                lambda x: jax.linear_transpose(lambda y: jnp.fft.fft(y).real, x)(x),
                (_A,),
                (_OTHER_A,),
            ),
            ("grad", lambda x: jax.grad(lambda y: jnp.sum(jnp.tanh(y) ** 2))(x), (_A,), (_OTHER_A,)),
            (
                "grad matmul",
                lambda x, w: jax.grad(lambda u: jnp.sum(nn.relu(x @ u)))(w),
                (array(3, 4), array(4, 5)),
                (array(2, 6), array(6, 3)),
            ),
            (
                "grad softmax",
                lambda x: jax.grad(lambda y: -nn.log_softmax(y)[:, 0].sum())(x),
                (_A,),
                (_OTHER_A,),
            ),
            (
                "grad layer norm",
                lambda x: jax.grad(lambda y: (nn.standardize(y) ** 3).sum())(x),
                (_A,),
                (_OTHER_A,),
            ),
            (
                "grad max_pool",
                lambda x: jax.grad(
                    lambda y: (
                        lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") ** 2
                    ).sum()
                )(x),
                (_LAST,),
                (_OTHER_LAST,),
            ),
            (
                "grad conv",
                lambda x, w: jax.grad(
                    lambda u: (_conv_last(x, u, window_strides=(1, 1), padding="VALID") ** 2).sum()
                )(w),
                (_LAST, _LAST_KERNEL),
                (_OTHER_LAST, _LAST_KERNEL),
            ),
            (
                "grad conv input",
                lambda x, w: jax.grad(
                    lambda u: (_conv_last(u, w, window_strides=(1, 1), padding="VALID") ** 2).sum()
                )(x),
                (_LAST, _LAST_KERNEL),
                (_OTHER_LAST, _LAST_KERNEL),
            ),
            (
                "grad gather",
                lambda x, i: jax.grad(lambda y: (y[i] ** 2).sum())(x),
                (array(5, 3), ints(4, low=0, high=5)),
                (array(6, 2), ints(7, low=0, high=5)),
            ),
            (
                "grad sort",
                lambda x: jax.grad(lambda y: (jnp.sort(y) * jnp.arange(y.shape[0])).sum())(x),
                (array(5),),
                (array(7),),
            ),
            (
                "grad cumsum",
                lambda x: jax.grad(lambda y: (jnp.cumsum(y) ** 2).sum())(x),
                (array(5),),
                (array(7),),
            ),
            ("value_and_grad", lambda x: jax.value_and_grad(lambda y: jnp.mean(y**2))(x), (_A,), (_OTHER_A,)),
            ("jacobian", lambda x: jax.jacfwd(lambda y: jnp.sin(y) * y.sum())(x), (array(4),), (array(4),)),
            ("hessian", lambda x: jax.hessian(lambda y: jnp.sum(y**3))(x), (array(4),), (array(4),)),
            ("jvp", lambda x: jax.jvp(jnp.sin, (x,), (x,)), (_A,), (_OTHER_A,)),
            ("dot with a number", lambda x: jnp.dot(x, 2) + jnp.dot(2, x), (_A,), (_OTHER_A,)),
            (
                "vmap matmul",
                lambda x, y: jax.vmap(lambda a, b: a @ b)(x, y),
                (array(2, 3, 4), array(2, 4, 5)),
                (array(3, 2, 6), array(3, 6, 2)),
            ),
            ("vmap of vmap", lambda x: jax.vmap(jax.vmap(lambda a: a / (1 + a**2)))(x), (_A,), (_OTHER_A,)),
            ("vmap softmax", lambda x: jax.vmap(nn.softmax)(x), (_A,), (_OTHER_A,)),
            (
                "vmap in_axes",
                lambda x, y: jax.vmap(jnp.dot, in_axes=(1, None))(x, y),
                (array(3, 4), array(3)),
                (array(5, 2), array(5)),
            ),
            (
                "numbers as operands",
                lambda x: (
                    jnp.tensordot(2.0, x, axes=0),
                    jnp.outer(2.0, x[0]),
                    jnp.outer(x[0], x.shape[0]),
                    jnp.fft.fftshift(2.0) + x,
                    nn.one_hot(3, 5) + nn.one_hot(x.shape[0], 5),
                ),
                (_A,),
                (_OTHER_A,),
            ),
            (
                "shifts along no axes",
                lambda x: (jnp.fft.fftshift(x, ()), jnp.fft.ifftshift(x, axes=[])),
                (_A,),
                (_OTHER_A,),
            ),
        ]
    ),
]
