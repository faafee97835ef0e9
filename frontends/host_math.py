"""Functions of Python's ``math`` on symbolic numbers: symbols, where the user's code calls them through their module or by their names."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..sizes import FUNCTIONS_OF_MATH, apply

_ASKED: dict[str, Callable[[Any], bool]] = {
    "isnan": lambda number: bool(number != number),
    "isinf": lambda number: bool(abs(number) == math.inf),
    "isfinite": lambda number: bool(abs(number) < math.inf),
}


class Symbols(NamedTuple):
    """How shims of ``math`` work with the symbolic numbers of a frontend.

    ``opened`` gives the expressions behind the arguments of a function, None where it has to be given the numbers; ``made`` what the user's
    code gets where a function is computed on expressions; ``number_of`` an array of one element as a number, anything else as it is.
    """

    is_symbolic: Callable[[Any], bool]
    opened: Callable[[tuple[Any, ...]], tuple[Any, ...] | None]
    made: Callable[[Callable[..., Any], tuple[Any, ...]], Any]
    number_of: Callable[[Any], Any] = lambda item: item


def math_shims(symbols: Symbols) -> Iterator[tuple[Callable[..., Any], Callable[..., Any]]]:
    """Each function of ``math`` that can stay symbolic, and what takes its place.

    >>> symbols = Symbols(lambda item: item == 4, lambda args: args, lambda function, operands: function(*operands))
    >>> places = {original.__name__: shim for original, shim in math_shims(symbols)}
    >>> places["sqrt"](4), places["sqrt"](9)
    (2.0, 3.0)
    """
    for name, by_count in FUNCTIONS_OF_MATH.items():
        original = getattr(math, name)
        yield original, _computed(symbols, original, by_count)
    for name, answer in _ASKED.items():
        original = getattr(math, name)
        yield original, _asked(symbols, original, answer)


def _computed(symbols: Symbols, original: Callable[..., Any], by_count: dict[int, str]) -> Callable[..., Any]:
    def function(*args: Any) -> Any:
        name = by_count.get(len(args))
        operands = symbols.opened(args) if name is not None and any(map(symbols.is_symbolic, args)) else None
        return original(*args) if name is None or operands is None else symbols.made(functools.partial(apply, name), operands)

    return _told(function, original)


def _asked(symbols: Symbols, original: Callable[..., Any], answer: Callable[[Any], bool]) -> Callable[..., Any]:
    def function(number: Any) -> Any:
        return answer(number) if symbols.is_symbolic(number) and symbols.opened((number,)) else original(number)

    return _told(function, original)


def _told(function: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    """``functools.wraps`` takes five times as long, for forty functions in each recording."""
    function.__wrapped__, function.__doc__ = original, original.__doc__
    function.__name__, function.__qualname__ = original.__name__, original.__qualname__
    told: Callable[..., Any] = function
    return told
