"""A function some of whose arguments are given once and for all: they are its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..errors import InvalidOption


class GivenArguments:
    """Calls a function with the arguments that are ``given`` by name, wherever they stand in its signature; a call gives the others.

    >>> scaled = GivenArguments(lambda x, scale, shift=0: x * scale + shift, {"scale": 3})
    >>> scaled(2), scaled(2, 1), scaled(x=2, shift=1), str(inspect.signature(scaled))
    (6, 7, 7, '(x, shift=0)')
    """

    def __init__(self, function: Callable[..., Any], given: Mapping[str, Any]) -> None:
        self.function, self.given = function, dict(given)
        self.__wrapped__, self.__name__ = function, getattr(function, "__name__", type(function).__name__)
        parameters = inspect.signature(function).parameters
        self._order = [name for name, one in parameters.items() if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
        self.__signature__ = inspect.Signature([one for name, one in parameters.items() if name not in self.given])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        named, rest, placed = dict(self.given), list(args), []
        for name in self._order:
            if name not in named and not rest:
                break
            placed.append(named.pop(name) if name in named else rest.pop(0))
        return self.function(*placed, *rest, **named, **kwargs)

    def with_given(self, given: Mapping[str, Any]) -> GivenArguments:
        """The same function with other arguments given."""
        return GivenArguments(self.function, given)


def give_arguments(
    function: Callable[..., Any], which: Any, args: Iterable[Any], kwargs: Mapping[str, Any]
) -> tuple[GivenArguments, tuple[Any, ...], dict[str, Any]]:
    """A function without the arguments that ``which`` names (by name or position, one or several), and what is left of a call of it.

    >>> function, args, kwargs = give_arguments(lambda w, x: w * x, "w", (2, 5), {})
    >>> function.given, args, function(*args)
    ({'w': 2}, (5,), 10)
    """
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError) as problem:
        raise InvalidOption(f"parameters= names arguments, and {function!r:.60} does not say which it takes: {problem}") from None
    order = [name for name, one in parameters.items() if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    args, names = tuple(args), [*parameters]
    placed = dict(zip(order, args))
    found = {**placed, **kwargs}
    wanted = [_name_of(one, names) for one in ((which,) if isinstance(which, (str, int)) else which)]
    if missing := [name for name in wanted if name not in found]:
        raise InvalidOption(
            f"parameters= names {missing[0]!r}, which args= and kwargs= do not give; they give {', '.join(found) or 'nothing'}"
        )
    left = [item for name, item in placed.items() if name not in wanted]
    given = GivenArguments(function, {name: found[name] for name in wanted})
    return given, (*left, *args[len(order) :]), {name: item for name, item in kwargs.items() if name not in wanted}


def _name_of(which: Any, names: list[str]) -> str:
    if isinstance(which, str):
        return which
    return names[which] if -len(names) <= which < len(names) else str(which)
