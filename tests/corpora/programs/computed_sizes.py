"""Programs with Python functions of sizes (``int(h / 2)``, ``math.sqrt(d)``): one recording computes what
Python does for all sizes.
"""

from __future__ import annotations

import functools
import math
import sys
from math import ceil, sqrt
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from tests import support
from tests.support import halves
from tests.support import quarters as _quarters  # noqa: F401
from tests.support.halves import half

from .table import Program


def _images(*shapes: tuple[int, int]) -> Any:
    return tuple(
        lambda shape=shape: (torch.arange(1.0, 1 + math.prod(shape)).reshape(shape) / 7,) for shape in shapes
    )


_CALLS = _images((8, 12), (7, 11), (9, 14), (5, 9), (4, 6))


# ------------------------------------------------------------------------------------- sizes
def parts(x: Any) -> Any:
    h, w = x.shape
    return x[: int(h / 2)], x[: int(h * 0.3), round(w / 3) :], x[-int(w * 0.25) :], x[: int(float(h) // 2)]


def lengths(x: Any) -> Any:
    h, w = x.shape
    return (
        torch.linspace(0, 1, int(h / 2)),
        torch.arange(math.ceil(w / 4)),
        torch.zeros(math.floor(h / 3), ceil(w / 5), int(sqrt(h * w))),
    )


def powers_of_two(x: Any) -> Any:
    w = x.shape[1]
    below, above = 2 ** int(math.log2(w)), 2 ** math.ceil(math.log2(w))
    return x[:, :below], functional.pad(x, (0, above - w)), torch.fft.rfft(x, n=int(above))


def resized(x: Any) -> Any:
    h, w = x.shape
    image = x[None, None]
    grown = functional.interpolate(image, size=(int(h * 1.5), int(w * 0.75)), mode="bilinear")
    by_factors = functional.interpolate(image, scale_factor=(float(h) / 8, math.sqrt(w) / 2), mode="bicubic")
    return grown, by_factors, functional.adaptive_avg_pool2d(image, (int(h / 2), max(1, int(w / 3))))


def kept_share(x: Any) -> Any:
    count = max(int(0.25 * x.shape[1]), 1)
    return (
        x.topk(count, dim=-1).values,
        x.roll(int(x.shape[1] / 2), -1),
        x.repeat_interleave(int(x.shape[0] / 2), dim=1),
    )


def in_tensors(x: Any) -> Any:
    span = torch.tensor(min(max(x.size(0), x.size(1)), 20))
    chunks = torch.div(x.size(1) + 3, 4, rounding_mode="trunc")
    height, width = torch.tensor([x.shape[0], x.shape[1]]).tolist()
    padded = functional.pad(x, (0, 4 * (x.shape[1] // 4 + 1) - x.shape[1]))[:, : chunks * 4].reshape(
        x.shape[0], -1
    )
    kept = torch.arange(48)[24 - span : 24 + span]
    half = torch.as_tensor(height) // 2
    return (
        padded,
        kept,
        x[: half.item(), -(torch.tensor(width) % 5 + 1) :],
        torch.zeros(height, half + 1),
        x[half],
        x * half.item(),
    )


def split_in_two(x: Any) -> Any:
    return (
        x.split(math.ceil(x.shape[1] / 2), -1)[0],
        x.narrow(-1, 0, int(x.shape[1] / 2)),
        torch.ones(8, 8).triu(int(x.shape[0] / 4)),
    )


def asked_for_their_class(x: Any) -> Any:
    """Use ``int`` and ``float`` in other ways than by calling them."""
    half: int = int(x.shape[0] / 2)
    grown = half if isinstance(half, int) and not isinstance(half, (float, str)) else 1
    return (
        x[:grown],
        tuple(map(int, (x.shape[0] / 3, 2.5))),
        float(half) if isinstance(half, int | float) else 0.0,
    )


class ByOtherModules(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return self.first(x), halves.scaled(x)

    def first(self, x: Any) -> Any:
        return half(x)


# ------------------------------------------------------------------------------------- elements
def scales(x: Any) -> Any:
    h, w = x.shape
    return (
        x / math.sqrt(w),
        x * (1 / sqrt(h)),
        x * int(w) ** -0.5,
        x / float(x.numel()),
        x * np.sqrt(w),
        x + math.isqrt(w),
    )


def functions(x: Any) -> Any:
    h, w = x.shape
    return (
        x * math.log(w) + math.exp(-h / 10) - math.cos(math.pi / w),
        x * math.hypot(h, w) * math.atan2(h, w),
        math.log(w, 2),
        math.pow(h, 0.25),
    )


def arguments(x: Any) -> Any:
    h, w = x.shape
    return (
        torch.full((2,), math.sqrt(w)),
        x.new_full((int(h), 2), float(w)),
        torch.clamp(x, min=-math.sqrt(h), max=w * 0.1),
        x.masked_fill(x > 1, float(h)),
        torch.tensor([1 / h, float(w), w / h], dtype=torch.float64),
        x.lerp(x * 2, 1 / w),
        functional.scaled_dot_product_attention(x, x, x, scale=1 / math.sqrt(w * 2)),
        torch.lerp(x, x + 1, h / 10),
    )


def numbers_as_results(x: Any) -> Any:
    h, w = x.shape
    return x, int(h / 2), h / w, {"ratio": float(h), "half": w // 2, "root": math.sqrt(w)}


# -------------------------------------------------------------------------- what is recorded again, and right
def only_chosen(x: Any) -> Any:
    """These numbers select the computation itself, so they are guarded and not symbolic."""
    turns = int(x.shape[0] / 4)
    places = x.rot90(turns), x.rot90(x.shape[0] // 4 + 1), x.softmax(x.shape[0] // 8)
    return (
        places,
        torch.cdist(x, x, p=x.shape[0] / 4),
        functional.normalize(x, dim=int(x.shape[0] / 8)),
        functional.huber_loss(x, x + 1, delta=2 / turns),
    )


def by_ratio(x: Any) -> Any:
    h, w = x.shape
    return x * 2 if w / h > 1.52 else x * 3


def texts(x: Any) -> Any:
    return {f"half {int(x.shape[0] / 2)}": x, f"{math.sqrt(x.shape[1]):.1f}": x}


def as_keys(x: Any) -> Any:
    tables = {4: 1.0, 3: 2.0}
    return x * tables.get(int(x.shape[0] / 2), 5.0)


def mirrored(x: Any) -> Any:
    """In the last calls the padding is wider than the array, which torch rejects."""
    try:
        return functional.pad(x[None], (int(8 - x.shape[1] / 2), 0), mode="reflect")
    except RuntimeError:
        return x


@functools.lru_cache(maxsize=8)
def _triangle(rows: int, columns: int, device: Any = None) -> Any:
    return torch.ones(rows, columns, device=device).tril()


class Placed:
    """Caches a table by shape with ``lru_cache``, as positional encodings do."""

    @functools.lru_cache(maxsize=8)  # noqa: B019
    def places(self, shape: Any, scale: float) -> Any:
        return torch.arange(shape[0])[:, None] * scale / shape[1]

    def _kept(self, *args: Any) -> Any:
        return self.places(*args)

    def __call__(self, x: Any) -> Any:
        y = torch.cat([x, x])
        return y * self._kept(y.shape, 2.0) + self._kept(y.shape, 2.0) + _triangle(*y.shape, device=x.device)


def counted(x: Any) -> Any:
    rows, most = len(x), max([x, x[:1]], key=len)
    halves_of_columns = x.T[: len(x.T) // 2]
    return (
        x.sum() / len(x),
        most,
        halves_of_columns,
        x.reshape(len(x) * x.shape[1]) * len((x, rows)),
        torch.arange(len(x)),
        list(map(len, (x, "ab"))),
    )


def by_module_of_package(x: Any) -> Any:
    return support.quarters.quarter(x)


def joined_targets(x: Any) -> Any:
    """The targets of the CTC loss are concatenated, so that their number equals no other size."""
    rows, steps = x.shape
    scores = (x.T[:, :, None] * torch.arange(4.0) / 9).log_softmax(-1)
    return functional.ctc_loss(
        scores,
        torch.arange(2 * rows) % 3 + 1,
        torch.full((rows,), steps),
        torch.full((rows,), 2),
        reduction="none",
    )


def old_constructors(x: Any) -> Any:
    return (
        x * torch.FloatTensor([0.5, 2.0]).sum(),
        x.long() + torch.LongTensor([[1], [2]]).sum(),
        x + torch.Tensor([3.0])[0],
    )


def old_constructors_of_sizes(x: Any) -> Any:
    return x * torch.FloatTensor([x.shape[0] / 2, 1.0]).sum() + torch.LongTensor([1] * x.shape[0])[:, None]


def longer_and_longer(x: Any) -> Any:
    """Each size refers to the previous one twice, so that an expanded expression would double 25 times."""
    for _ in range(25):
        x = torch.cat([x, x[: x.shape[0] // 3]])
    return x[-1], x.reshape(-1, 1) * x.shape[0]


_OPEN = (
    in_tensors,
    longer_and_longer,
    counted,
    by_module_of_package,
    joined_targets,
    old_constructors,
    parts,
    lengths,
    powers_of_two,
    resized,
    kept_share,
    asked_for_their_class,
    scales,
    functions,
    arguments,
    numbers_as_results,
)
_DECIDED = {by_ratio: 2, texts: 5, as_keys: 5, old_constructors_of_sizes: 5}
PROGRAMS = [
    *(Program(function.__name__, lambda f=function: f, _CALLS, variants=1) for function in _OPEN),
    Program(
        "cached_under_sizes", Placed, _CALLS, variants=1 if sys.version_info >= (3, 11) else None
    ),  # 3.10 does not tell which call asks
    Program("by_other_modules", ByOtherModules, _CALLS, variants=1),
    *(
        Program(function.__name__, lambda f=function: f, _CALLS, variants=count)
        for function, count in _DECIDED.items()
    ),
    *(
        Program(function.__name__, lambda f=function: f, _CALLS)
        for function in (only_chosen, mirrored, split_in_two)
    ),
]
