"""Samples of random numbers with a seed or key, which are TensorFlow's own numbers, and of stochastic
rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tests.support.samples import Sample, array

from .table import sample


def _of_seed(draw: Any) -> Any:
    """Return a function of a seed and an array, which draws numbers of the array's shape."""

    def call(seed: Any, x: Any) -> Any:
        key, counter = tf.raw_ops.StatelessRandomGetKeyCounter(seed=seed)
        return draw(shape=tf.shape(x), key=key, counter=counter, alg=1)

    return call


def _stateless(name: str, **options: Any) -> Any:
    return lambda seed, x: getattr(tf.raw_ops, name)(shape=tf.shape(x), seed=seed, **options)


def _integers(**options: Any) -> Any:
    return tf.raw_ops.StatelessRandomUniformIntV2(minval=-3, maxval=12, **options)


def _seeded(seed: Any, x: Any) -> Any:
    key, counter, algorithm = tf.raw_ops.StatelessRandomGetKeyCounterAlg(seed=seed)
    return tf.raw_ops.StatelessRandomUniformV2(shape=tf.shape(x), key=key, counter=counter, alg=1), algorithm


def _chosen(seed: Any, x: Any) -> Any:
    return x + tf.cast(tf.raw_ops.StatelessRandomGetAlg(), "float32")


def _halves(**options: Any) -> Any:
    return tf.raw_ops.StatelessRandomUniformV2(dtype="float16", **options)


def _dropped(seed: Any, x: Any) -> Any:
    return tf.nn.experimental.stateless_dropout(x, rate=0.3, seed=seed, rng_alg="auto_select")


def _between(draw: Any, low: float, high: float, mean: float) -> Any:
    """Return a function that checks bounds and mean of random numbers, which differ between targets."""

    def call(x: Any) -> Any:
        drawn = tf.cast(draw(tf.shape(x)), "float32")
        inside = tf.reduce_all((drawn >= low) & (drawn <= high))
        return (
            inside,
            tf.abs(tf.reduce_mean(drawn) - mean) < 0.15,
            tf.math.reduce_std(drawn) > 0.1,
            drawn * 0.0,
        )

    return call


def _of_known_seed(x: Any) -> Any:
    return tf.random.stateless_uniform(tf.shape(x), seed=(3, -4)) + x, tf.random.stateless_normal(
        tf.shape(x), seed=(2**40, 1)
    )


def _points(x: Any) -> Any:
    return tf.raw_ops.SobolSample(dim=2, num_results=7, skip=1) * x[0], tf.raw_ops.SobolSample(
        dim=1, num_results=3, skip=0, dtype="float64"
    )


def _shuffled(x: Any) -> Any:
    return tf.sort(tf.raw_ops.RandomShuffle(value=x), axis=0)


_RAW = tf.raw_ops
_DRAWS = (
    ("RandomUniform", lambda shape: _RAW.RandomUniform(shape=shape, dtype="float32"), 0.0, 1.0, 0.5),
    (
        "RandomUniformInt",
        lambda shape: _RAW.RandomUniformInt(shape=shape, minval=-3, maxval=4),
        -3.0,
        3.0,
        0.0,
    ),
    (
        "RandomStandardNormal",
        lambda shape: _RAW.RandomStandardNormal(shape=shape, dtype="float32"),
        -9.0,
        9.0,
        0.0,
    ),
    ("TruncatedNormal", lambda shape: _RAW.TruncatedNormal(shape=shape, dtype="float32"), -2.0, 2.0, 0.0),
    ("RandomGamma", lambda shape: _RAW.RandomGamma(shape=shape, alpha=tf.constant([2.0])), 0.0, 99.0, 2.0),
    (
        "RandomPoissonV2",
        lambda shape: _RAW.RandomPoissonV2(shape=shape, rate=tf.constant([2.0])),
        0.0,
        99.0,
        2.0,
    ),
    (
        "Multinomial",
        lambda shape: _RAW.Multinomial(logits=tf.zeros([3, 5]), num_samples=shape[0] * shape[1]),
        0.0,
        4.0,
        2.0,
    ),
)
_SEED, _OTHER_SEED = np.array([1, 2], np.int32), np.array([-7, 2**31 - 1], np.int32)
_X, _Y = array(3, 5), array(4, 7)
_CALL = {"args": (_SEED, _X), "kwargs": {}, "other": (_OTHER_SEED, _Y)}
_LOW, _HIGH = np.array([-1.0, -0.5, 0.0], np.float32), np.array([1.0, 2.0, 1.5], np.float32)


def _seed_of(draw: Any, low: float, high: float, mean: float) -> Any:
    """Return a function that checks in addition that a seed gives the same numbers again."""

    def call(seed: Any, x: Any) -> Any:
        again = tf.reduce_all(draw(tf.shape(x), seed) == draw(tf.shape(x), seed))
        return again, *_between(lambda shape: draw(shape, seed), low, high, mean)(x)

    return call


_SEEDED = (
    ("StatelessRandomGammaV2", lambda shape, seed: _RAW.StatelessRandomGammaV2(shape=shape, seed=seed, alpha=2.0), 0.0, 99.0, 2.0),
    ("StatelessRandomGammaV3", lambda shape, seed: tf.random.stateless_gamma(shape, seed, alpha=2.0), 0.0, 99.0, 2.0),
    ("StatelessRandomPoisson", lambda shape, seed: tf.random.stateless_poisson(shape, seed, 2.0, "int32"), 0.0, 99.0, 2.0),
    ("StatelessRandomBinomial", lambda shape, seed: tf.random.stateless_binomial(shape, seed, 4.0, 0.5, "int32"), 0.0, 4.0, 2.0),
    (
        "StatelessMultinomial",
        lambda shape, seed: _RAW.StatelessMultinomial(logits=tf.zeros([3, 5]), num_samples=shape[0] * shape[1], seed=seed),
        0.0, 4.0, 2.0,
    ),
    (
        "StatelessParameterizedTruncatedNormal",
        lambda shape, seed: tf.random.stateless_parameterized_truncated_normal(shape, seed, 0.5, 1.0, 0.0, 1.0), 0.0, 1.0, 0.5,
    ),
    (
        "ParameterizedTruncatedNormal",
        lambda shape, seed=None: _RAW.ParameterizedTruncatedNormal(shape=shape, means=0.5, stdevs=1.0, minvals=0.0, maxvals=1.0),
        0.0, 1.0, 0.5,
    ),
)  # fmt: skip


def _ordered(seed: Any, x: Any) -> Any:
    """Shuffle rows in TensorFlow's own order."""
    key, counter = tf.raw_ops.StatelessRandomGetKeyCounter(seed=seed)
    return tf.raw_ops.StatelessShuffle(value=x, key=key, counter=counter, alg=1)


def _of_state(draw: Any) -> Any:
    """Return a function that draws numbers from a generator, which begins with the same state at each call,
    and returns its next state.
    """
    state = tf.Variable([5, 0, 7], dtype=tf.int64, trainable=False)

    def call(x: Any) -> Any:
        state.assign([5, 0, 7])
        drawn = draw(resource=state.handle, algorithm=1, shape=tf.shape(x))
        return x + tf.cast(drawn, tf.float32) * 1e-3, state.read_value() + 0

    return call


def _skipped(name: str) -> Any:
    def draw(resource: Any, algorithm: int, shape: Any) -> Any:
        getattr(tf.raw_ops, name)(
            **{"resource": resource, "alg" if "Read" in name else "algorithm": algorithm, "delta": 6}
        )
        return tf.raw_ops.StatefulUniform(resource=resource, algorithm=algorithm, shape=shape)

    return draw


_STATEFUL = {
    **{
        name: getattr(tf.raw_ops, name)
        for name in ("StatefulUniform", "StatefulStandardNormalV2", "StatefulTruncatedNormal")
    },
    "StatefulUniformInt": lambda **given: tf.raw_ops.StatefulUniformInt(
        minval=tf.constant(-3), maxval=tf.constant(12), **given
    ),
    "StatefulUniformFullInt": lambda **given: (
        tf.raw_ops.StatefulUniformFullInt(dtype=tf.int32, **given) % 100
    ),
    **{name: _skipped(name) for name in ("RngSkip", "RngReadAndSkip")},
}
_MANY, _OTHERS = array(40, 50), array(50, 60)

SAMPLES: list[Sample] = [
    *(
        Sample(_seed_of(draw, low, high, mean), (_SEED, _MANY), {}, (_OTHER_SEED, _OTHERS), name)
        for name, draw, low, high, mean in _SEEDED[:-1]
    ),
    Sample(_between(*_SEEDED[-1][1:]), (_MANY,), {}, (_OTHERS,), _SEEDED[-1][0]),
    Sample(_ordered, **_CALL, name="StatelessShuffle"),
    *(Sample(_of_state(draw), (_X,), {}, (_Y,), name) for name, draw in _STATEFUL.items()),
    *(
        Sample(_of_seed(getattr(tf.raw_ops, name)), **_CALL, name=name)
        for name in ("StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2")
    ),
    Sample(_stateless("StatelessTruncatedNormal"), **_CALL, name="StatelessTruncatedNormal"),
    Sample(
        _stateless("StatelessTruncatedNormal", dtype="float16"),
        **_CALL,
        name="StatelessTruncatedNormal-float16",
    ),
    Sample(_of_known_seed, (array(3, 5),), {}, (array(4, 7),), "StatelessRandomUniformV2-known"),
    Sample(_points, (array(3),), {}, (array(5),), "SobolSample"),
    Sample(
        _of_seed(lambda **options: tf.raw_ops.StatelessRandomUniformFullIntV2(dtype="int32", **options)),
        **_CALL,
        name="StatelessRandomUniformFullIntV2",
    ),
    Sample(_of_seed(_integers), **_CALL, name="StatelessRandomUniformIntV2"),
    Sample(_of_seed(_halves), **_CALL, name="StatelessRandomUniformV2-float16"),
    *(
        Sample(_stateless(f"StatelessRandom{name}", **options), **_CALL, name=f"StatelessRandom{name}")
        for name, options in (
            ("Uniform", {}),
            ("Normal", {}),
            ("UniformFullInt", {"dtype": "int32"}),
            ("UniformInt", {"minval": 0, "maxval": 9}),
        )
    ),
    Sample(_dropped, **_CALL, name="stateless_dropout"),
    sample("FakeQuantWithMinMaxArgs", [array(3, 5)], [array(4, 2)], min=-1.2, max=0.9),
    sample(
        "FakeQuantWithMinMaxArgs",
        [array(3, 5)],
        [array(4, 2)],
        "-narrow",
        min=-1.2,
        max=0.9,
        num_bits=4,
        narrow_range=True,
    ),
    sample(
        "FakeQuantWithMinMaxVars",
        [array(3, 5), np.float32(-1.2), np.float32(0.9)],
        [array(4, 2), np.float32(0.0), np.float32(0.0)],
    ),
    sample("FakeQuantWithMinMaxVarsPerChannel", [array(4, 3), _LOW, _HIGH], [array(2, 3), _LOW, _HIGH]),
    sample(
        "FakeQuantWithMinMaxArgsGradient",
        [array(3, 5), array(3, 5)],
        [array(4, 2), array(4, 2)],
        min=-1.2,
        max=0.9,
    ),
    sample(
        "FakeQuantWithMinMaxVarsGradient",
        [array(3, 5), array(3, 5), np.float32(-1.2), np.float32(0.9)],
        [array(4, 2), array(4, 2), np.float32(0.0), np.float32(0.0)],
    ),
    sample(
        "FakeQuantWithMinMaxVarsPerChannelGradient",
        [array(4, 3), array(4, 3), _LOW, _HIGH],
        [array(2, 3), array(2, 3), _LOW, _HIGH],
    ),
    *(
        sample(
            "QuantizeAndDequantizeV2",
            [array(3, 5), np.float32(-1.2), np.float32(0.9)],
            [array(4, 2), np.float32(-0.5), np.float32(2.0)],
            f"-{number}",
            **options,
        )
        for number, options in enumerate(
            (
                {"range_given": True},
                {"range_given": False},
                {"range_given": True, "signed_input": False},
                {"range_given": True, "round_mode": "HALF_UP", "num_bits": 4},
                {"range_given": True, "narrow_range": True},
            )
        )
    ),
    sample(
        "QuantizeAndDequantizeV3",
        [array(3, 5), np.float32(-1.2), np.float32(0.9)],
        [array(4, 2), np.float32(-0.5), np.float32(2.0)],
        num_bits=6,
    ),
    sample(
        "QuantizeAndDequantizeV4",
        [array(3, 5), np.float32(-1.2), np.float32(0.9)],
        [array(4, 2), np.float32(-0.5), np.float32(2.0)],
        range_given=True,
    ),
    sample(
        "QuantizeAndDequantizeV4Grad",
        [array(3, 5), array(3, 5), np.float32(-1.2), np.float32(0.9)],
        [array(4, 2), array(4, 2), np.float32(-0.5), np.float32(2.0)],
    ),
    *(
        Sample(_between(draw, low, high, mean), (array(60, 50),), {}, (array(70, 80),), name)
        for name, draw, low, high, mean in _DRAWS
    ),
    Sample(_shuffled, (array(6, 3),), {}, (array(9, 2),), "RandomShuffle"),
    Sample(_seeded, **_CALL, name="StatelessRandomGetKeyCounterAlg"),
    Sample(_chosen, **_CALL, name="StatelessRandomGetAlg"),
]
