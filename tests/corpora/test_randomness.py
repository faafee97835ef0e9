"""Tests of programs that draw random numbers: the numbers, the state of generators afterwards, and what is
drawn once or at each call.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import graph_compiler as gc
from tests.support.compare import assert_same, assert_same_structure, to_numpy
from tests.support.logs import logged
from tests.support.seeding import seed

from .programs import randomness
from .programs.table import Program, compiled, outcome

TARGETS = ("torch", "jax", "numpy")
_N = 2000


def _seed(number: int) -> None:
    seed(number)
    np.random.seed(number)
    random.seed(number)


def _drawn(function: Any, call: tuple[Any, ...], number: int) -> tuple[Any, Any, Any]:
    """Return the result, and the next random numbers of torch, Python and NumPy."""
    _seed(number)
    result = outcome(function, call)[0]
    after = [
        item.initial_seed() and torch.rand(1, generator=item)
        for item in call
        if isinstance(item, torch.Generator)
    ]
    return result, (torch.rand(1), after), (random.random(), np.random.rand())


def _check(program: Program, to: str, lazy: bool) -> None:
    original, function = program.make(), program.make()
    _seed(0)
    graph = (
        compiled(program, function, to, lazy)
        if lazy
        else gc.compile(function, to=to, args=program.calls[0]())
    )
    for number, make_call in enumerate(program.calls):
        expected, torch_after, host_after = _drawn(original, make_call(), number)
        found, torch_found, host_found = _drawn(graph, make_call(), number)
        assert host_found == host_after
        if to == "torch":
            assert_same((found, torch_found), (expected, torch_after))
        else:
            assert_same_structure(found, expected)


@pytest.mark.parametrize("lazy", [True, False], ids=["lazy", "eager"])
@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("program", randomness.PROGRAMS, ids=lambda program: program.name)
def test_draws(program: Program, to: str, lazy: bool) -> None:
    if words := program.error(to):
        with pytest.raises(gc.errors.GraphCompilerError, match=words):
            _check(program, to, lazy)
    else:
        _check(program, to, lazy)


def _twice(function: Callable[..., Any], to: str, **options: Any) -> tuple[Any, Any]:
    graph = gc.compile(function, to=to, args=(torch.ones(_N),), **options)
    return tuple(to_numpy(graph(torch.ones(_N))) for _ in range(2))  # type: ignore[return-value]


_ONCE = [
    lambda x: x + torch.rand(x.shape),
    torch.rand_like,
    lambda x: F.dropout(x, 0.5),
    lambda x: F.dropout(x, 0.5) + torch.rand(x.shape) + F.alpha_dropout(x, 0.3, training=True),
    lambda x: torch.bernoulli(x * 0.5),
    lambda x: x * random.random(),
]


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("number", range(len(_ONCE)))
def test_without_generators_numbers_are_drawn_once(number: int, to: str) -> None:
    before = torch.get_rng_state()
    first, second = _twice(_ONCE[number], to, include_generators=False)
    assert (first == second).all()
    assert torch.equal(torch.get_rng_state(), before)
    assert number == 5 or len(np.unique(first)) > 1


def _two_of_a_draw(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    mean = torch.bernoulli(x * 0.5)
    return torch.normal(mean, 1.0), torch.normal(mean, 1.0)


def _two_of_written_memory(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    mean = torch.zeros(_N)
    mean.copy_(x)
    return torch.normal(mean, 1.0), torch.normal(mean, 1.0)


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("function", [_two_of_a_draw, _two_of_written_memory])
def test_without_generators_two_calls_draw_two_numbers(function: Any, to: str) -> None:
    graph = gc.compile(function, to=to, args=(torch.ones(_N),), include_generators=False)
    (one, other), (again, _) = (map(to_numpy, graph(torch.ones(_N))) for _ in range(2))
    assert (one != other).any() and (one == again).all()


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("number", range(len(_ONCE)))
def test_with_generators_every_call_draws_others(number: int, to: str) -> None:
    first, second = _twice(_ONCE[number], to)
    assert (first != second).any()


def test_seeds_decide_in_another_framework() -> None:
    with logged() as messages:
        graph = gc.transpile(randomness.own_generator, args=(torch.zeros(3, 2),))
    assert ["own_generator seeds a generator" in message for message in messages] == [True]
    (seeded, fresh), (again, other) = graph(torch.zeros(3, 2)), graph(torch.zeros(3, 2))
    assert (seeded == again).all()
    assert (fresh != other).any()


def test_a_state_that_is_put_back_gives_the_same_numbers_in_another_framework() -> None:
    graph = gc.transpile(randomness.draws_again, args=(torch.zeros(3, 2),))
    (difference, after), (_, later) = graph(torch.zeros(3, 2)), graph(torch.zeros(3, 2))
    assert (difference == 0).all()
    assert (after != later).any()


@pytest.mark.parametrize("number", [2**48, -5])
def test_a_seed_that_may_be_drawn_from_the_system_is_refused(number: int) -> None:
    with pytest.raises(gc.errors.TracingError, match="with a number that may be from there"):
        gc.compile(lambda x: (torch.manual_seed(number), torch.rand(2) + x)[1], args=(torch.zeros(2),))


def test_a_generator_seeded_as_it_was_before() -> None:
    """The function sets the seed that the generator already had during the recording."""
    torch.manual_seed(7)
    graph = gc.compile(randomness.seeds_itself, args=(torch.zeros(4),))
    expected = randomness.seeds_itself(torch.zeros(4))
    torch.manual_seed(8)
    assert torch.equal(graph(torch.zeros(4)), expected)
    assert torch.initial_seed() == 7
