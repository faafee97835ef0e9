"""Tests of the source text of primitives: an operator or public function that binds the same primitive."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import graph_compiler

X, Y = jnp.linspace(0.1, 0.9, 6).reshape(2, 3), jnp.linspace(0.9, 0.2, 6).reshape(2, 3)
N, M = jnp.arange(6).reshape(2, 3) - 3, jnp.arange(6).reshape(2, 3) % 3 + 1
U, B = jnp.arange(6, dtype=jnp.uint32).reshape(2, 3), jnp.arange(6).reshape(2, 3) % 2 == 0
H, C = X.astype(jnp.bfloat16), X + 1j * Y
WEAK, WEAKER = jnp.asarray(0.5), jnp.full((2, 3), 0.25)
IMAGES, KERNELS = jnp.ones((2, 8, 8, 4)), jnp.ones((3, 3, 4, 6))
BATCHES = jnp.ones((2, 3, 4, 5)), jnp.ones((2, 3, 5, 6))
HALF, THREE, LOW = jnp.float32(0.5), jnp.int32(3), jnp.float32(-1e9)


def convolved(**params: Any) -> Callable[..., Any]:
    return lambda x, k: lax.conv_general_dilated(x, k, (1, 2), **params)


CHANNELS_LAST = ("NHWC", "HWIO", "NHWC")

# Each row: function, arguments, and a part of the text.
SAMPLES: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str]] = {
    # Operators.
    "equal shapes": (lambda x, y: x + y, (X, Y), "x + y"),
    "one operand twice": (lambda x: x * x, (X,), "x * x"),
    "axes of one element": (lambda x, y: x - y, (X, Y[:1]), "x - y"),
    "an operand without axes": (lambda x, y: x / y, (X, Y[0, 0]), "x / y"),
    "a number": (lambda x: x * 2 + 1, (X,), "x * 2.0 + 1.0"),
    "a number and unsigned integers": (lambda x: x * 2, (U,), "x * 2"),
    "a large number": (lambda x: x ^ np.uint32(0xFFFFFFFF), (U,), "lax.bitwise_xor(x, np.uint32"),
    "minus zero": (lambda x: x + np.float32(-0.0), (X,), "lax.add(x, np.float32(-0.0))"),
    "numbers of bfloat16": (lambda x: x * 2, (H,), "lax.mul(x, "),
    "division of integers": (lax.div, (N, M), "lax.div(x, y)"),
    "complex numbers": (lambda x: x * x / x, (C,), "(x * x) / x"),
    "comparisons": (lambda x, y: (x < y, x >= y, x == y, x != y), (X, Y), "x < y"),
    "comparisons of bools": (lambda x, y: (lax.lt(x, y), x == y), (B, ~B), "x < y"),
    "bits": (lambda x, y: (x & y, x | y, x ^ y, ~x), (N, M), "~x"),
    "bits of bools": (lambda x, y: (x & y, x | y, x ^ y, ~x), (B, B[:1]), "x & y"),
    "a shift to the left": (lambda x, y: x << y, (N, M), "x << y"),
    "an arithmetic shift": (lambda x, y: x >> y, (N, M), "x >> y"),
    "a logical shift": (lambda x, y: x >> y, (U, U), "x >> y"),
    "an arithmetic shift of unsigned integers": (lax.shift_right_arithmetic, (U, U), "lax.shift_right_ar"),
    "a logical shift of signed integers": (lax.shift_right_logical, (N, M), "lax.shift_right_logical(x, y)"),
    "extrema": (lambda x, y: lax.max(lax.min(x, y), np.float32(0)), (X, Y), "jnp.maximum("),
    "extrema of integers": (lambda x, y: (lax.max(x, y), lax.min(x, y)), (N, M), "jnp.minimum(x, y)"),
    "powers": (lambda x, y: (lax.pow(x, y), lax.integer_pow(x, -2), x**3), (X, Y), "lax.pow(x, y)"),
    "a product of matrices": (
        lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((), ())), preferred_element_type=jnp.float32),
        (X, Y.T),
        "x @ y",
    ),
    "a product of vectors": (
        lambda x, y: lax.dot_general(x, y, (((0,), (0,)), ((), ())), preferred_element_type=jnp.float32),
        (X[0], Y[0]),
        "x @ y",
    ),
    "products of batches": (
        lambda x, y: lax.dot_general(
            x, y, (((3,), (2,)), ((0, 1), (0, 1))), preferred_element_type=jnp.float32
        ),
        BATCHES,
        "x @ y",
    ),
    # Weakly typed operands.
    "weakly typed": (lambda x: x * 2 + x, (WEAK,), "x * 2.0 + x"),
    "some weakly typed": (lax.mul, (X, WEAK), "lax.mul(x, y)"),
    "all weakly typed": (lambda x, y: x / y - y, (WEAKER, WEAK), "x / y - y"),
    "a choice of weakly typed": (lambda x, y: lax.select(x > y, x, y), (WEAKER, WEAKER * 2), "jnp.where(x > y, x, y)"),
    "a power of weakly typed": (lambda x: x**2, (WEAK,), "x ** 2"),
    "a cast of weakly typed": (lambda x: x.astype(jnp.float32) + 1, (WEAKER,), ".astype(jnp.float32)"),
    "weakly typed and a constant": (lambda x: x * HALF, (WEAKER,), "x.astype(jnp.float32) * 0.5"),
    "a broadcast of weakly typed": (lambda x: lax.broadcast(x, (2,)), (WEAK,), "lax.broadcast_in_dim("),
    # Functions.
    "elementwise": (lambda x, y: (lax.atan2(x, y), lax.rem(x, y), lax.nextafter(x, y)), (X, Y), "lax.rem("),
    "special": (lambda x, y: (lax.igamma(x, y), lax.erf_inv(x), lax.bessel_i0e(y)), (X, Y), "lax.igamma("),
    "clamp": (lambda x: lax.clamp(np.float32(0.2), x, np.float32(0.5)), (X,), "lax.clamp(np.float32(0.2), x"),
    "complex": (lax.complex, (X, Y), "lax.complex(x, y)"),
    "casts": (lambda x: (x.astype(jnp.int32), x.astype(jnp.float16), x.astype(bool)), (X,), "x.astype(jnp."),
    "reduced precision": (lambda x: lax.reduce_precision(x, 5, 10), (X,), "lax.reduce_precision(x, 5, 10)"),
    "bits of floats": (lambda x: lax.bitcast_convert_type(x, jnp.int32), (X,), "(x, jnp.int32)"),
    "counted bits": (lambda x: (lax.population_count(x), lax.clz(x)), (U,), "lax.population_count(x)"),
    "cumulative": (lambda x: (lax.cumsum(x, 1), lax.cumprod(x)), (X,), "lax.cumsum(x, axis=1)"),
    "cumulative, reversed": (
        lambda x: (lax.cummax(x, 1, True), lax.cummin(x, 1), lax.cumlogsumexp(x, 0, True)),
        (X,),
        "lax.cummax(x, axis=1, reverse=True)",
    ),
    "indices of extrema": (
        lambda x: (lax.argmax(x, 1, jnp.int32), lax.argmin(x, 0, jnp.uint8)),
        (X,),
        "lax.argmin(x, axis=0, index_dtype=jnp.uint8)",
    ),
    "reductions": (
        lambda x: (lax.reduce_sum(x, (0,)), lax.reduce_max(x, (0, 1)), lax.reduce_and(x > 0, (1,))),
        (X,),
        "lax.reduce_sum(x, (0,))",
    ),
    "concatenated": (lambda x, y: lax.concatenate([x, y, x], 1), (X, Y), "lax.concatenate((x, y, x), 1)"),
    "padded": (lambda x: lax.pad(x, np.float32(1), ((1, 0, 0), (0, 2, 1))), (X,), "lax.pad(x, np.float32(1.0)"),
    "reversed": (lambda x: lax.rev(x, (1,)), (X,), "lax.rev(x, (1,))"),
    "without axes": (lambda x: lax.squeeze(x, (0,)), (X[:1],), "lax.squeeze(x, (0,))"),
    "a slice": (lambda x: lax.slice(x, (0, 1), (2, 3)), (X,), "lax.slice(x, (0, 1), (2, 3))"),
    "a slice with steps": (lambda x: lax.slice(x, (0, 0), (2, 3), (1, 2)), (X,), "lax.slice(x, (0, 0), (2, 3), strides=(1, 2))"),
    "a moving slice": (
        lambda x, i: lax.dynamic_slice(x, (i, i), (1, 2), allow_negative_indices=False),
        (X, THREE),
        "lax.dynamic_slice(x, (i, i), (1, 2), allow_negative_indices=False)",
    ),
    "an update of a slice": (
        lambda x, y, i: lax.dynamic_update_slice(x, y, (i, i), allow_negative_indices=False),
        (X, Y[:1, :2], THREE),
        "lax.dynamic_update_slice(x, y, (i, i), allow_negative_indices=False)",
    ),
    "slices without axes": (
        lambda x, y: (lax.dynamic_slice(x, (), ()), lax.dynamic_update_slice(x, y, ())),
        (HALF, LOW),
        "lax.dynamic_slice(x, (), (), allow_negative_indices=False)",
    ),
    "sorted": (lambda x: (lax.sort(x), lax.sort(x, 0, is_stable=False)), (X,), "lax.sort(x)"),
    "sorted together": (lambda x, y: lax.sort((x, y), 0, num_keys=2), (X, N), "lax.sort((x, y), dimension=0, num"),
    "largest": (lambda x: lax.top_k(x, 2), (X,), "lax.top_k(x, 2)"),
    "split": (lambda x: lax.split(x, (1, 2), 1), (X,), "lax.split(x, (1, 2), axis=1)"),
    "counted along an axis": (lambda x: lax.broadcasted_iota(jnp.int32, x.shape, 1) + x, (N,), "lax.broadcasted_iota(jnp.int32, (x_dim0, x_dim1), 1) + x"),
    "contracted": (
        lambda x, y: lax.dot_general(x, y, (((1,), (1,)), ((), ())), precision="highest"),
        (X, Y),
        "(((1,), (1,)), ((), ()))",
    ),
    "convolved": (
        convolved(padding="VALID", dimension_numbers=CHANNELS_LAST),
        (IMAGES, KERNELS),
        "lax.conv_general_dilated(x, k, (1, 2), 'VALID', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))",
    ),
    "convolved, with the axes in order": (
        convolved(padding=((1, 0), (0, 2)), rhs_dilation=(1, 2)),
        (IMAGES.transpose(0, 3, 1, 2), KERNELS.T[:, :, :2, :2]),
        "lax.conv_general_dilated(x, k, (1, 2), ((1, 0), (0, 2)), rhs_dilation=(1, 2))",
    ),
    "convolved in groups": (
        convolved(padding="VALID", dimension_numbers=CHANNELS_LAST, feature_group_count=2),
        (IMAGES, KERNELS[:, :, :2]),
        "feature_group_count=2\n",
    ),
    "convolved with the spatial axes swapped": (
        convolved(padding="VALID", dimension_numbers=("NHWC", "WHIO", "NHWC")),
        (IMAGES, KERNELS),
        "lax.conv_general_dilated(x, k, (1, 2), 'VALID', dimension_numbers=(",
    ),
    "convolved with a dilated operand": (
        lambda x, k: lax.conv_general_dilated(x, k, (1, 1), ((0, 0), (0, 0)), lhs_dilation=(2, 2)),
        (IMAGES.transpose(0, 3, 1, 2), KERNELS.T[:, :, :1, :1]),
        "((0, 0), (0, 0)), lhs_dilation=(2, 2)",
    ),
    "gathered": (
        lambda x, i: lax.gather(
            x, i[:, None], lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 3), mode="fill"
        ),
        (X, N[0]),
        "lax.gather(",
    ),
    "gathered with a number": (
        lambda x, i: lax.gather(
            x, i, lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 3), mode="fill", fill_value=2, unique_indices=True
        ),
        (X, N[0][:, None]),
        "fill_value=2",
    ),
    "gathered from integers of four bits": (
        lambda x, i: lax.gather(x, i, lax.GatherDimensionNumbers((), (0,), (0,)), (1,), mode="fill"),
        (jnp.arange(4).astype(jnp.int4), N[0][:, None]),
        "lax.gather(",
    ),
    "scattered": (
        lambda x, i, y: lax.scatter_add(x, i, y, lax.ScatterDimensionNumbers((1,), (0,), (0,)), mode="clip"),
        (X, M[:1, :1], Y[:1]),
        "mode=lax.GatherScatterMode.CLIP,\n",
    ),
    "reshaped": (lambda x: lax.reshape(x, (3, 2)), (X,), "x.reshape(3, 2)"),
    "weakly typed and reshaped": (lambda x: x.reshape(6) + 1, (WEAKER,), "x.reshape(6)"),
    # Constants without axes.
    "a constant": (lambda x: x * HALF - LOW, (X,), "x * 0.5 - (-1000000000.0)"),
    "a constant among the elements": (lambda x: lax.select(x > HALF, x, jnp.broadcast_to(LOW, x.shape)), (X,), "jnp.where(x > 0.5, x, -1000000000.0)"),
    "a constant in each element": (lambda x: x + lax.broadcast(HALF, x.shape), (X,), "jnp.full((x_dim0, x_dim1), 0.5, jnp.float32)"),
    # Operands that the text leaves out.
    "a bias": (lambda x, b: b - x * b, (X, Y[0]), "b - x * b"),
    "a bias of a batch": (lambda x, b: jnp.maximum(b, x), (BATCHES[0], BATCHES[0][0, 0]), "jnp.maximum(b, x)"),
    "a bias of one element": (lambda x, b: x + b, (X, Y[0, :1]), "x + "),
    "a mask": (lambda x, m: jnp.where(m, x, -1e9), (X, B[0]), "jnp.where(m, x, -1000000000.0)"),
    "a mask of one element": (lambda x, m: jnp.where(m, x, 0), (X, B[:1, :1]), "jnp.where("),
    "a number and a mask": (lambda x, m: jnp.where(m, 1, x), (X, B), "jnp.where(m, 1.0, x)"),
    "one condition": (lambda x, m: jnp.where(m, x, 0), (X, B[0, 0]), "jnp.where(m, x, 0.0)"),
    "numbers and a mask": (lambda m: jnp.where(m, np.float32(1), np.float32(0)), (B,), "jnp.where(m, broadcast, jnp.full("),
    "the root of a size": (lambda x: x / jnp.sqrt(x.shape[1]), (X,), "x / lax.sqrt(jnp.asarray(float(x_dim1)))"),
    # Sizes.
    "a size": (lambda x: x / x.shape[0], (X,), "x / x_dim0"),
    "a float as an integer": (
        lambda x: x * lax.convert_element_type(x.shape[1] / 2, jnp.int32),
        (N,),
        "x * jnp.asarray(x_dim1 / 2).astype(jnp.int32)",
    ),
    "a size and integers": (lambda x: x * x.shape[1] - x.shape[0], (N,), "x * x_dim1 - x_dim0"),
}  # fmt: skip


if "axis" in inspect.signature(lax.top_k).parameters:
    SAMPLES["largest along another axis"] = (
        lambda x: lax.top_k(x, 2, axis=0),
        (X,),
        "lax.top_k(x, 2, axis=0)",
    )


def is_number(aval: Any) -> bool:
    return aval.weak_type and not aval.shape


def equations(program: Any) -> Iterator[tuple[str, dict[str, str]]]:
    for equation in program.eqns:
        inner = equation.params.get("jaxpr")
        if equation.primitive.name in ("jit", "pjit"):
            yield from equations(inner.jaxpr)
        # The cast of a number to the type of the arrays changes nothing.
        elif equation.primitive.name != "convert_element_type" or not is_number(equation.invars[0].aval):
            yield (
                equation.primitive.name,
                {name: str(item) for name, item in equation.params.items() if not hasattr(item, "eqns")},
            )


@pytest.mark.parametrize("name", SAMPLES)
def test_text_that_binds_the_same_primitives(name: str) -> None:
    function, args, part = SAMPLES[name]
    graph = graph_compiler.compile(function, source="jax", to="jax", args=args)
    assert part in graph.source, graph.source
    assert ".bind(" not in graph.source and "constants" not in graph.source, graph.source
    wanted, made = jax.make_jaxpr(function)(*args), jax.make_jaxpr(graph)(*args)
    assert sorted(map(str, equations(made.jaxpr))) == sorted(map(str, equations(wanted.jaxpr))), graph.source
    for one, other in zip(made.out_avals, wanted.out_avals, strict=True):
        assert (one.dtype, one.weak_type, one.shape) == (other.dtype, other.weak_type, other.shape)


def test_a_loaded_graph_has_the_text_of_the_saved_one(tmp_path: Path) -> None:
    def total(x: jax.Array, y: jax.Array) -> jax.Array:
        return x.astype(jnp.float32) + y.astype(jnp.float32)

    graph = graph_compiler.compile(total, source="jax", to="jax", args=(WEAKER, WEAKER))
    graph.save(tmp_path / "total.gc")
    loaded = graph_compiler.load(tmp_path / "total.gc")
    assert graph.source.rpartition("def ")[2] == loaded.source.rpartition("def ")[2]
    assert not graph(WEAKER, WEAKER).weak_type and not loaded(WEAKER, WEAKER).weak_type


def test_operands_have_all_axes_where_jax_refuses_fewer() -> None:
    with jax.numpy_rank_promotion("raise"):
        graph = graph_compiler.compile(
            lambda x, b: x + jnp.expand_dims(b, 0), source="jax", to="jax", args=(X, Y[0])
        )
        assert (graph(X, Y[0]) == X + Y[:1]).all()
