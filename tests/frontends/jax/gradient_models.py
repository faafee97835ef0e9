"""Models of JAX libraries and losses of optax whose gradients are compared with JAX's own."""

from __future__ import annotations

import functools
import importlib.util
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .gradients import Row

_IMAGES = np.where(np.arange(2 * 8 * 8 * 3) % 5 == 0, 0.0, np.sin(np.arange(2.0 * 8 * 8 * 3))).reshape(
    2, 8, 8, 3
)
_ROWS = np.where(np.arange(24) % 5 == 0, 0.0, np.cos(np.arange(24.0))).reshape(4, 6)
_TOKENS = np.sin(np.arange(2.0 * 5 * 8)).reshape(2, 5, 8)


def _wide(tree: Any) -> Any:
    """Return deterministic weights, some of them exactly 0."""
    leaves, structure = jax.tree.flatten(tree)
    made = [
        np.sin(np.arange(1.0, 1 + item.size) + place).reshape(item.shape) / 2
        for place, item in enumerate(leaves)
    ]
    return jax.tree.unflatten(
        structure, [jnp.asarray(np.where(np.abs(item) < 0.05, 0.0, item)) for item in made]
    )


# ------------------------------------------------------------------------------------- flax.linen
def _linen() -> dict[str, Row]:
    from flax import linen as nn

    class Block(nn.Module):
        """A residual block whose last scale is 0, as in ResNet, so that exact zeros reach the activation."""

        act: Any = nn.relu

        @nn.compact
        def __call__(self, x: Any) -> Any:
            y = self.act(nn.BatchNorm(use_running_average=True)(nn.Conv(3, (3, 3), use_bias=False)(x)))
            y = nn.BatchNorm(use_running_average=True, scale_init=nn.initializers.zeros_init())(
                nn.Conv(3, (3, 3), use_bias=False)(y)
            )
            return self.act(x * (x > 0) + y).mean((1, 2))

    class Pooled(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            x = nn.max_pool(nn.relu(nn.Conv(4, (3, 3))(x)), (2, 2), (2, 2))
            return nn.Dense(2)(nn.avg_pool(x, (2, 2)).reshape(x.shape[0], -1))

    class Attended(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            x = x + nn.MultiHeadDotProductAttention(num_heads=2)(nn.LayerNorm()(x))
            return x + nn.Dense(8)(nn.gelu(nn.Dense(16)(nn.LayerNorm()(x))))

    def made(model: Any, example: Any, zero: bool = False) -> Row:
        def arguments() -> tuple[Any, ...]:
            variables = model.init(jax.random.key(0), jnp.asarray(example))
            weights = variables["params"] if zero else _wide(variables["params"])
            held[:] = [{key: item for key, item in variables.items() if key != "params"}]
            return jax.tree.map(lambda item: item.astype("float64"), weights), jnp.asarray(example)

        held: list[Any] = []
        return lambda weights, x: model.apply({"params": weights, **held[0]}, x), arguments

    dense = [
        nn.Sequential([nn.Dense(5), act, nn.Dense(5), act, nn.Dense(2)])
        for act in (nn.relu, nn.softplus, nn.silu, nn.leaky_relu, nn.elu, nn.log_sigmoid)
    ]
    return {
        "linen residual block": made(Block(), _IMAGES, zero=True),
        "linen pooled": made(Pooled(), _IMAGES),
        "linen attention": made(Attended(), _TOKENS),
        "linen recurrent": made(nn.RNN(nn.GRUCell(4, param_dtype=float)), _TOKENS),
        "linen group norm": made(nn.Sequential([nn.Conv(4, (3, 3)), nn.GroupNorm(2), nn.swish]), _IMAGES),
        "linen PReLU": made(nn.Sequential([nn.Dense(4), nn.PReLU()]), _ROWS),
        "linen WeightNorm": made(nn.WeightNorm(nn.Dense(3)), _ROWS),
        **{f"linen dense {place}": made(model, _ROWS) for place, model in enumerate(dense)},
    }


# ------------------------------------------------------------------------------------- flax.nnx
def _nnx() -> dict[str, Row]:
    from flax import nnx

    class Mixed(nnx.Module):
        def __init__(self, rngs: Any) -> None:
            self.first, self.norm, self.last = (
                nnx.Linear(6, 8, rngs=rngs),
                nnx.LayerNorm(8, rngs=rngs),
                nnx.Linear(8, 3, rngs=rngs),
            )
            self.act = nnx.relu

        def __call__(self, x: Any) -> Any:
            return (
                nnx.softmax(self.last(self.act(self.norm(nnx.softplus(self.first(x))))))
                + self.act(self.first(x) * 0).sum()
            )

    def made(model: Any, example: Any) -> Row:
        definition, state = nnx.split(model)
        weights = nnx.to_pure_dict(state)

        def run(weights: Any, x: Any) -> Any:
            again = nnx.State(jax.tree.map(lambda item: item, state))
            nnx.replace_by_pure_dict(again, weights)
            return nnx.merge(definition, again)(x)

        return run, lambda: (_wide(weights), jnp.asarray(example))

    return {
        "nnx mixed": made(Mixed(nnx.Rngs(0)), _ROWS),
        "nnx attention": made(
            nnx.MultiHeadAttention(
                2, 8, decode=False, use_bias=False, dtype=float, param_dtype=float, rngs=nnx.Rngs(0)
            ),
            _TOKENS,
        ),
        "nnx convolution": made(nnx.Conv(3, 2, (3, 3), rngs=nnx.Rngs(0)), _IMAGES),
    }


# ------------------------------------------------------------------------------------- equinox and haiku
def _equinox() -> dict[str, Row]:
    import equinox as eqx

    def made(model: Any, example: Any) -> Row:
        weights, rest = eqx.partition(model, eqx.is_inexact_array)
        leaves, structure = jax.tree.flatten(weights)

        def run(leaves: Any, x: Any) -> Any:
            return jax.vmap(eqx.combine(jax.tree.unflatten(structure, leaves), rest))(x)

        return run, lambda: (_wide(leaves), jnp.asarray(example))

    @eqx.filter_custom_vjp
    def ruled(x: Any, *, scale: float = 2.0) -> Any:
        return x**2

    ruled.def_fwd(lambda perturbed, x, *, scale=2.0: (x**2, x))
    ruled.def_bwd(lambda held, cotangent, perturbed, x, *, scale=2.0: cotangent * scale * held)
    key = jax.random.key(0)
    return {
        "equinox rule": (lambda x: ruled(x, scale=5.0), lambda: (jnp.asarray(_ROWS),)),
        "equinox MLP": made(eqx.nn.MLP(6, 3, 5, 2, key=key), _ROWS),
        "equinox MLP with softplus": made(eqx.nn.MLP(6, 3, 5, 2, activation=jax.nn.softplus, key=key), _ROWS),
        "equinox PReLU": made(eqx.nn.PReLU(), _ROWS),
        "equinox norm": made(eqx.nn.LayerNorm(6), _ROWS),
        "equinox convolution": made(
            eqx.nn.Sequential(
                [eqx.nn.Conv2d(8, 2, 2, key=key), eqx.nn.Lambda(jax.nn.relu), eqx.nn.MaxPool2d(2, 1)]
            ),
            _IMAGES,
        ),
    }


def _haiku() -> dict[str, Row]:
    import haiku as hk

    def made(function: Any, example: Any) -> Row:
        model = hk.without_apply_rng(hk.transform(function))
        return model.apply, lambda: (
            _wide(model.init(jax.random.key(0), jnp.asarray(example))),
            jnp.asarray(example),
        )

    return {
        "haiku MLP": made(lambda x: hk.nets.MLP([5, 5, 2])(x) * 2, _ROWS),
        "haiku convolution": made(lambda x: hk.Flatten()(jax.nn.relu(hk.Conv2D(3, 3)(x))), _IMAGES),
        "haiku norm": made(lambda x: hk.LayerNorm(-1, True, True)(jax.nn.relu(hk.Linear(4)(x))), _ROWS),
        "haiku recurrent": made(
            lambda x: hk.dynamic_unroll(hk.LSTM(3), x, hk.LSTM(3).initial_state(5))[0], _TOKENS
        ),
    }


# ------------------------------------------------------------------------------------- optax
def _optax() -> dict[str, Row]:
    import optax

    def scores() -> tuple[Any, ...]:
        x = np.where(np.arange(12) % 4 == 0, 0.0, np.sin(np.arange(12.0))).reshape(3, 4)
        return jnp.asarray(x), jnp.asarray(np.where(np.arange(12).reshape(3, 4) % 3 == 0, x, np.cos(x)))

    def probabilities() -> tuple[Any, ...]:
        x, y = scores()
        return jnp.abs(x) / 2 + 0.25, jnp.abs(y) / 4

    classes = jnp.asarray([0, 3, 1])
    return {
        **{
            f"optax {name}": (getattr(optax, name), scores)
            for name in ("squared_error", "l2_loss", "huber_loss", "log_cosh", "hinge_loss", "cosine_similarity", "cosine_distance", "sigmoid_binary_cross_entropy")
        },
        "optax softmax_cross_entropy": (optax.softmax_cross_entropy, lambda: (scores()[0], jax.nn.softmax(scores()[1]))),
        "optax with_integer_labels": (lambda x: optax.softmax_cross_entropy_with_integer_labels(x, classes), lambda: scores()[:1]),
        "optax kl_divergence": (lambda x, y: optax.losses.kl_divergence(jax.nn.log_softmax(x), y), lambda: (scores()[0], probabilities()[1])),
        "optax poly_loss": (lambda x: optax.losses.poly_loss_cross_entropy(x, jax.nn.one_hot(classes, 4)), lambda: scores()[:1]),
        "optax sigmoid_focal": (lambda x: optax.losses.sigmoid_focal_loss(x, jax.nn.one_hot(classes, 4)), lambda: scores()[:1]),
        "optax sparsemax": (lambda x: optax.losses.multiclass_sparsemax_loss(x, classes), lambda: scores()[:1]),
        "optax perceptron": (lambda x: optax.losses.multiclass_perceptron_loss(x, classes), lambda: scores()[:1]),
        "optax weighted_logsoftmax": (optax.losses.weighted_logsoftmax if hasattr(optax.losses, "weighted_logsoftmax") else _weighted, lambda: (scores()[0], probabilities()[1])),
        "optax projection_simplex": (optax.projections.projection_simplex, lambda: (scores()[0][0],)),
        "optax scale_gradient": (lambda x: optax.scale_gradient(x * x, 0.25), lambda: scores()[:1]),
        "optax safe_norm": (lambda x: optax.safe_norm(x, 1e-3, axis=0), lambda: scores()[:1]),
        "optax ctc_loss": (
            lambda x: optax.ctc_loss(x[None], jnp.zeros((1, 3)), jnp.asarray([[1, 2]]), jnp.zeros((1, 2))), lambda: scores()[:1]
        ),
        "optax stop_gradient": (lambda x, y: optax.l2_loss(x, lax.stop_gradient(y)), scores),
    }  # fmt: skip


def _weighted(x: Any, weights: Any) -> Any:
    from optax.losses import _classification

    return _classification.weighted_logsoftmax(x, weights)


LIBRARIES = {
    "linen": ("flax", _linen),
    "nnx": ("flax", _nnx),
    "equinox": ("equinox", _equinox),
    "haiku": ("haiku", _haiku),
    "optax": ("optax", _optax),
}


@functools.cache
def models(library: str) -> dict[str, Row]:
    """Return the rows of a library; an empty dict if it is not installed."""
    needed, made = LIBRARIES[library]
    return made() if importlib.util.find_spec(needed) else {}
