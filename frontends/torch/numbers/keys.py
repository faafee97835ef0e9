"""Sizes that have to be plain numbers: keys of a dictionary or a cache, which outlive the recording, and what
code in C takes for a ``long``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any

from ....errors import GraphCompilerError, Signal
from ....ir.graph import Graph
from ....ir.node import Origin, Value
from ....sizes import Size, Symbol
from .sizes import Decide, SizeFloat, SizeInt, symbolic

_SYMBOLS = (SizeInt.__name__, SizeFloat.__name__)


class UnhashableSize(TypeError, Signal):
    """A size was asked for its hash. Code that does without (einops) goes on; elsewhere the function is
    recorded anew, with what was ``asked`` for fixed.
    """

    def __init__(self, message: str, asked: Iterable[Any]) -> None:
        super().__init__(message)
        self.asked = frozenset(asked)


class KeySizes:
    """The sizes that were keys in this attempt at a recording (``asked``), and those that have to be plain
    numbers in the next (``fixed``).

    A size of an input stands there as (input, axis) and is a plain number from the beginning; for one that
    depends on something else stands the place in the user's code, where it then has the hash of its number.
    ``plain``: whether all sizes are plain numbers.
    """

    def __init__(self) -> None:
        self.fixed: frozenset[Any] = frozenset()
        self.plain = False
        self.asked: set[Any] = set()
        self._caches: dict[int, Any] = {}

    def next_attempt(self, problem: Exception) -> bool:
        """Fixes the size that ended this attempt, or all sizes that were used as keys if it is unknown.
        Returns whether any is new.

        Code in C that refuses a symbol (``Generator.manual_seed``, ``json.dumps``) says its class or what it
        passes for, but not which one it was.
        """
        unhashable = next(
            (cause.asked for cause in _causes(problem) if isinstance(cause, UnhashableSize)), None
        )
        is_refused = (
            isinstance(problem, TypeError)
            and not isinstance(problem, GraphCompilerError)
            and unhashable is None
        )
        if not self.plain and (is_refused or any(name in str(problem) for name in _SYMBOLS)):
            self.plain = True
            return True
        needed = frozenset(self.asked) if unhashable is None else unhashable
        new = not needed <= self.fixed
        self.fixed |= needed
        return new

    def give_up(self) -> None:
        self.asked = set(self.fixed)

    def of(self, graph: Graph, value: Value) -> list[Size]:
        """The sizes to be fixed of a value that has just become an input."""
        if not (self.plain or self.fixed):
            return []
        position = graph.inputs.index(value)
        return [
            Size.of(Symbol(value, axis, size))
            for axis, size in enumerate(value.spec.shape)
            if self.plain or (position, axis) in self.fixed
        ]

    def number(self, size: Any, decide: Decide) -> Any:
        return decide(size) if self.plain and isinstance(size, Size) else symbolic(size, decide)

    def stays_open(self, graph: Graph, size: Size, origin: Origin, called: Any) -> bool:
        """Whether a size has a hash as it is, for the cache in front of the function that is ``called``,
        which is emptied afterwards (``forget``).

        Elsewhere ``UnhashableSize``, for a size that can be fixed in the next attempt.
        """
        symbols = list(size.symbols())
        of_inputs = all(symbol.kind == "size" and symbol.source in graph.inputs for symbol in symbols)
        asked = (
            {(graph.inputs.index(symbol.source), symbol.axis) for symbol in symbols}
            if of_inputs
            else {(origin.file, origin.line)}
        )
        if asked <= self.fixed:
            return False
        self.asked |= asked
        cache = getattr(called, "__func__", called)  # of a method
        if not isinstance(cache, functools._lru_cache_wrapper):
            raise UnhashableSize(
                f"{size} is known only when the function runs, and has no hash while it is recorded", asked
            )
        self._caches[id(cache)] = cache
        return True

    def forget(self) -> None:
        for cache in self._caches.values():
            cache.cache_clear()
        self._caches.clear()


def _causes(problem: BaseException | None) -> Iterator[BaseException]:
    """An exception, and those that it was raised from or after."""
    seen: set[int] = set()
    while problem is not None and id(problem) not in seen:
        seen.add(id(problem))
        yield problem
        problem = problem.__cause__ or problem.__context__
