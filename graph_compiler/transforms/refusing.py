"""Operations that a framework has no derivative of, told in the user's terms."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import GradientRefused, GraphCompilerError
from .functions import Function, is_inside, where


@contextmanager
def refusing(words: str, function: Function) -> Iterator[None]:
    """``GradientRefused``, with the transform, the function and its place, where the framework refuses a derivative. A transform inside of
    another one leaves that to the outer one, which may have another way to the derivative."""
    try:
        yield
    except Exception as problem:
        if is_inside() or isinstance(problem, GraphCompilerError) or not function.derivatives.lacks(problem):
            raise
        reason, _, _ = str(problem).partition("\n")
        raise GradientRefused(
            f"{words} of {function.name}: its framework has no such derivative ({reason}). Take another one, or transform a graph of it "
            f"that is written for another framework{where(function.call)}"
        ) from problem
