"""Static arguments: arguments that are part of the program, with one variant for each value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...errors import CallMismatch
from ...trees import Fixed
from .binding import is_open_ended, known_names, positional, require_arguments


class StaticArguments:
    """Positions and names of the static arguments of a function.

    The position of a known parameter also gives its name, and its name the position, if it has one. A
    position or name that the function cannot take raises ``CallMismatch``.

    >>> StaticArguments(lambda x, axis: None, 1, None).names
    frozenset({'axis'})
    """

    def __init__(
        self,
        function: Callable[..., Any],
        argnums: int | Iterable[int] | None,
        argnames: str | Iterable[str] | None,
    ) -> None:
        order, open_ended = positional(function), is_open_ended(function)
        names, numbers = set(_as_iterable(argnames)), set(_as_iterable(argnums))
        require_arguments(function, "static_argnames", names)
        # A function with ``*args``, or with unknown parameters, may have any position.
        if not open_ended and (
            unknown := [number for number in numbers if not -len(order) <= number < len(order)]
        ):
            raise CallMismatch(
                f"static_argnums: the function has no argument {unknown[0]}; it has "
                f"{', '.join(order) or 'none'}"
            )
        numbers = {number + len(order) if number < 0 else number for number in numbers}
        self.names = frozenset(names | {order[number] for number in numbers if number < len(order)})
        self.numbers = frozenset(numbers | {number for number, name in enumerate(order) if name in names})

    @classmethod
    def told(cls, names: Iterable[str], numbers: Iterable[int]) -> StaticArguments:
        # A loaded graph has no function whose parameters ``__init__`` could read.
        made = cls.__new__(cls)
        made.names, made.numbers = frozenset(names), frozenset(numbers)
        return made

    def marked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the call with its static arguments wrapped in ``Fixed``, which compares them by value.

        Raise ``CallMismatch`` if a static argument cannot be hashed.
        """
        marked = tuple(_fix(item, i) if i in self.numbers else item for i, item in enumerate(args))
        return marked, {
            name: _fix(item, name) if name in self.names else item for name, item in kwargs.items()
        }


def _fix(item: Any, where: Any) -> Any:
    if isinstance(item, Fixed):
        return item
    try:
        # Calls are told apart by their static arguments, which therefore must be hashable.
        hash(item)
    except TypeError:
        raise CallMismatch(
            f"the static argument {where!r} of type {type(item).__name__} cannot be hashed, so calls cannot "
            "be told apart by it"
        ) from None
    return Fixed(item)


def own_static_arguments(function: Callable[..., Any], argnums: Any, argnames: Any) -> tuple[Any, Any]:
    """Return those positions in ``argnums`` and names in ``argnames`` that ``function`` has.

    For a class or module, the options apply to each function that has such arguments. If the parameters
    are unknown or open-ended, keep all. Either result is None if it would be empty.
    """
    order, named = positional(function), known_names(function)
    numbers = [
        number
        for number in _as_iterable(argnums)
        if is_open_ended(function) or -len(order) <= number < len(order)
    ]
    return numbers or None, [
        name for name in _as_iterable(argnames) if named is None or name in named
    ] or None


def _as_iterable(item: Any) -> Iterable[Any]:
    return (item,) if isinstance(item, (int, str)) else item or ()
