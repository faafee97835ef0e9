"""Programs that append to lists: one variant serves every length if the list is never read, else each length
has its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .table import Program

_CALLS = tuple(
    lambda rows=rows, shift=shift: (torch.linspace(-1, 2, rows * 3).reshape(rows, 3) + shift,)
    for shift, rows in enumerate((2, 3, 2, 5) * 2)
)


class Logging:
    """Has a list under several names and passes it to ``step``."""

    def __init__(self, step: Callable[[Any, Any], Any]) -> None:
        self.log: list[Any] = []
        self.also, self.within, self.history = self.log, (self.log, 1), {"losses": [], "sizes": []}
        self.alone: list[Any] = []
        self._step = step

    def __call__(self, x: Any) -> Any:
        return self._step(self, x)


def notes_numbers(own: Any, x: Any) -> Any:
    own.alone.append(x.sum().item())
    return x * 2


def notes_tensors(own: Any, x: Any) -> Any:
    own.alone.append(x.sum())
    own.alone.extend([x.mean(), x.shape[0]])
    return x * 2


def notes_history(own: Any, x: Any) -> Any:
    own.history["losses"].append(float(x.mean()))
    own.history["sizes"] += [x.shape[0]]
    return x + 1


def decides_by_length(own: Any, x: Any) -> Any:
    own.alone.append(x.sum())
    return x * 10 if len(own.alone) % 4 == 0 else x


def looks_and_goes_on(own: Any, x: Any) -> Any:
    own.alone.append(x.sum())
    try:
        return x * 10 if own.alone[-2] > 0 else x
    except Exception:
        return x - 1


def gives_it(own: Any, x: Any) -> Any:
    own.alone.append(x.sum())
    return own.alone


def stacks(own: Any, x: Any) -> Any:
    own.alone.append(x.sum())
    return torch.stack(own.alone).sum() + x


def unpacks(own: Any, x: Any) -> Any:
    own.alone.append(x.sum())
    return x * len([*own.alone]) + len([1] + own.alone)


def counts_by_another_name(own: Any, x: Any) -> Any:
    own.log.append(x.sum())
    return x * len(own.also)


def counts_in_a_tuple(own: Any, x: Any) -> Any:
    own.log.append(x.sum())
    return x * len(own.within[0])


def asks_for_its_class(own: Any, x: Any) -> Any:
    own.alone.append(x.sum())
    return x * (2 if type(own.alone) is list else 3)


def begins_anew(own: Any, x: Any) -> Any:
    own.alone.append(x.sum())
    if x.shape[0] == 5:
        own.alone = []
    return x * 2


def _empties(own: Any) -> None:
    own.alone.clear()


_STEPS: dict[Callable[[Any, Any], Any], int | None] = {
    notes_numbers: 3,
    notes_tensors: 3,
    notes_history: 3,
    **dict.fromkeys((decides_by_length, looks_and_goes_on, gives_it, stacks, unpacks)),
    **dict.fromkeys((counts_by_another_name, counts_in_a_tuple, asks_for_its_class, begins_anew)),
}
PROGRAMS = [
    *(
        Program(step.__name__, lambda step=step: Logging(step), _CALLS, variants=variants)
        for step, variants in _STEPS.items()
    ),
    Program("emptied", lambda: Logging(notes_numbers), _CALLS, variants=3, changes={5: _empties}),
]
