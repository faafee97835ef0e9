"""Optimizers and learning-rate schedules by name, with options that mean the same in every framework."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..contracts import Training
from ..errors import InvalidOption, nearest
from ..forwarding import forwards
from ..recording.faults import is_fault
from ..runtime.boundary import public

Rate = Callable[[int], Any]

_SHARES: Mapping[str, Callable[[float, Mapping[str, float]], float]] = {
    "constant": lambda done, options: 1.0,
    "linear": lambda done, options: 1 + (options["end"] - 1) * done,
    "cosine": lambda done, options: (
        options["end"] + (1 - options["end"]) * (1 + math.cos(math.pi * done)) / 2
    ),
    "polynomial": lambda done, options: (
        options["end"] + (1 - options["end"]) * (1 - done) ** options["power"]
    ),
    "exponential": lambda done, options: options["end"] ** done,
}
"""Learning rate as a fraction of the highest one, by the fraction ``done`` of the steps after the warm-up."""
_OPTIONS = {"steps": 0, "warmup": 0, "end": 0.0, "power": 1.0}


@dataclass(frozen=True)
class Schedule:
    """Learning rate as a function of the number of updates. :func:`schedule` returns it.

    name: name of the schedule.
    learning_rate: rate at the end of the warm-up; None for that of the optimizer.
    options: ``steps``, ``warmup``, ``end`` and ``power``.
    """

    name: str
    learning_rate: float | None
    options: Mapping[str, float]

    def __call__(self, step: int) -> float:
        """Return the learning rate of the update with index ``step``, counted from 0.

        If ``learning_rate`` is None, it counts as 1.
        """
        peak = 1.0 if self.learning_rate is None else self.learning_rate
        warmup, steps = self.options["warmup"], self.options["steps"]
        if step < warmup:
            # ``warmup`` may be a fraction.
            return float(peak * min(1.0, (step + 1) / warmup))
        done = min(1.0, (step - warmup) / (steps - warmup)) if steps > warmup else 0.0
        return float(peak * _SHARES[self.name](done, self.options))


@public
def schedule(name: str, learning_rate: float | None = None, **options: float) -> Schedule:
    """Return a learning rate by name, as a function of the number of updates made before.

    Args:
        name: ``constant``, ``linear``, ``cosine`` (https://arxiv.org/abs/1608.03983, without restarts),
            ``polynomial`` or ``exponential``.
        learning_rate: Rate at the end of the warm-up. Default: that of the optimizer.
        options: ``steps``, after which the rate is constant (not needed for ``constant``); ``warmup``, the
            number of first steps, in which the rate rises linearly to ``learning_rate``; ``end``, the
            fraction of ``learning_rate`` to which a schedule other than ``constant`` leads; ``power`` of
            ``polynomial``.

    Raises:
        InvalidOption: The name or an option is unknown, ``learning_rate`` is not a finite number, the value
            of an option is not a finite number or is negative, ``steps`` is missing or not above ``warmup``
            (except for ``constant``), or ``exponential`` has ``end=0``.

    >>> from graph_compiler import training
    >>> rate = training.schedule("linear", 0.1, steps=6, warmup=2)
    >>> [round(rate(step), 4) for step in range(7)]
    [0.05, 0.1, 0.1, 0.075, 0.05, 0.025, 0.0]
    """
    if name not in tuple(_SHARES):
        raise InvalidOption(
            f"there is no schedule {name!r}{nearest(str(name), _SHARES) or f'; there are {sorted(_SHARES)}'}"
        )
    peak: Any = learning_rate
    if peak is not None and not (isinstance(peak, (int, float)) and math.isfinite(peak)):
        raise InvalidOption(
            f"learning_rate= of the schedule {name!r} is {learning_rate!r}, and has to be a finite number"
        )
    given: Mapping[str, Any] = options
    for option, value in given.items():
        if option not in _OPTIONS:
            raise InvalidOption(
                f"a schedule has no option {option}={nearest(option, _OPTIONS)}; it has {', '.join(_OPTIONS)}"
            )
        if not _is_number(value):
            raise InvalidOption(
                f"{option}= of the schedule {name!r} is {value!r}, and has to be a finite number >= 0"
            )
    found = {**_OPTIONS, **options}
    if name != "constant" and found["steps"] <= found["warmup"]:
        raise InvalidOption(
            f"the schedule {name!r} needs steps=, more than the {found['warmup']} of its warmup="
        )
    if name == "exponential" and not found["end"]:
        raise InvalidOption(
            "the schedule 'exponential' never ends at 0: give end=, the share of the rate that is left after "
            "all steps"
        )
    return Schedule(name, learning_rate, found)


def rate_of(given: Any, own: Any, has_rate: bool) -> Rate | None:
    """Return the learning rate as a function of the number of updates; None if the optimizer contains it.

    given: the option ``schedule=`` of the state; None for the optimizer's own rate.
    own: the optimizer's rate, a number or a function; None if the optimizer contains it.
    has_rate: True if steps can set the rate of the optimizer.
    """
    if given is None:
        return None if own is None else _function(own)
    if not has_rate:
        raise InvalidOption(
            "schedule= goes with an optimizer whose learning rate can be set: a name, or an optimizer that "
            "has a rate. Give the schedule to this optimizer itself"
        )
    if isinstance(given, str):
        raise InvalidOption(
            f"schedule= is {given!r}: a name needs its steps, schedule=training.schedule({given!r}, "
            "steps=...)"
        )
    if not callable(given):
        raise InvalidOption(
            f"schedule= is {given!r}, and has to be training.schedule(name, ...) or a function of the step "
            "that gives a rate"
        )
    if isinstance(given, Schedule) and given.learning_rate is None:
        if not isinstance(own, (int, float)):
            raise InvalidOption(
                f"the schedule {given.name!r} needs the highest rate: training.schedule({given.name!r}, "
                "learning_rate, ...)"
            )
        return Schedule(given.name, float(own), given.options)
    found: Rate = given
    return found


def _function(own: Any) -> Rate:
    return own if callable(own) else lambda step: own


@forwards
def evaluate_rate(rate: Rate, step: int) -> float:
    try:
        found = float(rate(step))
    # The schedule is the user's function, and may raise anything.
    except Exception as problem:
        if is_fault(problem):
            raise
        raise InvalidOption(
            f"the schedule gives no number for step {step}: {type(problem).__name__}: {problem}"
        ) from problem
    if not math.isfinite(found):
        raise InvalidOption(f"the schedule gives {found} for step {step}")
    return found


__all__: list[str] = ["Rate", "Schedule", "evaluate_rate", "rate_of", "schedule"]


_BETAS = {"b1": 0.9, "b2": 0.999, "eps": 1e-8}

ROWS: Mapping[str, Mapping[str, Any]] = {
    "sgd": {"learning_rate": 1e-3, "momentum": 0.0, "nesterov": False, "weight_decay": 0.0},
    "adam": {"learning_rate": 1e-3, **_BETAS, "weight_decay": 0.0, "amsgrad": False},
    "adamw": {"learning_rate": 1e-3, **_BETAS, "weight_decay": 1e-2, "amsgrad": False},
    "rmsprop": {
        "learning_rate": 1e-2,
        "decay": 0.99,
        "eps": 1e-8,
        "momentum": 0.0,
        "centered": False,
        "weight_decay": 0.0,
    },
    "adagrad": {"learning_rate": 1e-2, "eps": 1e-10, "initial_accumulator": 0.0, "weight_decay": 0.0},
    "adadelta": {"learning_rate": 1.0, "decay": 0.9, "eps": 1e-6, "weight_decay": 0.0},
    "adamax": {"learning_rate": 2e-3, **_BETAS, "weight_decay": 0.0},
    "nadam": {"learning_rate": 2e-3, **_BETAS, "momentum_decay": 4e-3, "weight_decay": 0.0},
    "lion": {"learning_rate": 1e-4, "b1": 0.9, "b2": 0.99, "weight_decay": 0.0},
}
"""Optimizers and their options, with the defaults of ``torch.optim``, or for ``lion`` of its paper.

``weight_decay`` is added to the gradient (L2), except for ``adamw`` and ``lion``, which multiply the
parameter by ``1 - learning_rate * weight_decay``.
"""

_ALIASES = {
    "lr": "learning_rate", "beta_1": "b1", "beta1": "b1", "beta_2": "b2", "beta2": "b2", "epsilon": "eps",
    "alpha": "decay", "rho": "decay", "initial_accumulator_value": "initial_accumulator",
}  # fmt: skip
_UNSUPPORTED = {
    "adafactor": "each framework has its own step sizes, factored second moments and clipping for it"
}


@dataclass(frozen=True)
class Optimizer:
    """Framework-independent specification of an optimizer, created by :func:`optimizer`.

    name: key in ``ROWS``.
    options: values of all options, including defaults.
    """

    name: str
    options: Mapping[str, Any]

    @property
    def learning_rate(self) -> Any:
        """Number, or function of the number of updates made before."""
        return self.options["learning_rate"]


@public
def optimizer(name: str, **options: Any) -> Optimizer:
    """Return the optimizer ``name``, with options that mean the same in every framework.

    Names are ``sgd``, ``adam``, ``adamw``, ``rmsprop``, ``adagrad``, ``adadelta``, ``adamax``, ``nadam`` and
    ``lion``. The target decides what it is built from: optax transformations, a class of ``torch.optim`` or a
    Keras optimizer. Its updates follow ``torch.optim``. ``lion`` follows its paper
    (https://arxiv.org/abs/2302.06675) and is not available in torch.

    Args:
        name: One of these names. For another optimizer, pass the framework's own object to
            ``TrainState.create``.
        options: ``learning_rate`` (a number, or a function of the number of updates), ``weight_decay``,
            ``momentum``, ``nesterov``, ``b1``, ``b2``, ``eps``, ``amsgrad``, ``decay``, ``centered``,
            ``momentum_decay``, ``initial_accumulator``. Names of torch and Keras for these are accepted, too,
            such as ``lr``, ``betas``, ``beta_1``, ``epsilon``, ``alpha`` and ``rho``.

    Raises:
        InvalidOption: The name is unknown, or the optimizer has no such option or does not accept its value.

    >>> from graph_compiler import training
    >>> training.optimizer("sgd", learning_rate=0.1, momentum=0.9).options["nesterov"]
    False
    >>> training.optimizer("adamm")
    Traceback (most recent call last):
    graph_compiler.errors.InvalidOption: there is no optimizer 'adamm'; did you mean 'adam' ...
    """
    is_text = isinstance(name, str)
    if is_text and name in _UNSUPPORTED:
        raise InvalidOption(
            f"there is no {name!r} that is the same everywhere: {_UNSUPPORTED[name]}. Pass the framework's "
            "own optimizer"
        )
    if not is_text or name not in ROWS:
        raise InvalidOption(
            f"there is no optimizer {name!r}{nearest(str(name), ROWS) or f': there are {_listed(ROWS)}'}"
        )
    given = {
        own: value for option, item in options.items() for own, value in _canonical_options(option, item)
    }
    for option, value in given.items():
        _check(name, option, value)
    return Optimizer(name, {**ROWS[name], **given})


def resolve_optimizer(item: Any, engine: Training, target: str) -> tuple[Callable[..., Any], str, Any]:
    """Return an optimizer's constructor, name and rate, which is None if the constructor contains it."""
    found = optimizer(item) if isinstance(item, str) else item
    if isinstance(found, Optimizer):
        return engine.named(found.name, found.options), found.name, found.learning_rate
    own = engine.factory_of_own(found)
    if own is None:
        raise InvalidOption(
            f"optimizer is {_class_name(found)}, which is no optimizer for {target}: pass a "
            f"name ({_listed(ROWS)}), training.optimizer(name, ...), or an optimizer of {target}'s own"
        )
    return own, _name(found), None


def _class_name(found: Any) -> str:
    cls = found if isinstance(found, type) else type(found)
    return f"{cls.__module__.partition('.')[0]}.{cls.__name__}"


def _name(own: Any) -> str:
    own = getattr(own, "func", own)
    return str(own.__name__ if hasattr(own, "__name__") else type(own).__name__)


def _canonical_options(option: str, value: Any) -> list[tuple[str, Any]]:
    if option == "betas" and isinstance(value, (tuple, list)) and len(value) == 2:
        return [("b1", value[0]), ("b2", value[1])]
    return [(_ALIASES.get(option, option), value)]


def _check(name: str, option: str, value: Any) -> None:
    known = ROWS[name]
    if option not in known:
        raise InvalidOption(
            f"the optimizer {name!r} has no option {option}={nearest(option, known)}; it has "
            f"{', '.join(known)}"
        )
    if option == "learning_rate" and callable(value):
        return
    is_flag = isinstance(known[option], bool)
    if is_flag is not isinstance(value, bool) or not is_flag and not _is_number(value):
        raise InvalidOption(
            f"{option}= of the optimizer {name!r} is {value!r}, and has to be "
            f"{'a bool' if is_flag else 'a finite number >= 0'}"
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value) and value >= 0


def _listed(names: Any) -> str:
    return ", ".join(map(repr, names))
