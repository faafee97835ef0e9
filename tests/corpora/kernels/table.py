"""Table of the kernels: their arguments at a given size, and the size at which they are timed."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from . import data, dynamic_programming, matrices, networks, physics, solvers, stencils

Arguments = tuple[Any, ...]


class Draw:
    """Generator of the random arrays of one size; the same size gives the same arrays."""

    def __init__(self, size: int) -> None:
        self.random = np.random.default_rng(size)

    def floats(self, *shape: int) -> Any:
        return self.random.random(shape, dtype=np.float32)

    def whole(self, high: int, *shape: int, dtype: str = "int32") -> Any:
        """Return random integers from 0 to ``high - 1``."""
        return self.random.integers(0, high, shape).astype(dtype)

    def complex(self, *shape: int) -> Any:
        return self.floats(*shape) + 1j * self.floats(*shape)

    def positive(self, n: int) -> Any:
        """Return a well-conditioned symmetric positive definite matrix."""
        m = self.floats(n, n)
        return m @ m.T / n + np.eye(n, dtype=np.float32)


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A NumPy function and its arguments, arrays and numbers in the order of the parameters."""

    room: ModuleType
    name: str
    arguments: Callable[[Draw, int], Arguments]
    large: int

    @property
    def function(self) -> Callable[..., Any]:
        """Return the NumPy function."""
        function: Callable[..., Any] = getattr(self.room, self.name)
        return function

    @property
    def by_hand(self) -> Callable[..., Any]:
        """Return the hand-written JAX function."""
        module = importlib.import_module(f"{__package__}.in_jax.{self.room.__name__.rpartition('.')[2]}")
        function: Callable[..., Any] = getattr(module, self.name)
        return function

    def at(self, size: int) -> Arguments:
        return self.arguments(Draw(size), size)


ROWS: dict[ModuleType, dict[str, tuple[Callable[[Draw, int], Arguments], int]]] = {
    stencils: {
        "heat_1d": (lambda r, n: (r.floats(n * 4), n), 1000),
        "jacobi_2d": (lambda r, n: (r.floats(n, n + 1), n), 120),
        "heat_3d": (lambda r, n: (r.floats(n, n + 1, n + 2), n), 30),
        "seidel_2d": (lambda r, n: (r.floats(n, n + 1), n - 3), 40),
        "fdtd_2d": (
            lambda r, n: (r.floats(n, n + 2), r.floats(n, n + 2), r.floats(n, n + 2), r.floats(n)),
            150,
        ),
        "limited_diffusion": (lambda r, n: (r.floats(n + 4, n + 5, 3), r.floats(n, n + 1, 3)), 200),
        "cavity_flow": (lambda r, n: (r.floats(n, n), r.floats(n, n), r.floats(n, n), n, 3), 60),
    },
    matrices: {
        "gemm": (
            lambda r, n: (1.5, 1.2, r.floats(n, n + 1), r.floats(n, n + 2), r.floats(n + 2, n + 1)),
            300,
        ),
        "atax": (lambda r, n: (r.floats(n, n + 2), r.floats(n + 2)), 1000),
        "bicg": (lambda r, n: (r.floats(n, n + 2), r.floats(n + 2), r.floats(n)), 1000),
        "mvt": (lambda r, n: (r.floats(n), r.floats(n), r.floats(n), r.floats(n), r.floats(n, n)), 1000),
        "gesummv": (lambda r, n: (1.5, 1.2, r.floats(n, n), r.floats(n, n), r.floats(n)), 1000),
        "syrk": (lambda r, n: (1.5, 1.2, r.floats(n, n), r.floats(n, n - 1)), 60),
        "trmm": (lambda r, n: (1.5, r.floats(n, n), r.floats(n, n - 1)), 60),
        "symm": (lambda r, n: (1.5, 1.2, r.floats(n, n + 1), r.floats(n, n), r.floats(n, n + 1)), 50),
        "doitgen": (lambda r, n: (r.floats(n, n + 1, n + 2), r.floats(n + 2, n + 2)), 60),
        "covariance": (lambda r, n: (r.floats(n + 2, n),), 150),
        "correlation": (lambda r, n: (r.floats(n + 2, n),), 150),
        "spmv": (
            lambda r, n: (np.sort(r.whole(n, 3 * n)), r.whole(n, 3 * n), r.floats(3 * n), r.floats(n)),
            5000,
        ),
    },
    solvers: {
        "lu": (lambda r, n: (r.positive(n),), 60),
        "cholesky": (lambda r, n: (r.positive(n),), 60),
        "triangular_solve": (lambda r, n: (r.positive(n), r.floats(n)), 400),
        "gram_schmidt": (lambda r, n: (r.floats(n + 2, n),), 50),
        "durbin": (lambda r, n: (r.floats(n) / n,), 400),
        "conjugate_gradient": (lambda r, n: (r.positive(n), r.floats(n), 1e-6), 300),
        "power_iteration": (lambda r, n: (r.positive(n), r.floats(n), n), 200),
        "newton": (lambda r, n: (r.floats(n) + 1, r.floats(n) + 1), 20000),
        "vertical_advection": (lambda r, n: (r.floats(n, n + 1, n + 2), r.floats(n, n + 1, n + 2), 0.5), 50),
    },
    dynamic_programming: {
        "floyd_warshall": (lambda r, n: (r.floats(n, n),), 120),
        "edit_distance": (lambda r, n: (r.whole(4, n), r.whole(4, n + 2)), 80),
        "folded_pairs": (lambda r, n: (r.whole(4, n),), 20),
        "viterbi": (
            lambda r, n: (r.floats(4), r.floats(4, 4), r.floats(4, 6), r.whole(6, n, dtype="int64")),
            500,
        ),
    },
    physics: {
        "nbody": (lambda r, n: (r.floats(n, 3), r.floats(n, 3), r.floats(n), n, 0.01), 60),
        "mandelbrot": (lambda r, n: (r.floats(n) * 2 - 1.5, r.floats(n) * 2 - 1, n), 100),
        "scattering_self_energies": (
            lambda r, n: (
                r.whole(n, n, 2),
                r.complex(n, 2, 2, 3, 3),
                r.complex(1, 3, n, 3, 3),
                r.complex(1, 2, n, 2, 2, 2),
            ),
            200,
        ),
        "contour_integral": (
            lambda r, n: (r.complex(n, n), r.complex(6) + 3, r.complex(6), r.complex(n, n)),
            60,
        ),
        "arc_distance": (lambda r, n: tuple(r.floats(n) for _ in range(4)), 50000),
    },
    networks: {
        "softmax": (lambda r, n: (r.floats(2, n, n),), 200),
        "conv2d": (lambda r, n: (r.floats(2, n, n + 1, 3), r.floats(3, 3, 3, 4)), 24),
        "mlp": (
            lambda r, n: (
                r.floats(n, 6),
                r.floats(6, 2 * n),
                r.floats(2 * n),
                r.floats(2 * n, n),
                r.floats(n),
                r.floats(n, 3),
                r.floats(3),
            ),
            200,
        ),
        "lenet": (
            lambda r, n: (
                r.floats(n, 14, 14, 1),
                r.floats(3, 3, 1, 2),
                r.floats(3, 3, 2, 3),
                r.floats(12, 5),
                r.floats(5, 4),
            ),
            8,
        ),
        "residual_block": (
            lambda r, n: (
                r.floats(3, n, n, 4),
                r.floats(1, 1, 4, 2),
                r.floats(3, 3, 2, 2),
                r.floats(1, 1, 2, 4),
            ),
            14,
        ),
    },
    data: {
        "azimuthal_integration": (lambda r, n: (r.floats(4 * n), r.floats(4 * n), 5), 5000),
        "go_fast": (lambda r, n: (r.floats(n, n),), 500),
        "checksum": (
            lambda r, n: (r.whole(256, n, dtype="uint32"), r.whole(2**31, 256, dtype="uint32")),
            1000,
        ),
        "compute": (lambda r, n: (r.whole(100, n, n), r.whole(100, n, n), 10, 70, 3), 500),
        "black_scholes": (
            lambda r, n: (r.floats(n) + 1, r.floats(n) + 1, r.floats(n) + 0.5, 0.05, 0.3),
            50000,
        ),
        "kmeans": (lambda r, n: (r.floats(4 * n, 2), r.floats(4, 2), n), 40),
        "fft_convolution": (lambda r, n: (r.floats(4 * n), r.floats(n)), 2000),
        "moving_filter": (lambda r, n: (r.floats(n), 0.3), 2000),
    },
}
KERNELS = {name: Kernel(room, name, *row) for room, rows in ROWS.items() for name, row in rows.items()}
