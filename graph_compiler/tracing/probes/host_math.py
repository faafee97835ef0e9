"""Functions of Python's ``math`` on symbolic numbers: symbols, where the user's code calls them through their module or by their names."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ...sizes import FUNCTIONS_OF_MATH, apply
from .kinds import STAND_IN
from .probe import Probe, Session


class Symbols(NamedTuple):
    """How shims work with the symbolic numbers of a frontend.

    ``opened`` gives the expressions behind the arguments of a function, None where it has to be given the numbers; ``made`` what the user's
    code gets where a function is computed on expressions; ``number_of`` an array of one element as a number, anything else as it is.
    ``length_of`` is the size that ``len`` of an array gives, None for all else.
    """

    is_symbolic: Callable[[Any], bool]
    opened: Callable[[tuple[Any, ...]], tuple[Any, ...] | None]
    made: Callable[[Callable[..., Any], tuple[Any, ...]], Any]
    number_of: Callable[[Any], Any] = lambda item: item
    length_of: Callable[[Any], Any] = lambda item: None


def _computed(by_count: dict[int, str], session: Session, original: Callable[..., Any], *args: Any) -> Any:
    symbols, name = session.symbols, by_count.get(len(args))
    operands = symbols.opened(args) if name is not None and any(map(symbols.is_symbolic, args)) else None
    return original(*args) if name is None or operands is None else symbols.made(functools.partial(apply, name), operands)


def _asked(answer: Callable[[Any], bool], session: Session, original: Callable[..., Any], number: Any) -> Any:
    symbols = session.symbols
    return answer(number) if symbols.is_symbolic(number) and symbols.opened((number,)) else original(number)


_ASKED: dict[str, Callable[[Any], bool]] = {
    "isnan": lambda number: bool(number != number),
    "isinf": lambda number: bool(abs(number) == math.inf),
    "isfinite": lambda number: bool(abs(number) < math.inf),
}
# The functions that can stay symbolic.
MATH: tuple[Probe, ...] = (
    *(Probe(math, name, STAND_IN, functools.partial(_computed, by_count)) for name, by_count in FUNCTIONS_OF_MATH.items()),
    *(Probe(math, name, STAND_IN, functools.partial(_asked, answer)) for name, answer in _ASKED.items()),
)
