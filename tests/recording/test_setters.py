"""Tests of property setters and deleters: they run at each call, or are refused during the recording."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler.errors import TracingError

CHANGES = {"set": 0, "deleted": 0}


class Counted:
    """An object whose setter changes a global that the function does not read."""

    @property
    def value(self) -> Any:
        return self._value

    @value.setter
    def value(self, value: Any) -> None:
        CHANGES["set"] += 1
        self._value = value

    @value.deleter
    def value(self) -> None:
        CHANGES["deleted"] += 1
        del self._value


def changing(held: Counted, x: Any) -> Any:
    held.value = x.sum()
    held.value = x.max()
    del held.value
    held.value = x * 2
    return x + 1


@pytest.fixture(autouse=True)
def _none_before() -> None:
    CHANGES.update({"set": 0, "deleted": 0})


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_setters_run_at_each_call(to: str) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip(to)
    graph = graph_compiler.compile(changing, to=to, args=(Counted(), torch.ones(3)))
    assert CHANGES == {"set": 0, "deleted": 0}
    for number in (1, 2, 3):
        graph(held := Counted(), torch.ones(3))
        assert {"set": 3 * number, "deleted": number} == CHANGES
        np.testing.assert_array_equal(np.asarray(held.value), np.full(3, 2.0))
    assert len(graph.variants) <= 2, graph.explain()


def test_what_setters_change_elsewhere_is_refused_in_numpy() -> None:
    with pytest.raises(TracingError, match="an item of the global CHANGES changed"):
        graph_compiler.compile(changing, source="numpy", args=(Counted(), np.ones(3)))
