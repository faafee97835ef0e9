"""``StaticGraph``: a graph with static arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .boundary import public
from .calling.static_arguments import StaticArguments
from .graph import Graph
from .lazy import LazyGraph

if TYPE_CHECKING:
    from .verify import VerificationSummary


class StaticGraph(LazyGraph):
    """Lazy graph with static arguments.

    _statics: the static arguments. The creator sets the attribute after construction.
    """

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

    def _purely(
        self, parameters: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *rest: Any, **options: Any
    ) -> Any:
        return super()._purely(parameters, *self._statics.marked(args, kwargs), *rest, **options)
