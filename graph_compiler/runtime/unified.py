"""One callable for several frameworks: each call runs where its arrays live."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import GuardFailed
from ..trees import flatten
from .graph import Graph

_COMMON = "numpy"


class UnifiedGraph:
    """A function that runs in the framework of its arguments; ``graphs`` holds one graph a framework, each made at its first use."""

    def __init__(self, name: str, source: str, frameworks: tuple[str, ...], graph_for: Callable[[str], Graph]) -> None:
        self.name = self.__name__ = name
        self._source, self._frameworks, self._graph_for = source, frameworks, graph_for
        self.graphs: dict[str, Graph] = {}

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.graph_of(*args, **kwargs)(*args, **kwargs)

    def graph_of(self, *args: Any, **kwargs: Any) -> Graph:
        """The graph that a call with these arguments runs."""
        framework = self._framework_of(args, kwargs)
        if framework not in self.graphs:
            self.graphs[framework] = self._graph_for(framework)
        return self.graphs[framework]

    def _framework_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        leaves, _ = flatten((args, kwargs), self._is_framework_array)
        found = sorted({name for leaf in leaves for name in self._frameworks_of(leaf)})
        if len(found) > 1:  # numpy arrays go everywhere: beside tensors they are data for these
            found = [name for name in found if name != _COMMON]
        if len(found) > 1:
            raise GuardFailed(f"{self.name} was called with arrays of {' and '.join(found)}; a call runs in one framework")
        return found[0] if found else self._source

    def _frameworks_of(self, leaf: Any) -> list[str]:
        roots = {cls.__module__.partition(".")[0].removesuffix("lib") for cls in type(leaf).__mro__}
        return [name for name in self._frameworks if name in roots]

    def _is_framework_array(self, item: Any) -> bool:
        if not (hasattr(item, "dtype") and hasattr(item, "shape")):
            return False
        import numpy as np

        return not isinstance(item, np.generic) and bool(self._frameworks_of(item))  # numpy's scalars are numbers

    def __repr__(self) -> str:
        return f"<unified graph of {self.name}, used in {', '.join(self.graphs) or 'no framework yet'}>"
