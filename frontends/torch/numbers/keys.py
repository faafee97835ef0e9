"""Sizes that must be plain numbers: keys of dicts and caches, and integers passed to C code."""

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
    """Raised if the user's code hashes a size, such as for a key of a dict.

    Libraries that can do without the hash, such as einops, catch it. If nothing catches it, the function
    is recorded again with plain numbers for the sizes `asked`.

    asked: the sizes, as :class:`KeySizes` stores them.
    """

    def __init__(self, message: str, asked: Iterable[Any]) -> None:
        super().__init__(message)
        self.asked = frozenset(asked)


class KeySizes:
    """Sizes that were used as keys, and those that are plain numbers from the beginning.

    A size of an input is stored as (input, axis). For a size that depends on something else, the line of
    the user's code is stored, where it then has the hash of its number.

    asked: sizes used as keys in this attempt.
    fixed: sizes that are plain numbers.
    plain: True if all sizes are plain numbers.
    """

    def __init__(self) -> None:
        self.fixed: frozenset[Any] = frozenset()
        self.plain = False
        self.asked: set[Any] = set()
        self._caches: dict[int, Any] = {}

    def next_attempt(self, problem: Exception) -> bool:
        """Fix the size that ended this attempt, or all sizes used as keys if it is unknown.

        Return True if any is new. C code that refuses a symbol (``Generator.manual_seed``, ``json.dumps``)
        does not say which size it was, so all sizes become plain after a ``TypeError`` of other code, and
        after an error whose message names a class of symbols.
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
        # If another exception ended the attempt, each size that was used as a key may be the reason.
        needed = frozenset(self.asked) if unhashable is None else unhashable
        new = not needed <= self.fixed
        self.fixed |= needed
        return new

    def give_up(self) -> None:
        self.asked = set(self.fixed)

    def of(self, graph: Graph, value: Value) -> list[Size]:
        """Return the sizes of the new input `value` that must be plain numbers.

        They are all if ``plain`` is True, else those in ``fixed``.
        """
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
        """Return True if a size may be hashed as a symbol, because `called` is a ``functools.lru_cache``.

        The cache is emptied after the recording. Return False if the size is fixed already. Otherwise
        raise ``UnhashableSize``.
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
        # The function of a bound method.
        cache = getattr(called, "__func__", called)
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
    seen: set[int] = set()
    while problem is not None and id(problem) not in seen:
        seen.add(id(problem))
        yield problem
        problem = problem.__cause__ or problem.__context__
