"""The request to a frontend, and its answer: a recording."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..ir.graph import Graph
from .environment.guards import EnvironmentGuards
from .gave_up import GaveUp
from .state.auto_dynamic import AutoDynamic
from .state.places import Place
from .state.stateful import Stateful


@dataclass(frozen=True)
class Request:
    """One call to be recorded, under a ``name``, and what the recording is for.

    ``same_framework`` is whether the graph will run in the framework of the function. ``places`` are known to hold state; ``stateful``
    objects are looked into beside those that the function reaches. ``numbers``: whether Python numbers in places, and those that are read
    from arrays, become symbols; ``draws``: whether random numbers that Python and numpy draw do, instead of constants. ``auto_dynamic``
    knows earlier recordings of the function. ``loaded`` gives a recorded graph as a function of its framework, by which steps of loops are
    run that need not be recorded; None where all are to be recorded. ``why`` says what no variant that is there was right for.
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
    """A recorded graph with what is needed to run it beside the original: where its arrays live, and what it relies on.

    ``opened``: whether it has symbols for numbers that Python read or computed, and could be made with the numbers as they are.
    ``gave_up``: what was tried before it and failed.
    """

    graph: Graph
    weights: Any
    environment: EnvironmentGuards
    places: tuple[Place, ...] = ()
    opened: bool = False
    gave_up: tuple[GaveUp, ...] = ()
