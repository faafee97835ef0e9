"""The request to a frontend, and its answer: a recording."""

from __future__ import annotations

import inspect
import logging
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import InvalidOption
from ..ir.graph import Graph
from .environment_guards.guards import EnvironmentGuards
from .faults import owner_of_frame
from .state.auto_dynamic import AutoDynamic
from .state.places import Place, Stateful

log = logging.getLogger("graph_compiler")
_MOST_LETTERS = 300  # of the text of an exception


@dataclass(frozen=True)
class GaveUp:
    """A way to make a graph that was left for another one.

    way: what was tried, in words.
    problem: class and first line of the exception that ended it.
    place: file and line of the user's code that led to the exception; of this package, if none did.
    """

    way: str
    problem: str
    place: str

    def __str__(self) -> str:
        return f"{self.way} ({self.problem}, at {self.place})"


def gave_up(name: str, way: str, problem: BaseException) -> GaveUp:
    """Return the record of a ``way`` to make the graph ``name`` that ended with ``problem``, and log it."""
    first = next((line.strip() for line in str(problem).splitlines() if line.strip()), "")[:_MOST_LETTERS]
    made = GaveUp(way, f"{type(problem).__name__}{f': {first}' if first else ''}", _place(problem))
    log.info("%s: gave up: %s", name, made)
    return made


def _place(problem: BaseException) -> str:
    frames = [
        (owner_of_frame(frame), frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(problem.__traceback__)
    ]
    known = [frame for frame in frames if frame[0] == "user" and not frame[1].startswith("<")] or frames
    return f"{known[-1][1]}:{known[-1][2]}" if known else "an unknown line"


class GivenArguments:
    """Calls a function with the arguments that are ``given`` by name, wherever they stand in its signature; a
    call gives the others.

    >>> scaled = GivenArguments(lambda x, scale, shift=0: x * scale + shift, {"scale": 3})
    >>> scaled(2), scaled(2, 1), scaled(x=2, shift=1), str(inspect.signature(scaled))
    (6, 7, 7, '(x, shift=0)')
    """

    def __init__(self, function: Callable[..., Any], given: Mapping[str, Any]) -> None:
        self.function, self.given = function, dict(given)
        self.__wrapped__, self.__name__ = function, getattr(function, "__name__", type(function).__name__)
        parameters = inspect.signature(function).parameters
        self._order = [
            name
            for name, one in parameters.items()
            if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
        ]
        self.__signature__ = inspect.Signature(
            [one for name, one in parameters.items() if name not in self.given]
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        named, rest, placed = dict(self.given), list(args), []
        for name in self._order:
            if name not in named and not rest:
                break
            placed.append(named.pop(name) if name in named else rest.pop(0))
        return self.function(*placed, *rest, **named, **kwargs)

    def with_given(self, given: Mapping[str, Any]) -> GivenArguments:
        return GivenArguments(self.function, given)


def give_arguments(
    function: Callable[..., Any], which: Any, args: Iterable[Any], kwargs: Mapping[str, Any]
) -> tuple[GivenArguments, tuple[Any, ...], dict[str, Any]]:
    """A function without the arguments that ``which`` names (by name or position, one or several), and what
    is left of a call of it.

    >>> function, args, kwargs = give_arguments(lambda w, x: w * x, "w", (2, 5), {})
    >>> function.given, args, function(*args)
    ({'w': 2}, (5,), 10)
    """
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError) as problem:
        raise InvalidOption(
            f"parameters= names arguments, and {function!r:.60} does not say which it takes: {problem}"
        ) from None
    order = [
        name
        for name, one in parameters.items()
        if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
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
    return (
        given,
        (*left, *args[len(order) :]),
        {name: item for name, item in kwargs.items() if name not in wanted},
    )


def _name_of(which: Any, names: list[str]) -> str:
    if isinstance(which, str):
        return which
    return names[which] if -len(names) <= which < len(names) else str(which)


@dataclass(frozen=True)
class Request:
    """One call to be recorded, under a ``name``, and what the recording is for.

    ``same_framework`` is whether the graph will run in the framework of the function. ``places`` are known to
    hold state; ``stateful`` objects are looked into beside those that the function reaches. ``numbers``:
    whether Python numbers in places, and those that are read from arrays, become symbols; ``draws``: whether
    random numbers that Python and numpy draw do, instead of constants. ``auto_dynamic`` knows earlier
    recordings of the function. ``loaded`` gives a recorded graph as a function of its framework, by which
    steps of loops are run that need not be recorded; None where all are to be recorded. ``why`` says what no
    variant that is there was right for.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    name: str = "function"
    same_framework: bool = True
    places: tuple[Place, ...] = ()
    stateful: Stateful = field(default_factory=Stateful)
    numbers: bool = True
    draws: bool = True
    auto_dynamic: AutoDynamic | None = None
    loaded: Callable[[Graph], Callable[..., Any]] | None = None
    why: str = ""


@dataclass
class Recording:
    """A recorded graph with what is needed to run it beside the original: where its arrays live, and what it
    relies on.

    ``opened``: whether it has symbols for numbers that Python read or computed, and could be made with the
    numbers as they are.
    ``gave_up``: what was tried before it and failed.
    """

    graph: Graph
    weights: Any
    environment: EnvironmentGuards
    places: tuple[Place, ...] = ()
    opened: bool = False
    gave_up: tuple[GaveUp, ...] = ()
