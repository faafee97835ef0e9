"""What a framework refuses of a derivative, told in the user's terms."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import CallMismatch, GradientRefused, GraphCompilerError
from .functions import Function, is_inside, targets_called, where


@contextmanager
def refusing(words: str, function: Function) -> Iterator[None]:
    """``GradientRefused``, with the transform, the function and its place, where the framework refuses a derivative; ``CallMismatch`` of a
    function of one framework that calls a graph of another. A transform inside of another one leaves that to the outer one, which may have
    another way to the derivative."""
    try:
        yield
    # Frameworks refuse derivatives by exceptions of all kinds: `lacks` knows them by their words, and all else is raised.
    except Exception as problem:
        if is_inside():
            raise
        if isinstance(problem, GraphCompilerError):
            # A graph of another framework refuses arrays whose elements a transform hides.
            if isinstance(problem, CallMismatch):
                _require_graphs_of(words, function, problem)
            raise
        if not function.derivatives.lacks(problem):
            _require_graphs_of(words, function, problem)
            raise
        reason, _, _ = str(problem).partition("\n")
        raise GradientRefused(
            f"{words} of {function.name}: its framework has no such derivative ({reason}). Take another one, or transform a graph of it "
            f"that is written for another framework{where(function.call)}"
        ) from problem


def _require_graphs_of(words: str, function: Function, problem: Exception) -> None:
    """``CallMismatch`` where the function calls a graph for another framework than that whose derivatives are taken."""
    own = function.framework
    if others := [name for name in targets_called(function.call) if name != own]:
        raise CallMismatch(
            f"{words} of {function.name}: its code or its arrays are of {own}, and it calls a graph that is written for {others[0]}, where "
            f"the derivative would end. Write what is around the graph in {others[0]} and give it arrays of {others[0]}, or take the graph "
            f"for {own}, graph.to({own!r}){where(function.call)}"
        ) from problem
