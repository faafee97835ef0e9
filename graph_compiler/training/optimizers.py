"""Optimizers by name, with options that mean the same in every framework."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..contracts import Training
from ..errors import InvalidOption, nearest
from ..runtime.boundary import public

_BETAS = {"b1": 0.9, "b2": 0.999, "eps": 1e-8}

ROWS: Mapping[str, Mapping[str, Any]] = {
    "sgd": {"learning_rate": 1e-3, "momentum": 0.0, "nesterov": False, "weight_decay": 0.0},
    "adam": {"learning_rate": 1e-3, **_BETAS, "weight_decay": 0.0, "amsgrad": False},
    "adamw": {"learning_rate": 1e-3, **_BETAS, "weight_decay": 1e-2, "amsgrad": False},
    "rmsprop": {"learning_rate": 1e-2, "decay": 0.99, "eps": 1e-8, "momentum": 0.0, "centered": False, "weight_decay": 0.0},
    "adagrad": {"learning_rate": 1e-2, "eps": 1e-10, "initial_accumulator": 0.0, "weight_decay": 0.0},
    "adadelta": {"learning_rate": 1.0, "decay": 0.9, "eps": 1e-6, "weight_decay": 0.0},
    "adamax": {"learning_rate": 2e-3, **_BETAS, "weight_decay": 0.0},
    "nadam": {"learning_rate": 2e-3, **_BETAS, "momentum_decay": 4e-3, "weight_decay": 0.0},
    "lion": {"learning_rate": 1e-4, "b1": 0.9, "b2": 0.99, "weight_decay": 0.0},
}
"""Names, and options with their defaults: those of ``torch.optim``, of ``lion`` those of its paper.

``weight_decay`` is added to the gradient (L2), but for ``adamw`` and ``lion``, which take ``learning_rate * weight_decay`` of the parameter
itself.
"""

_ALSO_CALLED = {
    "lr": "learning_rate", "beta_1": "b1", "beta1": "b1", "beta_2": "b2", "beta2": "b2", "epsilon": "eps", "alpha": "decay", "rho": "decay",
    "initial_accumulator_value": "initial_accumulator",
}  # fmt: skip
_NOT_ALIKE = {"adafactor": "each framework has its own step sizes, factored second moments and clipping for it"}


@dataclass(frozen=True)
class Optimizer:
    """Optimizer by name that does not belong to a framework yet. :func:`optimizer` returns it."""

    name: str
    options: Mapping[str, Any]

    @property
    def learning_rate(self) -> Any:
        """A number, or a function of the number of updates made before."""
        return self.options["learning_rate"]


@public
def optimizer(name: str, **options: Any) -> Optimizer:
    """Return an optimizer by name: ``sgd``, ``adam``, ``adamw``, ``rmsprop``, ``adagrad``, ``adadelta``,
    ``adamax``, ``nadam`` or ``lion``.

    It becomes the optimizer of ``optax``, ``torch.optim`` or ``keras.optimizers``. All compute what
    ``torch.optim`` does, to 1e-5 step by step in float32; ``lion``, which torch lacks, follows
    https://arxiv.org/abs/2302.06675.

    Args:
        name: One of these names. For another optimizer, pass the framework's own object to
            ``TrainState.create``.
        options: ``learning_rate`` (a number, or a function of the number of updates), ``weight_decay``,
            ``momentum``, ``nesterov``, ``b1``, ``b2``, ``eps``, ``amsgrad``, ``decay``, ``centered``,
            ``momentum_decay``, ``initial_accumulator``. The names of torch and Keras are
            accepted, too: ``lr``, ``betas``, ``beta_1``, ``epsilon``, ``alpha``, ``rho``.

    Raises:
        InvalidOption: The name is unknown, or the optimizer has no such option, or its value is not a number.

    >>> from graph_compiler import training
    >>> training.optimizer("sgd", learning_rate=0.1, momentum=0.9).options["nesterov"]
    False
    >>> training.optimizer("adamm")
    Traceback (most recent call last):
    graph_compiler.errors.InvalidOption: there is no optimizer 'adamm'; did you mean 'adam' or 'nadam' or 'adamw'?
    """
    if name in _NOT_ALIKE:
        raise InvalidOption(f"there is no {name!r} that is the same everywhere: {_NOT_ALIKE[name]}. Pass the framework's own optimizer")
    if name not in ROWS:
        raise InvalidOption(f"there is no optimizer {name!r}{nearest(str(name), ROWS) or f': there are {_listed(ROWS)}'}")
    given = {own: value for option, item in options.items() for own, value in _spelt(option, item)}
    for option, value in given.items():
        _check(name, option, value)
    return Optimizer(name, {**ROWS[name], **given})


def made(item: Any, engine: Training, target: str) -> tuple[Callable[..., Any], str, Any]:
    """The optimizer as the engine makes it, its name, and its learning rate: a number, a function, or None where the optimizer has its
    own."""
    found = optimizer(item) if isinstance(item, str) else item
    if isinstance(found, Optimizer):
        return engine.named(found.name, found.options), found.name, found.learning_rate
    own = engine.own(found)
    if own is None:
        raise InvalidOption(
            f"optimizer is {_described(found)}, which is no optimizer for {target}: pass a "
            f"name ({_listed(ROWS)}), training.optimizer(name, ...), or an optimizer of {target}'s own"
        )
    return own, _name(found), None


def _described(found: Any) -> str:
    """A class, or that of an object, with the library that it is of."""
    cls = found if isinstance(found, type) else type(found)
    return f"{cls.__module__.partition('.')[0]}.{cls.__name__}"


def _name(own: Any) -> str:
    """Of a framework's optimizer: that of its class, behind partials."""
    own = getattr(own, "func", own)
    return str(own.__name__ if hasattr(own, "__name__") else type(own).__name__)


def _spelt(option: str, value: Any) -> list[tuple[str, Any]]:
    """An option under the names of the table."""
    if option == "betas" and isinstance(value, (tuple, list)) and len(value) == 2:
        return [("b1", value[0]), ("b2", value[1])]
    return [(_ALSO_CALLED.get(option, option), value)]


def _check(name: str, option: str, value: Any) -> None:
    known = ROWS[name]
    if option not in known:
        raise InvalidOption(f"the optimizer {name!r} has no option {option}={nearest(option, known)}; it has {', '.join(known)}")
    if option == "learning_rate" and callable(value):
        return
    is_flag = isinstance(known[option], bool)
    if is_flag is not isinstance(value, bool) or not is_flag and not _is_number(value):
        raise InvalidOption(f"{option}= of the optimizer {name!r} is {value!r}, and has to be {'a bool' if is_flag else 'a number >= 0'}")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and value >= 0


def _listed(names: Any) -> str:
    return ", ".join(map(repr, names))
