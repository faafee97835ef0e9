"""Random numbers in numpy: a key is a ``np.random.Generator``."""

from __future__ import annotations

from typing import Any

from ...rows import Operand
from .table import rows

rows.table(
    {
        "random_key": "np.random.default_rng({seed})",
        "random_fold_in": "derived_generator({key}, {index})",
        "random_normal": "random_normal({key}, {shape}, {dtype})",
        "random_bernoulli": "random_bernoulli({key}, {probability}, {shape})",
        "random_exponential": "{key}.standard_exponential({shape}, {dtype})",
        "random_gumbel": "{key}.gumbel(size={shape}).astype({dtype})",
        "random_cauchy": "{key}.standard_cauchy({shape}).astype({dtype})",
        "random_gamma": "{key}.standard_gamma({concentration}).astype({concentration}.dtype)",
        "random_poisson": "{key}.poisson({rate}).astype({rate}.dtype)",
        "random_binomial": "{key}.binomial({count}.astype(np.int64), {probability}).astype({probability}.dtype)",
        "random_categorical": "random_categorical({key}, {weights}, {samples}, {replacement})",
        "random_permutation": "{key}.permutation({n}).astype({dtype})",
        "philox": "philox({keys}, {counts})",
        "threefry": "threefry({keys}, {counts})",
        "dropout": "dropout({key}, {x}, {rate}, {shared_axes=})",
    }
)


@rows.row("random_uniform")
def _uniform(key: Operand, *, shape: Any, low: Any, high: Any, dtype: str) -> str:
    if (low, high) == (0, 1) and dtype in ("np.float32", "np.float64"):
        return f"{key}.random({shape!r}, {dtype})"
    return f"random_uniform({key}, {shape!r}, {low!r}, {high!r}, {dtype})"


rows.table({"random_integers": lambda key, *, shape, low, high, dtype: f"{key}.integers({low!r}, {high!r}, {shape!r}).astype({dtype})"})
