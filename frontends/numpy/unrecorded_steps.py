"""Steps of loops that do what recorded ones did: they are run on the real arrays, so that what the variables hold is right behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir.graph import Graph
from ...ir.recorded_loop import RecordedLoop
from ...passes.fold_rest import rest_of_loop
from ...tracing import Recorder
from ...tracing.faults import is_fault
from .traced import Traced, seen_of


class UnrecordedSteps:
    """Of one recording. ``loaded`` gives a recorded graph as a function; ``any`` is whether steps were run by it."""

    def __init__(self, loaded: Callable[[Graph], Callable[..., Any]]) -> None:
        self.loaded, self.any = loaded, False

    def run(self, recorder: Recorder, loop: RecordedLoop, done: int) -> bool:
        """Runs what is left of a loop after so many steps; False, with all arrays as they were, where that cannot be done."""
        rest = rest_of_loop(recorder.graph, loop, done)
        held = {} if rest is None else {value: array for array, value in recorder.tracked() if isinstance(array, Traced)}
        if rest is None or not held.keys() >= ({*rest.given, *rest.made} - rest.numbers.keys()):
            return False
        given = [rest.numbers[value] if value in rest.numbers else _real(held[value]) for value in rest.given]
        before = [array.copy() for array in given[: rest.written]]
        made = [held[value] for value in rest.made]
        try:
            results = self.loaded(rest.program)(*given)[rest.written :]
            found = [np.asarray(item)[... if isinstance(one._seen, np.ndarray) else ()] for one, item in zip(made, results)]
            is_same = all(one._seen.shape == item.shape and one._seen.dtype == item.dtype for one, item in zip(made, found))
        # A step may raise anything, which the user's own code is to raise when it is recorded.
        except Exception as problem:
            if is_fault(problem):
                raise
            is_same = False
        if not is_same:
            _put_back(given, before)
            return False
        for one, item in zip(made, found):
            one._seen = item
        self.any = True
        return True


def _put_back(arrays: Sequence[Any], before: Sequence[Any]) -> None:
    for array, elements in zip(arrays, before):
        np.copyto(array, elements)


def _real(item: Traced) -> Any:
    """An array, or what the user's code has as a number of Python."""
    return item._seen.item() if item._value in item._capture.weak else seen_of(item)
