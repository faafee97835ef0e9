"""Optimizers by name as optimizers of Keras, which compute what ``torch.optim`` does.

Those of Keras put ``eps``, the learning rate and the decay of weights in other places, so each has its rule written here; the rest is
Keras'.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import keras
import tensorflow as tf

Options = Mapping[str, Any]
Slots = dict[str, Any]


class Rule(keras.optimizers.Optimizer):
    """An optimizer of Keras whose update of one variable is a function of this module. ``slots`` are arrays like the variable."""

    def __init__(self, name: str, options: Options) -> None:
        super().__init__(learning_rate=0.0, name=name)
        self._options, (wanted, self._rule) = options, _ROWS[name]
        self._names = [slot for slot, option in wanted.items() if option is None or options[option]]
        self._slots: list[Slots] = []

    def build(self, variables: Any) -> None:
        """Adds the slots of each variable."""
        if self.built:
            return
        super().build(variables)
        first = self._options.get("initial_accumulator", 0.0)
        for variable in variables:
            made = {name: self.add_variable_from_reference(variable, name, "zeros") for name in self._names}
            for slot in made.values() if first else ():
                slot.assign(tf.fill(slot.shape, first))
            self._slots.append(made)

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """One update of one variable."""
        slots, dtype = self._slots[self._get_variable_index(variable)], variable.dtype
        step, rate = tf.cast(self.iterations.value + 1, dtype), tf.cast(learning_rate, dtype)
        if self._options["weight_decay"] and self.name != "adamw":
            gradient = gradient + self._options["weight_decay"] * variable
        values = {name: tf.convert_to_tensor(slot) for name, slot in slots.items()}
        if self._options["weight_decay"] and self.name == "adamw":
            variable.assign_sub(rate * self._options["weight_decay"] * variable)
        change, new = self._rule(self._options, gradient, values, step)
        for name, value in new.items():
            slots[name].assign(value)
        variable.assign_sub(rate * change)


def made(name: str, options: Options) -> Callable[[], Any]:
    """A function that gives the optimizer."""
    if name == "lion":
        decay = options["weight_decay"] or None
        return lambda: keras.optimizers.Lion(0.0, options["b1"], options["b2"], weight_decay=decay)
    return lambda: Rule(name, options)


def _sgd(options: Options, gradient: Any, slots: Slots, step: Any) -> tuple[Any, Slots]:
    if not options["momentum"]:
        return gradient, {}
    kept = options["momentum"] * slots["momentum"] + gradient
    return (gradient + options["momentum"] * kept if options["nesterov"] else kept), {"momentum": kept}


def _moments(options: Options, gradient: Any, slots: Slots) -> tuple[Any, Any]:
    """The running means of the gradient and of its square."""
    b1, b2 = options["b1"], options["b2"]
    return b1 * slots["mean"] + (1 - b1) * gradient, b2 * slots["square"] + (1 - b2) * gradient * gradient


def _adam(options: Options, gradient: Any, slots: Slots, step: Any) -> tuple[Any, Slots]:
    mean, square = _moments(options, gradient, slots)
    new = {"mean": mean, "square": square}
    if options["amsgrad"]:
        new["most"] = square = tf.maximum(slots["most"], square)
    scale = tf.sqrt(square / (1 - options["b2"] ** step)) + options["eps"]
    return mean / (1 - options["b1"] ** step) / scale, new


def _rmsprop(options: Options, gradient: Any, slots: Slots, step: Any) -> tuple[Any, Slots]:
    decay = options["decay"]
    new = {"square": decay * slots["square"] + (1 - decay) * gradient * gradient}
    square = new["square"]
    if options["centered"]:
        new["mean"] = decay * slots["mean"] + (1 - decay) * gradient
        square = square - new["mean"] ** 2
    change = gradient / (tf.sqrt(square) + options["eps"])
    if options["momentum"]:
        new["momentum"] = change = options["momentum"] * slots["momentum"] + change
    return change, new


def _adagrad(options: Options, gradient: Any, slots: Slots, step: Any) -> tuple[Any, Slots]:
    total = slots["sum"] + gradient * gradient
    return gradient / (tf.sqrt(total) + options["eps"]), {"sum": total}


def _adadelta(options: Options, gradient: Any, slots: Slots, step: Any) -> tuple[Any, Slots]:
    decay, eps = options["decay"], options["eps"]
    square = decay * slots["square"] + (1 - decay) * gradient * gradient
    change = tf.sqrt(slots["change"] + eps) / tf.sqrt(square + eps) * gradient
    return change, {"square": square, "change": decay * slots["change"] + (1 - decay) * change * change}


def _adamax(options: Options, gradient: Any, slots: Slots, step: Any) -> tuple[Any, Slots]:
    mean = options["b1"] * slots["mean"] + (1 - options["b1"]) * gradient
    most = tf.maximum(options["b2"] * slots["most"], tf.abs(gradient) + options["eps"])
    return mean / (1 - options["b1"] ** step) / most, {"mean": mean, "most": most}


def _nadam(options: Options, gradient: Any, slots: Slots, step: Any) -> tuple[Any, Slots]:
    """The product of the momenta so far is the same for all elements; it is kept as its logarithm, which begins with zeros."""

    def momentum(count: Any) -> Any:
        return options["b1"] * (1 - 0.5 * 0.96 ** (count * options["momentum_decay"]))

    mean, square = _moments(options, gradient, slots)
    now, following = momentum(step), momentum(step + 1)
    logarithm = slots["logarithm"] + tf.math.log(now)
    product = tf.exp(logarithm)
    direction = (1 - now) / (1 - product) * gradient + following / (1 - product * following) * mean
    scale = tf.sqrt(square / (1 - options["b2"] ** step)) + options["eps"]
    return direction / scale, {"mean": mean, "square": square, "logarithm": logarithm}


# The slots of each variable, each with the option without which it is not there; the rule: what the learning rate is multiplied with, and
# the slots then.
_ROWS: Mapping[str, tuple[Mapping[str, str | None], Callable[[Options, Any, Slots, Any], tuple[Any, Slots]]]] = {
    "sgd": ({"momentum": "momentum"}, _sgd),
    "adam": ({"mean": None, "square": None, "most": "amsgrad"}, _adam),
    "adamw": ({"mean": None, "square": None, "most": "amsgrad"}, _adam),
    "rmsprop": ({"square": None, "mean": "centered", "momentum": "momentum"}, _rmsprop),
    "adagrad": ({"sum": None}, _adagrad),
    "adadelta": ({"square": None, "change": None}, _adadelta),
    "adamax": ({"mean": None, "most": None}, _adamax),
    "nadam": ({"mean": None, "square": None, "logarithm": None}, _nadam),
}
