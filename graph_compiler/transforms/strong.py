"""``strong_zero=True``: derivatives in which zero times anything is zero. The function is recorded, and written with that pass."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from ..contracts import Derivatives
from ..errors import CallMismatch
from ..ir.graph import Graph as IRGraph
from ..passes import strong_zero
from ..runtime import Graph
from ..runtime.frameworks import backend_of
from ..runtime.options import require_function
from ..trees import iterate_structure, map_structure
from .arguments import position_of
from .functions import (
    Function,
    Transformed,
    Wrapped,
    by_itself,
    found_for,
    framework_for,
    graph_of,
    handing_back,
    is_inside,
    name_of,
    owner_of,
    recorded,
    target_of,
    where,
)

Chosen = tuple[Sequence[int], Sequence[str]]


class Strong(Wrapped):
    """A function whose derivatives keep zeros. Python's numbers in the ``chosen`` arguments, those that derivatives are taken of (None:
    all), are arrays of its recording."""

    def __init__(self, function: Any, chosen: Chosen | None) -> None:
        if not isinstance(function, Wrapped):
            require_function("a transform with strong_zero=True", function)
        self.function, self.chosen, self.__name__ = function, chosen, name_of(function)

    def found(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Function:
        """The graph of the function with the pass; of what a transform has given, the transform of that."""
        inner = self.function
        if isinstance(inner, Transformed):
            return Transformed(Strong(inner.function, None), inner.rule, inner.words, inner.inner).found(args, kwargs)
        if isinstance(inner, Wrapped):
            return inner.found(args, kwargs)
        graph = graph_of(inner)
        if graph is None:
            return self._of_plain(args, kwargs)
        strong = strong_graph(graph)
        return self._of_graph(strong if graph is inner else getattr(strong, inner.__name__), args, kwargs)

    def _of_plain(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Function:
        framework = framework_for(self.function, args, kwargs)
        has_derivatives = backend_of(framework).derivatives() is not None
        graph = strong_graph(recorded(self.function, framework, framework if has_derivatives else by_itself()))
        found = self._of_graph(graph, args, kwargs)
        if is_inside() and (held := [*_closed_over(self.function), *(name for one in graph.variants for name in _held(one.graph))]):
            raise CallMismatch(
                f"{self.__name__} is recorded for strong_zero=True inside of another transform, and holds arrays beside its arguments "
                f"({', '.join(held)}): a derivative would take them for constants. Make them arguments, or take strong_zero=True in the "
                f"outermost transform{where(self.function)}"
            )
        return found if has_derivatives else replace(found, hand_back=handing_back(graph, framework))

    def _of_graph(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Function:
        derivatives = backend_of(target_of(graph_of(function), args, kwargs)).derivatives()  # type: ignore[arg-type]
        given = self._with_arrays(derivatives, args, kwargs) if derivatives is not None else (args, kwargs)
        return found_for(function, *given)

    def _with_arrays(self, derivatives: Derivatives, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        numbers, names = self.chosen or (range(len(args)), tuple(kwargs))
        places = {number % len(args) for number in numbers if args} | {position_of(self.function, name, args) for name in names}
        convert = functools.partial(map_structure, lambda item: derivatives.array(item) if isinstance(item, (float, complex)) else item)
        given = tuple(convert(item) if place in places else item for place, item in enumerate(args))
        return given, {name: convert(item) if name in names else item for name, item in kwargs.items()}


def _closed_over(function: Any) -> list[str]:
    """Names of variables around a function that hold arrays."""
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None) or ()
    named = zip(code.co_freevars if code is not None else (), cells)
    return [name for name, cell in named if any(owner_of(item) is not None for item in iterate_structure(_content(cell)))]


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a variable without a value yet
        return None


def _held(graph: IRGraph) -> tuple[str, ...]:
    return (*graph.parameters, *graph.constants)


_graphs: WeakKeyDictionary[Graph, Graph] = WeakKeyDictionary()


def strong_graph(graph: Graph) -> Graph:
    """The graph with the pass."""
    if graph not in _graphs:
        _graphs[graph] = graph.with_passes(strong_zero)
    return _graphs[graph]


def strongly(function: Any, strong_zero: bool, chosen: Chosen | None = None) -> Any:
    """The function as a transform takes it."""
    return Strong(function, chosen) if strong_zero else function
