"""Tests of constant scalars that become literals: dtypes of results stay those of the original."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graph_compiler
from graph_compiler.passes import scalar_literals

from .rows import Row, check, rows

# Each row: function and argument.
SAMPLES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "same dtype": (lambda x: x + np.float32(1.5), np.ones(3, "float32")),
    "wider scalar": (lambda x: x * np.float64(0.1), np.ones(3, "float32")),
    "narrower scalar": (lambda x: x - np.float32(0.1), np.ones(3)),
    "integers": (lambda x: x * np.int64(2), np.array([-3, 4])),
    "large unsigned integers": (lambda x: x ^ np.uint32(0xFFFFFFFF), np.array([3, 4], "uint32")),
    "integers and a float": (lambda x: x + np.float32(2), np.array([-3, 4])),
    "not finite": (lambda x: np.maximum(x, np.float64("-inf")) + np.float64("nan"), np.ones(3)),
    "negative zero": (lambda x: np.copysign(x, np.float64(-0.0)), np.ones(3)),
    "complex": (lambda x: x * np.complex128(1j), np.ones(3)),
    "two scalars": (lambda x: np.where(x > 0, np.float64(1), np.float64(2)), np.array([-1.0, 1.0])),
    "a scalar and an array": (lambda x: np.where(x > 0, x, np.float32(2)), np.array([-1, 1], "float32")),
    "a scalar to clip": (lambda x: np.clip(np.float32(2), x, np.float32(4)), np.array([1, 3], "float32")),
}


@pytest.mark.parametrize("to", ["torch", "tensorflow"])
@pytest.mark.parametrize("name", SAMPLES)
def test_scalars_become_literals(name: str, to: str) -> None:
    pytest.importorskip(to)
    function, x = SAMPLES[name]
    graph = graph_compiler.transpile(function, to=to, args=(x,))
    assert not graph.program.constants, graph.source
    for given in (x, x * 3):
        made, wanted = np.asarray(graph(given)), function(given)
        assert made.dtype == wanted.dtype
        np.testing.assert_array_equal(made, wanted)
        np.testing.assert_array_equal(np.signbit(made.real), np.signbit(wanted.real))


def jax_samples() -> dict[str, tuple[Callable[[Any], Any], Any, str]]:
    """Return functions that read 0-d JAX arrays, with an argument and a part of their source for NumPy."""
    jax = pytest.importorskip("jax")
    jnp, lax = jax.numpy, jax.lax
    half, third, three = jnp.float32(0.5), jnp.asarray(1 / 3), jnp.int32(3)
    most, nan, flag, rounded = (
        jnp.uint32(0xFFFFFFFF),
        jnp.float32(np.nan),
        jnp.asarray(True),
        jnp.float16(0.1),
    )
    x, integers = jnp.array([-1.0, 2.0], jnp.float32), jnp.array([-7, 5], jnp.int32)

    def gathered(x: Any) -> Any:
        return lax.scan(lambda total, row: (total * half + row, jnp.where(row > third, total, nan)), third, x)

    def counted(x: Any) -> Any:
        return lax.while_loop(lambda s: s[0] < three, lambda s: (s[0] + 1, s[1] * half), (three - 2, x))[1]

    def chosen(x: Any) -> Any:
        return lax.cond(x.sum() > half, lambda: x * third, lambda: x + jnp.where(x > 0, half, 0.0))

    return {
        "elementwise": (lambda x: x * half + third, x, "x * 0.5 + 0.33333334"),
        "integers": (lambda x: x // three + x % three, integers, "3"),
        "integers and a float": (lambda x: x * half, integers, "* 0.5"),
        "large unsigned integers": (lambda x: x.astype(jnp.uint32) ^ most, integers, "np.uint32"),
        "not finite": (lambda x: jnp.maximum(x, nan), x, "math.nan"),
        "a condition": (lambda x: jnp.where(flag, x, half), x, "np.array(True, np.bool_)"),
        "chosen elements": (lambda x: jnp.where(x > 0, x, 0.0), x, "np.where(x > 0.0, x, 0.0)"),
        "rounded twice": (lambda x: x + rounded.astype(jnp.float32), x, "0.099975586"),
        "the result": (lambda x: (x, half), x, "np.array(0.5, np.float32)"),
        "a scan": (gathered, x, "np.where(row > 0.33333334, total, math.nan)"),
        "a while loop": (counted, x, "< 3"),
        "a branch": (chosen, x, "x * 0.33333334"),
    }


NAMES = [
    "elementwise", "integers", "integers and a float", "large unsigned integers", "not finite", "a condition",
    "chosen elements", "rounded twice", "the result", "a scan", "a while loop", "a branch",
]  # fmt: skip


@pytest.mark.parametrize("to", ["torch", "tensorflow", "numpy"])
@pytest.mark.parametrize("name", NAMES)
def test_jax_scalars_become_literals(name: str, to: str) -> None:
    jax = pytest.importorskip("jax")
    pytest.importorskip(to)
    samples = jax_samples()
    assert [*samples] == NAMES
    function, x, part = samples[name]
    graph = graph_compiler.transpile(function, to=to, args=(x,))
    assert not graph.program.constants, graph.source
    assert to != "numpy" or part in graph.source, graph.source
    for given in (x, x * 3, jax.numpy.concatenate([x, x])):
        made, wanted = graph(given), function(given)
        for one, other in zip(jax.tree.leaves(made), jax.tree.leaves(wanted), strict=True):
            assert np.asarray(one).dtype == other.dtype
            np.testing.assert_allclose(np.asarray(one), other, rtol=1e-6)


def test_wide_halves_stay_arrays() -> None:
    """NumPy has no bfloat16, so a scalar of this dtype is no NumPy scalar."""
    jax = pytest.importorskip("jax")
    half, x = jax.numpy.bfloat16(0.5), jax.numpy.ones(3, jax.numpy.bfloat16)
    graph = graph_compiler.transpile(lambda x: x * half, to="numpy", args=(x,))
    np.testing.assert_array_equal(np.asarray(graph(x * 3)), np.asarray(x * 3 * half))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_that_nodes_make_are_rounded(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    half = getattr(torch, dtype)

    @graph_compiler.trace
    def function(rows: Any) -> Any:
        found = rows[0] * 0
        for row in rows:
            found = found + row * torch.full((), 0.1, dtype=half)
        return found

    rows = torch.arange(200, dtype=half).reshape(2, 100)
    graph = graph_compiler.transpile(function, to="numpy", args=(rows,))
    np.testing.assert_array_equal(np.asarray(graph(rows), "float32"), function(rows).float().numpy())


@pytest.mark.parametrize("to", ["jax", "numpy"])
def test_negative_exponents_of_integers_stay_arrays(to: str) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip(to)

    @graph_compiler.trace
    def function(rows: Any) -> Any:
        found = rows[0] * 0
        for row in rows:
            found = found + row ** torch.full((), -1, dtype=torch.int32)
        return found

    rows = torch.tensor([[-3, -1, 1, 2]] * 3, dtype=torch.int32)
    graph = graph_compiler.transpile(function, to=to, args=(rows,))
    np.testing.assert_array_equal(np.asarray(graph(rows)), function(rows).numpy())


def test_integers_that_jax_cannot_pass_stay_arrays() -> None:
    pytest.importorskip("jax")
    x = np.array([3, 4], "uint32")
    graph = graph_compiler.transpile(lambda x: x ^ np.uint32(0xFFFFFFFF), to="jax", args=(x,))
    np.testing.assert_array_equal(np.asarray(graph(x)), ~x)


DTYPES = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
]


@pytest.mark.parametrize("to", ["torch", "tensorflow"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_products_keep_the_dtype_of_numpy(dtype: str, to: str) -> None:
    pytest.importorskip(to)
    x = np.array([1, 2, 3]).astype(dtype)
    for scalar in [np.dtype(name).type(3) for name in DTYPES]:
        graph = graph_compiler.transpile(lambda x, scalar=scalar: x * scalar, to=to, args=(x,))
        made, wanted = np.asarray(graph(x[::-1])), x[::-1] * scalar
        assert made.dtype == wanted.dtype
        np.testing.assert_array_equal(made, wanted)


# Each row: function of a JAX array, and its result in the source for torch.
SIZES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a mean": (lambda x: jnp.sum(x) / x.shape[0], "torch.sum(x, dim=0) / x_dim0"),
    "of integers": (lambda x: jnp.arange(x.shape[0]) + jnp.asarray(x.shape[0]), "+ x_dim0"),
    "twice": (lambda x: x * jnp.float32(x.shape[0]) - jnp.asarray(x.shape[0], "float32"), "x * x_dim0 - x_dim0"),
    "a product": (lambda x: x * jnp.asarray(x.shape[0] * x.shape[0], "float32"), "x * float(x_dim0 * x_dim0)"),
    "narrow integers": (lambda x: x.astype("uint8") + jnp.asarray(x.shape[0], "uint8"), "torch.tensor(x_dim0"),
    "in half precision": (lambda x: x.astype("float16") / jnp.asarray(x.shape[0]).astype("float16"), ".to(torch.float16)"),
    "as a power": (lambda x: x ** jnp.asarray(x.shape[0]).astype("float32"), "torch.tensor(x_dim0"),
    "in a loop": (
        lambda x: jax.lax.fori_loop(0, 3, lambda i, s: s / jnp.asarray(x.shape[0]).astype("float32"), x),
        "/",
    ),
}  # fmt: skip


@pytest.mark.parametrize("to", ["torch", "tensorflow", "numpy"])
@pytest.mark.parametrize("name", SIZES)
def test_sizes_become_literals(name: str, to: str) -> None:
    pytest.importorskip(to)
    function, text = SIZES[name]
    graph = graph_compiler.transpile(function, source="jax", to=to, args=(jnp.arange(1.0, 4.0),))
    assert to != "torch" or text in graph.source, graph.source
    for x in (np.arange(1, 4, dtype="float32"), np.linspace(0.5, 2, 7, dtype="float32")):
        made, wanted = np.asarray(graph(given(x, to))), np.asarray(function(jnp.asarray(x)))
        assert made.dtype == wanted.dtype
        np.testing.assert_allclose(made, wanted, rtol=1e-3 if made.dtype == "float16" else 1e-6)
    assert len(graph.variants) == 1


@pytest.mark.parametrize("name", SIZES)
def test_sizes_become_literals_in_traces_with_unknown_sizes(name: str) -> None:
    tf = pytest.importorskip("tensorflow")
    function, _ = SIZES[name]
    graph = graph_compiler.transpile(function, source="jax", to="tensorflow", args=(jnp.arange(1.0, 4.0),))
    traced = tf.function(graph, input_signature=[tf.TensorSpec([None], tf.float32)])
    # The product of two sizes of 50,000 overflows int32.
    long = [np.ones(50_000, "float32")] if name == "a product" else []
    for x in (np.arange(1, 4, dtype="float32"), np.linspace(0.5, 2, 7, dtype="float32"), *long):
        made, wanted = np.asarray(traced(x)), np.asarray(function(jnp.asarray(x)))
        assert made.dtype == wanted.dtype
        np.testing.assert_allclose(made, wanted, rtol=1e-3 if made.dtype == "float16" else 1e-6)


@rows(
    Row(
        "a size that float32 has rounded",
        "return multiply(x, astype(full(shape=(), fill_value=n, dtype='float32'), dtype='float64'))",
    ),
    given="x: float64[n]",
)
def test_sizes_that_stay_arrays(row: Row) -> None:
    check(scalar_literals, row)


def given(x: Any, to: str) -> Any:
    if to == "numpy":
        return x
    return pytest.importorskip("torch").tensor(x) if to == "torch" else pytest.importorskip(to).constant(x)
