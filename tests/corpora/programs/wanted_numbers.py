"""Programs that pass a tensor without axes where torch needs an ``int``: an axis, a count, a power. Each
value needs another variant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .table import Program


def _calls(*numbers: int) -> tuple[Callable[[], tuple[Any, ...]], ...]:
    return tuple(
        lambda n=n, rows=rows: (torch.arange(rows * rows * 1.0).reshape(rows, rows) / 7, torch.tensor(n))
        for rows, n in enumerate(numbers, 3)
    )


_COUNTS: dict[str, Callable[[Any, Any], Any]] = {
    "matrix_power": lambda x, n: torch.matrix_power(x, n) + torch.linalg.matrix_power(x, n - 1),
    "mvlgamma": lambda x, n: x.add(5).mvlgamma(n),
    "polygamma": lambda x, n: torch.polygamma(n, x + 1) * (x + 2).polygamma(n),
    "fft": lambda x, n: torch.fft.fft(x, n=n).abs() + torch.fft.ifft(x, n, norm="ortho").real,
    "rfft": lambda x, n: torch.fft.rfft(x, n).abs(),
    "decimals": lambda x, n: torch.round(x, decimals=n),
    "draws": lambda x, n: torch.multinomial(x + 1, n, replacement=True) * 0 + n,
    "combinations": lambda x, n: torch.combinations(x[0], n),
    "triangle": lambda x, n: torch.tril_indices(n, n + 1),
}
_AXES: dict[str, Callable[[Any, Any], Any]] = {
    "sums": lambda x, n: (x.sum(dim=n), x.sum(n, keepdim=True), torch.mean(x, n), x.std(n), x.logsumexp(n), x.prod(n)),
    "places": lambda x, n: (x.argmax(n), torch.argmin(x, dim=n), x.sort(n).indices, torch.argsort(x, n)),
    "picked": lambda x, n: (x.gather(n, torch.ones(2, 2, dtype=torch.int64)), x.index_select(n, torch.tensor([1, 0]))),
    "several": lambda x, n: x[None].sum((n, n + 1)) + x[None].amax([n, n - 1]).sum(),
}  # fmt: skip


PROGRAMS = [
    *(
        Program(name, lambda function=function: function, _calls(2, 3, 2, 1))
        for name, function in _COUNTS.items()
    ),
    *(
        Program(name, lambda function=function: function, _calls(1, 0, 1, 1), variants=2)
        for name, function in _AXES.items()
    ),
]
