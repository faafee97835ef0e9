"""Random numbers in torch: a key is a ``torch.Generator``, or None for the default one; numbers are drawn from it one after the other."""

from __future__ import annotations

from typing import Any

from ...rows import Operand
from .table import rows

rows.table(
    {
        "random_key": "torch.Generator().manual_seed({seed})",
        "random_fold_in": "{key}",
        "random_normal": "torch.randn({shape}, generator={key}, dtype={dtype})",
        "random_bernoulli": "torch.rand({shape}, generator={key}) < {probability}",
        "random_integers": "torch.randint({low}, {high}, {shape}, generator={key}, dtype={dtype})",
        "random_permutation": "torch.randperm({n}, generator={key}, dtype={dtype})",
        "random_exponential": "torch.empty({shape}, dtype={dtype}).exponential_(generator={key})",
        "random_gumbel": "-torch.empty({shape}, dtype={dtype}).exponential_(generator={key}).log()",
        "random_cauchy": "torch.empty({shape}, dtype={dtype}).cauchy_(generator={key})",
        "random_gamma": "torch._standard_gamma({concentration}, generator={key})",
        "random_poisson": "torch.poisson({rate}, generator={key})",
        "random_binomial": "torch.binomial({count}, {probability}, generator={key})",
        "random_categorical": "torch.multinomial({weights}, {samples}, {replacement}, generator={key})",
        "philox": "philox({keys}, {counts})",
        "threefry": "threefry({keys}, {counts})",
        "dropout": "dropout({key}, {x}, {rate}, {shared_axes=})",
    }
)


@rows.row("random_uniform")
def _uniform(key: Operand, *, shape: Any, low: Any, high: Any, dtype: str) -> str:
    if (low, high) == (0, 1):
        return f"torch.rand({shape!r}, generator={key}, dtype={dtype})"
    return f"torch.empty({shape!r}, dtype={dtype}).uniform_({low!r}, {high!r}, generator={key})"
