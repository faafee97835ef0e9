"""What stands behind a graph from a file: its arrays in the place of a model, and nothing to record again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..contracts import Live, Weights
from ..errors import GuardFailed
from ..ir.graph import Graph as IRGraph
from ..tracing import EnvironmentGuards
from ..tracing.environment.conjunction import EnvironmentGuard
from .pipeline import Pipeline
from .recorded import Recorded
from .variant import Variant


@dataclass
class LoadedPipeline(Pipeline):
    """Writes what was recorded elsewhere; records nothing."""

    has_original: ClassVar[bool] = False
    _arrays: dict[str, Any] = field(init=False, default_factory=dict)  # of all variants, in the target's framework

    def native_weights(self, recorded: Recorded, graph: IRGraph) -> Any:
        """The arrays of the file: there are no objects of the user's that hold them."""
        for name, array in recorded.weights.arrays.items():
            if name not in self._arrays:
                self._arrays[name] = self.target.target.adopt(array)
        return _Arrays(self._arrays, list(graph.parameters))

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any], why: str) -> Variant:
        raise GuardFailed(
            f"{self.name} was loaded from a file, so there is no original to record again, and this call fits none of its variants: {why}"
        )


class _Arrays(Live):
    """Called, the arrays of these names; nobody but the graph itself replaces one."""

    dicts: tuple[dict[str, Any], ...] = ()

    def __init__(self, arrays: dict[str, Any], names: list[str]) -> None:
        self._arrays, self._names = arrays, names

    @property
    def current(self) -> dict[str, Any]:
        return self._arrays if self._names == list(self._arrays) else {name: self._arrays[name] for name in self._names}

    def refresh(self) -> None:
        """Nothing has changed."""

    def leave(self, name: str, array: Any) -> None:
        """Puts another array in the place of a buffer."""
        self._arrays[name] = array

    def __call__(self) -> dict[str, Any]:
        return self.current


class Held(Weights):
    """Arrays in the place of a model's weights, of which these are trained, and those could be; in the place of its modules a mode, which
    says which variants answer. ``training`` is the mode that the model was in, None where it had none."""

    def __init__(self, arrays: dict[str, Any], trained: frozenset[str], frozen: frozenset[str], training: bool | None) -> None:
        self.arrays, self._trained, self._frozen, self._training = arrays, trained, frozen, training
        self.mode: bool | None = None  # until somebody sets it, the first variant that fits a call answers

    def guards(self, modes: list[bool]) -> EnvironmentGuards:
        """That a variant which was recorded for these modes is called in one of them."""
        what = "the mode of training (by train() or eval())"
        fact = EnvironmentGuard("({}.mode is None or {}.mode in {})", (self, self, frozenset(modes)), what)
        return EnvironmentGuards([fact] if len(set(modes)) < 2 else [])

    @property
    def has_modes(self) -> bool:
        return self._training is not None

    def set_training(self, mode: bool) -> None:
        self.mode = mode

    def is_training(self) -> bool:
        return next((mode for mode in (self.mode, self._training) if mode is not None), True)

    @contextmanager
    def in_mode(self, mode: bool) -> Iterator[None]:
        before, self.mode = self.mode, mode
        try:
            yield
        finally:
            self.mode = before

    def live(self, names: Iterable[str]) -> _Arrays:
        return _Arrays(self.arrays, list(names))

    def owner_of(self, name: str) -> Any:
        """What holds all arrays."""
        return self.arrays

    def rebind(self, name: str, array: Any) -> None:
        self.arrays[name] = array

    def leave(self, name: str, elements: Any, rebound: bool) -> Any:
        """Puts another array in the place of a buffer."""
        self.arrays[name] = elements
        return elements

    def is_trained(self, name: str) -> bool:
        return name in self._trained or name in self._frozen

    def is_frozen(self, name: str) -> bool:
        return name in self._frozen
