"""Random numbers in TensorFlow: stateless functions of a seed of two integers."""

from __future__ import annotations

from typing import Any

from ...rows import Operand
from .table import rows

rows.table(
    {
        "random_key": "tf.constant([{seed} % 2**31, 0], tf.int32)",
        "random_fold_in": "tf.random.fold_in({key}, {index})",
        "random_bernoulli": "random_bernoulli({key}, {probability}, {shape})",
        "random_permutation": "random_permutation({key}, {n}, {dtype})",
        "random_exponential": "-tf.math.log1p(-tf.random.stateless_uniform({shape}, {key}, dtype={dtype}))",
        "random_gumbel": "random_gumbel({key}, {shape}, {dtype})",
        "random_cauchy": "tf.tan(math.pi * (tf.random.stateless_uniform({shape}, {key}, dtype={dtype}) - 0.5))",
        "random_gamma": "tf.random.stateless_gamma(tf.shape({concentration}), {key}, {concentration}, dtype={concentration}.dtype)",
        "random_poisson": "tf.random.stateless_poisson(tf.shape({rate}), {key}, {rate}, dtype={rate}.dtype)",
        "random_binomial": "random_binomial({key}, {count}, {probability})",
        "random_categorical": "random_categorical({key}, {weights}, {samples}, {replacement})",
        "philox": "philox({keys}, {counts})",
        "threefry": "threefry({keys}, {counts})",
        "dropout": "dropout({key}, {x}, {rate}, {shared_axes=})",
    }
)


@rows.row("random_uniform")
def _uniform(key: Operand, *, shape: Any, low: Any, high: Any, dtype: str) -> str:
    if (low, high) == (0, 1):
        return f"tf.random.stateless_uniform({shape!r}, {key}, dtype={dtype})"
    return f"tf.random.stateless_uniform({shape!r}, {key}, {low!r}, {high!r}, dtype={dtype})"


@rows.row("random_normal")
def _normal(key: Operand, *, shape: Any, dtype: str, out: Any) -> str:
    if out[0].dtype.startswith("complex"):
        return f"random_complex_normal({key}, {shape!r}, {dtype})"
    return f"tf.random.stateless_normal({shape!r}, {key}, dtype={dtype})"


@rows.row("random_integers")
def _integers(key: Operand, *, shape: Any, low: Any, high: Any, dtype: str, out: Any) -> str:
    drawn = f"tf.random.stateless_uniform({shape!r}, {key}, {low!r}, {high!r}, dtype=tf.int64)"
    return drawn if out[0].dtype == "int64" else f"tf.cast({drawn}, {dtype})"
