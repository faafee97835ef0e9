"""What a recording relies on beside the arguments of a call."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from types import CodeType
from typing import Any, NamedTuple, Protocol

from ...errors import GuardFailed
from ...trees import same_static
from .versions import VersionsOf, Words

_MANY = 500  # facts that read alike: straight lines are faster, but take a millisecond a fact to compile
GONE = (
    KeyError,
    AttributeError,
    ValueError,
    GuardFailed,
)  # raised by a fact about something that is no longer there
_reading = (
    threading.RLock()
)  # a thread that has read older entries must not be the last to refresh what follows them
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reading._at_fork_reinit)  # type: ignore[attr-defined]


class EnvironmentGuard(NamedTuple):
    """An expression that is true, and the objects that stand in its braces; ``what`` it tells of, in words.

    ``of`` is the dict whose entries are all that it depends on, where there is one, ``class_of`` the object
    whose class is, ``words`` the words of memory of which one is another after each change to it.
    ``is_thread_mode``: a mode that the framework holds for a thread. The expression must be written by
    graph_compiler itself: it is run.
    """

    text: str
    items: tuple[Any, ...]
    what: str = ""
    of: dict[Any, Any] | None = None
    class_of: Any = None
    words: Words | None = None
    is_thread_mode: bool = False

    @property
    def has_versions(self) -> bool:
        return self.of is not None or self.class_of is not None or self.words is not None


class Derived(Protocol):
    """Something that is computed from entries of dicts, and again after they have changed."""

    dicts: list[dict[Any, Any]]

    def refresh(self) -> None:
        """Computes it again."""


class Condition(NamedTuple):
    """An expression over names, and what is ``bound`` to them.

    It is false, or raises one of :data:`GONE`, where a fact does not hold.
    """

    text: str
    bound: dict[str, Any]

    def function(self) -> Callable[[], bool]:
        """Whether it holds: straight-line code, three times as fast as a loop over facts in C."""
        bound, scope = {**self.bound, "gone": GONE}, dict[str, Any]()
        defaults = ", ".join(
            f"{name}={name}" for name in bound
        )  # locals, not globals, are what the function reads them from
        exec(
            _compiled(
                f"def holds({defaults}):\n    try:\n        return {self.text}\n    except gone:\n        return False\n"
            ),
            bound,
            scope,
        )
        holds: Callable[[], bool] = scope["holds"]
        return holds


def conjunction(
    facts: Iterable[EnvironmentGuard], versions_of: VersionsOf | None = None, derived: Sequence[Derived] = ()
) -> Callable[[], bool]:
    return condition(facts, versions_of, derived).function()


def condition(
    facts: Iterable[EnvironmentGuard], versions_of: VersionsOf | None = None, derived: Sequence[Derived] = ()
) -> Condition:
    """That all facts hold.

    With ``versions_of``, what depends on a dict or a class is looked at only where the versions of all of
    them together have changed. Where the facts hold, ``derived`` is up to date.

    >>> held = {"step": 1}
    >>> holds = conjunction([EnvironmentGuard("{}[{}] == {}", (held, "step", 1), of=held), EnvironmentGuard("len({}) == 1", (held,))])
    >>> holds(), held.update(step=2), holds()
    (True, None, False)
    """
    known = list(facts)
    if versions_of is None:
        return _straight([*known, *(EnvironmentGuard("{}() is None", (one.refresh,)) for one in derived)])
    seen = [fact for fact in known if fact.has_versions]
    return _straight(
        [*_seen_by(versions_of, seen, derived), *(fact for fact in known if not fact.has_versions)]
    )


def first_broken(facts: Iterable[EnvironmentGuard]) -> str:
    return next((fact.what for fact in facts if not _straight([fact]).function()()), "")


def _straight(facts: list[EnvironmentGuard]) -> Condition:
    bound: dict[str, Any] = {}
    alike: dict[str, list[tuple[Any, ...]]] = {}
    for fact in facts:
        if (
            fact.of is not None or fact.class_of is not None
        ):  # others may have to be looked at one after the other
            alike.setdefault(fact.text, []).append(fact.items)
    many = {text: rows for text, rows in alike.items() if len(rows) >= _MANY}
    alone = [fact for fact in facts if fact.text not in many or (fact.of is None and fact.class_of is None)]
    texts = [fact.text.format(*(_bind(bound, item) for item in fact.items)) for fact in alone]
    texts += [_loop(bound, text, rows) for text, rows in many.items()]
    return Condition(" and ".join(texts) or "True", bound)


def _loop(bound: dict[str, Any], text: str, rows: list[tuple[Any, ...]]) -> str:
    names = [f"item_{place}" for place in range(len(rows[0]))]
    return f"all([{text.format(*names)} for {', '.join(names)}, in {_bind(bound, rows)}])"


@functools.lru_cache(
    maxsize=256
)  # the facts of most recordings read alike, and what they are about is bound later
def _compiled(source: str) -> CodeType:
    return compile(source, "<facts>", "exec")


def _seen_by(
    versions_of: VersionsOf, facts: list[EnvironmentGuard], derived: Sequence[Derived]
) -> list[EnvironmentGuard]:
    """One fact for all of these: nothing has changed since they held, and what is derived was computed again."""
    dicts = _distinct(
        [
            *(fact.of for fact in facts if fact.of is not None),
            *(held for one in derived for held in one.dicts),
        ]
    )
    objects = _distinct([fact.class_of for fact in facts if fact.class_of is not None])
    words = _distinct([fact.words for fact in facts if fact.words is not None])
    if not dicts and not objects and not words:
        return []
    entries, versions = _straight(facts).function(), versions_of(dicts, objects, words)
    held: list[Any] = [None]

    def hold_still() -> bool:
        with _reading:
            if not all(one.stand() for one in words):
                return False
            seen = (
                versions.copy()
            )  # before the entries are read: what changes meanwhile shows at the next call
            if not entries():
                return False
            for one in derived:
                one.refresh()
            held[0] = seen
            return True

    return [EnvironmentGuard("({} == {}[0] or {}())", (versions.now, held, hold_still))]


def _distinct(items: Iterable[Any]) -> list[Any]:
    return list({id(item): item for item in items}.values())


def _bind(bound: dict[str, Any], item: Any) -> str:
    name = f"_{len(bound)}"
    bound[name] = item
    return name


ATOMS = frozenset({bool, int, float, complex, str, bytes})


def same_fact(
    access: str, objects: tuple[Any, ...], item: Any, what: str, of: dict[Any, Any] | None = None
) -> EnvironmentGuard:
    if _is_atomic(item):
        return EnvironmentGuard(f"{{}}({access}, {{}})", (is_same, *objects, item), what, of)
    return EnvironmentGuard(f"{access} is {{}}", (*objects, item), what, of)


def is_same(item: Any, before: Any) -> bool:
    """Whether an object is the one of before, or a number, a text or a tuple of these of its value.

    >>> is_same(2.0, 1.0 + 1.0), is_same(2, 2.0), is_same([], []), is_same((1, "a"), tuple([1, "a"]))
    (True, False, False, True)
    """
    return item is before or _is_atomic(before) and same_static(item, before)


def _is_atomic(item: Any) -> bool:
    return type(item) in ATOMS or type(item) is tuple and all(type(part) in ATOMS for part in item)


def same_items(items: Collection[Any], before: Collection[Any]) -> bool:
    """Whether these are the items of before, in their order.

    >>> same_items([2.0, print], (2.0, print)), same_items([2.0], [])
    (True, False)
    """
    return len(items) == len(before) and all(map(is_same, items, before))


_SIMPLE = (bool, int, float, str, type(None))


class EnvironmentGuards:
    """Facts that are checked before each call, and told in words where one no longer holds.

    ``versions_of`` gives what tells whether dicts have changed, where the framework or Python counts their
    changes.

    >>> settings = {"scale": 2}
    >>> environment = EnvironmentGuards([EnvironmentGuard("{}['scale'] == 2", (settings,), "the scale", of=settings)])
    >>> environment.holds(), settings.update(scale=3), environment.holds(), environment.reason()
    (True, None, False, 'the scale changed since')
    """

    def __init__(
        self,
        facts: Iterable[EnvironmentGuard] = (),
        versions_of: VersionsOf | None = None,
        derived: Sequence[Derived] = (),
    ) -> None:
        self.derived = tuple(derived)
        self._facts, self._versions_of = list(facts), versions_of

    @functools.cached_property
    def condition(self) -> Condition:
        return condition(self._facts, self._versions_of, self.derived)

    @functools.cached_property
    def holds(self) -> Callable[[], bool]:
        return self.condition.function()

    @functools.cached_property
    def simple(self) -> Condition:
        """Those facts that compare an entry of a dict with a number, a flag or a text, which a compiler of
        the framework can guard by itself.
        """
        return condition(
            fact for fact in self._facts if fact.of is not None and type(fact.items[-1]) in _SIMPLE
        )

    @functools.cached_property
    def lasting(self) -> EnvironmentGuards:
        return EnvironmentGuards([fact for fact in self._facts if not fact.is_thread_mode], self._versions_of)

    def with_derived(self, derived: Derived) -> EnvironmentGuards:
        return EnvironmentGuards(self._facts, self._versions_of, (derived,))

    def reason(self) -> str:
        what = first_broken(self._facts)
        return f"{what} changed since" if what else ""
