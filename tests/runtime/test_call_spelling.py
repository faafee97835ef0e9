"""Tests of calls by position, by keyword and with defaults: what Python binds to the same parameters is one
variant.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.utils._pytree import tree_map_only  # noqa: E402

import graph_compiler  # noqa: E402
from tests.support.compare import to_numpy  # noqa: E402

X, K = torch.arange(6.0).reshape(2, 3), torch.tensor([1.0, 0.0, 2.0])


def masked(x: Any, mask: Any = None, *, scale: float = 2.0) -> Any:
    return (x if mask is None else x * mask) * scale


def with_rest(x: Any, *rest: Any, shift: float = 0.0) -> Any:
    return sum(rest, x) + shift


def with_more(x: Any, mask: Any = None, **more: Any) -> Any:
    result = x if mask is None else x * mask
    for item in more.values():
        result = result * 2 + item
    return result


def by_position_only(x: Any, mask: Any = None, /, **more: Any) -> Any:
    return masked(x, mask) + more.get("x", 0)


def passing_on(function: Any) -> Any:
    @functools.wraps(function)
    def passed(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) + 1

    return passed


def counting(function: Any) -> Any:
    @functools.wraps(function)
    def counted(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) * len(args)

    return counted


class Model(torch.nn.Module):
    @torch.no_grad()
    def forward(self, x: Any, mask: Any = None) -> Any:
        return masked(x, mask)

    def method(self, x: Any, mask: Any = None) -> Any:
        return masked(x, mask)


class Callable_:
    def __call__(self, x: Any, mask: Any = None) -> Any:
        return masked(x, mask)


def call(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return args, kwargs


ALL = (call(X, K), call(x=X, mask=K), call(mask=K, x=X), call(X, mask=K))
# Calls that are one variant of a function.
ONE: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "a function": (masked, ALL),
    "an argument that is its default": (
        masked,
        (call(X), call(X, None), call(X, mask=None), call(x=X, scale=2.0)),
    ),
    "the default first": (masked, (call(X, None, scale=2.0), call(X), call(x=X))),
    "a method": (Model().method, ALL),
    "a module": (Model(), (*ALL, call(X, mask=K))),
    "an object": (Callable_(), ALL),
    "a partial": (
        functools.partial(masked, scale=3.0),
        (call(X, K), call(X, mask=K), call(x=X, mask=K, scale=3.0)),
    ),
    "a decorator that passes on": (passing_on(masked), ALL),
    "several": (passing_on(torch.no_grad()(masked)), ALL),
    "any number": (with_rest, (call(X, K), call(X, K, shift=0.0))),
    "other keywords": (with_more, (call(X, K, a=K, b=X), call(mask=K, a=K, x=X, b=X))),
    "by position only": (by_position_only, (call(X, K, x=X), call(X, K, x=X))),
}


@pytest.mark.parametrize("to", ["torch", "numpy"])
@pytest.mark.parametrize("name", ONE)
def test_calls_that_bind_alike_are_one_variant(name: str, to: str) -> None:
    function, calls = ONE[name]
    graph = graph_compiler.compile(function, to=to)
    for args, kwargs in (*calls, *calls):
        torch.testing.assert_close(torch.as_tensor(graph(*args, **kwargs)), function(*args, **kwargs))
    assert len(graph.variants) == 1


@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("name", ONE)
def test_a_loaded_graph_takes_all_spellings(name: str, to: str, tmp_path: Path) -> None:
    function, calls = ONE[name]
    graph_compiler.compile(function, to="torch", args=calls[0][0], kwargs=calls[0][1]).save(
        tmp_path / "graph.zip"
    )
    loaded = graph_compiler.load(tmp_path / "graph.zip", to=to)
    loaded.save(tmp_path / "again.zip")
    arrays = (
        (lambda item: item)
        if to == "torch"
        else functools.cache(lambda item: np.array(item.tolist(), np.float32))
    )
    for graph in (loaded, graph_compiler.load(tmp_path / "again.zip", to=to)):
        for args, kwargs in calls:
            given = tree_map_only(torch.Tensor, arrays, (args, kwargs))
            np.testing.assert_allclose(
                to_numpy(graph(*given[0], **given[1])), to_numpy(function(*args, **kwargs)), rtol=1e-6
            )


# Functions that see how their arguments are given.
SEEN: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "the order of other keywords": (with_more, (call(X, a=K, b=X), call(X, b=X, a=K))),
    "a decorator that counts": (counting(masked), (call(X, K), call(X, mask=K))),
    "a mutable default": (lambda x, held=(K,): x * held[0], (call(X), call(X, (K * 2,)))),
    "another value than the default": (masked, (call(X), call(X, scale=3.0), call(X, K))),
}


@pytest.mark.parametrize("name", SEEN)
def test_calls_that_the_function_can_tell_apart_are_not(name: str) -> None:
    function, calls = SEEN[name]
    graph = graph_compiler.compile(function)
    for args, kwargs in (*calls, *calls):
        torch.testing.assert_close(graph(*args, **kwargs), function(*args, **kwargs))
    assert len(graph.variants) > 1


def test_hooks_are_handed_the_arguments_as_they_are_given() -> None:
    model = Model()
    model.register_forward_pre_hook(lambda module, args: tuple(item * 2 for item in args))
    graph = graph_compiler.compile(model)
    for args, kwargs in (*ALL, *ALL):
        torch.testing.assert_close(graph(*args, **kwargs), model(*args, **kwargs))


def test_a_call_in_another_spelling_that_fits_nothing_is_recorded_in_the_first() -> None:
    graph = graph_compiler.compile(masked, args=(X, K))
    for _ in range(2):
        torch.testing.assert_close(graph(mask=K.double(), x=X), masked(X, K.double()))
        torch.testing.assert_close(graph(X, K.double()), masked(X, K.double()))
    assert len(graph.variants) == 2


def test_static_arguments_and_defaults_of_them() -> None:
    graph = graph_compiler.compile(
        lambda x, axis=0, keep=False: x.sum(axis, keep), static_argnames=("axis", "keep")
    )
    calls: tuple[Any, ...] = (
        call(X),
        call(X, 0),
        call(X, axis=0),
        call(x=X, keep=False),
        call(X, 1),
        call(X, axis=1),
    )
    shapes = [graph(*args, **kwargs).shape for args, kwargs in calls]
    assert shapes == [(3,)] * 4 + [(2,)] * 2 and len(graph.variants) == 2


def test_a_loaded_graph_knows_its_static_arguments_and_defaults(tmp_path: Path) -> None:
    graph = graph_compiler.compile(
        lambda x, axis=0, keep=False: x.sum(axis, keep), static_argnames=("axis", "keep"), args=(X, 1)
    )
    graph(X, keep=True)
    graph.save(tmp_path / "graph.zip")
    loaded = graph_compiler.load(tmp_path / "graph.zip")
    calls: tuple[Any, ...] = (
        call(X, 1),
        call(X, axis=1),
        call(x=X, keep=False, axis=1),
        call(X, keep=True),
        call(X, 0, True),
    )
    assert [loaded(*args, **kwargs).shape for args, kwargs in calls] == [(2,)] * 3 + [(1, 3)] * 2
    with pytest.raises(graph_compiler.errors.GuardFailed, match="no original"):
        loaded(X, 0)


@pytest.mark.parametrize("name", SEEN)
def test_a_loaded_graph_refuses_what_its_function_can_tell_apart(name: str, tmp_path: Path) -> None:
    function, (first, *others) = SEEN[name]
    graph_compiler.compile(function, args=first[0], kwargs=first[1]).save(tmp_path / "graph.zip")
    loaded = graph_compiler.load(tmp_path / "graph.zip")
    torch.testing.assert_close(loaded(*first[0], **first[1]), function(*first[0], **first[1]))
    for args, kwargs in others:
        with pytest.raises(graph_compiler.errors.GuardFailed):
            loaded(*args, **kwargs)


@pytest.mark.parametrize(
    "check",
    [
        lambda graph, *a, **k: graph.functional({}, *a, **k),
        lambda graph, *a, **k: graph.verify(args=a, kwargs=k),
    ],
)
def test_what_records_nothing_takes_other_spellings(check: Callable[..., Any]) -> None:
    graph = graph_compiler.transpile(masked, to="numpy", args=(X, K))
    assert check(graph, mask=K, x=X) is not None
    with pytest.raises(graph_compiler.errors.GuardFailed):
        check(graph, mask=K.double(), x=X)
