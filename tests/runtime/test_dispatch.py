"""Tests of the generated function that every call of a graph passes through."""

from __future__ import annotations

from typing import Any

import pytest

from graph_compiler.recording.environment_guards import EnvironmentGuard, condition
from graph_compiler.runtime.calling.matcher import (
    DOUBT,
    CallCode,
    MatchCode,
    dispatcher,
    dispatcher_ahead,
    leaf_texts,
)
from graph_compiler.trees import flatten

SETTINGS: dict[str, Any] = {"scale": 2}
MATCHING = MatchCode(
    ["if not (len(args) == 1): return misfit", "x = args[0].real"],
    [],
    ["x"],
    {"unlike": (AttributeError,), "misfit": "no fit"},
    "return misfit",
)


def _attempt(call: str = "double(x)") -> Any:
    fact = EnvironmentGuard("{}['scale'] == {}", (SETTINGS, 2))
    calling = CallCode(call, "", "outcome", {"double": lambda x: 2 * x, "failed": type})
    return dispatcher(condition([fact]), MATCHING, calling)


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


# ------------------------------------------------------------------------------------------------ running ahead
def _ahead(ran: list[Any], is_asynchronous: bool = True) -> Any:
    fact = EnvironmentGuard("{}['scale'] == {}", (SETTINGS, 2))
    matching = MATCHING._replace(on_elements=[f"if not (x < 10): {DOUBT}"])

    def double(x: float) -> float:
        ran.append(x)
        return 2 * x + 0 / x

    bound = {
        "double": double,
        "runs_asynchronously": lambda: is_asynchronous,
        "attempt_in_order": lambda args, kwargs: ("in order", *args),
        "attempt_after_doubt": lambda args, kwargs: ("after doubt", *args),
        "attempt_after_problem": lambda problem, args, kwargs: (type(problem), *args),
    }
    return dispatcher_ahead(condition([fact]), matching, CallCode("double(x)", "", "outcome", bound))


@pytest.mark.parametrize(
    ("args", "expected", "ran"),
    [
        ((3,), 6, [3]),
        ((3, 4), "no fit", []),
        (("no number",), "no fit", []),
        ((30,), ("after doubt", 30), [30]),
        ((0,), (ZeroDivisionError, 0), [0]),
    ],
)
def test_elements_are_checked_once_the_function_runs(args: Any, expected: Any, ran: list[Any]) -> None:
    seen: list[Any] = []
    assert _ahead(seen)(args, {}) == expected
    assert seen == ran


def test_an_outcome_under_other_settings_is_dropped() -> None:
    ran: list[Any] = []
    attempt = _ahead(ran)
    SETTINGS.update(scale=3)
    try:
        assert attempt((3,), {}) == ("after doubt", 3)
    finally:
        SETTINGS.update(scale=2)
    assert ran == [3]


def test_calls_that_are_traced_run_in_order() -> None:
    ran: list[Any] = []
    assert _ahead(ran, is_asynchronous=False)((3,), {}) == ("in order", 3)
    assert not ran


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (1.5, "(outcome, )"),
        ((1.5, [2.5]), "(outcome[0], outcome[1][0], )"),
        ({"a": {"b": 1.5}}, "(dict.__getitem__(dict.__getitem__(outcome, 'a'), 'b'), )"),
        ({("a", 1): 1.5}, "leaves_of(outcome)"),
        (None, "()"),
    ],
)
def test_leaves_of_results_are_read_by_generated_code(result: Any, text: str) -> None:
    leaves, tree = flatten(result, lambda item: isinstance(item, float))
    assert leaf_texts(tree, "outcome", "leaves_of") == text
    assert list(eval(text, {"outcome": result, "leaves_of": lambda _: leaves})) == leaves
