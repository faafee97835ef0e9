"""Tests of the mechanism that patches Python functions during a recording: what it reports, and that patches
are removed.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from graph_compiler.errors import TracingError
from graph_compiler.recording.lock import active, recording
from graph_compiler.recording.patches import (
    Patch,
    PatchSet,
    Session,
    assume_result,
    note_call,
    patch,
    patching,
    refuse_call,
    replace_call,
    replace_call_anywhere,
    replaced,
)

_NAMES = ("ask", "draw", "start", "count", "give")


@pytest.fixture
def library() -> Iterator[ModuleType]:
    """Return a module, and assert after the test that its functions are restored."""
    made = ModuleType("library")
    vars(made).update({name: functools.partial(_answer, name) for name in _NAMES})
    before = {name: vars(made)[name] for name in _NAMES}
    yield made
    assert {name: vars(made)[name] for name in _NAMES} == before


def _answer(name: str, item: Any = 0) -> Any:
    return name, item


def _probes(library: ModuleType) -> PatchSet:
    return PatchSet(
        Patch(library, "ask", assume_result, lambda original, *args: original(*args)),
        Patch(library, "draw", refuse_call, lambda *args: bool(args)),
        Patch(library, "start", note_call, lambda session, *args: session.note("started", session)),
        Patch(library, "count", replace_call, lambda session, original, *args: (session, original(*args))),
        Patch(
            library,
            "give",
            replace_call_anywhere,
            lambda session, original, *args: (session.is_active_here(), *original(*args)),
        ),
    )


def _called(code: str, space: dict[str, Any], module: str = "users") -> Any:
    """Evaluate an expression as if it were code of the module ``module``."""
    space.setdefault("__name__", module)
    return eval(code, space)


def test_each_kind_does_what_it_says(library: ModuleType) -> None:
    space = {"library": library}
    with patching(_probes(library), Session()) as session:
        assert _called("library.ask(3)", space) == ("ask", 3)
        assert _called("library.draw(3)", space) == ("draw", 3)
        with pytest.raises(
            TracingError, match=r"library\.draw at <string>:1 gives something else at each call"
        ):
            _called("library.draw()", space)
        assert _called("library.start()", space) == ("start", 0)
        assert _called("library.count(1)", space) == (session, ("count", 1))
        assert _called("library.give(1)", space) == (True, "give", 1)
    assert [guard.what for guard in session.guards()] == ["what ask gives"] and session.noted("started") == [
        session
    ]
    assert _called("library.give(1)", space) == ("give", 1)


@pytest.mark.parametrize("module", ["torch.nn", "logging", "graph_compiler.api"])
def test_what_libraries_ask_for_their_own_ends_counts_not(library: ModuleType, module: str) -> None:
    with patching(_probes(library), Session()) as session:
        _called("library.ask(3)", {"library": library}, module)
        _called("library.draw()", {"library": library}, module)
    assert session.guards() == []


def test_names_that_a_module_has_imported_are_seen(library: ModuleType) -> None:
    space = {"asked_of": library.ask}
    before = dict(space)
    with patching(_probes(library), Session(), [space, space]) as session:
        _called("asked_of(3)", space)
    assert len(session.guards()) == 1 and {name: space[name] for name in before} == before


def test_nothing_stays_behind_an_exception(library: ModuleType) -> None:
    space: dict[str, Any] = {}
    with (
        pytest.raises(KeyError),
        patching(_probes(library), Session(), places=[(space, "len", max), (library, "other", 1)]),
    ):
        assert space == {"len": max} and library.other == 1
        raise KeyError
    assert space == {} and not hasattr(library, "other")


@pytest.mark.parametrize("point", ["set_all", "_resumed"])
def test_nothing_stays_behind_an_interrupt_of_the_installation(
    library: ModuleType, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, probes, original = dict(vars(library)), _probes(library), getattr(patch, point)

    def interrupted(*args: Any) -> Any:
        monkeypatch.setattr(patch, point, original)
        original(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(patch, point, interrupted)
    with pytest.raises(KeyboardInterrupt), patching(probes, Session()):
        pass
    assert dict(vars(library)) == before
    with patching(probes, Session()):
        assert dict(vars(library)) != before
    assert dict(vars(library)) == before


def test_nothing_stays_behind_an_interrupt_of_the_restoration(
    library: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, space = dict(vars(library)), {"len": len}
    restored, interrupts = patch.set_all, iter([True, False, True])

    def restoring(held: Any) -> None:
        if next(interrupts, False):
            raise KeyboardInterrupt
        restored(held)

    with (
        pytest.raises(KeyboardInterrupt),
        patching(_probes(library), Session(), places=[(space, "len", max)]),
    ):
        monkeypatch.setattr(patch, "set_all", restoring)
    assert dict(vars(library)) == before and space == {"len": len}


def test_an_interrupted_recording_is_not_open(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(set[object]):
        def add(self, item: object) -> None:
            super().add(item)
            raise KeyboardInterrupt

    monkeypatch.setattr(active, "_tokens", Interrupted())
    with pytest.raises(KeyboardInterrupt), recording("torch"):
        pass
    assert not active.anywhere and not active.recording


def test_of_nested_sessions_all_are_told_and_the_innermost_answers(library: ModuleType) -> None:
    probes, space = _probes(library), {"library": library}
    with patching(probes, Session()) as outer:
        with patching(probes, Session()) as inner:
            assert _called("library.count(1)", space)[0] is inner
            _called("library.ask(3)", space)
        assert _called("library.count(1)", space)[0] is outer
        _called("library.ask(4)", space)
    assert len(inner.guards()) == 1 and len(outer.guards()) == 2


def test_tables_of_several_frameworks_nest(library: ModuleType) -> None:
    space = {"library": library}
    with patching(_probes(library), Session()) as outer, patching(_probes(library), Session()) as inner:
        assert _called("library.count(1)", space) == (inner, (outer, ("count", 1)))
        _called("library.ask(3)", space)
    assert len(inner.guards()) == len(outer.guards()) == 1


def _in_another_thread(function: Callable[[], Any]) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def test_other_threads_are_left_alone(library: ModuleType) -> None:
    space = {"library": library}
    with patching(_probes(library), Session()) as session:
        assert _in_another_thread(lambda: _called("library.ask(3)", space)) == ("ask", 3)
        assert _in_another_thread(lambda: _called("library.draw()", space)) == ("draw", 0)
        assert _in_another_thread(lambda: _called("library.count(1)", space)) == ("count", 1)
        assert _in_another_thread(lambda: _called("library.give(1)", space)) == (
            False,
            "give",
            1,
        )
    assert session.guards() == []


def test_sessions_of_threads_may_end_in_any_order(library: ModuleType) -> None:
    probes, space, begun, end = _probes(library), {"library": library}, threading.Event(), threading.Event()
    seen: list[Any] = []

    def other() -> None:
        with patching(probes, Session()) as session:
            begun.set()
            end.wait()
            seen.append(_called("library.count(1)", space)[0] is session)

    thread = threading.Thread(target=other)
    with patching(probes, Session()):
        thread.start()
        begun.wait()
    assert _called("library.count(1)", space) == ("count", 1)
    end.set()
    thread.join()
    assert seen == [True]


def test_what_somebody_else_has_put_there_is_watched_and_put_back(library: ModuleType) -> None:
    probes, space = _probes(library), {"library": library}
    with patching(probes, Session()):
        pass
    with replaced([(library, "ask", lambda item: -item)]):
        with patching(probes, Session()) as session:
            assert _called("library.ask(3)", space) == -3
        assert library.ask(2) == -2 and [guard.items[1] for guard in session.guards()] == [-3]


def test_names_of_classes_and_of_objects_go_where_they_were_not() -> None:
    class Base:
        def call(self) -> str:
            return "base"

    class Own(Base):
        pass

    item = SimpleNamespace(kept=1)
    with replaced([(Own, "call", lambda self: "shim"), (item, "kept", 2), (item, "more", 3)]):
        assert Own().call() == "shim" and vars(item) == {"kept": 2, "more": 3}
    assert Own().call() == "base" and "call" not in vars(Own) and vars(item) == {"kept": 1}
