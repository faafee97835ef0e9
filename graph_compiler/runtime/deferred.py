"""Pipeline of a callable whose framework is unknown until its first call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ..passes import GraphPass
from .pipeline import Pipeline


@dataclass
class DeferredPipeline:
    """Placeholder for a pipeline until the first call shows the framework.

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

    def call_within(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.settle(args, kwargs).call_within(args, kwargs)
