"""Tests of the generated function that every call of a graph passes through."""

from __future__ import annotations

from typing import Any

import pytest

from graph_compiler.recording.environment_guards import EnvironmentGuard, condition
from graph_compiler.runtime.calling.matcher import MatchCode, dispatcher

SETTINGS: dict[str, Any] = {"scale": 2}
MATCHING = MatchCode(
    ["if not (len(args) == 1): return misfit", "x = args[0].real"],
    ["x"],
    {"unlike": (AttributeError,)},
    "misfit",
)


def _attempt(call: str = "double(x)") -> Any:
    fact = EnvironmentGuard("{}['scale'] == {}", (SETTINGS, 2))
    return dispatcher(
        condition([fact]), MATCHING, call, {"double": lambda x: 2 * x, "misfit": "no fit", "failed": type}
    )


@pytest.mark.parametrize(("args", "expected"), [((3,), 6), ((3, 4), "no fit"), (("no number",), "no fit")])
def test_only_calls_that_match_are_made(args: tuple[Any, ...], expected: Any) -> None:
    assert _attempt()(args, {}) == expected


@pytest.mark.parametrize("settings", [{"scale": 3}, {}])
def test_no_call_is_made_where_the_surroundings_changed_or_are_gone(settings: dict[str, Any]) -> None:
    attempt = _attempt()
    SETTINGS.clear()
    SETTINGS.update(settings)
    try:
        assert attempt((3,), {}) == "no fit"
    finally:
        SETTINGS.update(scale=2)
    assert attempt((3,), {}) == 6


def test_what_fails_in_the_call_itself_is_no_misfit() -> None:
    assert _attempt("x.missing")((3,), {}) is AttributeError
