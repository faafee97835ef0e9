"""Functions of Python's ``math`` on numbers that were read from tensors: symbols, where the user's code calls them through their module."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ....sizes import Size, apply
from ...python_arithmetic import computed
from .sizes import expression_of, is_symbolic, symbolic

_COMPUTED = ("sqrt", "exp", "log", "log2", "sin", "cos")
_ASKED: dict[str, Callable[[Any], bool]] = {
    "isnan": lambda number: bool(number != number),
    "isinf": lambda number: bool(abs(number) == math.inf),
    "isfinite": lambda number: bool(abs(number) < math.inf),
}


@contextmanager
def math_seen() -> Iterator[None]:
    """Inside of the block these functions take symbols as they are."""
    before = {name: getattr(math, name) for name in (*_COMPUTED, *_ASKED)}
    for name, original in before.items():
        setattr(math, name, _asked(original, name) if name in _ASKED else _computed(original, name))
    try:
        yield
    finally:
        for name, original in before.items():
            setattr(math, name, original)


@functools.lru_cache(maxsize=64)  # the same ones for every recording: to make them takes longer than to record a call
def _computed(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(original)
    def function(*args: Any) -> Any:
        if len(args) != 1 or not _is_read(args[0]):
            return original(*args)
        decide = args[0].node.decide
        return symbolic(computed(functools.partial(apply, name), (expression_of(args[0]),), decide), decide)

    return function


@functools.lru_cache(maxsize=64)
def _asked(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    answer = _ASKED[name]

    @functools.wraps(original)
    def function(number: Any) -> Any:
        return answer(number) if _is_read(number) else original(number)

    return function


def _is_read(item: Any) -> bool:
    expression = expression_of(item) if is_symbolic(item) else None
    return isinstance(expression, Size) and expression.reads_elements()
