"""Learning rates that change from update to update, by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidOption, nearest
from ..forwarding import forwards
from ..runtime.boundary import public
from ..tracing.faults import is_fault

Rate = Callable[[int], Any]

_SHARES: Mapping[str, Callable[[float, Mapping[str, float]], float]] = {
    "constant": lambda done, options: 1.0,
    "linear": lambda done, options: 1 + (options["end"] - 1) * done,
    "cosine": lambda done, options: options["end"] + (1 - options["end"]) * (1 + math.cos(math.pi * done)) / 2,
    "polynomial": lambda done, options: options["end"] + (1 - options["end"]) * (1 - done) ** options["power"],
    "exponential": lambda done, options: options["end"] ** done,
}
"""The share of the peak where a part ``done`` (0 to 1) of the steps after the warm-up is over."""
_OPTIONS = {"steps": 0, "warmup": 0, "end": 0.0, "power": 1.0}


@dataclass(frozen=True)
class Schedule:
    """Learning rate as a function of the number of updates. :func:`schedule` returns it."""

    name: str
    learning_rate: float | None
    options: Mapping[str, float]

    def __call__(self, step: int) -> float:
        """The rate of the update after ``step`` others."""
        peak = 1.0 if self.learning_rate is None else self.learning_rate
        warmup, steps = self.options["warmup"], self.options["steps"]
        if step < warmup:
            return float(peak * (step + 1) / warmup)
        done = min(1.0, (step - warmup) / (steps - warmup)) if steps > warmup else 0.0
        return float(peak * _SHARES[self.name](done, self.options))


@public
def schedule(name: str, learning_rate: float | None = None, **options: float) -> Schedule:
    """Return a learning rate by name, as a function of the number of updates made before.

    Args:
        name: ``constant``, ``linear``, ``cosine`` (https://arxiv.org/abs/1608.03983, without restarts),
            ``polynomial`` or ``exponential``.
        learning_rate: Highest rate. Default: that of the optimizer.
        options: ``steps``, after which the rate is constant (not needed for ``constant``); ``warmup``, how
            many of them rise linearly to the highest rate; ``end``, the fraction of the highest rate at the
            end; ``power`` of ``polynomial``.

    Raises:
        InvalidOption: The name or an option is unknown, ``steps`` is missing, or ``exponential`` has
            ``end=0``.

    >>> from graph_compiler import training
    >>> rate = training.schedule("linear", 0.1, steps=6, warmup=2)
    >>> [round(rate(step), 4) for step in range(7)]
    [0.05, 0.1, 0.1, 0.075, 0.05, 0.025, 0.0]
    """
    if name not in tuple(_SHARES):
        raise InvalidOption(f"there is no schedule {name!r}{nearest(str(name), _SHARES) or f'; there are {sorted(_SHARES)}'}")
    peak: Any = learning_rate
    if peak is not None and not (isinstance(peak, (int, float)) and math.isfinite(peak)):
        raise InvalidOption(f"learning_rate= of the schedule {name!r} is {learning_rate!r}, and has to be a finite number")
    given: Mapping[str, Any] = options
    for option, value in given.items():
        if option not in _OPTIONS:
            raise InvalidOption(f"a schedule has no option {option}={nearest(option, _OPTIONS)}; it has {', '.join(_OPTIONS)}")
        if not isinstance(value, (int, float)) or value < 0:
            raise InvalidOption(f"{option}= of the schedule {name!r} is {value!r}, and has to be a number >= 0")
    found = {**_OPTIONS, **options}
    if name != "constant" and found["steps"] <= found["warmup"]:
        raise InvalidOption(f"the schedule {name!r} needs steps=, more than the {found['warmup']} of its warmup=")
    if name == "exponential" and not found["end"]:
        raise InvalidOption("the schedule 'exponential' never ends at 0: give end=, the share of the rate that is left after all steps")
    return Schedule(name, learning_rate, found)


def rate_of(given: Any, own: Any, has_rate: bool) -> Rate | None:
    """The rate of each update: what is ``given`` to the state, else the optimizer's ``own``; None where the optimizer has it itself."""
    if given is None:
        return None if own is None else _function(own)
    if not has_rate:
        raise InvalidOption(
            "schedule= goes with an optimizer whose learning rate can be set: a name, or an optimizer that has a rate. Give the schedule "
            "to this optimizer itself"
        )
    if isinstance(given, str):
        raise InvalidOption(f"schedule= is {given!r}: a name needs its steps, schedule=training.schedule({given!r}, steps=...)")
    if not callable(given):
        raise InvalidOption(
            f"schedule= is {given!r}, and has to be training.schedule(name, ...) or a function of the step that gives a rate"
        )
    if isinstance(given, Schedule) and given.learning_rate is None:
        if not isinstance(own, (int, float)):
            raise InvalidOption(
                f"the schedule {given.name!r} needs the highest rate: training.schedule({given.name!r}, learning_rate, ...)"
            )
        return Schedule(given.name, float(own), given.options)
    found: Rate = given
    return found


def _function(own: Any) -> Rate:
    return own if callable(own) else lambda step: own


@forwards
def called(rate: Rate, step: int) -> float:
    """The rate of an update, as a float. ``InvalidOption`` where the function gives none."""
    try:
        found = float(rate(step))
    # The schedule is the user's function, and may raise anything.
    except Exception as problem:
        if is_fault(problem):
            raise
        raise InvalidOption(f"the schedule gives no number for step {step}: {type(problem).__name__}: {problem}") from problem
    if not math.isfinite(found):
        raise InvalidOption(f"the schedule gives {found} for step {step}")
    return found


__all__: list[str] = ["Rate", "Schedule", "called", "rate_of", "schedule"]
