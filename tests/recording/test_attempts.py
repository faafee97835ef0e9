"""Tests of the search for a recording, which tries again without hypotheses that an attempt has refuted."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import pytest

from graph_compiler.errors import TracingError
from graph_compiler.recording.control_flow.regions import lists
from graph_compiler.recording.search import DisturbanceRetry, Refutation, gives_up, search_recording


class Drawn(Exception): ...


@dataclass
class Made:
    text: str
    gave_up: tuple[Any, ...] = ()


def run(
    attempt: Any, give_up: Any = (), start: Any = frozenset("abc"), most: int = 4
) -> tuple[Any, list[Any]]:
    """Return (result, hypotheses of each attempt)."""
    seen: list[Any] = []

    def seeing(hypotheses: Any) -> Any:
        seen.append(hypotheses)
        return attempt(hypotheses)

    return search_recording(seeing, start, give_up, most, lambda: "too many"), seen


def without(name: str) -> Any:
    return gives_up(f"taking {name}")(
        lambda hypotheses, problem: hypotheses - {name} if name in hypotheses else None
    )


def failing_with(*names: str) -> Any:
    def attempt(hypotheses: Any) -> Made:
        if hypotheses & set(names):
            raise ValueError("refused")
        return Made("".join(sorted(hypotheses)))

    return attempt


def test_the_weakest_is_given_up_first() -> None:
    made, seen = run(failing_with("b"), [without("a"), without("b"), without("c")])
    assert (made.text, seen) == ("c", [set("abc"), set("bc"), set("c")])
    assert [(each.way, each.problem) for each in made.gave_up] == [
        ("taking a", "ValueError: refused"),
        ("taking b", "ValueError: refused"),
    ]
    assert all("test_attempts.py:" in each.place for each in made.gave_up)


def test_what_cannot_be_given_up_is_raised() -> None:
    with pytest.raises(ValueError, match="refused"):
        run(failing_with("c"), [without("a"), without("b")])


def test_refuted_hypotheses_are_replaced_until_there_are_too_many() -> None:
    assert run(lambda number: "done" if number == 3 else Refutation(number + 1), start=1) == (
        "done",
        [1, 2, 3],
    )
    with pytest.raises(TracingError, match="too many"):
        run(lambda number: Refutation(number + 1), start=1)


def test_other_threads_may_have_drawn() -> None:
    def attempt(hypotheses: Any) -> Any:
        raise Drawn("unseen")

    with pytest.raises(Drawn):
        run(attempt, [DisturbanceRetry(Drawn), without("a")])
    ended = threading.Event()
    other = threading.Thread(target=ended.wait)
    other.start()
    tries = iter((Drawn("1"), Drawn("2"), None))

    def disturbed(hypotheses: Any) -> Any:
        if (problem := next(tries)) is not None:
            raise problem
        return Made("done")

    try:
        result, seen = run(disturbed, [DisturbanceRetry(Drawn)])
    finally:
        ended.set()
        other.join()
    assert result.text == "done" and seen == [set("abc")] * 3


def test_an_exception_of_another_kind_is_no_disturbance() -> None:
    assert DisturbanceRetry(Drawn)("same", ValueError()) is None


def test_a_nested_search_leaves_growing_lists_to_the_outer_one() -> None:
    def attempt(hypotheses: None) -> Any:
        if lists.wanted():
            search_recording(lambda _: Made("inner"), None, [], 1, str)  # type: ignore[arg-type, return-value]
            raise ValueError("refused")
        return Made("outer")

    found: Any = search_recording(attempt, None, [], 1, str)
    assert found.text == "outer" and len(found.gave_up) == 1
