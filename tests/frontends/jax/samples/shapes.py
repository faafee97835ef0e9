"""Samples of creation, shapes, joining, indexing and writing at indices."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from tests.support.samples import array, bools, ints

from .table import INTS, OTHER_INTS, X, Y, calls, each

_CUBE, _OTHER_CUBE = array(2, 3, 4), array(3, 5, 2)
_SQUARE, _OTHER_SQUARE = array(4, 4), array(3, 3)
_FOUR, _OTHER_FOUR = array(4, 6), array(6, 4)
_I, _OTHER_I = ints(3, low=0, high=3), ints(5, low=-2, high=2)


def _whole_windows(x, i):
    """Read and write windows that start at ``i`` and are as long as the axis."""
    gathered = lax.GatherDimensionNumbers((1, 2), (), (0,))
    scattered = lax.ScatterDimensionNumbers((0, 1), (), (0,))
    both = lax.GatherDimensionNumbers((1,), (1,), (0, 1))
    return (
        [lax.gather(x, i[:, None], gathered, x.shape, mode=mode) for mode in ("fill", "clip")],
        lax.gather(x, jnp.stack([i, i + 1], -1), both, (x.shape[0], 1), mode="fill"),
        [
            scatter(x, i[at : at + 1], 2 * x, scattered, mode=mode)
            for scatter in (lax.scatter, lax.scatter_add, lax.scatter_mul, lax.scatter_min)
            for mode in ("fill", "clip")
            for at in (0, 1)
        ],
    )


SAMPLES = [
    *each(
        jnp,
        "ravel transpose flip fliplr flipud rot90 atleast_1d atleast_2d atleast_3d zeros_like ones_like copy array asarray",
        (X,),
        (Y,),
    ),
    *each(jnp, "zeros_like ones_like", (INTS,), (OTHER_INTS,), dtype=jnp.float32),
    *each(jnp, "vstack hstack dstack column_stack concatenate stack", ((X, X),), ((Y, Y),)),
    *each(jnp, "tril triu diag diagonal trace diagflat", (_SQUARE,), (_OTHER_SQUARE,)),
    *each(jnp, "tril triu diag", (_SQUARE,), (_OTHER_SQUARE,), k=1),
    *calls(
        [
            (
                "zeros",
                lambda x: (
                    jnp.zeros((x.shape[0], 3))
                    + jnp.ones(x.shape[0])[:, None]
                    + jnp.full((x.shape[0], 1), 2.5)
                ),
                (X,),
                (Y,),
            ),
            (
                "arange",
                lambda x: (
                    jnp.arange(x.shape[0]),
                    jnp.arange(1, x.shape[0]),
                    jnp.arange(5),
                    jnp.arange(0.0, 1.0, 0.25),
                ),
                (X,),
                (Y,),
            ),
            ("linspace", lambda x: (jnp.linspace(0, 1, x.shape[0]), jnp.linspace(0, 1, 5)), (X,), (Y,)),
            (
                "eye",
                lambda x: (jnp.eye(x.shape[0]), jnp.eye(3, 4, k=1), jnp.identity(x.shape[0])),
                (X,),
                (Y,),
            ),
            ("iota", lambda x: lax.broadcasted_iota(jnp.int32, (x.shape[0], 3), 0), (X,), (Y,)),
            ("meshgrid", lambda x, y: jnp.meshgrid(x, y), (array(3), array(4)), (array(5), array(2))),
            (
                "reshape",
                lambda x: (
                    x.reshape(-1),
                    x.reshape(2, -1),
                    x.reshape(x.shape[0], 2, -1),
                    jnp.reshape(x, (-1, 1)),
                ),
                (_FOUR,),
                (_OTHER_FOUR,),
            ),
            ("reshape order", lambda x: x.reshape(x.shape[1], x.shape[0]), (X,), (Y,)),
            (
                "transpose axes",
                lambda x: (x.transpose(2, 0, 1), jnp.swapaxes(x, 0, 2), jnp.moveaxis(x, 0, -1), x.T, x.mT),
                (_CUBE,),
                (_OTHER_CUBE,),
            ),
            (
                "expand",
                lambda x: (
                    x[:, None],
                    x[None],
                    jnp.expand_dims(x, (0, 2)),
                    x[..., None],
                    lax.expand_dims(x, (1,)),
                ),
                (X,),
                (Y,),
            ),
            (
                "squeeze",
                lambda x: (jnp.squeeze(x[:, None], axis=1), x[:, :1].squeeze(1), lax.squeeze(x[None], (0,))),
                (X,),
                (Y,),
            ),
            (
                "broadcast_to",
                lambda x: (jnp.broadcast_to(x, (2, *x.shape)), jnp.broadcast_to(x[:, :1], x.shape)),
                (X,),
                (Y,),
            ),
            (
                "broadcast_arrays",
                lambda x, y: jnp.broadcast_arrays(x[:, None], y),
                (array(3), array(4)),
                (array(5), array(2)),
            ),
            (
                "broadcast_in_dim",
                lambda x: lax.broadcast_in_dim(x, (x.shape[0], 3, x.shape[1]), (0, 2)),
                (X,),
                (Y,),
            ),
            (
                "concatenate axis",
                lambda x: (jnp.concatenate([x, x * 2], axis=1), jnp.append(x, x, axis=0), jnp.append(x, x)),
                (X,),
                (Y,),
            ),
            ("stack axis", lambda x: (jnp.stack([x, x], axis=1), jnp.stack([x, x], axis=-1)), (X,), (Y,)),
            (
                "split",
                lambda x: (*jnp.split(x, 2), *jnp.split(x, [1, 3], axis=1), *jnp.array_split(x, 3)),
                (_FOUR,),
                (array(8, 4),),
            ),
            ("unstack", lambda x: jnp.unstack(x), (X,), (array(3, 2),)),
            ("tile", lambda x: (jnp.tile(x, 2), jnp.tile(x, (2, 1)), jnp.tile(x, (2, 1, 3))), (X,), (Y,)),
            (
                "repeat",
                lambda x: (jnp.repeat(x, 2), jnp.repeat(x, 3, axis=0), jnp.repeat(x, 2, axis=1)),
                (X,),
                (Y,),
            ),
            (
                "repeat counts",
                lambda x, n: jnp.repeat(x, n, axis=0, total_repeat_length=6),
                (X, ints(3, low=2, high=3)),
                None,
            ),
            (
                "roll",
                lambda x: (jnp.roll(x, 1), jnp.roll(x, -1, axis=0), jnp.roll(x, (1, 2), axis=(0, 1))),
                (X,),
                (Y,),
            ),
            (
                "pad",
                lambda x: (
                    jnp.pad(x, 1),
                    jnp.pad(x, ((1, 2), (0, 1)), constant_values=3.0),
                    jnp.pad(x, ((0, 1), (0, 0))),
                ),
                (X,),
                (Y,),
            ),
            (
                "pad edge",
                lambda x: (jnp.pad(x, 1, mode="edge"), jnp.pad(x, ((1, 0), (0, 1)), mode="edge")),
                (X,),
                (Y,),
            ),
            ("pad reflect", lambda x: jnp.pad(x, 1, mode="reflect"), (X,), (array(5, 3),)),
            ("pad wrap", lambda x: jnp.pad(x, 1, mode="wrap"), (X,), (Y,)),
            (
                "lax.pad",
                lambda x: (
                    lax.pad(x, 0.0, ((1, 2, 1), (0, 0, 2))),
                    lax.pad(x, 1.0, ((-1, 1, 0), (0, -1, 0))),
                ),
                (X,),
                (array(5, 3),),
            ),
            (
                "lax.pad of nothing",
                lambda x: lax.pad(x[3:], 2.0, ((1, 2, 1), (0, 0, 1))),
                (array(3, 2),),
                None,
            ),
            ("lax.pad by an array", lambda x: lax.pad(x, x.sum(), ((1, 2, 0), (0, 1, 0))), (X,), (Y,)),
            (
                "lax.pad by an array, as much as sizes",
                lambda x, y: lax.pad(x, y[0], ((0, y.shape[0], 0), (y.shape[0] - 3, 1, 0))),
                (X, array(2)),
                (Y, array(4)),
            ),
            ("rev", lambda x: (x[::-1], x[:, ::-1], lax.rev(x, (0, 1))), (X,), (Y,)),
            (
                "slices",
                lambda x: (
                    x[0],
                    x[-1],
                    x[1:],
                    x[:-1],
                    x[:, 1],
                    x[:, 1:3],
                    x[::2],
                    x[1:, ::2],
                    x[..., 0],
                    x[:2, -1:],
                ),
                (_FOUR,),
                (_OTHER_FOUR,),
            ),
            (
                "slices of sizes",
                lambda x: (x[: x.shape[0] // 2], x[x.shape[0] // 2 :], x[x.shape[0] - 1]),
                (X,),
                (Y,),
            ),
            (
                "lax.slice",
                lambda x: (
                    lax.slice(x, (0, 1), (2, 4)),
                    lax.slice_in_dim(x, 1, 3, axis=1),
                    lax.index_in_dim(x, 1),
                ),
                (_FOUR,),
                (array(5, 7),),
            ),
            (
                "index array",
                lambda x, i: (x[i], x[:, i], x[i, i], x[i][:, i]),
                (array(4, 5), _I),
                (array(6, 7), _OTHER_I),
            ),
            (
                "index arrays",
                lambda x, i: (x[i, :, i], x[:, i, 0], x[0, i], x[i, 1:, 0]),
                (array(4, 5, 6), _I),
                (array(6, 7, 3), _OTHER_I),
            ),
            (
                "index matrix",
                lambda x, i: (x[i], x[:, i]),
                (array(4, 5), ints(2, 3, low=0, high=4)),
                (array(6, 7), ints(3, 2, low=-3, high=4)),
            ),
            (
                "index list",
                lambda x: (
                    x[jnp.array([0, 2])],
                    x[:, jnp.array([1, -1])],
                    x[jnp.array([0, 1]), jnp.array([1, 2])],
                ),
                (X,),
                (array(5, 6),),
            ),
            (
                "index scalar",
                lambda x, i: (x[i], x[:, i], x[i + 1]),
                (X, ints(low=0, high=2)),
                (array(5, 6), ints(low=0, high=2)),
            ),
            (
                "take",
                lambda x, i: (jnp.take(x, i, axis=0), jnp.take(x, i, axis=1), jnp.take(x, i)),
                (array(4, 5), _I),
                (array(6, 7), _OTHER_I),
            ),
            (
                "take clip",
                lambda x, i: jnp.take(x, i, axis=0, mode="clip"),
                (array(4, 5), ints(3, low=-3, high=9)),
                (array(3, 5), ints(6, low=-3, high=9)),
            ),
            (
                "take fill",
                lambda x, i: jnp.take(x, i, axis=0, mode="fill"),
                (array(4, 5), ints(3, low=0, high=9)),
                (array(3, 5), ints(6, low=0, high=9)),
            ),
            (
                "take wrap",
                lambda x, i: jnp.take(x, i, axis=0, mode="wrap"),
                (array(4, 5), ints(3, low=-3, high=9)),
                (array(3, 5), ints(6, low=-3, high=9)),
            ),
            (
                "take_along_axis",
                lambda x, i: jnp.take_along_axis(x, i, axis=1),
                (X, ints(3, 2, low=0, high=4)),
                (Y, ints(5, 3, low=0, high=2)),
            ),
            (
                "embedding",
                lambda w, i: w[i] * 2,
                (array(7, 4), ints(2, 3, low=0, high=7)),
                (array(7, 4), ints(3, 5, low=0, high=7)),
            ),
            ("mask", lambda x: jnp.where(x > 0, x, 0).sum(), (X,), (Y,)),
            (
                "dynamic_slice",
                lambda x, i: lax.dynamic_slice(x, (i, 0), (2, 3)),
                (array(5, 4), ints(low=0, high=3)),
                (array(6, 4), ints(low=5, high=9)),
            ),
            (
                "dynamic_index",
                lambda x, i: lax.dynamic_index_in_dim(x, i, 1),
                (array(5, 4), ints(low=0, high=3)),
                (array(6, 4), ints(low=5, high=9)),
            ),
            (
                "dynamic_update_slice without axes",
                lambda x, y: (lax.dynamic_update_slice(x, y, ()), lax.dynamic_slice(y + 1, (), ())),
                (array(), array()),
                (array(), array()),
            ),
            (
                "dynamic_update_slice",
                lambda x, y, i: lax.dynamic_update_slice(x, y, (i, 1)),
                (array(5, 4), array(2, 2), ints(low=0, high=3)),
                (array(6, 4), array(2, 2), ints(low=5, high=9)),
            ),
            (
                "at set",
                lambda x: (
                    x.at[0].set(1.0),
                    x.at[:, 1].set(x[:, 0]),
                    x.at[1:, 0].set(5),
                    x.at[-1, -1].set(2.0),
                ),
                (X,),
                (Y,),
            ),
            (
                "at add",
                lambda x, i: (x.at[i].add(1.0), x.at[:, i].add(x[:, i]), x.at[i, i].add(2.0)),
                (array(4, 5), _I),
                (array(6, 7), _OTHER_I),
            ),
            (
                "at multiply",
                lambda x, i: (x.at[i].multiply(2.0), x.at[0].multiply(3.0)),
                (array(4, 5), ints(1, low=0, high=3)),
                (array(6, 7), ints(1, low=0, high=3)),
            ),
            (
                "at min max",
                lambda x, i: (x.at[i].min(0.1), x.at[i].max(0.1)),
                (array(4, 5), _I),
                (array(6, 7), _OTHER_I),
            ),
            (
                "at set array",
                lambda x, i, y: x.at[i].set(y),
                (array(4, 5), ints(1, low=0, high=3), array(1, 5)),
                (array(6, 7), ints(1, low=-3, high=3), array(1, 7)),
            ),
            (
                "at get",
                lambda x, i: (x.at[i].get(), x.at[i].get(mode="fill", fill_value=0.0)),
                (array(4, 5), _I),
                (array(6, 7), _OTHER_I),
            ),
            ("at mask", lambda x: jnp.where(x > 1, 0.0, x), (X,), (Y,)),
            (
                "scatters of the only element",
                lambda x: [
                    scatter(x.sum(), jnp.zeros(0, int), x[0, 0], jax.lax.ScatterDimensionNumbers((), (), ()))
                    for scatter in (
                        jax.lax.scatter,
                        jax.lax.scatter_add,
                        jax.lax.scatter_sub,
                        jax.lax.scatter_mul,
                        jax.lax.scatter_max,
                    )
                ],
                (array(4, 5),),
                (array(6, 7),),
            ),
            (
                "at drop",
                lambda x, i: x.at[i].add(1.0, mode="drop"),
                (array(4, 5), _I),
                (array(6, 7), _OTHER_I),
            ),
            (
                "one_hot",
                lambda i: (jax.nn.one_hot(i, 4), jax.nn.one_hot(i, 3, dtype=jnp.int32)),
                (ints(5, low=-1, high=6),),
                (ints(3, low=-1, high=6),),
            ),
            ("tri", lambda x: (jnp.tri(x.shape[0]), jnp.tri(3, 4, 1)), (X,), (Y,)),
            ("triu_indices", lambda x: x[jnp.triu_indices(4)], (_SQUARE,), (_SQUARE,)),
            (
                "diagonal offset",
                lambda x: (jnp.diagonal(x, 1), jnp.diagonal(x, -1), jnp.trace(x, 1), jnp.diag(x[0])),
                (_SQUARE,),
                (_OTHER_SQUARE,),
            ),
            (
                "fill_diagonal",
                lambda x: jnp.fill_diagonal(x, 0.0, inplace=False),
                (_SQUARE,),
                (_OTHER_SQUARE,),
            ),
            ("vander", lambda x: jnp.vander(x, 3), (array(4),), (array(6),)),
            ("delete", lambda x: jnp.delete(x, 1, axis=0), (X,), (Y,)),
            ("insert", lambda x: jnp.insert(x, 1, 5.0, axis=1), (X,), (Y,)),
            (
                "vmap",
                lambda x, i: jax.vmap(lambda row, k: row[k] * row.sum())(x, i),
                (X, ints(3, low=0, high=4)),
                (Y, ints(5, low=0, high=2)),
            ),
            (
                "vmap dynamic_slice",
                lambda x, i: jax.vmap(lambda row, k: lax.dynamic_slice(row, (k,), (2,)))(x, i),
                (X, ints(3, low=0, high=3)),
                (array(5, 4), ints(5, low=0, high=3)),
            ),
            (
                "vmap at",
                lambda x, i: jax.vmap(lambda row, k: row.at[k].set(0.0))(x, i),
                (X, ints(3, low=0, high=4)),
                (Y, ints(5, low=0, high=2)),
            ),
            ("packbits", lambda x: jnp.logical_and(x, ~x), (bools(3, 4),), (bools(5, 2),)),
            (
                "windows over a whole axis",
                _whole_windows,
                (X, ints(2, low=0, high=2)),
                (Y, ints(3, low=-1, high=2)),
            ),
            (
                "windows over the only row",
                _whole_windows,
                (array(1, 4), ints(2, low=0, high=2)),
                (array(1, 5), ints(3, low=-1, high=2)),
            ),
        ]
    ),
]
