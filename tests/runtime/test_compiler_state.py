"""Tests of the checks that a compiled program makes each time it runs."""

from __future__ import annotations

from typing import Any

import pytest

from graph_compiler.errors import GuardFailed
from graph_compiler.recording import EnvironmentGuards
from graph_compiler.recording.environment_guards import EnvironmentGuard
from graph_compiler.runtime.calling.compiler_state import CompilerState


@pytest.mark.parametrize("what", ["the scale", ""])
def test_every_guard_that_breaks_is_a_failure(what: str) -> None:
    """Also one that has no description."""
    settings, unused = {"scale": 2}, Any
    environment = EnvironmentGuards([EnvironmentGuard("{}['scale'] == 2", (settings,), what)])
    state = CompilerState("scaled", unused, unused, environment, None, unused)  # type: ignore[arg-type]
    state.still_holds(False, None)
    settings["scale"] = 3
    with pytest.raises(GuardFailed, match=f"scaled: {what or 'an object outside the call'} changed"):
        state.still_holds(False, None)
    assert state.failures == 1


def test_a_weight_of_another_shape_is_a_failure() -> None:
    def parameters() -> Any:
        raise GuardFailed("weight was replaced by something of another shape or type")

    parameters.read = None  # type: ignore[attr-defined]
    unused: Any = None
    state = CompilerState("scaled", unused, parameters, EnvironmentGuards([]), None, unused)  # type: ignore[arg-type]
    with pytest.raises(GuardFailed, match=r"scaled: weight was replaced .*; the next call is compiled anew"):
        state.still_holds(True, None)
    assert state.failures == 1
