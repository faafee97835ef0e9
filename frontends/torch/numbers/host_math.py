"""Functions of Python's ``math`` on symbolic numbers: symbols, where the user's code calls them through their module or by their names."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from ....sizes import FUNCTIONS_OF_MATH, apply
from ...python_arithmetic import computed
from ...standing_in import standing_in, under_any_name
from .numbers import opened
from .sizes import is_symbolic, symbolic
from .spaces import Space

if TYPE_CHECKING:
    from ..capture.capture import Capture

_ASKED: dict[str, Callable[[Any], bool]] = {
    "isnan": lambda number: bool(number != number),
    "isinf": lambda number: bool(abs(number) == math.inf),
    "isfinite": lambda number: bool(abs(number) < math.inf),
}


def math_seen(capture: Capture, spaces: Iterable[Space]) -> AbstractContextManager[None]:
    """Inside of the block these functions take symbols as they are: as attributes of their module, and under any name in these modules."""
    return standing_in(under_any_name((vars(math), *(space.held for space in spaces)), _functions(capture)))


def _functions(capture: Capture) -> Iterator[tuple[Callable[..., Any], Callable[..., Any]]]:
    """What is replaced, and by what."""
    for name, by_count in FUNCTIONS_OF_MATH.items():
        original = getattr(math, name)
        yield original, _computed(capture, original, by_count)
    for name, answer in _ASKED.items():
        original = getattr(math, name)
        yield original, _asked(capture, original, answer)


def _computed(capture: Capture, original: Callable[..., Any], by_count: dict[int, str]) -> Callable[..., Any]:
    @functools.wraps(original)
    def function(*args: Any) -> Any:
        name = by_count.get(len(args))
        operands = opened(capture, args) if name is not None and any(map(is_symbolic, args)) else None
        if name is None or operands is None:
            return original(*args)
        decide = capture.decide
        return symbolic(computed(functools.partial(apply, name), operands, decide), decide)

    return function


def _asked(capture: Capture, original: Callable[..., Any], answer: Callable[[Any], bool]) -> Callable[..., Any]:
    @functools.wraps(original)
    def function(number: Any) -> Any:
        return answer(number) if is_symbolic(number) and opened(capture, (number,)) else original(number)

    return function
