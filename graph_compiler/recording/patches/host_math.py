"""Patches of ``math`` and ``cmath`` (``MATH``) for symbolic numbers and elements of arrays."""

from __future__ import annotations

import cmath
import functools
import math
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ...forwarding import forwards
from ...sizes import FUNCTIONS_OF_MATH, apply
from .patch import Patch, Session, replace_call


def _call_none(name: str, original: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    return NotImplemented


class Symbols(NamedTuple):
    """Callbacks of a frontend for its symbolic numbers.

    is_symbolic(item): True for a symbolic number.
    opened(args): the expressions of the arguments, or None if the function must receive plain numbers.
    made(function, operands): the symbolic number for a function of expressions.
    number_of(item): the number that can be read from an array; otherwise the item itself, or None.
    length_of(item): the size that ``len`` of an array returns, or None.
    is_recorded(item): True for a number that stays an array of the recording.
    call(name, original, args): the result of a recorded call with such numbers; NotImplemented if it
        cannot be recorded.
    """

    is_symbolic: Callable[[Any], bool]
    opened: Callable[[tuple[Any, ...]], tuple[Any, ...] | None]
    made: Callable[[Callable[..., Any], tuple[Any, ...]], Any]
    number_of: Callable[[Any], Any] = lambda item: item
    length_of: Callable[[Any], Any] = lambda item: None
    is_recorded: Callable[[Any], bool] = lambda item: False
    call: Callable[[str, Callable[..., Any], tuple[Any, ...]], Any] = _call_none


def _numbers(symbols: Symbols, args: Iterable[Any]) -> list[Any]:
    """Return ``args`` as a list, with arrays of one element replaced by numbers, if these can be read.

    Lists, tuples and iterators in ``args`` become lists, whose items are replaced, too.
    """
    # An iterator can be read only once.
    given = [list(item) if isinstance(item, Iterator) else item for item in args]
    nested = [_numbers(symbols, item) if isinstance(item, (list, tuple)) else item for item in given]
    # `map` adds no frame between the shim and `number_of`, which looks for the code that reads the element.
    found = map(symbols.number_of, [0 if isinstance(item, list) else item for item in nested])
    return [
        item if number is None or isinstance(item, list) else number for item, number in zip(nested, found)
    ]


def _items(symbols: Symbols, item: Any) -> Any:
    length = symbols.length_of(item)
    return item if length is None else [item[place] for place in range(int(length))]


def _leaves(args: list[Any]) -> list[Any]:
    return [leaf for item in args for leaf in (_leaves(item) if isinstance(item, list) else (item,))]


def _expressed(by_count: dict[int, str], symbols: Symbols, args: list[Any]) -> Any:
    name = by_count.get(len(args))
    if name is None or not any(map(symbols.is_symbolic, args)):
        return NotImplemented
    operands = symbols.opened(tuple(args))
    return NotImplemented if operands is None else symbols.made(functools.partial(apply, name), operands)


def called(symbols: Symbols, original: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Record a call of ``original`` and return its result, or NotImplemented if it is not recorded."""
    numbers = _numbers(symbols, args)
    is_recorded = any(map(symbols.is_recorded, _leaves(numbers)))
    name = f"{original.__module__}.{original.__name__}"
    return symbols.call(name, original, tuple(numbers)) if is_recorded else NotImplemented


@forwards
def _called(
    by_count: dict[int, str],
    compose: Callable[..., Any] | None,
    session: Session,
    original: Callable[..., Any],
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Call ``original`` or ``compose``, record the call, or return a symbolic number, as ``args`` require.

    by_count: names of the function in ``FUNCTIONS`` of ``sizes``, by number of arguments.
    """
    symbols = session.symbols
    # These accept arrays as sequences of numbers.
    if original.__name__ in _OF_SEQUENCES:
        args = tuple([_items(symbols, item) for item in args])
    numbers = _numbers(symbols, args)
    leaves = _leaves(numbers)
    found: Any = NotImplemented
    is_recorded = any(map(symbols.is_recorded, leaves))
    if not kwargs:
        name = f"{original.__module__}.{original.__name__}"
        found = (
            symbols.call(name, original, tuple(numbers))
            if is_recorded
            else _expressed(by_count, symbols, numbers)
        )
    if found is not NotImplemented:
        return found
    is_open = is_recorded or any(
        symbols.is_symbolic(leaf) and symbols.opened((leaf,)) is not None for leaf in leaves
    )
    return compose(*numbers, **kwargs) if compose is not None and is_open else original(*numbers, **kwargs)


# ----------------------------------------------------------------------------------------- composed functions
def _hypot(*numbers: Any) -> Any:
    return (
        functools.reduce(math.hypot, numbers[2:], math.hypot(*numbers[:2]))
        if len(numbers) > 1
        else math.fabs(*numbers)
    )


@forwards
def _dist(p: Any, q: Any) -> Any:
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    return math.hypot(*map(operator.sub, p, q))


@forwards
def _isclose(a: Any, b: Any, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> bool:
    if rel_tol < 0 or abs_tol < 0:
        raise ValueError("tolerances must be non-negative")
    distance = abs(a - b)
    # ``|`` instead of ``or`` reads no truth value of an intermediate result.
    is_near = (distance <= rel_tol * abs(a)) | (distance <= rel_tol * abs(b)) | (distance <= abs_tol)
    return bool((a == b) | is_near & (distance < math.inf))


_COMPOSED: dict[str, Callable[..., Any]] = {
    "hypot": _hypot,
    "dist": _dist,
    "isclose": _isclose,
    "isnan": lambda number: bool(number != number),
    "isinf": lambda number: bool(abs(number) == math.inf),
    "isfinite": lambda number: bool(abs(number) < math.inf),
}


def _functions(module: Any) -> Iterator[str]:
    return (name for name, item in vars(module).items() if callable(item) and not name.startswith("_"))


# These multiply and add items by their operators, so arrays among them stay arrays.
_BY_OPERATORS = frozenset({"prod", "sumprod"})
_OF_SEQUENCES = frozenset({"dist", "fsum"})
# Functions of both modules.
MATH: tuple[Patch, ...] = (
    *(
        Patch(
            math,
            name,
            replace_call,
            functools.partial(_called, FUNCTIONS_OF_MATH.get(name, {}), _COMPOSED.get(name)),
        )
        for name in _functions(math)
        if name not in _BY_OPERATORS
    ),
    *(Patch(cmath, name, replace_call, functools.partial(_called, {}, None)) for name in _functions(cmath)),
)
