"""A second run takes over what the products of the first gave, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from graph_compiler.frontends.torch.capture import large_calls
from graph_compiler.frontends.torch.capture.large_calls import LargeCalls, TakingOver

X, W = torch.arange(6.0).reshape(2, 3) / 7, torch.ones(4, 3)
KNOWN = torch.full((2, 4), 42.0)  # no product gives this: where it turns up, it was taken over


def noted(*calls: tuple[Any, ...], result: torch.Tensor = KNOWN) -> LargeCalls:
    calls_seen = LargeCalls(lambda: True)
    for function, *args in calls:
        calls_seen.noted(function, tuple(args), {}, result)
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
    with TakingOver(noted((F.linear, X, W))):
        assert SAME[name]() is KNOWN


@pytest.mark.parametrize("name", OTHER)
def test_another_call_is_made(name: str) -> None:
    with TakingOver(noted((F.linear, X, W))):
        found = OTHER[name]()
    torch.testing.assert_close(found, OTHER[name](), rtol=0, atol=0)


def test_conjugates_in_the_same_memory_are_others() -> None:
    x, w = torch.tensor([[1 + 2j]]), torch.ones(1, 1, dtype=torch.complex64)
    with TakingOver(noted((torch.matmul, x, w), result=KNOWN)):
        assert torch.matmul(x.conj(), w).item() == 1 - 2j


def test_numbers_are_compared() -> None:
    image, kernel = torch.ones(1, 1, 4, 4), torch.ones(1, 1, 1, 1)
    with TakingOver(noted((F.conv2d, image, kernel, None, 2))):
        assert F.conv2d(image, kernel, None, 1).shape == (1, 1, 4, 4)
    with TakingOver(noted((F.conv2d, image, kernel, None, 2))):
        assert F.conv2d(image, kernel, None, 2) is KNOWN


def test_what_was_written_to_since_is_made_again() -> None:
    given, made = X.clone(), KNOWN.clone()
    argument, result = noted((F.linear, given, W)), noted((F.linear, X, W), result=made)
    given.add_(0)
    made.add_(0)
    for calls in (argument, result):
        with TakingOver(calls):
            torch.testing.assert_close(F.linear(given, W), F.linear(X, W))


def test_calls_come_in_their_order() -> None:
    with TakingOver(noted((F.linear, X + 1, W), (F.linear, X, W))):
        assert F.linear(X, W) is not KNOWN  # the first was another
        assert F.linear(X, W) is KNOWN
        assert F.linear(X, W) is not KNOWN  # there is no third


def test_nothing_is_kept_that_nobody_wants_or_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    unwanted = LargeCalls()
    unwanted.noted(F.linear, (X, W), {}, KNOWN)
    assert unwanted.taken_over(F.linear, (X, W), {}) is None
    monkeypatch.setattr(large_calls, "_MOST_BYTES", KNOWN.nbytes)
    assert noted((F.linear, X, W)).taken_over(F.linear, (X, W), {}) is KNOWN
    assert noted((F.linear, X, W), (F.linear, X, W)).taken_over(F.linear, (X, W), {}) is None
