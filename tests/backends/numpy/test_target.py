"""Tests of what only NumPy as a target needs: memory, warnings, scalars, half precision, generators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("scipy")
ml_dtypes = pytest.importorskip("ml_dtypes")

import torch.nn.functional as F  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.backends.numpy import prelude  # noqa: E402
from graph_compiler.backends.numpy.native import READ_ONLY, VIEWS  # noqa: E402
from graph_compiler.errors import (  # noqa: E402
    GuardFailed,
    NotCompilable,
    TargetRefused,
    TracingError,
    UnsupportedOperation,
)
from graph_compiler.ops import all_ops  # noqa: E402
from tests.repository.test_import import run_python  # noqa: E402
from tests.support.compare import arrays, assert_same  # noqa: E402
from tests.support.samples import quietly  # noqa: E402

X = torch.arange(24.0).reshape(2, 3, 4)
PAIRS = torch.arange(24.0).reshape(2, 3, 2, 2)


def graph_of(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    return graph_compiler.transpile(function, source="torch", to="numpy", args=args, **options)


# ------------------------------------------------------------------------------------- memory
RESULTS: dict[str, tuple[Callable[..., Any], Any]] = {
    "itself": (lambda x: x, X),
    "a clone": (lambda x: x.clone(), X),
    "a view": (lambda x: x.permute(2, 0, 1)[1:].flip(0), X),
    "a shape": (lambda x: x.reshape(-1)[None], X),
    "parts": (lambda x: (*x.split(2, -1), *x.unbind(0), *torch.chunk(x, 3, 1)), X),
    "repeated": (lambda x: (x[:, :1].expand(2, 5, 4), x[..., :1].expand(2, 3, 4)), X),
    "repeated and computed": (lambda x: (x[:, :1] + 1).expand(2, 5, 4), X),
    "windows": (lambda x: x.unfold(2, 2, 1), X),
    "a diagonal": (lambda x: torch.diagonal(x[0] * 2), X),
    "twice": (lambda x: (y := x + 1, y, y.clone(), y[0]), X),
    "shared": (lambda x: (torch.zeros(3), torch.zeros(3), x.sum(0), x.sum(0)), X),
    "parts of complex": (lambda x: (torch.view_as_complex(x), torch.view_as_complex(x).real, torch.view_as_real(torch.view_as_complex(x))), PAIRS),
    "nothing padded": (lambda x: (F.pad(x, (-1, 0)), F.max_pool2d(x, 1), F.pixel_shuffle(x[None], 1), F.unfold(x[None], 1)), X),
    "equations": (lambda x: (torch.einsum("abc->cab", x), torch.matrix_power(x[:, :, :3], 1), torch.diff(x, n=0)), X),
    "bits": (lambda x: x.view(torch.int32), X),
    "no gradient": (lambda x: x.detach(), X),
    "conjugate": (lambda x: (x.conj(), x.real), X),
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_results_share_no_memory(name: str) -> None:
    """A canonical graph cannot tell ``x`` from a clone of ``x``, so a later write must not change another
    result.
    """
    function, x = RESULTS[name]
    graph = graph_of(function, x)
    given = x.numpy().copy()
    found = list(arrays(graph(given)).values())
    assert_same(graph(given), function(x))
    for place, array in enumerate(found):
        assert array.flags.writeable
        assert not any(np.shares_memory(array, other) for other in (given, *found[:place]))


def test_weights_and_state_are_not_given_away() -> None:
    class Counting(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))
            self.register_buffer("last", torch.zeros(3))

        def forward(self, x: Any) -> Any:
            self.last.copy_(x)
            return self.weight, self.last.clone(), self.weight[1:]

    graph = graph_of(Counting(), torch.ones(3))
    x = np.full(3, 2, np.float32)
    for array in graph(x):
        array[...] = 7
    x[...] = 8
    assert graph.parameters["weight"].tolist() == [1, 1, 1]
    assert graph.state["last"].tolist() == [2, 2, 2]


def test_views_are_operations() -> None:
    assert not (VIEWS | READ_ONLY) - set(all_ops())


def test_weights_are_adopted_without_a_copy() -> None:
    module = torch.nn.Linear(3, 2).to(torch.bfloat16)
    graph = graph_of(module, torch.ones(1, 3, dtype=torch.bfloat16))
    with torch.no_grad():
        module.weight.fill_(2)
    assert graph.parameters["weight"].dtype == ml_dtypes.bfloat16
    assert (graph.parameters["weight"] == 2).all()


# ------------------------------------------------------------------------------------- scalars and warnings
def test_results_without_axes_are_arrays() -> None:
    graph = graph_of(
        lambda x: (x.sum(), x[0, 0, 0], x.max() > 3, x.sum().long(), {"deep": [x.mean() * 2]}), X
    )
    for array in arrays(graph(X)).values():
        assert type(array) is np.ndarray and array.shape == ()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x / 0,
        lambda x: (x * 1e30) * 1e30,
        lambda x: torch.log(x - 5),
        lambda x: (x / 0).to(torch.int32),
        lambda x: (x[:0].mean(), x[:0].mean(0), x[:0].sum(), x[:1].var(0, correction=0)),
        lambda x: torch.nanmean(x / 0 * 0, 0),
        lambda x: torch.nanquantile(x / 0 * 0, 0.5),
        lambda x: torch.cov(x[:, 0, :1], correction=0),
        lambda x: (x[0, 0].to(torch.int8) * 100, x.to(torch.uint8) * 2 - 100),
        lambda x: x.double().exp().float(),
    ],
)
def test_what_torch_does_silently_is_silent(function: Callable[..., Any]) -> None:
    """Warnings of NumPy are errors in tests."""
    graph, before = graph_of(function, X), np.geterr()
    with np.errstate(all="raise"):
        found = graph(X.numpy())
    assert np.geterr() == before
    assert_same(found, function(X))


@pytest.mark.parametrize(
    ("function", "good", "bad"),
    [
        (lambda x: 6 // x, [2, 3], [2, 0]),
        (lambda x: x % (x - 1), [3, 4], [1, 2]),
        (lambda x: torch.fmod(x, x), [3, 4], [1, 0]),
        (lambda x: torch.div(x, x, rounding_mode="trunc"), [3, 4], [1, 0]),
        (lambda x: F.embedding(x, torch.eye(4)), [0, 3], [-1, 0]),
        (lambda x: F.embedding(x, torch.eye(4)), [0, 3], [4]),
        (lambda x: F.nll_loss(torch.ones(2, 3), x), [0, 2], [-1, 0]),
        (lambda x: torch.ones(3)[x], [0, 2], [0, 3]),
    ],
)
def test_what_torch_refuses_is_refused(function: Callable[..., Any], good: list[int], bad: list[int]) -> None:
    """A call raises because the original is recorded again; ``functional``, which cannot record, must raise
    as well.
    """
    graph = graph_of(function, torch.tensor(good))
    assert_same(graph(np.array(good)), function(torch.tensor(good)))
    with pytest.raises((RuntimeError, IndexError)):
        graph(np.array(bad))
    with pytest.raises((TargetRefused, GuardFailed)):
        graph.functional({}, np.array(bad))


# ------------------------------------------------------------------------------------- half precision
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 0.1 + x / 3,
        lambda x: (x @ x.mT).sum(0),
        lambda x: torch.cumsum(x, 0),
        lambda x: x.mean(),
        lambda x: torch.where(x > 0.5, x, -1.0),
        lambda x: (x.sort(0).values, x.max(1).values, torch.frexp(x)),
        lambda x: F.softmax(x, -1),
        lambda x: torch.clamp(x, 0.1, 0.3),
        lambda x: (x.to(torch.float64), x.to(torch.int8), x.bool(), x.to(torch.complex64)),
        lambda x: torch.nextafter(x, x * 2),
        # As float16, the number is -0.0.
        lambda x: torch.copysign(x, -1e-30),
        lambda x: torch.nan_to_num(x / 0),
    ],
)
def test_half_precision_is_rounded_once(function: Callable[..., Any], dtype: Any) -> None:
    x = torch.rand(40, 40).to(dtype)
    found, expected = arrays(graph_of(function, x)(x)), arrays(function(x))
    for path, wanted in expected.items():
        actual = found[path]
        assert str(actual.dtype) == str(wanted.dtype).removeprefix("torch.")
        ulps = torch.finfo(dtype).eps if wanted.dtype == dtype else 0
        np.testing.assert_allclose(
            actual.astype(np.complex64), wanted.to(torch.complex64).numpy(), rtol=ulps, atol=0
        )


# ------------------------------------------------------------------------------------- generators
def test_seeds_decide() -> None:
    graph = graph_of(lambda x: (torch.rand(5), x + torch.randn(5)), torch.ones(5))
    target = graph.variants[0].target
    target.seed(3)
    first, second = graph(np.ones(5, np.float32)), graph(np.ones(5, np.float32))
    target.seed(3)
    assert_same(graph(np.ones(5, np.float32)), first)
    assert (first[0] != second[0]).any()


def test_a_generator_is_a_key() -> None:
    """The pure function does not advance the generator, so it gives the same numbers again."""
    graph = graph_of(lambda: (torch.rand(5), torch.rand(5)))
    key = np.random.default_rng(0)
    first = graph.functional({}, rng=key)
    assert_same(graph.functional({}, rng=key), first)
    assert (first[0] != first[1]).all()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_uniform_numbers_stay_below_the_bound(dtype: Any) -> None:
    for low, high in ((0.0, 1.0), (1.0, 1.5), (-3.0, -2.5)):
        drawn = prelude.random_uniform(np.random.default_rng(0), (50_000,), low, high, dtype).astype(
            np.float64
        )
        assert drawn.min() >= np.array(low, dtype) and drawn.max() < np.array(high, dtype)


# ------------------------------------------------------------------------------------- around the graph
def test_there_is_no_compiler() -> None:
    graph = graph_of(lambda x: x + 1, X, return_backend_compiled_fn=True)
    executable = graph.variants[0].executable
    assert executable.function is executable.flat
    with pytest.raises(NotCompilable, match="numpy has no compiler"):
        graph_of(lambda x: x + 1, X, return_backend_compiled_fn=True, compile_options={"nopython": True})


def test_writes_reach_the_callers_arrays() -> None:
    graph = graph_of(lambda x: x.mul_(2).sum(), X.clone())
    for make in (X.clone, lambda: X.numpy().copy(), lambda: X.clone().mT.contiguous().mT):
        given = make()
        graph(given)
        assert_same(given, X * 2)
    jnp = pytest.importorskip("jax.numpy")
    with pytest.raises(GuardFailed, match="cannot be written to"):
        graph(jnp.ones((2, 3, 4)))


@pytest.mark.parametrize("descending", [False, True])
def test_a_stable_sort_keeps_the_order_of_zeros_of_either_sign(descending: bool) -> None:
    jnp = pytest.importorskip("jax.numpy")
    function = lambda x: jnp.sort(x, descending=descending)  # noqa: E731
    x = np.random.default_rng(0).choice(np.array([0.0, -0.0, 1.0, -1.0], "float32"), 200)
    graph = graph_compiler.compile(function, source="jax", to="numpy", args=(x,))
    np.testing.assert_array_equal(np.signbit(graph(x)), np.signbit(function(x)))
    np.testing.assert_array_equal(graph(x), function(x))


def test_neither_scipy_nor_ml_dtypes_is_needed_by_what_does_not_use_them() -> None:
    code = """
import sys
sys.modules.update(scipy=None, ml_dtypes=None, jax=None)
import torch, graph_compiler
from graph_compiler.errors import FrameworkNotInstalled
graph = graph_compiler.transpile(torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU()), to="numpy", args=(torch.ones(1, 3),))
print(graph(torch.ones(4, 3)).shape)
half, x = torch.ones(1, dtype=torch.bfloat16), torch.ones(1)
for function, args in ((lambda x: x + 1, (half,)), (lambda x: x.bfloat16(), (x,)), (torch.erf, (x,))):
    try:
        print(graph_compiler.transpile(function, source="torch", to="numpy", args=args)(*args))
    except FrameworkNotInstalled as problem:
        print(*(name for name in ("ml_dtypes", "scipy") if f"needs {name}" in str(problem)))
"""
    assert run_python(code).splitlines() == ["(4, 2)", "ml_dtypes", "ml_dtypes", "scipy"]


def test_a_data_type_that_is_nowhere() -> None:
    for to in ("numpy", "jax"):
        with pytest.raises(UnsupportedOperation, match="complex32, a data type that no target has"):
            quietly(
                graph_compiler.transpile,
                lambda x: x.chalf(),
                source="torch",
                to=to,
                args=(torch.ones(2, dtype=torch.complex64),),
            )


def _quantised(x: Any) -> Any:
    return torch.quantize_per_tensor(x, 0.1, 0, torch.quint8).dequantize() + 1


def test_quantised_tensors_are_refused_in_words() -> None:
    """Inside of a function only torch supports them; as arguments no target does."""
    x = torch.ones(2, 3)
    with pytest.raises(
        UnsupportedOperation,
        match=r"quantize_per_tensor: it gives quint8, a data type that no target has[^$]*test_target.py",
    ):
        quietly(graph_compiler.transpile, _quantised, source="torch", to="numpy", args=(x,))
    with pytest.raises(
        TracingError, match=r"quantised tensor .torch.quint8., and a graph takes plain numbers"
    ):
        quietly(
            lambda: graph_compiler.compile(
                lambda x: x.int_repr(), args=(torch.quantize_per_tensor(x, 0.1, 0, torch.quint8),)
            )
        )
    graph = quietly(graph_compiler.compile, _quantised, args=(x,))
    assert_same(quietly(graph, x * 2), quietly(_quantised, x * 2))


def test_scipy_is_imported_where_it_is_used() -> None:
    assert "scipy" not in graph_of(torch.nn.Linear(4, 2), X).source
    assert "from scipy import special" in graph_of(F.gelu, X).source


def test_single_precision_erf_is_within_a_few_roundings() -> None:
    from scipy import special

    from graph_compiler.backends.numpy.prelude import gelu, single_erf

    x = np.concatenate([np.linspace(-6, 6, 100_001), np.logspace(-30, 2, 10_000)]).astype(np.float32)
    np.testing.assert_allclose(single_erf(x), special.erf(x.astype(np.float64)), rtol=6e-7)
    # Generated functions ignore these warnings too.
    with np.errstate(all="ignore"):
        ends = gelu(np.array([np.inf, -np.inf, np.nan, 0.0, -20.0], np.float32))
    np.testing.assert_array_equal(ends, np.array([np.inf, np.nan, np.nan, 0.0, -0.0], np.float32))


@pytest.mark.parametrize(
    "inverse",
    [
        lambda x: torch.fft.irfft(x, n=4),
        lambda x: torch.fft.hfft(x, n=4),
        lambda x: torch.fft.irfftn(x, s=(3, 4)),
    ],
)
def test_the_inverse_of_no_frequencies_is_zero(inverse: Callable[..., Any]) -> None:
    """NumPy's own function reads uninitialised memory."""
    for recorded in (0, 3):
        graph = graph_compiler.compile(
            inverse, args=(torch.randn(3, recorded, dtype=torch.complex64),), to="numpy"
        )
        for frequencies in (0, 3, 5):
            x = torch.randn(3, frequencies, dtype=torch.complex64)
            np.testing.assert_allclose(graph(x), inverse(x), atol=1e-5)
