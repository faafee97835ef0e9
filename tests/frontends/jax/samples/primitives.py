"""Samples of ``jax.lax`` as libraries call it: dtypes, modes and numbers of operands beyond those of the
public functions.
"""

from __future__ import annotations

import functools

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.support.samples import Array, Sample, array, ints

from .table import COMPLEX, INTS, OTHER_COMPLEX, OTHER_INTS, X, Y, calls

_COMPLEXES, _OTHER_COMPLEXES = (COMPLEX, COMPLEX), (OTHER_COMPLEX, OTHER_COMPLEX)
_MODES = ("clip", "fill", "drop", "promise_in_bounds")


def _total_order(x, y):
    """Compare integers, zeros of both signs and NaN."""
    x, y = (jnp.where(item > 3, jnp.nan, jnp.where(item < -3, -0.0, item * 1.0)) for item in (x, y))
    return [primitive.bind(x, y) for primitive in (lax.eq_to_p, lax.le_to_p, lax.lt_to_p)]


def _filled(x):
    return lax.fori_loop(0, x.shape[0], lambda i, rows: rows.at[i].set(x[i] * 2), lax.empty(x.shape, x.dtype))


def _hashes(key, counts):
    return jax.extend.random.threefry_2x32(key.astype("uint32"), counts.astype("uint32"))


def _words(key, shape):
    return jax.extend.random.threefry_prng_impl.random_bits(key.astype("uint32"), 32, shape)


def _shifts(x, by):
    return lax.shift_left(x, by), lax.shift_right_logical(x, by), lax.shift_right_arithmetic(x, by)


def _written(x, index, y, mode):
    at = x.at[index]
    return (
        at.set(y, mode=mode),
        at.add(y, mode=mode),
        at.multiply(y, mode=mode),
        at.min(y, mode=mode),
        at.max(y, mode=mode),
    )


def _read(x, index, mode):
    return (
        x.at[index].get(mode=mode),
        x.at[:, 7].get(mode=mode),
        x.at[1, index].get(mode=mode),
        x[:, 7],
        x[-9, 1],
    )


_PLACES = (array(4, 3), ints(3, low=-9, high=9))
_OTHER_PLACES = (array(5, 4), ints(4, low=-12, high=12))

_IMAGE, _OTHER_IMAGE = array(1, 2, 6, 7), array(2, 1, 5, 8)


def _place_of_the_largest(x, n):
    def larger(a, b):
        return jax.tree.map(lambda p, q: jnp.where(a[0] >= b[0], p, q), a, b)

    return lax.reduce((x, n.astype(jnp.int32)), (jnp.float32(-1), jnp.int32(7)), larger, (0,))


def _extremes(x, y):
    least, most = jnp.int32(100), jnp.float32(-100)
    return lax.reduce(
        (x.astype(jnp.int32), y),
        (least, most),
        lambda a, b: (lax.min(a[0], b[0]), lax.max(a[1], b[1])),
        (0, 1),
    )


def _last_elements(x):
    """Combine by functions that also add two elements, but do not return the sum."""
    zero = jnp.float32(0)
    return (
        lax.reduce(x, zero, lambda a, b: (a + b, b)[1], (1,)),
        lax.reduce_window(
            x, zero, lambda a, b: jax.jit(lambda a, b: (a + b, b))(a, b)[1], (2, 3), (1, 2), "VALID"
        ),
    )


def _furthest(x):
    def further(a, b):
        return jax.tree.map(lambda p, q: jnp.where(jnp.abs(a[0]) >= jnp.abs(b[0]), p, q), a, b)

    return lax.reduce_window((x, -x), (jnp.float32(0), jnp.float32(0)), further, (2, 2), (1, 2), "SAME")


def _windows_with_gaps(x):
    return [
        lax.reduce_window(
            x, begin, function, (2, 3), (1, 2), ((1, 0), (0, 2)), base_dilation=(2, 1), window_dilation=(1, 2)
        )
        for begin, function in ((-jnp.inf, lax.max), (jnp.inf, lax.min), (0.0, lax.add), (1.0, lax.mul))
    ]


def _sums_over_one_axis(x):
    return [
        lax.reduce_window(x, 0.0, lax.add, (1, 3, 1), (1, step, 1), how)
        for step in (1, 2)
        for how in ("SAME", "VALID", ((0, 0), (1, 2), (0, 0)))
    ]


def _narrowed(x):
    large = x * 300.0
    narrow = [
        number.astype(kind)
        for number in (large, large.astype(jnp.bfloat16), large * 200)
        for kind in ("int8", "uint8", "int16", "uint16")
    ]
    return [*narrow, jnp.minimum(x, 3.0).astype("uint32")]


def _pooled(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 3), (1, 1, 2, 2), "SAME")


def _largest(x):
    return lax.reduce_max(x, (0,)), lax.reduce_min(x, (0, 1))


def _grouped(x, kernel):
    return lax.conv_general_dilated(x, kernel, (1, 2), "SAME", batch_group_count=2)


def _convolved(x, kernel):
    return lax.conv_general_dilated(x, kernel, (1, 1), "VALID")


_BYTES, _BYTE_KERNEL = (
    ints(4, 3, 9, 8, low=-100, high=100, dtype="int8"),
    ints(6, 3, 4, 5, low=-100, high=100, dtype="int8"),
)

SAMPLES = [
    *[
        Sample(
            _shifts,
            (ints(40, low=-100, high=100, dtype=kind), ints(40, low=-12, high=12, dtype=kind)),
            name=f"shifts {kind}",
        )
        for kind in ("int8", "uint8", "int16", "int32")
    ],
    *[
        Sample(
            _shifts,
            (np.array([255, 128, 127, 2, 200], kind) << up, np.array([0, 1, 7, 40, 3], kind)),
            name=f"shifts {kind}, highest bit",
        )
        for kind, up in (("uint8", 0), ("uint16", 8), ("uint32", 24))
    ],
    *[
        Sample(functools.partial(_shifts, number), (np.array(2, number.dtype),), name=f"shifts of a {kind}")
        for kind, number in (("int32", np.int32(-8)), ("uint8", np.uint8(200)))
    ],
    *[
        Sample(
            functools.partial(_written, mode=mode),
            (*_PLACES, array(3, 3)),
            {},
            (*_OTHER_PLACES, array(4, 4)),
            f"at {mode}",
        )
        for mode in _MODES[1:]
    ],
    *[
        Sample(functools.partial(_read, mode=mode), _PLACES, {}, _OTHER_PLACES, f"get {mode}")
        for mode in _MODES[:3]
    ],
    *calls(
        [
            (
                "extremes of complex numbers",
                lambda x, y: (lax.max(x, y), lax.min(x, y)),
                _COMPLEXES,
                _OTHER_COMPLEXES,
            ),
            (
                "extremes of equal parts",
                lambda x, y: (
                    lax.max(lax.complex(x, y), lax.complex(x, x)),
                    lax.min(lax.complex(x, y), lax.complex(x, x)),
                ),
                (X, X),
                (Y, Y),
            ),
            ("conj of reals", lax.conj, (X,), (Y,)),
            ("total order", _total_order, (INTS, INTS), (OTHER_INTS, OTHER_INTS)),
            ("an empty array that is written to", _filled, (X,), (Y,)),
            (
                "hashes",
                _hashes,
                (ints(2, low=0, high=9), ints(4, low=0, high=9)),
                (ints(2, low=0, high=9), ints(6, low=0, high=9)),
            ),
            (
                "words of a key",
                lambda k, x: _words(k, x.shape),
                (ints(2, low=0, high=9), X),
                (ints(2, low=3, high=12), Y),
            ),
            (
                "draws of a key",
                lambda x: jax.random.normal(jax.random.key(x[0, 0]), x.shape),
                (INTS,),
                (OTHER_INTS,),
            ),
            (
                "lu of complex matrices",
                lax.linalg.lu,
                (Array((2, 3, 3), "complex64"),),
                (Array((4, 2, 2), "complex64"),),
            ),
            ("reduce by a function", _place_of_the_largest, (X, INTS), (array(3, 6), ints(3, 6))),
            ("reduce extremes", _extremes, (INTS, X), (OTHER_INTS, Y)),
            ("reduce to the last element", _last_elements, (X,), (array(2, 6),)),
            ("windows by a function", _furthest, (X,), (Y,)),
            ("windows with gaps", _windows_with_gaps, (X,), (array(6, 5),)),
            (
                "forward mode of pooling",
                lambda x, y: jax.jvp(_pooled, (x,), (y,)),
                (_IMAGE, _IMAGE),
                (_OTHER_IMAGE, _OTHER_IMAGE),
            ),
            (
                "reductions of complex numbers",
                lambda x: (_largest(x), lax.sort((x, lax.real(x)), num_keys=1)),
                (COMPLEX,),
                (OTHER_COMPLEX,),
            ),
            ("convolution that wraps", _grouped, (_BYTES, _BYTE_KERNEL), None),
            ("sums of windows over one axis", _sums_over_one_axis, (array(2, 7, 3),), (array(1, 9, 2),)),
            (
                "take_along_axis outside",
                lambda x, i: jnp.take_along_axis(x, i, 1),
                (X, ints(3, 5, low=-9, high=9)),
                (Y, ints(5, 3, low=-4, high=4)),
            ),
            (
                "take_along_axis found",
                lambda x: jnp.take_along_axis(x, jnp.argsort(x, 1)[:, ::-1], 1),
                (X,),
                (Y,),
            ),
            ("floats beyond narrow integers", _narrowed, (array(3, 4),), (array(5, 2),)),
            (
                "convolution of bools",
                lambda x: _convolved(x[None, None] > 0, x[None, None, :2, :2] > 0),
                (X,),
                (array(5, 3),),
            ),
            ("searchsorted of bools", lambda x: jnp.searchsorted(jnp.sort(x[0] > 0), x[1] > 0), (X,), (Y,)),
            (
                "groups of a batch",
                _grouped,
                (array(4, 3, 9, 8), array(6, 3, 4, 5)),
                (array(4, 3, 7, 8), array(6, 3, 2, 3)),
            ),
            ("kernel larger than the image", _convolved, (array(2, 3, 4, 5), array(1, 3, 6, 2)), None),
            ("transform of nothing", lambda x: jnp.fft.fft(x), (array(2, 0, 3),), None),
            (
                "top_k of zeros and NaN",
                lambda x: lax.top_k(jnp.where(x > 2, jnp.nan, jnp.where(x > 0, x, x * 0.0)), 6),
                (array(3, 9),),
                (array(2, 7),),
            ),
            ("cond", lambda x: lax.cond(x.sum() > 0, lambda: x * 2, lambda: x - 1), (X,), (Y,)),
        ]
    ),
]
