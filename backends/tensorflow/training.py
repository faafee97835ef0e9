"""Training by Keras optimizers, ``tf.GradientTape`` and ``tf.function``; the state consists of variables."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import keras
import tensorflow as tf

from ...contracts.training import Arrays, Make, Program, StepState, Training
from ...errors import InvalidOption
from .native import target

Options = Mapping[str, Any]
Slots = dict[str, Any]


class RuleOptimizer(keras.optimizers.Optimizer):
    """Keras optimizer that updates variables by the rule of ``_ROWS[name]`` and by weight decay."""

    def __init__(self, name: str, options: Options) -> None:
        # ``TensorFlowTraining.updated`` assigns the rate.
        super().__init__(learning_rate=0.0, name=name)
        self._options, (wanted, self._rule) = options, _ROWS[name]
        self._names = [slot for slot, option in wanted.items() if option is None or options[option]]
        self._slots: list[Slots] = []

    def build(self, variables: Any) -> None:
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
        slots, dtype = self._slots[self._get_variable_index(variable)], variable.dtype
        step, rate = tf.cast(self.iterations.value + 1, dtype), tf.cast(learning_rate, dtype)
        if self._options["weight_decay"] and self.name != "adamw":
            gradient = gradient + self._options["weight_decay"] * variable
        values = {name: tf.convert_to_tensor(slot) for name, slot in slots.items()}
        if self._options["weight_decay"] and self.name == "adamw":
            # The decay of adamw is no part of the gradient, so the moments do not scale it.
            variable.assign_sub(rate * self._options["weight_decay"] * variable)
        change, new = self._rule(self._options, gradient, values, step)
        for name, value in new.items():
            slots[name].assign(value)
        variable.assign_sub(rate * change)


def optimizer_factory(name: str, options: Options) -> Callable[[], Any]:
    if name == "lion":
        decay = options["weight_decay"] or None
        return lambda: keras.optimizers.Lion(0.0, options["b1"], options["b2"], weight_decay=decay)
    return lambda: RuleOptimizer(name, options)


def _sgd(options: Options, gradient: Any, slots: Slots, step: Any) -> tuple[Any, Slots]:
    if not options["momentum"]:
        return gradient, {}
    kept = options["momentum"] * slots["momentum"] + gradient
    return (gradient + options["momentum"] * kept if options["nesterov"] else kept), {"momentum": kept}


def _moments(options: Options, gradient: Any, slots: Slots) -> tuple[Any, Any]:
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
    def momentum(count: Any) -> Any:
        return options["b1"] * (1 - 0.5 * 0.96 ** (count * options["momentum_decay"]))

    # The product of all momenta is the same for all elements. Its logarithm is stored, because slots start at
    # zero.
    mean, square = _moments(options, gradient, slots)
    now, following = momentum(step), momentum(step + 1)
    logarithm = slots["logarithm"] + tf.math.log(now)
    product = tf.exp(logarithm)
    direction = (1 - now) / (1 - product) * gradient + following / (1 - product * following) * mean
    scale = tf.sqrt(square / (1 - options["b2"] ** step)) + options["eps"]
    return direction / scale, {"mean": mean, "square": square, "logarithm": logarithm}


# For each optimizer, the slots of a variable, with the option that each of them requires (None if it always
# exists), and the rule, which returns the update before scaling by the learning rate, and the new slots.
_ROWS: Mapping[
    str, tuple[Mapping[str, str | None], Callable[[Options, Any, Slots, Any], tuple[Any, Slots]]]
] = {
    "sgd": ({"momentum": "momentum"}, _sgd),
    "adam": ({"mean": None, "square": None, "most": "amsgrad"}, _adam),
    "adamw": ({"mean": None, "square": None, "most": "amsgrad"}, _adam),
    "rmsprop": ({"square": None, "mean": "centered", "momentum": "momentum"}, _rmsprop),
    "adagrad": ({"sum": None}, _adagrad),
    "adadelta": ({"square": None, "change": None}, _adadelta),
    "adamax": ({"mean": None, "most": None}, _adamax),
    "nadam": ({"mean": None, "square": None, "logarithm": None}, _nadam),
}


class TensorFlowTraining(Training):
    """Training engine of TensorFlow: Keras optimizers that update the variables of the state."""

    # ------------------------------------------------------------------------------ optimizers
    def named(self, name: str, options: Mapping[str, Any]) -> Make:
        _require_backend()
        return optimizer_factory(name, options)

    def factory_of_own(self, item: Any) -> Make | None:
        cls: Any = item if inspect.isclass(item) else type(item)
        if not issubclass(cls, keras.optimizers.Optimizer):
            return None
        _require_backend()
        return item if item is cls else lambda: cls.from_config(item.get_config())

    def has_rate(self, make: Make) -> bool:
        # A schedule is no variable, and so cannot be assigned a rate.
        return isinstance(make()._learning_rate, keras.Variable)

    def new_optimizer_state(self, make: Make, trained: Arrays) -> Any:
        found = make()
        found.build(list(trained.values()))
        return found

    def updated(
        self, make: Make, held: StepState, gradients: Arrays, rate: Any, is_finite: Any
    ) -> tuple[Arrays, Any]:
        optimizer, variables = held.optimizer, list(held.trained.values())

        def update() -> Any:
            if rate is not None:
                optimizer.learning_rate.assign(rate)
            optimizer.apply([gradients[name] for name in held.trained], variables)
            return tf.constant(0)

        if is_finite is None:
            update()
        else:
            # Both branches of tf.cond have to return something of the same structure.
            tf.cond(is_finite, update, lambda: tf.constant(0))
        return held.trained, optimizer

    def optimizer_arrays(self, make: Make, held: StepState) -> Arrays:
        return {
            str(place): tf.convert_to_tensor(variable)
            for place, variable in enumerate(held.optimizer.variables)
        }

    def with_optimizer_arrays(self, make: Make, held: StepState, arrays: Arrays) -> Any:
        made = self.new_optimizer_state(make, held.trained)
        for place, variable in enumerate(made.variables):
            variable.assign(arrays[str(place)])
        return made

    # ------------------------------------------------------------------------------ arrays
    def trainable(self, array: Any) -> Any:
        return keras.Variable(array, dtype=array.dtype.name)

    def copied(self, array: Any) -> Any:
        return tf.Variable(array, trainable=False)

    def values(self, arrays: Arrays) -> Arrays:
        return {name: tf.convert_to_tensor(array) for name, array in arrays.items()}

    def snapshot(self, array: Any) -> Any:
        return tf.identity(tf.convert_to_tensor(array))

    def with_elements(self, held: Arrays, new: Arrays) -> Arrays:
        for name, variable in held.items():
            if name in new:
                variable.assign(tf.cast(new[name], variable.dtype))
        return held

    def zeros_like(self, array: Any) -> Any:
        return tf.zeros_like(array)

    def number(self, value: float | int) -> Any:
        return tf.constant(value, tf.int32 if isinstance(value, int) else tf.float32)

    def is_floating(self, array: Any) -> bool:
        return bool(array.dtype.is_floating)

    # ------------------------------------------------------------------------------ gradients
    def gradients(
        self, function: Callable[[Arrays], tuple[Any, Any]], trained: Arrays
    ) -> tuple[Any, Any, Arrays]:
        values = self.values(trained)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            for value in values.values():
                tape.watch(value)
            value, aux = function(values)
        found = tape.gradient(value, values, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        # The gradient of a lookup of rows is sparse.
        return value, aux, {name: tf.convert_to_tensor(gradient) for name, gradient in found.items()}

    def norm(self, arrays: Arrays) -> Any:
        # A norm in float16 would overflow above 65,504.
        wide = _wider(tf.float32, *(array.dtype for array in arrays.values()))
        return tf.linalg.global_norm([tf.cast(array, wide) for array in arrays.values()])

    def scaled(self, arrays: Arrays, factor: Any) -> Arrays:
        def one(array: Any) -> Any:
            wide = _wider(tf.float32, array.dtype)
            return tf.cast(tf.cast(array, wide) * tf.cast(factor, wide), array.dtype)

        return {name: one(array) for name, array in arrays.items()}

    def minimum(self, left: Any, right: Any) -> Any:
        return tf.minimum(left, right)

    def is_finite(self, arrays: Arrays) -> Any:
        return tf.reduce_all([tf.reduce_all(tf.math.is_finite(array)) for array in arrays.values()])

    def where(self, condition: Any, new: Arrays, old: Arrays) -> Arrays:
        return {name: tf.where(condition, array, old[name]) for name, array in new.items()}

    # ------------------------------------------------------------------------------ random numbers
    def generator(self, like: Any) -> Any:
        return tf.Variable(target.next_key(), trainable=False)

    def key(self, rng: Any) -> tuple[Any, Any]:
        following, key = tf.unstack(tf.random.split(rng, 2))
        rng.assign(following)
        return key, rng

    def rng_arrays(self, rng: Any) -> Arrays:
        return {"key": tf.convert_to_tensor(rng)}

    def with_rng_arrays(self, arrays: Arrays, like: Any) -> Any:
        return tf.Variable(arrays["key"], trainable=False)

    # ------------------------------------------------------------------------------ running
    def compiled(self, step: Program, is_consuming: bool, options: Mapping[str, Any] | None) -> Program:
        functions: dict[int, Any] = {}

        def run(held: StepState, arrays: Any, rate: Any) -> tuple[StepState, Any]:
            # A tf.function captures the variables of one training state.
            if id(held.optimizer) not in functions:
                functions[id(held.optimizer)] = tf.function(
                    lambda arrays, rate: step(held, arrays, rate)[1], autograph=False, **dict(options or {})
                )
            # A Python number would be a constant of the trace, so each rate would need another trace.
            given = None if rate is None else tf.constant(rate, tf.float32)
            return held, functions[id(held.optimizer)](arrays, given)

        return run

    def placed(self, array: Any, where: Any) -> Any:
        with tf.device(getattr(where, "name", where)):
            return tf.identity(target.convert(array))

    def is_device(self, item: Any) -> bool:
        # TensorFlow silently uses the CPU for an unknown name.
        if not isinstance(item, str):
            return isinstance(item, tf.config.LogicalDevice)
        name = item.upper().rpartition("/")[2].removeprefix("DEVICE:")
        known = [device.name.removeprefix("/device:") for device in tf.config.list_logical_devices()]
        return (name if ":" in name else f"{name}:0") in known


def _wider(*dtypes: Any) -> Any:
    return max(dtypes, key=lambda dtype: dtype.size)


def _require_backend() -> None:
    if keras.backend.backend() != "tensorflow":
        raise InvalidOption(
            f"Keras computes in {keras.backend.backend()} here, and its optimizers train variables of "
            "TensorFlow only in TensorFlow: set "
            "KERAS_BACKEND=tensorflow before the first import"
        )


training = TensorFlowTraining()
