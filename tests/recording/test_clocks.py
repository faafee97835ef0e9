"""Tests of clocks that a torch function reads: a graph reads them at each call. The clock of these tests
advances by one per read.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402

TARGETS = ("torch", "jax", "tensorflow", "numpy")


@pytest.fixture(autouse=True)
def _ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "thread_time", Mock(side_effect=map(float, itertools.count(1))))
    monkeypatch.setitem(globals(), "thread_time", time.thread_time)


def thread_time() -> float:
    """A user's function with the name of one of ``time``."""
    raise NotImplementedError


class Timed(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls, self.last = 0, 0.0

    def forward(self, x: Any) -> Any:
        self.calls, self.last = self.calls + 1, time.thread_time()
        return x * 2


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("read", [lambda: time.thread_time(), lambda: thread_time()])  # noqa: PLW0108
def test_a_call_has_its_own_time(read: Callable[[], float], to: str) -> None:
    pytest.importorskip(to)

    def function(x: Any) -> Any:
        return x + read(), read()

    compiled = graph_compiler.compile(function, to=to)
    seen = [
        (float(added[0]), float(alone))
        for added, alone in (compiled(torch.zeros(size)) for size in (2, 3, 4, 5))
    ]
    assert (
        [alone - added for added, alone in seen] == [1.0] * 4
        and sorted(set(seen)) == seen
        and len(compiled.variants) == 1
    )


@pytest.mark.parametrize("to", TARGETS)
def test_what_is_decided_by_the_time_is_decided_at_each_call(to: str) -> None:
    pytest.importorskip(to)
    compiled = graph_compiler.compile(
        lambda x: x * 2 if time.thread_time() < 6 else x * 3, to=to, args=(torch.ones(2),)
    )
    results = [float(compiled(torch.ones(size))[0]) for size in (2, 3, 4, 2, 3, 4, 2, 3)]
    assert results == sorted(results) and {*results} == {2.0, 3.0} and len(compiled.variants) == 2


@pytest.mark.skipif(
    sys.version_info < (3, 11), reason="Python 3.10 does not tell where in a line an instruction stands"
)
def test_a_time_that_is_printed_ties_a_graph_to_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    def function(x: Any) -> Any:
        start = time.thread_time()
        y = x * 2
        print(f"took {time.thread_time() - start} s for {x.shape[0]} rows", time.thread_time())  # noqa: T201
        return y

    compiled = graph_compiler.compile(function, to="numpy")
    assert (
        all(float(compiled(torch.ones(size))[0]) == 2 for size in (2, 3, 4)) and len(compiled.variants) == 1
    )
    assert "took" in capsys.readouterr().out


@pytest.mark.parametrize("to", ["torch", "numpy"])
def test_a_time_that_is_kept_is_state(to: str) -> None:
    model = Timed()
    compiled, seen = graph_compiler.compile(model, to=to), []
    for size in (2, 3, 2, 4):
        compiled(torch.ones(size))
        seen.append(model.last)
    assert model.calls == 4 and seen == sorted({*seen}) and type(model.last) is float
