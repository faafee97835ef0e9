"""Tests of reuse between runs: a second run takes only the results of equal calls from the first one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
import torch.nn.functional as F

import graph_compiler
from graph_compiler.frontends.torch.basics.tensors import spec_of
from graph_compiler.frontends.torch.capture import known_calls as first_run
from graph_compiler.frontends.torch.capture.known_calls import FirstRunResults, ResultReuse, TensorOutcome
from graph_compiler.frontends.torch.compat import TorchDispatchMode
from graph_compiler.frontends.torch.memory.layouts import StrideOrder

X, W = torch.arange(6.0).reshape(2, 3) / 7, torch.ones(4, 3)
# No product has this result, so it shows where a result was reused.
KNOWN = torch.full((2, 4), 42.0)


def made(is_view: bool = False) -> TensorOutcome:
    """Return the outcome of a call that creates one tensor."""
    return TensorOutcome(
        "made", spec_of(KNOWN), KNOWN.stride(), False, is_view, StrideOrder(True, True, False)
    )


def noted(
    *calls: tuple[Any, ...], result: torch.Tensor = KNOWN, outcome: TensorOutcome | None = None
) -> FirstRunResults:
    calls_seen = FirstRunResults(lambda: True)
    for function, *args in calls:
        calls_seen.note(
            function,
            tuple(args),
            {},
            [item for item in args if isinstance(item, torch.Tensor)],
            result,
            outcome,
        )
    return calls_seen


SAME: dict[str, Callable[[], torch.Tensor]] = {
    "the same objects": lambda: F.linear(X, W),
    "the same elements": lambda: F.linear(X.clone(), W.clone()),
    "rounded otherwise": lambda: F.linear(X / 3 * 3 * (1 + 1e-7), W),
}
OTHER: dict[str, Callable[[], torch.Tensor]] = {
    "other elements": lambda: F.linear(X + 1e-3, W),
    "another shape": lambda: F.linear(X[:1], W),
    "another type": lambda: F.linear(X.double(), W.double()),
    "one more argument": lambda: F.linear(X, W, torch.zeros(4)),
    "a keyword": lambda: F.linear(X, weight=W),
    "with a history": lambda: F.linear(X.clone().requires_grad_(), W),
    "another function": lambda: X @ W.T,
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_call_is_taken_over(name: str) -> None:
    with ResultReuse(noted((F.linear, X, W))):
        assert SAME[name]() is KNOWN


@pytest.mark.parametrize("name", OTHER)
def test_another_call_is_made(name: str) -> None:
    with ResultReuse(noted((F.linear, X, W))):
        found = OTHER[name]()
    torch.testing.assert_close(found, OTHER[name](), rtol=0, atol=0)


def test_conjugates_in_the_same_memory_are_others() -> None:
    x, w = torch.tensor([[1 + 2j]]), torch.ones(1, 1, dtype=torch.complex64)
    with ResultReuse(noted((torch.matmul, x, w), result=KNOWN)):
        assert torch.matmul(x.conj(), w).item() == 1 - 2j


INFINITE, UNDEFINED = torch.tensor([[1.0, torch.inf, -torch.inf]]), torch.tensor([[1.0, torch.nan, 2.0]])


@pytest.mark.parametrize("x", [INFINITE, UNDEFINED])
def test_elements_that_are_not_finite_hide_no_difference(x: torch.Tensor) -> None:
    with ResultReuse(noted((F.linear, x, W), (F.linear, x, W), (F.linear, x, W))):
        assert F.linear(x.clone(), W) is KNOWN
        assert F.linear(x + torch.tensor([1e-3, 0.0, 0.0]), W) is not KNOWN
        assert F.linear(x.nan_to_num(0.0, 3.0, 3.0), W) is not KNOWN


def test_numbers_are_compared() -> None:
    image, kernel = torch.ones(1, 1, 4, 4), torch.ones(1, 1, 1, 1)
    with ResultReuse(noted((F.conv2d, image, kernel, None, 2))):
        assert F.conv2d(image, kernel, None, 1).shape == (1, 1, 4, 4)
    with ResultReuse(noted((F.conv2d, image, kernel, None, 2))):
        assert F.conv2d(image, kernel, None, 2) is KNOWN


def test_what_was_written_to_since_is_made_again() -> None:
    given, made = X.clone(), KNOWN.clone()
    argument, result = noted((F.linear, given, W)), noted((F.linear, X, W), result=made)
    given.add_(0)
    made.add_(0)
    for calls in (argument, result):
        with ResultReuse(calls):
            torch.testing.assert_close(F.linear(given, W), F.linear(X, W))


def test_calls_come_in_their_order() -> None:
    with ResultReuse(noted((F.linear, X + 1, W), (F.linear, X, W))):
        assert F.linear(X, W) is not KNOWN
        assert F.linear(X, W) is KNOWN
        assert F.linear(X, W) is not KNOWN


def test_any_call_with_a_known_outcome_is_taken_over() -> None:
    with ResultReuse(noted((torch.relu, X), outcome=made())):
        assert torch.relu(X) is KNOWN
    with ResultReuse(noted((torch.relu, X))):
        assert torch.relu(X) is not KNOWN


def test_calls_that_are_not_kept_count() -> None:
    calls = noted((torch.relu, X))
    calls.note(torch.relu, (X,), {}, [X], KNOWN, made())
    with ResultReuse(calls):
        assert torch.relu(X) is not KNOWN
        assert torch.relu(X) is KNOWN


def test_nothing_is_kept_that_nobody_wants() -> None:
    unwanted = FirstRunResults()
    unwanted.note(F.linear, (X, W), {}, [X, W], KNOWN, made())
    assert unwanted.take_result(F.linear, (X, W), {}) is None


def test_as_much_is_kept_as_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_run, "_MOST_BYTES", KNOWN.nbytes)
    calls = FirstRunResults(lambda: True)
    for outcome in (made(is_view=True), made(), made(), made()):
        calls.note(F.linear, (X, W), {}, [X, W], KNOWN, outcome)
    found = [calls.take_result(F.linear, (X, W), {}) for _ in range(4)]
    assert [item is KNOWN for item in found] == [True, True, True, False]


def test_kernels_of_a_function_that_asks_run_once() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        shift = torch.zeros(1) if torch.compiler.is_compiling() else x.new_zeros(1)
        return torch.relu(x + shift).tanh().reshape(-1)[1:] * 2

    counted = Counter[str]()

    class Kernels(TorchDispatchMode):
        def __torch_dispatch__(
            self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            counted[function.__name__] += 1
            return function(*args, **(kwargs or {}))

    with Kernels():
        graph_compiler.transpile(function, to="numpy", args=(X,))
    assert counted["relu.default"] == counted["tanh.default"] == counted["mul.Tensor"] == 1


def test_a_write_of_the_second_run_alone_is_seen() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x)
        if not torch.compiler.is_compiling():
            y.mul_(3)
        return y.reshape(-1) + 1

    graph = graph_compiler.transpile(function, to="numpy", args=(X,))
    numpy.testing.assert_allclose(graph(X.numpy() * 2), function(X * 2).numpy())
