"""What a recorded function writes to: arrays from outside hold afterwards what they held before."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import torch

from ....errors import TracingError
from ....tracing.caches import results_in
from ....trees import iterate_structure
from ..basics.names import is_in_place
from ..basics.tensors import storage
from ..basics.writing import written_beside
from ..trace import Trace
from .saved_contents import SavedContents

_TENSOR = attrgetter("tensor")


def may_be_written(key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """The arguments that a call may write to."""
    targets = [args[0]] if args and (is_in_place(key) or kwargs.get("inplace") or (len(args) > 1 and args[-1] is True)) else []
    targets += [kwargs["out"]] if kwargs.get("out") is not None else []
    targets += written_beside(key, args, kwargs)
    return [item for item in iterate_structure(targets) if isinstance(item, torch.Tensor)] if targets else targets


class Written:
    """The arrays from outside of a function that its calls write to; ``id(tensor) in written`` for these."""

    def __init__(self, capture: Trace) -> None:
        self.capture = capture
        self._saved: dict[int, SavedContents] = {}
        self.caches: list[Any] = []  # functions in functools.lru_cache that the recorded function can reach

    def __contains__(self, identity: object) -> bool:
        return identity in self._saved

    def owners(self) -> list[torch.Tensor]:
        """The arrays."""
        return list(map(_TENSOR, self._saved.values()))

    def save(self, key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Before a call that may write to its arguments."""
        for tensor in may_be_written(key, args, kwargs):
            self._save(tensor)

    def _save(self, tensor: torch.Tensor) -> None:
        """Keeps what an array from outside of the function holds before anything is written to it, or to a view of it."""
        recorder = self.capture.recorder
        owner = recorder.kept(recorder.base_of(self.capture.value(tensor)))
        if owner is None and self.caches:
            self._refuse_cached(tensor)
        if owner is not None and id(owner) not in self._saved:
            self._saved[id(owner)] = self.capture.run(lambda: SavedContents(owner), (), {})

    def _refuse_cached(self, tensor: torch.Tensor) -> None:
        for item in (item for cache in self.caches for item in results_in(cache)):
            if isinstance(item, torch.Tensor) and storage(item) == storage(tensor):
                raise TracingError(
                    f"{self.capture.here()}: the function writes to a tensor that functools.lru_cache keeps and gives again at the next "
                    "call, which cannot be recorded. Write to a copy (clone)"
                )

    def restore(self) -> None:
        """Puts everything back."""
        for past in reversed(self._saved.values()):  # two arguments may share memory
            past.restore()

    def forget(self) -> None:
        """Drops every reference to arrays."""
        self._saved.clear()
