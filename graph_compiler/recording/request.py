"""The ``Request`` to a frontend to record a call, and its result, a ``Recording``."""

from __future__ import annotations

import inspect
import logging
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import InvalidOption
from ..ir.graph import Graph
from .environment_guards import EnvironmentGuards
from .faults import owner_of_frame
from .state.auto_dynamic import AutoDynamic
from .state.places import Stateful, StatePlace

log = logging.getLogger("graph_compiler")
# Limit for the text of an exception.
_MOST_LETTERS = 300


@dataclass(frozen=True)
class AbandonedWay:
    """Record of a failed attempt, such as one to record numbers as symbols.

    way: description of the attempt.
    problem: class of the exception and beginning of its text.
    place: file and line where it was raised, in the user's code if possible, or "an unknown line".
    """

    way: str
    problem: str
    place: str

    def __str__(self) -> str:
        return f"{self.way} ({self.problem}, at {self.place})"


def log_abandoned_way(name: str, way: str, problem: BaseException) -> AbandonedWay:
    # Exceptions of compilers have many lines; the first one says what happened.
    first = next((line.strip() for line in str(problem).splitlines() if line.strip()), "")[:_MOST_LETTERS]
    made = AbandonedWay(
        way, f"{type(problem).__name__}{f': {first}' if first else ''}", place_of_problem(problem)
    )
    log.info("%s: gave up: %s", name, made)
    return made


def place_of_problem(problem: BaseException) -> str:
    """Return the file and line to which ``problem`` is attributed, or "an unknown line".

    Lines of the user's code are preferred.
    """
    frames = [
        (owner_of_frame(frame), frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(problem.__traceback__)
    ]
    # Frames of generated code have no file that a user could open.
    known = [frame for frame in frames if frame[0] == "user" and not frame[1].startswith("<")] or frames
    return f"{known[-1][1]}:{known[-1][2]}" if known else "an unknown line"


class GivenArguments:
    """Callable that calls ``function`` with the parameters in ``given`` bound. Its signature lacks these.

    >>> scaled = GivenArguments(lambda x, scale, shift=0: x * scale + shift, {"scale": 3})
    >>> scaled(2), scaled(2, 1), scaled(x=2, shift=1), str(inspect.signature(scaled))
    (6, 7, 7, '(x, shift=0)')
    >>> GivenArguments(lambda x=1, scale=2, /: x * scale, {"scale": 3})()
    3
    """

    def __init__(self, function: Callable[..., Any], given: Mapping[str, Any]) -> None:
        self.function, self.given = function, dict(given)
        # Readers of the source and of closures look for the function under ``__wrapped__``.
        self.__wrapped__, self.__name__ = function, getattr(function, "__name__", type(function).__name__)
        parameters = inspect.signature(function).parameters
        self._order = [
            one for one in parameters.values() if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
        ]
        # Given parameters that can only be passed by position.
        self._placed = {
            one.name for one in self._order if one.kind is one.POSITIONAL_ONLY and one.name in self.given
        }
        self.__signature__ = inspect.Signature(
            [one for name, one in parameters.items() if name not in self.given]
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        named, rest, placed = dict(self.given), list(args), []
        # Positional arguments of the call fill the parameters that are not given, in order.
        for one in self._order:
            if one.name in named:
                placed.append(named.pop(one.name))
            elif rest:
                placed.append(rest.pop(0))
            # A parameter that is left out has its default if a later one can only be passed by position.
            elif one.default is not one.empty and not self._placed.isdisjoint(named):
                placed.append(one.default)
            else:
                break
        return self.function(*placed, *rest, **named, **kwargs)

    def with_given(self, given: Mapping[str, Any]) -> GivenArguments:
        return GivenArguments(self.function, given)


def give_arguments(
    function: Callable[..., Any], which: Any, args: Iterable[Any], kwargs: Mapping[str, Any]
) -> tuple[GivenArguments, tuple[Any, ...], dict[str, Any]]:
    """Bind the arguments that ``which`` selects to their values in a call.

    ``which`` is a name, an index in the signature, or an iterable of these. Return the function with these
    arguments bound, and the remaining ``args`` and ``kwargs``. Raise ``InvalidOption`` if a selected argument
    is not passed.

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
            f"parameters= names {missing[0]!r}, which args= and kwargs= do not give; they give "
            f"{', '.join(found) or 'nothing'}"
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
    # An index out of range becomes a name that no argument has, so that the caller raises its error.
    return names[which] if -len(names) <= which < len(names) else str(which)


@dataclass(frozen=True)
class Request:
    """One call to be recorded, with the options of the recording.

    name: name of the graph.
    same_framework: True if the graph will run in the framework of the function.
    places: locations outside the arguments that are known to hold state.
    stateful: objects that the user has named as holding state.
    numbers: True if Python numbers may become symbols.
    draws: True if random numbers may become inputs.
    auto_dynamic: counts of the changes between earlier recordings of the function; None disables counting.
    loaded: function that turns a recorded graph into a function of its framework, to run iterations of
        loops without recording them; None if iterations may not run unrecorded.
    why: reason for the recording, such as why no existing variant matched the call.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    name: str = "function"
    same_framework: bool = True
    places: tuple[StatePlace, ...] = ()
    stateful: Stateful = field(default_factory=Stateful)
    numbers: bool = True
    draws: bool = True
    auto_dynamic: AutoDynamic | None = None
    loaded: Callable[[Graph], Callable[..., Any]] | None = None
    why: str = ""


@dataclass
class Recording:
    """Result of a recording: the graph, and what is needed to run it.

    weights: the frontend's implementation of :class:`graph_compiler.contracts.Weights`.
    environment: guards on objects outside the arguments.
    places: locations outside the arguments that hold state.
    opened: True if another recording, with numbers as constants, is worth trying if this one cannot be
        turned into a variant.
    gave_up: failed attempts to record the function or parts of it.
    """

    graph: Graph
    weights: Any
    environment: EnvironmentGuards
    places: tuple[StatePlace, ...] = ()
    opened: bool = False
    gave_up: tuple[AbandonedWay, ...] = ()
