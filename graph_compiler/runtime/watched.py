"""The object that a bound method belongs to: a recording holds while its attributes are what they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tracing import Surroundings
from ..trees import Tree, flatten

COMPILED = "_compiled_"  # attributes that hold compiled methods
Seen = tuple[list[Any], Tree]


class Watched:
    """The attributes of ``owner``, containers among them opened: other objects and arrays count as the same while they are identical.

    >>> class Counter:
    ...     step = 1
    ...     def __init__(self): self.names = ["a"]
    >>> counter = Counter()
    >>> watched = Watched(counter)
    >>> counter.names.append("b")
    >>> watched.changed()
    ['names']
    """

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.before = self._seen()

    def _seen(self) -> dict[str, Seen]:
        return {
            name: flatten(item, _is_array, lambda item: False) for name, item in vars(self.owner).items() if not name.startswith(COMPILED)
        }

    def changed(self) -> list[str]:
        """Names of the attributes that are no longer as they were."""
        now = self._seen()
        return [name for name in dict.fromkeys((*self.before, *now)) if not _same(self.before.get(name), now.get(name))]

    def added_to(self, surroundings: Surroundings) -> Surroundings:
        """``surroundings`` that hold only while nothing has changed."""

        def reason() -> str:
            changed = self.changed()
            return f"{', '.join(f'self.{name}' for name in changed)} changed since" if changed else surroundings.reason()

        return Surroundings(lambda: not self.changed() and surroundings.holds(), reason)


def watched(function: Callable[..., Any], is_followed: Callable[[Any], bool]) -> Watched | None:
    """What is to be watched of a callable: the object of a bound method, unless the frontend follows it itself."""
    owner = getattr(function, "__self__", None)
    if (
        owner is None
        or isinstance(owner, type)
        or not hasattr(owner, "__dict__")
        or not hasattr(function, "__func__")
        or is_followed(owner)
    ):
        return None
    return Watched(owner)


def _is_array(item: Any) -> bool:
    return hasattr(item, "dtype") and hasattr(item, "shape")


def _same(before: Seen | None, now: Seen | None) -> bool:
    if before is None or now is None:
        return False
    return len(before[0]) == len(now[0]) and all(left is right for left, right in zip(before[0], now[0])) and before[1] == now[1]
