"""Many small facts, checked by one function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from ..errors import GuardFailed

Version = Callable[[dict[Any, Any]], int]  # of a dict: another number after each change
_GONE = (KeyError, AttributeError, ValueError, GuardFailed)


class Fact(NamedTuple):
    """An expression that is true, and the objects that stand in its braces; ``what`` it tells of, in words.

    ``of`` is the dict whose entries are all that it depends on, where there is one. The expression must be written by graph_compiler
    itself: it is run.
    """

    text: str
    items: tuple[Any, ...]
    what: str = ""
    of: dict[Any, Any] | None = None


class Follower(Protocol):
    """Something that is computed from entries of dicts, and again after they have changed."""

    dicts: list[dict[Any, Any]]

    def refresh(self) -> None:
        """Computes it again."""


def conjunction(facts: Iterable[Fact], version: Version | None = None, followers: Sequence[Follower] = ()) -> Callable[[], bool]:
    """A function that tells whether all facts hold: straight-line code, three times as fast as a loop over them in C.

    With ``version``, what depends on a dict is looked at only where the version of the dict has changed. A model's attributes lie
    apart in memory: to read one number of each dict, and not the entries, costs a third (measured between the calls of a small model).
    Where the facts hold, ``followers`` are up to date.

    >>> held = {"step": 1}
    >>> holds = conjunction([Fact("{}[{}] == {}", (held, "step", 1), of=held), Fact("len({}) == 1", (held,))])
    >>> holds(), held.update(step=2), holds()
    (True, None, False)
    """
    known = list(facts)
    if version is None:
        return _straight([*known, *(Fact("{}() is None", (follower.refresh,)) for follower in followers)])
    watched = _versioned([fact for fact in known if fact.of is not None], version, followers)
    return _straight([*watched, *(fact for fact in known if fact.of is None)])


def first_broken(facts: Iterable[Fact]) -> str:
    """What the first fact that does not hold is about; empty where all hold."""
    return next((fact.what for fact in facts if not _straight([fact])()), "")


def _straight(facts: list[Fact]) -> Callable[[], bool]:
    bound: dict[str, Any] = {"gone": _GONE}
    texts = [fact.text.format(*(_bind(bound, item) for item in fact.items)) for fact in facts]
    condition = " and ".join(texts) or "True"
    defaults = ", ".join(f"{name}={name}" for name in bound)  # locals, not globals, are what the function reads them from
    source = f"def holds({defaults}):\n    try:\n        return {condition}\n    except gone:\n        return False\n"
    scope: dict[str, Any] = {}
    exec(source, bound, scope)
    holds: Callable[[], bool] = scope["holds"]
    return holds


def _versioned(facts: list[Fact], version: Version, followers: Sequence[Follower]) -> list[Fact]:
    """One fact for all of these: no dict has changed since they held, and the followers were refreshed."""
    watched = (*(fact.of for fact in facts), *(held for follower in followers for held in follower.dicts))
    dicts = list({id(held): held for held in watched}.values())
    entries = _straight(facts)
    stamps: list[int] = []

    def hold_still(seen: list[int]) -> bool:
        if not entries():
            return False
        for follower in followers:
            follower.refresh()
        stamps[:] = seen  # read before the entries: what changes meanwhile shows at the next call
        return True

    read = ", ".join("{}({})" for _ in dicts)
    calls = [item for one in dicts for item in (version, one)]
    return [Fact(f"((seen := [{read}]) == {{}} or {{}}(seen))", (*calls, stamps, hold_still))] if dicts else []


def _bind(bound: dict[str, Any], item: Any) -> str:
    """A name for an object."""
    name = f"_{len(bound)}"
    bound[name] = item
    return name
