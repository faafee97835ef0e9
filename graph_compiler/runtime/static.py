"""Arguments that are part of the program: one variant a value."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from ..errors import CallMismatch
from ..trees import Fixed
from .graph import Graph
from .lazy import LazyGraph


class Statics:
    """Which arguments of a function are static: positions and names, each telling the other where the signature does.

    >>> Statics(lambda x, axis: None, 1, None).names
    frozenset({'axis'})
    """

    def __init__(self, function: Callable[..., Any], argnums: int | Iterable[int] | None, argnames: str | Iterable[str] | None) -> None:
        numbers = {argnums} if isinstance(argnums, int) else set(argnums or ())
        names = {argnames} if isinstance(argnames, str) else set(argnames or ())
        order = _positional(function)
        numbers = {number + len(order) if number < 0 else number for number in numbers}
        unknown = [name for name in names if name not in _known(function, names)]
        if unknown:
            raise CallMismatch(f"static_argnames: the function has no argument {', '.join(map(repr, unknown))}; it has {', '.join(order)}")
        self.names = frozenset(names | {order[number] for number in numbers if number < len(order)})
        self.numbers = frozenset(numbers | {number for number, name in enumerate(order) if name in names})

    def marked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The call with its static arguments wrapped, so that they are compared and never taken for arrays."""
        marked = tuple(_fixed(item, i) if i in self.numbers else item for i, item in enumerate(args))
        return marked, {name: _fixed(item, name) if name in self.names else item for name, item in kwargs.items()}


def _fixed(item: Any, where: Any) -> Any:
    if isinstance(item, Fixed):
        return item
    try:
        hash(item)
    except TypeError:
        raise CallMismatch(
            f"the static argument {where!r} of type {type(item).__name__} cannot be hashed, so calls cannot be told apart by it"
        ) from None
    return Fixed(item)


def _positional(function: Callable[..., Any]) -> list[str]:
    parameters = _signature(function)
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _known(function: Callable[..., Any], otherwise: set[str]) -> set[str]:
    parameters = _signature(function)
    open_ended = not parameters or any(p.kind is p.VAR_KEYWORD for p in parameters)
    return otherwise if open_ended else {p.name for p in parameters}


def _signature(function: Callable[..., Any]) -> list[inspect.Parameter]:
    called = function.forward if hasattr(function, "forward") else function
    try:
        return list(inspect.signature(called).parameters.values())
    except (TypeError, ValueError):
        return []


class StaticGraph(LazyGraph):
    """A graph some of whose arguments are static. Lazy where it holds no variant yet."""

    statics: Statics

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = self.statics.marked(args, kwargs)
        return Graph.__call__(self, *args, **kwargs)

    def add_variant(self, args: tuple[Any, ...], kwargs: dict[str, Any], why: str = "asked for") -> Any:
        """See :meth:`Graph.add_variant`."""
        args, kwargs = self.statics.marked(args, kwargs)
        return super().add_variant(args, kwargs, why)

    def functional(self, parameters: Any, /, *args: Any, rng: Any = None, **kwargs: Any) -> Any:
        """See :meth:`Graph.functional`."""
        args, kwargs = self.statics.marked(args, kwargs)
        return super().functional(parameters, *args, rng=rng, **kwargs)
