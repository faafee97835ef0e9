"""Optimizers by name as transformations of optax, which compute what ``torch.optim`` does.

Each row is a chain: what is added to the gradient, how it is scaled, and the step of the learning rate, which may change at each update.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

Options = Mapping[str, Any]


class Nadam(NamedTuple):
    """The state of :func:`_scale_by_nadam`."""

    count: Any
    product: Any
    mu: Any
    nu: Any


def made(name: str, options: Options) -> Callable[[Any], Any]:
    """A function of the learning rate that gives the optimizer."""
    scale, is_decoupled = _ROWS[name]
    decay = [optax.add_decayed_weights(options["weight_decay"])] if options["weight_decay"] else []

    def with_rate(rate: Any) -> Any:
        parts = [*scale(options), *decay] if is_decoupled else [*decay, *scale(options)]
        return optax.chain(*parts, optax.scale_by_learning_rate(rate))

    return with_rate


def _sgd(options: Options) -> list[Any]:
    return [optax.trace(options["momentum"], options["nesterov"])] if options["momentum"] else []


def _adam(options: Options) -> list[Any]:

    return [_amsgrad(options) if options["amsgrad"] else optax.scale_by_adam(options["b1"], options["b2"], options["eps"])]


def _rmsprop(options: Options) -> list[Any]:
    scale = optax.scale_by_stddev if options["centered"] else optax.scale_by_rms
    parts = [scale(options["decay"], options["eps"], eps_in_sqrt=False)]
    return [*parts, optax.trace(options["momentum"])] if options["momentum"] else parts


def _adagrad(options: Options) -> list[Any]:
    """``optax.scale_by_rss`` adds ``eps`` below the root, and torch to it."""

    def init(parameters: Any) -> Any:
        return jax.tree.map(lambda array: jnp.full_like(array, options["initial_accumulator"]), parameters)

    def update(gradients: Any, sums: Any, parameters: Any = None) -> tuple[Any, Any]:
        sums = jax.tree.map(lambda total, gradient: total + gradient * gradient, sums, gradients)
        return jax.tree.map(lambda gradient, total: gradient / (jnp.sqrt(total) + options["eps"]), gradients, sums), sums

    return [optax.GradientTransformation(init, update)]


def _adadelta(options: Options) -> list[Any]:
    return [optax.scale_by_adadelta(options["decay"], options["eps"])]


def _adamax(options: Options) -> list[Any]:
    return [optax.scale_by_adamax(options["b1"], options["b2"], options["eps"])]


def _lion(options: Options) -> list[Any]:
    return [optax.scale_by_lion(options["b1"], options["b2"])]


def _amsgrad(options: Options) -> Any:
    """``optax.scale_by_amsgrad`` takes the maximum of corrected second moments, and torch that of the moments themselves."""
    b1, b2, eps = options["b1"], options["b2"], options["eps"]

    def init(parameters: Any) -> Any:
        zeros = jax.tree.map(jnp.zeros_like, parameters)
        return optax.ScaleByAmsgradState(jnp.zeros((), jnp.int32), zeros, zeros, zeros)

    def update(gradients: Any, state: Any, parameters: Any = None) -> tuple[Any, Any]:
        count = state.count + 1
        mu = optax.tree.update_moment(gradients, state.mu, b1, 1)
        nu = optax.tree.update_moment(gradients, state.nu, b2, 2)
        most = jax.tree.map(jnp.maximum, state.nu_max, nu)
        steps = jax.tree.map(
            lambda m, v: m / (jnp.sqrt(v) + eps), optax.tree.bias_correction(mu, b1, count), optax.tree.bias_correction(most, b2, count)
        )
        return steps, optax.ScaleByAmsgradState(count, mu, nu, most)

    return optax.GradientTransformation(init, update)


def _nadam(options: Options) -> list[Any]:
    """``optax.nadam`` has no schedule of the momentum, which torch takes from https://openreview.net/forum?id=OM0jvwB8jIp57ZJjtNEZ."""
    b1, b2, eps = options["b1"], options["b2"], options["eps"]

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


# How the gradient is scaled, and whether the weights decay by themselves rather than by their gradients.
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
