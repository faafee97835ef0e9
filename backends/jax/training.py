"""Training with optimizers of optax and steps compiled by ``jax.jit``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np

from ...contracts.training import Arrays, Make, Program, StepState, Training
from ...errors import CallMismatch, FrameworkNotInstalled, GraphCompilerError
from .native import target

# Only optimizers by name need it.
try:
    import optax
except ImportError:
    optax = None

Options = Mapping[str, Any]


class Nadam(NamedTuple):
    count: Any
    product: Any
    mu: Any
    nu: Any


def optimizer_factory(name: str, options: Options) -> Callable[[Any], Any]:
    scale, is_decoupled = _ROWS[name]
    decay = [optax.add_decayed_weights(options["weight_decay"])] if options["weight_decay"] else []

    def with_rate(rate: Any) -> Any:
        parts = [*scale(options), *decay] if is_decoupled else [*decay, *scale(options)]
        return optax.chain(*parts, optax.scale_by_learning_rate(rate))

    return with_rate


def _sgd(options: Options) -> list[Any]:
    return [optax.trace(options["momentum"], options["nesterov"])] if options["momentum"] else []


def _adam(options: Options) -> list[Any]:

    return [
        _amsgrad(options)
        if options["amsgrad"]
        else optax.scale_by_adam(options["b1"], options["b2"], options["eps"])
    ]


def _rmsprop(options: Options) -> list[Any]:
    scale = optax.scale_by_stddev if options["centered"] else optax.scale_by_rms
    parts = [scale(options["decay"], options["eps"], eps_in_sqrt=False)]
    return [*parts, optax.trace(options["momentum"])] if options["momentum"] else parts


def _adagrad(options: Options) -> list[Any]:
    def init(parameters: Any) -> Any:
        return jax.tree.map(lambda array: jnp.full_like(array, options["initial_accumulator"]), parameters)

    def update(gradients: Any, sums: Any, parameters: Any = None) -> tuple[Any, Any]:
        sums = jax.tree.map(lambda total, gradient: total + gradient * gradient, sums, gradients)
        # ``optax.scale_by_rss`` adds ``eps`` before it takes the root.
        return jax.tree.map(
            lambda gradient, total: gradient / (jnp.sqrt(total) + options["eps"]), gradients, sums
        ), sums

    return [optax.GradientTransformation(init, update)]


def _adadelta(options: Options) -> list[Any]:
    return [optax.scale_by_adadelta(options["decay"], options["eps"])]


def _adamax(options: Options) -> list[Any]:
    return [optax.scale_by_adamax(options["b1"], options["b2"], options["eps"])]


def _lion(options: Options) -> list[Any]:
    return [optax.scale_by_lion(options["b1"], options["b2"])]


def _amsgrad(options: Options) -> Any:
    b1, b2, eps = options["b1"], options["b2"], options["eps"]

    def init(parameters: Any) -> Any:
        zeros = jax.tree.map(jnp.zeros_like, parameters)
        return optax.ScaleByAmsgradState(jnp.zeros((), jnp.int32), zeros, zeros, zeros)

    def update(gradients: Any, state: Any, parameters: Any = None) -> tuple[Any, Any]:
        count = state.count + 1
        mu = optax.tree.update_moment(gradients, state.mu, b1, 1)
        nu = optax.tree.update_moment(gradients, state.nu, b2, 2)
        # optax takes the maximum of the moments after bias correction.
        most = jax.tree.map(jnp.maximum, state.nu_max, nu)
        steps = jax.tree.map(
            lambda m, v: m / (jnp.sqrt(v) + eps),
            optax.tree.bias_correction(mu, b1, count),
            optax.tree.bias_correction(most, b2, count),
        )
        return steps, optax.ScaleByAmsgradState(count, mu, nu, most)

    return optax.GradientTransformation(init, update)


def _nadam(options: Options) -> list[Any]:
    b1, b2, eps = options["b1"], options["b2"], options["eps"]

    # optax lacks this momentum schedule, see https://openreview.net/forum?id=OM0jvwB8jIp57ZJjtNEZ.
    def momentum(count: Any) -> Any:
        return b1 * (1 - 0.5 * 0.96 ** (count * options["momentum_decay"]))

    def init(parameters: Any) -> Nadam:
        zeros = jax.tree.map(jnp.zeros_like, parameters)
        return Nadam(jnp.zeros((), jnp.int32), jnp.ones(()), zeros, zeros)

    def update(gradients: Any, state: Nadam, parameters: Any = None) -> tuple[Any, Nadam]:
        count = state.count + 1
        now, following = momentum(count), momentum(count + 1)
        product = state.product * now
        mu = optax.tree.update_moment(gradients, state.mu, b1, 1)
        nu = optax.tree.update_moment(gradients, state.nu, b2, 2)
        of_gradient, of_mean = (1 - now) / (1 - product), following / (1 - product * following)

        def step(gradient: Any, mean: Any, second: Any) -> Any:
            return (of_gradient * gradient + of_mean * mean) / (jnp.sqrt(second) + eps)

        corrected = optax.tree.bias_correction(nu, b2, count)
        return jax.tree.map(step, gradients, mu, corrected), Nadam(count, product, mu, nu)

    return [optax.GradientTransformation(init, update)]


# The gradient scaling of each optimizer, and True if weight decay is added after it (decoupled).
_ROWS: Mapping[str, tuple[Callable[[Options], list[Any]], bool]] = {
    "sgd": (_sgd, False),
    "adam": (_adam, False),
    "adamw": (_adam, True),
    "rmsprop": (_rmsprop, False),
    "adagrad": (_adagrad, False),
    "adadelta": (_adadelta, False),
    "adamax": (_adamax, False),
    "nadam": (_nadam, False),
    "lion": (_lion, True),
}


jax.tree_util.register_dataclass(StepState, [field.name for field in fields(StepState)], [])


class JaxTraining(Training):
    """Training engine of JAX with optax.

    A factory of an optimizer is a function of the learning rate that returns a gradient transformation.
    """

    shares_steps = True

    # ------------------------------------------------------------------------------ optimizers
    def named(self, name: str, options: Mapping[str, Any]) -> Make:
        _require_optax()
        return optimizer_factory(name, options)

    def factory_of_own(self, item: Any) -> Make | None:
        is_one = callable(getattr(item, "init", None)) and callable(getattr(item, "update", None))
        return _UserOptimizer(item) if is_one else None

    def has_rate(self, make: Make) -> bool:
        return not getattr(make, "is_user_defined", False)

    def new_optimizer_state(self, make: Make, trained: Arrays) -> Any:
        # Optimizers may return one array twice, or a trained array, and storage can be donated only once.
        return jax.jit(lambda trained: jax.tree.map(jnp.copy, make(0.0).init(trained)))(trained)

    def updated(
        self, make: Make, held: StepState, gradients: Arrays, rate: Any, is_finite: Any
    ) -> tuple[Arrays, Any]:
        updates, state = make(rate).update(gradients, held.optimizer, held.trained)
        trained = jax.tree.map(
            # Updates may be wider than the weights, such as float32 for bfloat16.
            lambda array, update: (array + update).astype(array.dtype),
            held.trained,
            updates,
        )
        if is_finite is None:
            return trained, state
        return self.where(is_finite, trained, held.trained), self.where(is_finite, state, held.optimizer)

    def optimizer_arrays(self, make: Make, held: StepState) -> Arrays:
        found = jax.tree_util.tree_flatten_with_path(held.optimizer)[0]
        return {
            jax.tree_util.keystr(path, simple=True, separator="/"): jnp.asarray(leaf) for path, leaf in found
        }

    def with_optimizer_arrays(self, make: Make, held: StepState, arrays: Arrays) -> Any:
        leaves, tree = jax.tree_util.tree_flatten_with_path(self.new_optimizer_state(make, held.trained))
        names = [jax.tree_util.keystr(path, simple=True, separator="/") for path, _ in leaves]
        return jax.tree.unflatten(
            tree, [arrays[name].astype(leaf.dtype) for name, (_, leaf) in zip(names, leaves)]
        )

    # ------------------------------------------------------------------------------ arrays
    def trainable(self, array: Any) -> Any:
        if _is_key(array):
            return self.restored(jnp.copy(jax.random.key_data(array)), array)
        # The first step donates the array's storage, so it is copied. On a CPU NumPy copies, because
        # ``jnp.copy`` compiles for each shape.
        device, *more = array.devices()
        return (
            jax.device_put(np.array(array), array.sharding)
            if device.platform == "cpu" and not more
            else jnp.copy(array)
        )

    copied = snapshot = trainable

    def storable(self, array: Any) -> Any:
        return jax.random.key_data(array) if _is_key(array) else array

    def stored_spec(self, array: Any) -> list[Any] | None:
        return (
            ["uint32", *array.shape, *jax.eval_shape(jax.random.key_data, array).shape[array.ndim :]]
            if _is_key(array)
            else None
        )

    def restored(self, array: Any, like: Any) -> Any:
        return jax.random.wrap_key_data(array, impl=jax.random.key_impl(like)) if _is_key(like) else array

    def values(self, arrays: Arrays) -> Arrays:
        return arrays

    def with_elements(self, held: Arrays, new: Arrays) -> Arrays:
        return {name: new[name].astype(array.dtype) if name in new else array for name, array in held.items()}

    def zeros_like(self, array: Any) -> Any:
        return jnp.zeros_like(array)

    def number(self, value: float | int) -> Any:
        return jnp.asarray(value, jnp.int32 if isinstance(value, int) else jnp.float32)

    def is_floating(self, array: Any) -> bool:
        return bool(jnp.issubdtype(array.dtype, jnp.floating))

    # ------------------------------------------------------------------------------ gradients
    def gradients(
        self, function: Callable[[Arrays], tuple[Any, Any]], trained: Arrays
    ) -> tuple[Any, Any, Arrays]:
        (value, aux), gradients = jax.value_and_grad(function, has_aux=True)(trained)
        return value, aux, gradients

    def norm(self, arrays: Arrays) -> Any:
        return jnp.sqrt(
            sum((jnp.sum(jnp.square(array.astype(jnp.float32))) for array in arrays.values()), jnp.float32(0))
        )

    def minimum(self, left: Any, right: Any) -> Any:
        return jnp.minimum(left, right)

    def is_finite(self, arrays: Arrays) -> Any:
        return jnp.stack([jnp.all(jnp.isfinite(array)) for array in arrays.values()]).all()

    def where(self, condition: Any, new: Any, old: Any) -> Any:
        return jax.tree.map(lambda one, other: jnp.where(condition, one, other), new, old)

    # ------------------------------------------------------------------------------ random numbers
    def generator(self, like: Any) -> Any:
        return jnp.copy(target.next_key())

    def key(self, rng: Any) -> tuple[Any, Any]:
        following, key = jax.random.split(rng)
        return key, following

    def rng_arrays(self, rng: Any) -> Arrays:
        return {"key": rng}

    def with_rng_arrays(self, arrays: Arrays, like: Any) -> Any:
        return arrays["key"]

    # ------------------------------------------------------------------------------ running
    def once(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return target.compile(function, {})

    def compiled(self, step: Program, is_consuming: bool, options: Mapping[str, Any] | None) -> Program:
        found: Program = jax.jit(step, donate_argnums=(0,) if is_consuming else (), **dict(options or {}))
        is_first = True

        def run(held: StepState, arrays: Any, rate: Any) -> tuple[StepState, Any]:
            nonlocal is_first
            try:
                # Only the state before the first step may be uncommitted.
                made = found(_committed(held, arrays) if is_first else held, arrays, rate)
            except GraphCompilerError:
                raise
            except Exception as problem:
                _require_one_place(held, arrays, problem)
                raise
            is_first = False
            return made

        return run

    def placed(self, array: Any, where: Any) -> Any:
        plain = array if isinstance(array, (jax.Array, np.ndarray)) else target.convert(array)
        return jax.device_put(plain, where)

    def is_device(self, item: Any) -> bool:
        return isinstance(item, (jax.Device, jax.sharding.Sharding))


class _UserOptimizer:
    """Optimizer factory that ignores the learning rate and returns the user's gradient transformation."""

    is_user_defined = True

    def __init__(self, item: Any) -> None:
        self._item = item

    def __call__(self, rate: Any) -> Any:
        return self._item


def _is_key(array: Any) -> bool:
    return bool(jnp.issubdtype(array.dtype, jax.dtypes.prng_key))


# A step returns its state committed, so without this function the second step would be compiled again.
def _committed(held: StepState, arrays: Any) -> StepState:
    leaves, tree = jax.tree.flatten(held)
    places = {
        array.sharding
        for array in (*leaves, *jax.tree.leaves(arrays))
        if isinstance(array, jax.Array) and array.committed
    }
    if len(places) != 1:
        return held
    (place,) = places
    return cast(
        StepState,
        tree.unflatten([array if array.committed else jax.device_put(array, place) for array in leaves]),
    )


def _require_one_place(held: StepState, arrays: Any, problem: Exception) -> None:
    own = {device for array in held.trained.values() for device in array.devices()}
    for place, array in enumerate(jax.tree.leaves(arrays)):
        if isinstance(array, jax.Array) and len(array.devices()) > 1 and array.devices() != own:
            raise CallMismatch(
                f"array {place} of the batch has the shape {list(array.shape)} and lies on "
                f"{len(array.devices())} devices, and the state "
                f"on {len(own)}; put the state on them by state = parallel.replicate(state), or "
                "parallel.shard, or give the batch on one "
                "device"
            ) from problem


def _require_optax() -> None:
    try:
        import optax  # noqa: F401
    except ImportError as problem:
        raise FrameworkNotInstalled(
            "optimizers by name are optax's in JAX, and optax is not installed here; install it with: pip "
            "install optax"
        ) from problem


training = JaxTraining()
