"""``UnifiedGraph``: one callable for several frameworks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import GuardFailed
from ..recording.code.ownership import package_of
from ..registration import backends, frontends
from ..trees import flatten
from .boundary import public
from .graph import Graph


class UnifiedGraph:
    """Callable that runs in the framework of its arguments.

    graphs: the graph of each framework, made at the first call with arrays of that framework.
    """

    def __init__(self, name: str, source: str, graph_for: Callable[[str], Graph]) -> None:
        self.name = self.__name__ = name
        self._source, self._graph_for = source, graph_for
        self.graphs: dict[str, Graph] = {}

    @public
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.graph_of(*args, **kwargs)(*args, **kwargs)

    def graph_of(self, *args: Any, **kwargs: Any) -> Graph:
        """Return the graph that a call with these arguments runs, making it if necessary.

        NumPy arrays fit any framework. Without arrays, this is the graph of the source framework. Raise
        ``GuardFailed`` for arrays of several frameworks.
        """
        framework = self._framework_of(args, kwargs)
        if framework not in self.graphs:
            self.graphs[framework] = self._graph_for(framework)
        return self.graphs[framework]

    def _framework_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        leaves, _ = flatten((args, kwargs), self._is_framework_array)
        found = sorted({name for leaf in leaves for name in self._frameworks_of(leaf)})
        # NumPy arrays are accepted by all frameworks, so they count as data of the others.
        if len(found) > 1:
            everywhere = {name for name, entry in frontends.known().items() if entry.is_everywhere}
            found = [name for name in found if name not in everywhere]
        if len(found) > 1:
            raise GuardFailed(
                f"{self.name} was called with arrays of {' and '.join(found)}; a call runs in one framework"
            )
        return found[0] if found else self._source

    def _frameworks_of(self, leaf: Any) -> list[str]:
        roots = {package_of(cls.__module__) for cls in type(leaf).__mro__}
        # Backends of other packages count only if none of this package fits.
        of = [name for name, entry in backends.own.items() if not roots.isdisjoint(entry.packages)]
        return of or [name for name, entry in backends.all().items() if not roots.isdisjoint(entry.packages)]

    def _is_framework_array(self, item: Any) -> bool:
        if not (hasattr(item, "dtype") and hasattr(item, "shape")):
            return False
        import numpy as np

        # NumPy scalars count as numbers.
        return not isinstance(item, np.generic) and bool(self._frameworks_of(item))

    def __repr__(self) -> str:
        return f"<unified graph of {self.name}, used in {', '.join(self.graphs) or 'no framework yet'}>"
