"""Tests of the progress display on a terminal, and of what a conversion logs."""

from __future__ import annotations

import io
import logging
import threading
import time
from contextlib import redirect_stderr
from typing import Any

import pytest

import graph_compiler
from graph_compiler.recording.lock import stage
from graph_compiler.runtime import progress
from tests.support.logs import logged

torch = pytest.importorskip("torch")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRAPH_COMPILER_PROGRESS", raising=False)
    monkeypatch.setattr(progress, "_REDRAW_SECONDS", 0.005)


def slow(x: Any) -> Any:
    for _ in range(30):
        x = x + 1
        time.sleep(0.002)
    return x


@pytest.mark.parametrize("has_rich", [True, False])
def test_a_long_conversion_says_what_it_does(monkeypatch: pytest.MonkeyPatch, has_rich: bool) -> None:
    if has_rich:
        pytest.importorskip("rich")
    else:
        monkeypatch.setattr(progress, "_has_rich", lambda: False)
    with (
        redirect_stderr(Terminal()) as terminal,
        progress.show_progress("Converting slow", stage.__str__, 0.01),
    ):
        graph_compiler.compile(slow, args=(torch.ones(2),))
    shown = terminal.getvalue()
    assert "Converting slow: recording" in shown and " call" in shown
    for thread in [one for one in threading.enumerate() if one.name == "graph_compiler progress"]:
        thread.join(10)
        assert not thread.is_alive()
    assert not stage.name and not len(stage.calls)


@pytest.mark.parametrize("silenced", ["by time", "by asking", "by nobody looking"])
def test_otherwise_it_is_silent(monkeypatch: pytest.MonkeyPatch, silenced: str) -> None:
    terminal = Terminal()
    if silenced == "by asking":
        monkeypatch.setenv("GRAPH_COMPILER_PROGRESS", "0")
    if silenced == "by nobody looking":
        monkeypatch.setattr(terminal, "isatty", lambda: False)
    after = progress.SECONDS if silenced == "by time" else 0.0
    with redirect_stderr(terminal), progress.show_conversion("slow", after):
        time.sleep(0.02)
    assert terminal.getvalue() == ""


def test_a_conversion_that_fails_leaves_nothing_behind() -> None:
    def failing(x: Any) -> Any:
        raise ValueError("of the user's")

    with redirect_stderr(Terminal()) as terminal, pytest.raises(ValueError, match="of the user's"):
        graph_compiler.compile(failing, args=(torch.ones(2),))
    assert not stage.name and terminal.getvalue() == ""


def test_each_recording_is_one_line_of_the_log() -> None:
    def function(x: Any) -> Any:
        return x + 1 if x.sum() > 0 else -x

    with logged(logging.INFO) as messages:
        graph = graph_compiler.compile(
            function, to="numpy", source="torch", args=(torch.ones(2),), max_variants=4
        )
        graph(torch.ones(3))
        graph(-torch.ones(3))
    assert len(messages) == 2
    assert messages[0].startswith(
        "function recorded in torch and written for numpy (variant 1 of at most 4, "
    )
    assert messages[0].endswith(" s): args= given") and " lines, " in messages[0]
    assert (
        messages[1].startswith("function recorded again (variant 2 of at most 4, ")
        and "`if x.sum() > 0`" in messages[1]
    )


def test_what_is_quick_pays_microseconds() -> None:
    started = time.perf_counter()
    for _ in range(1000):
        with progress.show_conversion("nothing"):
            pass
    # It takes about 5 microseconds; a busy machine takes longer.
    assert (time.perf_counter() - started) / 1000 < 200e-6
