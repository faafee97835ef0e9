"""Samples of creation: filled arrays, ranges, arrays of Python numbers, complex arrays of two parts."""

from __future__ import annotations

import numpy as np
import torch

from tests.support.samples import ErrorSample, Sample, array, bools, ints

X, OTHER = array(2, 3), array(4, 3)


# ------------------------------------------------------------ of sizes, so that they are creation at any size
def counted(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    n = x.shape[0]
    return (
        torch.arange(n), torch.arange(1, n + 1), torch.arange(0, n, 2), torch.arange(n, 0, -1), torch.arange(n, dtype=torch.float32),
        torch.arange(0, n, 0.5), torch.arange(n / 2), torch.arange(2 * n, 0, -3), torch.arange(n, dtype=torch.float16),
    )  # fmt: skip


def whole_steps(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Start and step are truncated to integers, and in int64 the end is too; narrow dtypes wrap around."""
    n = x.shape[0]
    return (
        torch.arange(n / 2, dtype=torch.int64), torch.arange(0, n + 0.5, dtype=torch.int64),
        torch.arange(-0.9, n + 0.1, 2.0, dtype=torch.int32), torch.arange(n + 0.1, -2.9, -1.0, dtype=torch.int8),
        torch.arange(0.5, 3.0 * n, 1.5, dtype=torch.uint8), torch.arange(n + 0.1, -2.9, -1.0, dtype=torch.uint8),
        torch.arange(-1, n, 2, dtype=torch.uint8), torch.arange(n, -3, -1, dtype=torch.uint8), torch.arange(-n, 3, dtype=torch.uint8),
        torch.arange(125, 125 + 2 * n, dtype=torch.int8),
    )  # fmt: skip


def spaced(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    n = x.shape[0]
    return (
        torch.linspace(0, 1, n),
        torch.linspace(-1, n, 5),
        torch.logspace(0, 2, n),
        torch.linspace(0.0, n, n, dtype=torch.float64),
    )


def filled(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    n = x.shape[0]
    return (
        torch.zeros(n, 3), torch.ones((n, n)), torch.full((n, 2), 0.5), torch.full((2,), n), torch.full((n,), True),
        x.new_zeros(n, 1), x.new_ones((n,)),
        x.new_full((2, n), 7), torch.eye(n), torch.eye(n, n + 1, dtype=torch.int64), torch.zeros(x.shape, dtype=torch.bool),
        torch.full((2,), n / 2),
        torch.scalar_tensor(n), torch.full((n,), x[0, 0]),
    )  # fmt: skip


def triangles(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    n, m = x.shape
    return (
        torch.tril_indices(n, n), torch.triu_indices(n, n), torch.triu_indices(n, n, 1), torch.tril_indices(n, n, -1),
        torch.tril_indices(n, m),
        torch.triu_indices(n, m, 1), torch.tril(torch.ones(n, n), diagonal=n - 2),
    )  # fmt: skip


def listed(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    n = x.shape[0]
    return (
        torch.tensor([n, 2]),
        torch.tensor([[n, 1], [2, n * 2]], dtype=torch.float32),
        torch.tensor(n),
        torch.as_tensor([1.5, n]),
        torch.tensor([n == n]),
    )


def literals() -> tuple[torch.Tensor, ...]:
    return (
        torch.tensor([1, 2, 3]), torch.tensor([[1.0, 2], [3, 4]]), torch.tensor(3), torch.tensor(2.5), torch.tensor([True, False]),
        torch.tensor([]),
        torch.tensor([1, 2], dtype=torch.float16), torch.tensor([1 + 2j]), torch.tensor(list(range(100))), torch.tensor(float("inf")),
        torch.as_tensor([1, 2]), torch.asarray([0.5]), torch.tensor([[], []]), torch.tensor(np.array([1.0, 2.0])),
        torch.as_tensor(np.float32(3.0)),
    )  # fmt: skip


def of_numbers() -> tuple[torch.Tensor, ...]:
    return (
        torch.arange(5), torch.arange(1, 2, 0.25), torch.arange(5.0), torch.linspace(3, 10, 5), torch.linspace(0, 10, 4, dtype=torch.int64),
        torch.linspace(1, 2, 1), torch.linspace(1, 2, 0), torch.logspace(-1, 1, 5, base=2), torch.logspace(0, 3, 4, dtype=torch.int64),
        torch.eye(3), torch.zeros(2), torch.ones(()), torch.arange(3, 3), torch.arange(1, 10, 3, dtype=torch.bfloat16),
    )  # fmt: skip


def windows(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Window functions; torch accepts only plain ints as their lengths."""
    return (
        torch.hann_window(8), torch.hann_window(7, False), torch.hann_window(1), torch.hamming_window(6),
        torch.hamming_window(6, False, 0.6, 0.4),
        torch.blackman_window(9), torch.bartlett_window(6), torch.bartlett_window(5, periodic=False), torch.kaiser_window(8),
        torch.kaiser_window(7, False, 5.0), x * torch.hann_window(x.shape[1]), torch.signal.windows.hann(6), torch.hann_window(0),
    )  # fmt: skip


def _like() -> list[Sample]:
    found = [
        Sample(getattr(torch, name), (X,), other=(OTHER,), name=name) for name in ("zeros_like", "ones_like")
    ]
    return [
        *found,
        Sample(torch.zeros_like, (ints(2, 3),), {"dtype": torch.float32}),
        Sample(torch.ones_like, (bools(3),)),
        Sample(torch.full_like, (X, 2), other=(OTHER, 2)),
        Sample(torch.full_like, (ints(3), 2.5)),
        Sample(torch.full_like, (X, 1), {"dtype": torch.bool}),
        Sample(torch.Tensor.new_zeros, (X, 2, 4)),
        Sample(torch.Tensor.new_zeros, (ints(1), (2, 4)), {"dtype": torch.float32}),
        Sample(torch.Tensor.new_ones, (X, (2,))),
        Sample(torch.Tensor.new_full, (X, (2, 2), 3)),
        Sample(torch.Tensor.new_tensor, (X, [1, 2])),
        Sample(torch.fill, (X, 2.5), other=(OTHER, 2.5)),
        Sample(torch.fill, (X, array())),
        Sample(torch.full, ((2, 3), 1)),
        Sample(torch.full, ((2,), 1.5), {"dtype": torch.int32}),
        Sample(torch.full, ([3], 1 + 1j)),
        Sample(torch.zeros, (2, 3), {"dtype": torch.int8}),
        Sample(torch.zeros, (), {"size": (2, 3)}),
        Sample(torch.ones, ([2, 3],)),
    ]


def _matrices() -> list[Sample]:
    found = []
    for name in ("tril", "triu"):
        function = getattr(torch, name)
        found += [Sample(function, (array(3, 4),), other=(array(5, 2),), name=name)]
        found += [
            Sample(function, (array(2, 3, 4), k), other=(array(2, 5, 3), k), name=f"{name} {k}")
            for k in (-1, 1, 5)
        ]
        found += [
            Sample(function, (bools(3, 3),), {"diagonal": 1}, name=name),
            Sample(function, (array(0, 3),), name=f"{name} empty"),
        ]
        found += [
            Sample(getattr(torch, f"{name}_indices"), (3, 4, k), name=f"{name}_indices {k}")
            for k in (-1, 0, 2)
        ]
        found += [
            Sample(getattr(torch, f"{name}_indices"), (3, 3), {"dtype": torch.int32}, name=f"{name}_indices")
        ]
    return [
        *found,
        Sample(torch.vander, (array(3),), other=(array(5),)),
        Sample(torch.vander, (array(3), 4), other=(array(5), 4)),
        Sample(torch.vander, (ints(3),), {"increasing": True}),
        *(
            Sample(torch.vander, (array(3, dtype="complex64"), count), name=f"vander complex {count}")
            for count in (0, 1, 4)
        ),
        Sample(torch.vander, (array(3, dtype="complex64"),), other=(array(0, dtype="complex64"),)),
        Sample(torch.linalg.vander, (array(2, 3),), other=(array(4, 5),)),
        Sample(torch.linalg.vander, (array(2, 3),), {"N": 2}),
    ]


def _complex() -> list[Sample]:
    return [
        Sample(torch.complex, (X, array(3)), other=(OTHER, array(3))),
        Sample(
            torch.polar,
            (array(2, 3, kind="positive"), array(2, 3)),
            other=(array(4, 3, kind="positive"), array(4, 3)),
        ),
        Sample(
            torch.view_as_real, (array(2, 3, dtype="complex64"),), other=(array(4, 3, dtype="complex64"),)
        ),
        Sample(torch.view_as_complex, (array(3, 2),), other=(array(5, 2),)),
    ]


SAMPLES: list[Sample] = [
    Sample(whole_steps, (X,), other=(OTHER,)),
    Sample(counted, (X,), other=(array(7, 3),)),
    Sample(spaced, (X,), other=(array(7, 3),)),
    Sample(filled, (X,), other=(OTHER,)),
    Sample(triangles, (X,), other=(array(5, 4),)),
    Sample(listed, (X,), other=(OTHER,)),
    Sample(literals, ()),
    Sample(of_numbers, ()),
    Sample(windows, (X,), other=(OTHER,)),
    *_like(),
    *_matrices(),
    *_complex(),
]

ERRORS: list[ErrorSample] = []
