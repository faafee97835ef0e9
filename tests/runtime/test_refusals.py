"""Tests of calls that only the target rejects: the error names the recorded call and the user's line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402
from graph_compiler.errors import GuardFailed, TargetRefused, UnsupportedOperation  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402
from tests.support.contexts import wide_types  # noqa: E402


def inverse(x: Any) -> Any:
    scaled = x * 2
    return torch.linalg.inv(scaled) + 1


def solved(x: Any) -> Any:
    return torch.linalg.solve(x, torch.ones(2))


def far(x: Any) -> Any:
    return x.clamp(max=2**40)


def by_floats(x: Any) -> Any:
    return x[[1.0, 0.0]]


def root(x: Any) -> Any:
    return torch.linalg.cholesky(x)


def below_long_lines(x: Any) -> Any:
    joined = torch.stack([x + number for number in range(40)])
    return (
        torch.linalg.inv(x)
        + joined.sum(0)
        + torch.cat([joined, joined, joined, joined, joined, joined, joined, joined, joined]).sum(0)
    )


SINGULAR, BROKEN = np.zeros((2, 2), np.float32), np.array([[np.nan, 1], [1, 2]], np.float32)
# Each entry has the line, within the function, of the call that is refused.
FUNCTIONAL: list[tuple[str, Callable[[Any], Any], int, Any, Any, str]] = [
    ("numpy", inverse, 2, torch.eye(2), SINGULAR, "LinAlgError: Singular matrix"),
    ("numpy", below_long_lines, 3, torch.eye(2), SINGULAR, "LinAlgError: Singular matrix"),
    ("numpy", solved, 1, torch.eye(2), SINGULAR, "LinAlgError"),
    ("numpy", root, 1, torch.eye(2), -np.eye(2, dtype=np.float32), "not positive definite"),
    ("tensorflow", inverse, 2, torch.eye(2), SINGULAR, "not invertible"),
    ("tensorflow", inverse, 2, torch.eye(2), BROKEN, "not invertible"),
    ("tensorflow", by_floats, 1, torch.ones(3), np.ones(3, np.float32), "TypeError: Cannot convert"),
    ("jax", far, 1, torch.arange(3), np.arange(3), "OverflowError: .*jax_enable_x64 is set"),
]


@pytest.mark.parametrize(("to", "function", "line", "recorded", "given", "words"), FUNCTIONAL)
def test_functional_names_the_line(
    to: str, function: Any, line: int, recorded: Any, given: Any, words: str
) -> None:
    pytest.importorskip(to)
    words = (
        rf"torch\..* at .*test_refusals\.py:{function.__code__.co_firstlineno + line}: {to} refuses .*{words}"
    )
    graph = graph_compiler.transpile(function, to=to, args=(recorded,))
    with pytest.raises(TargetRefused, match=words) as caught:
        graph.functional({}, given)
    assert caught.value.__cause__ is not None and not isinstance(caught.value.__cause__, TargetRefused)


@pytest.mark.parametrize(
    ("to", "function", "given"),
    [("tensorflow", inverse, BROKEN), ("jax", far, np.arange(3)), ("tensorflow", by_floats, np.ones(3))],
)
def test_a_call_that_the_original_takes_names_the_line(
    to: str, function: Callable[[Any], Any], given: Any
) -> None:
    pytest.importorskip(to)
    with pytest.raises(TargetRefused, match=rf"test_refusals\.py:\d+: {to} refuses"):
        graph_compiler.transpile(function, to=to)(torch.from_numpy(given))


def test_exceptions_of_the_original_and_of_tracing_stay_what_they_are() -> None:
    jax = pytest.importorskip("jax")
    graph = graph_compiler.transpile(inverse, to="numpy", args=(torch.eye(2),))
    with pytest.raises(torch.linalg.LinAlgError, match="singular"):
        graph(SINGULAR)
    of_numpy = graph_compiler.compile(lambda x: np.linalg.inv(x + 0), args=(np.eye(2),))
    with pytest.raises(np.linalg.LinAlgError):
        of_numpy.functional({}, np.zeros((2, 2)))
    picked = graph_compiler.transpile(lambda x: x[x > 0], to="jax", args=(torch.randn(4),))
    with pytest.raises(jax.errors.NonConcreteBooleanIndexError):
        jax.jit(lambda x: picked.functional({}, x))(np.ones(3, np.float32))


COMPUTED: list[Callable[[Any], Any]] = [
    lambda x: x * 2654435761 % 1000003,
    lambda x: x << 40,
    lambda x: (x + 12).cumprod(0).add_(1) ** 9,
    lambda x: x.clone().mul_(x.shape[0] * 10**10) // 10**9,
    lambda x: (x.double() * 1e10).long(),
]


def test_integers_beyond_32_bits_do_not_wrap_around() -> None:
    pytest.importorskip("jax")
    offsets = torch.tensor([2**40, 1])

    def shifted(x: Any) -> Any:
        return x + offsets

    for held in (shifted, lambda x: (x, offsets), lambda x: torch.full((2,), 2**40) - x):
        with pytest.raises(
            GuardFailed, match=r"to 1099511627776.*jax_enable_x64.* stands at .*test_refusals\.py:\d+"
        ):
            graph_compiler.transpile(held, to="jax", args=(torch.tensor([1, 2]),))
    doubled = graph_compiler.transpile(lambda x: x * 2, to="jax", args=(torch.tensor([1, 2]),))
    for given in (torch.tensor([3, -(2**33)]), np.array([2**35])):
        for call in (doubled, lambda x: doubled.functional({}, x)):
            with pytest.raises(GuardFailed, match="an array of int64 has elements from"):
                call(given)
    assert_same(doubled(torch.tensor([2**30 - 1, -(2**30)])), np.array([2**31 - 2, -(2**31)], np.int32))
    for compute in COMPUTED:
        with pytest.raises(
            UnsupportedOperation,
            match=r"test_refusals\.py:\d+ gives whole numbers of more than 32 bits.*jax_enable_x64",
        ):
            graph_compiler.transpile(compute, to="jax", args=(torch.tensor([1, 2]),))
    with wide_types():
        graph = graph_compiler.transpile(shifted, to="jax", args=(torch.tensor([1, 2]),))
        assert_same(graph(torch.tensor([2**50, 5])), shifted(torch.tensor([2**50, 5])))


@pytest.mark.parametrize("to", ["torch", "numpy"])
def test_a_refusal_in_the_body_of_a_loop_names_the_line_in_the_body(to: str) -> None:
    """The line that raises is in a loop or an inner function of the generated source."""
    jax = pytest.importorskip("jax")

    def step(total: Any, row: Any) -> Any:
        doubled = row * 2
        return jax.lax.cond(
            total < 0, lambda: total, lambda: total + jax.numpy.linalg.cholesky(doubled).sum()
        ), None

    def function(x: Any) -> Any:
        return jax.lax.scan(step, 0.0, x)[0]

    graph = graph_compiler.compile(function, to=to, args=(jax.numpy.stack([jax.numpy.eye(2)] * 3),))
    line = step.__code__.co_firstlineno + 3
    with pytest.raises(TargetRefused, match=rf"cholesky at .*test_refusals\.py:{line}: {to} refuses"):
        graph(
            -np.stack([np.eye(2, dtype=np.float32)] * 3)
            if to == "numpy"
            else torch.stack([-torch.eye(2)] * 3)
        )
