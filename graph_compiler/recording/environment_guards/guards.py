"""Guards on what a recording relies on besides the arguments of a call."""

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

# Straight-line code is faster than a loop, but takes a millisecond per guard to compile.
_MANY = 500
# Raised by a guard on something that no longer exists.
GONE = (
    KeyError,
    AttributeError,
    ValueError,
    GuardFailed,
)
# Only one thread at a time refreshes, because one that has read older entries could otherwise be the last.
_reading = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reading._at_fork_reinit)  # type: ignore[attr-defined]


class EnvironmentGuard(NamedTuple):
    """An expression that must be true at each call. It is executed, so its text is never taken from a file.

    text: the expression, with a pair of braces for each item.
    items: objects that fill the braces.
    what: description for messages.
    of: the dict whose entries are all that the expression depends on; None if there is no such dict.
    class_of: the object whose class is all that it depends on; None if there is none.
    words: words of memory of which at least one changes with everything that it depends on; None if there
        are none.
    is_thread_mode: True for a mode that the framework holds per thread.
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
    """Something computed from entries of dicts, and again by ``refresh`` after they have changed."""

    dicts: list[dict[Any, Any]]

    def refresh(self) -> None: ...


class Condition(NamedTuple):
    """An expression over names, and the objects bound to them.

    It is false, or raises one of :data:`GONE`, if a guard does not hold.
    """

    text: str
    bound: dict[str, Any]

    def function(self) -> Callable[[], bool]:
        """Compile the expression to a function that returns False if a guard does not hold."""
        bound, scope = {**self.bound, "gone": GONE}, dict[str, Any]()
        # Defaults make them local variables, which are faster to read than globals.
        defaults = ", ".join(f"{name}={name}" for name in bound)
        exec(
            _compiled(
                f"def holds({defaults}):\n    try:\n        return {self.text}\n    except gone:\n        "
                "return False\n"
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
    """Return the condition that all guards in ``facts`` hold.

    With ``versions_of``, guards that depend on dicts, classes or words of memory are evaluated again only
    after one of their versions has changed; without it, all are evaluated at each call. Evaluating the
    condition also refreshes ``derived``, so that it is up to date if the condition holds.

    >>> held = {"step": 1}
    >>> step = EnvironmentGuard("{}[{}] == {}", (held, "step", 1), of=held)
    >>> holds = conjunction([step, EnvironmentGuard("len({}) == 1", (held,))])
    >>> holds(), held.update(step=2), holds()
    (True, None, False)
    """
    known = list(facts)
    # Without versions, every guard is evaluated at each call.
    if versions_of is None:
        # ``refresh`` returns None, so its guard always holds.
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
        # Other guards may depend on those before them, so they keep their order.
        if fact.of is not None or fact.class_of is not None:
            alike.setdefault(fact.text, []).append(fact.items)
    many = {text: rows for text, rows in alike.items() if len(rows) >= _MANY}
    alone = [fact for fact in facts if fact.text not in many or (fact.of is None and fact.class_of is None)]
    texts = [fact.text.format(*(_bind(bound, item) for item in fact.items)) for fact in alone]
    texts += [_loop(bound, text, rows) for text, rows in many.items()]
    return Condition(" and ".join(texts) or "True", bound)


def _loop(bound: dict[str, Any], text: str, rows: list[tuple[Any, ...]]) -> str:
    names = [f"item_{place}" for place in range(len(rows[0]))]
    return f"all([{text.format(*names)} for {', '.join(names)}, in {_bind(bound, rows)}])"


# Guards of most recordings have the same text; their objects are bound later.
@functools.lru_cache(maxsize=256)
def _compiled(source: str) -> CodeType:
    return compile(source, "<facts>", "exec")


def _seen_by(
    versions_of: VersionsOf, facts: list[EnvironmentGuard], derived: Sequence[Derived]
) -> list[EnvironmentGuard]:
    """Return a list of one guard for all ``facts``, which evaluates them only if a version has changed.

    It refreshes ``derived`` then, too. Return an empty list if there is no version to compare.
    """
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
    # A list, because the expression of the guard reads the stored versions by index.
    held: list[Any] = [None]

    def hold_still() -> bool:
        with _reading:
            # Freed memory must not be read.
            if not all(one.stand() for one in words):
                return False
            # The versions are copied before the entries are read, so that a concurrent change is seen at the
            # next call.
            seen = versions.copy()
            # A guard does not hold, so the versions are not stored and the next call evaluates it again.
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
    # Equal numbers and strings need not be the same object.
    if _is_atomic(item):
        return EnvironmentGuard(f"{{}}({access}, {{}})", (is_same, *objects, item), what, of)
    return EnvironmentGuard(f"{access} is {{}}", (*objects, item), what, of)


def is_same(item: Any, before: Any) -> bool:
    """Return True if ``item`` is the object ``before`` or an equal number, string or tuple of these.

    Equal means of the same type, too.

    >>> is_same(2.0, 1.0 + 1.0), is_same(2, 2.0), is_same([], []), is_same((1, "a"), tuple([1, "a"]))
    (True, False, False, True)
    """
    return item is before or _is_atomic(before) and same_static(item, before)


def _is_atomic(item: Any) -> bool:
    return type(item) in ATOMS or type(item) is tuple and all(type(part) in ATOMS for part in item)


def same_items(items: Collection[Any], before: Collection[Any]) -> bool:
    """Return True if the items are those of ``before``, in order, compared by :func:`is_same`.

    >>> same_items([2.0, print], (2.0, print)), same_items([2.0], [])
    (True, False)
    """
    return len(items) == len(before) and all(map(is_same, items, before))


_SIMPLE = (bool, int, float, str, type(None))


class EnvironmentGuards:
    """Guards that are checked before each call, with a description of the first that does not hold.

    versions_of: reads versions of dicts, classes and memory; None if the framework and Python count no
        changes.
    derived: what is computed again from entries of dicts while the guards are checked.

    >>> settings = {"scale": 2}
    >>> guard = EnvironmentGuard("{}['scale'] == 2", (settings,), "the scale", of=settings)
    >>> environment = EnvironmentGuards([guard])
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
        """The condition of the guards that compare a dict entry with a number, a bool, a string or None.

        A compiler of the framework can check these itself.
        """
        return condition(
            fact for fact in self._facts if fact.of is not None and type(fact.items[-1]) in _SIMPLE
        )

    @functools.cached_property
    def lasting(self) -> EnvironmentGuards:
        """These guards without those on modes that the framework holds per thread."""
        return EnvironmentGuards([fact for fact in self._facts if not fact.is_thread_mode], self._versions_of)

    def with_derived(self, derived: Derived) -> EnvironmentGuards:
        return EnvironmentGuards(self._facts, self._versions_of, (derived,))

    def reason(self) -> str:
        """Return a message about the first guard that does not hold; empty if all hold."""
        what = first_broken(self._facts)
        return f"{what} changed since" if what else ""
