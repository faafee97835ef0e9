"""Programs that draw random numbers with explicit keys, old (uint32 arrays) and new ones, at two sizes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax import random

from tests.support.samples import array

KEPT = random.key(5)


def noise(key, x):
    return (
        x + 0.1 * random.normal(key, x.shape),
        random.uniform(key, x.shape, minval=-2, maxval=3),
        random.bernoulli(key, 0.3, x.shape),
    )


def several(key, x):
    first, second = random.split(key)
    return x + random.normal(first, x.shape), random.randint(second, (3,), -5, 100), random.fold_in(key, 5)


def own(x):
    key, part = random.split(random.key(42))
    return x * random.normal(part, x.shape), random.uniform(key), random.key_data(key)


def kept(x):
    return x + random.normal(random.fold_in(KEPT, 3), x.shape)


def integers(key):
    return (
        random.bits(key, (4,)),
        random.bits(key, (4,), "uint8"),
        random.split(key, 3),
        random.permutation(key, 8),
        random.rademacher(key, (3,)),
    )


def choices(key, x):
    which = random.categorical(key, x), random.categorical(key, x[0], shape=(7,))
    return (
        which,
        random.permutation(key, x),
        random.choice(key, jnp.arange(5.0), (3,), replace=False),
        random.choice(key, 3, (4,), p=x[0, :3] ** 2),
    )


def equal_keys(keys):
    return (
        keys == keys[::-1],
        keys != random.key(0),
        keys[0] == keys[0],
        jax.vmap(lambda key: key == KEPT)(keys),
    )


def distributions(key):
    return (
        random.exponential(key, (4,)), random.laplace(key, (4,)), random.cauchy(key, (4,)), random.truncated_normal(key, -1, 1, (4,)),
        random.gumbel(key, (3,)), random.logistic(key, (3,)), random.multivariate_normal(key, jnp.zeros(2), jnp.eye(2) * 2, (3,)),
        random.normal(key, (3,), jnp.bfloat16),
    )  # fmt: skip


def each_with_its_own(key, x):
    keys = random.split(key, 4)
    return jax.vmap(lambda part, row: row + random.normal(part, row.shape))(keys, x), random.key_data(
        keys[2]
    ) if keys.ndim == 1 else keys[2]


def in_a_scan(key, x):
    def step(carried, row):
        key, total = carried
        key, part = random.split(key)
        return (key, total + row + random.normal(part, row.shape)), total.sum()

    (key, total), sums = jax.lax.scan(step, (key, jnp.zeros(x.shape[1])), x)
    return random.uniform(key), total, sums


def gradient(key, x):
    return jax.value_and_grad(lambda mean: ((mean + random.normal(key, mean.shape)) ** 2).sum())(x)


def initialised(key, x):
    return x @ nnx.initializers.lecun_normal()(key, (3, 5)), jax.nn.initializers.glorot_uniform()(key, (3, 2))


_OLD, _OTHER_OLD, _NEW, _OTHER_NEW = random.PRNGKey(0), random.PRNGKey(7), random.key(0), random.key(7)
_X, _Y = array(4, 3), array(6, 3)

# (function, arguments, other arguments)
DRAWS: list[tuple[Any, tuple[Any, ...], tuple[Any, ...]]] = [
    (noise, (_OLD, _X), (_OTHER_OLD, _Y)),
    (several, (_NEW, _X), (_OTHER_NEW, _Y)),
    (own, (_X,), (_Y,)),
    (kept, (_X,), (_Y,)),
    (integers, (_OLD,), (_OTHER_OLD,)),
    (choices, (_OLD, array(4, 5)), (_OTHER_OLD, array(4, 5))),
    (equal_keys, (random.split(_NEW, 3),), (random.split(_OTHER_NEW, 3),)),
    (distributions, (_NEW,), (_OTHER_NEW,)),
    (each_with_its_own, (_NEW, _X), (_OTHER_NEW, _X)),
    (in_a_scan, (_NEW, _X), (_OTHER_NEW, _X)),
    (in_a_scan, (_OLD, _X), (_OTHER_OLD, _X)),
    (gradient, (_OLD, _X), (_OTHER_OLD, _Y)),
    (initialised, (_OLD, _X), (_OTHER_OLD, _Y)),
]
