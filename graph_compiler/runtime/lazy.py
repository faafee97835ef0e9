"""Graphs recorded by calls: ``LazyGraph``, ``UnifiedGraph`` (several frameworks), ``StaticGraph``."""

from __future__ import annotations

import copy
import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import GuardFailed, InvalidFile, NotSerialisable, NotTraced
from ..passes import GraphPass
from ..recording.code.ownership import package_of
from ..registration import backends, frontends
from ..trees import flatten
from .boundary import public
from .calling.binding import StaticArguments
from .graph import Graph
from .pipeline import Pipeline

if TYPE_CHECKING:
    from .verify import VerificationSummary

# --------------------------------------------------------------------------------------------------- deferred
# Pipeline of a callable whose framework is unknown until its first call.


@dataclass
class DeferredPipeline:
    """Stand-in for the pipeline of a callable whose framework is unknown until its first call.

    settle(args, kwargs): creates the pipeline for the framework of these arguments.
    """

    has_original: ClassVar[bool] = True
    function: Callable[..., Any]
    name: str
    settle: Callable[[tuple[Any, ...], dict[str, Any]], Pipeline]

    def settled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Pipeline:
        return self.settle(args, kwargs)

    def with_passes(self, passes: Sequence[GraphPass]) -> DeferredPipeline:
        return replace(self, settle=lambda args, kwargs: self.settle(args, kwargs).with_passes(passes))


# ---------------------------------------------------------------------------------------------------- unified
# ``UnifiedGraph``: one callable for several frameworks.


class UnifiedGraph:
    """Callable that runs in the framework of its arguments.

    graphs: the graphs that were created so far, by framework.
    """

    def __init__(self, name: str, source: str, graph_for: Callable[[str], Graph]) -> None:
        self.name = self.__name__ = name
        self._source, self._graph_for = source, graph_for
        self.graphs: dict[str, Graph] = {}

    @public
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.graph_of(*args, **kwargs)(*args, **kwargs)

    def graph_of(self, /, *args: Any, **kwargs: Any) -> Graph:
        """Return the graph that a call with these arguments runs, creating it if necessary.

        This is the graph of the framework of the arrays, or of the source framework if there are none.
        NumPy arrays next to arrays of another framework do not count. Raise ``GuardFailed`` for arrays of
        several frameworks.
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


# ------------------------------------------------------------------------------------------------------- lazy
class LazyGraph(Graph):
    """Graph that records the original when it is called, not when it is created.

    Before anything is recorded, properties and methods such as ``source`` and ``save`` raise ``NotTraced``.

    >>> import torch, graph_compiler
    >>> @graph_compiler.compile
    ... def double(x):
    ...     return x * 2
    >>> double
    <lazy graph of double, not called yet>
    >>> double(torch.ones(2))
    tensor([2., 2.])
    """

    def __getattribute__(self, name: str) -> Any:
        # These names exist on the class, so ``__getattr__`` would not be called for them.
        needed = name in _NEED_A_VARIANT or (
            name in _NEED_A_TARGET and isinstance(self._pipeline, DeferredPipeline)
        )
        if needed and not self._variants:
            lack = _LACKS.get(name, f"has no {name}")
            if self._refused:
                raise NotTraced(
                    f"{self.name} {lack}, because nothing of it is recorded: its last call was refused. "
                    "explain() says why"
                )
            raise NotTraced(f"{self.name} has not been recorded yet, so it {lack}; {_HOW_TO_RECORD}")
        return super().__getattribute__(name)

    def __reduce__(self) -> Any:
        if self._variants:
            return super().__reduce__()
        function = self._pipeline.function
        module, name = str(getattr(function, "__module__", "")), str(getattr(function, "__qualname__", ""))
        if module not in sys.modules or getattr(sys.modules[module], name, None) is not self:
            raise NotSerialisable(
                f"{self.name} has not been recorded yet, so it cannot be pickled; {_HOW_TO_RECORD}"
            )
        return graph_at, (module, name)

    def __copy__(self) -> Any:
        return super().__copy__() if self._variants else self._empty_copy(self._pipeline)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if self._variants:
            return super().__copy__()
        made = memo[id(self)] = self._empty_copy(
            replace(self._pipeline, function=copy.deepcopy(self._pipeline.function, memo))
        )
        return made

    def __repr__(self) -> str:
        return super().__repr__() if self._variants else f"<lazy graph of {self.name}, not called yet>"


def graph_at(module: str, name: str) -> Graph:
    """Return the graph that a pickled lazy graph refers to by module and name."""
    found = getattr(importlib.import_module(module), name)
    if not isinstance(found, Graph):
        raise InvalidFile(f"{module}.{name} is no graph")
    return found


_NEED_A_VARIANT = frozenset({
    "program", "source", "parameters", "guards", "functional", "verify", "save", "to", "list_missing",
    "state", "trained", "_differentiable", "frozen", "as_module", "train", "eval", "show", "summary",
})  # fmt: skip
# What a graph without variants lacks for a method, for messages.
_LACKS = {
    "functional": "cannot be called with weights",
    "verify": "cannot be verified",
    "save": "cannot be saved",
    "to": "cannot be written for another framework",
    "list_missing": "has no operations to list",
    "as_module": "cannot be made a module",
    "train": "has no training mode to set",
    "eval": "has no training mode to set",
    "show": "cannot be shown",
    "seed": "has no random numbers to seed",
}
_HOW_TO_RECORD = "pass args= to transpile or compile, or call it once"
# The target is that of the original, whose framework may be unknown until its first call.
_NEED_A_TARGET = frozenset({"seed"})


# ----------------------------------------------------------------------------------------------------- static
class StaticGraph(LazyGraph):
    _statics: StaticArguments

    @public
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = self._statics.marked(args, kwargs)
        return Graph.__call__(self, *args, **kwargs)

    def add_variant(self, args: tuple[Any, ...], kwargs: dict[str, Any], why: str = "asked for") -> Any:
        args, kwargs = self._statics.marked(args, kwargs)
        return super().add_variant(args, kwargs, why)

    def verify(
        self,
        runs: int = 2,
        rtol: float | None = None,
        atol: float | None = None,
        seed: int = 0,
        args: Any = None,
        kwargs: Any = None,
    ) -> VerificationSummary:
        if args is not None or kwargs is not None:
            args, kwargs = self._statics.marked(tuple(args or ()), dict(kwargs or {}))
        return super().verify(runs, rtol, atol, seed, args, kwargs)

    def _functional(
        self, parameters: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *rest: Any, **options: Any
    ) -> Any:
        return super()._functional(parameters, *self._statics.marked(args, kwargs), *rest, **options)
