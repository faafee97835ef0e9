"""Random numbers in JAX."""

from __future__ import annotations

from typing import Any

from ...rows import Operand
from .table import rows

rows.table(
    {
        "random_key": "jax.random.PRNGKey({seed})",
        "random_fold_in": "jax.random.fold_in({key}, {index})",
        "random_normal": "jax.random.normal({key}, {shape}, {dtype})",
        "random_bernoulli": "jax.random.bernoulli({key}, {probability}, {shape})",
        "random_permutation": "jax.random.permutation({key}, {n}).astype({dtype})",
        "random_exponential": "jax.random.exponential({key}, {shape}, {dtype})",
        "random_gumbel": "jax.random.gumbel({key}, {shape}, {dtype})",
        "random_cauchy": "jax.random.cauchy({key}, {shape}, {dtype})",
        "random_gamma": "jax.random.gamma({key}, {concentration}, dtype={concentration}.dtype)",
        "random_poisson": "jax.random.poisson({key}, {rate}).astype({rate}.dtype)",
        "random_binomial": "jax.random.binomial({key}, {count}, {probability}, dtype={probability}.dtype)",
        "random_categorical": "random_categorical({key}, {weights}, {samples}, {replacement})",
        "philox": "philox({keys}, {counts})",
        "threefry": "threefry({keys}, {counts})",
        "dropout": "dropout({key}, {x}, {rate}, {shared_axes=})",
    }
)


@rows.row("random_uniform")
def _uniform(key: Operand, *, shape: Any, low: Any, high: Any, dtype: str) -> str:
    limits = "" if (low, high) == (0, 1) else f", {low!r}, {high!r}"
    return f"jax.random.uniform({key}, {shape!r}, {dtype}{limits})"


@rows.row("random_integers")
def _integers(key: Operand, *, shape: Any, low: Any, high: Any, dtype: str) -> str:
    if dtype.endswith("int32") and isinstance(high, int):
        high = min(high, 2**31 - 1)  # asked for as int64, which jax without x64 has not
    return f"jax.random.randint({key}, {shape!r}, {low!r}, {high!r}, {dtype})"
