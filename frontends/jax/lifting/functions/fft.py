"""``jax.numpy.fft``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .....ops.dtypes import complex_of, is_complex, real_of
from ..table import JaxBuilder, rows

_REAL_INPUT = ("rfft", "rfftn", "ihfft")


def _floating(b: JaxBuilder, x: Any, name: str) -> Any:
    """``x`` in the precision of the result; complex where the transform needs it to be."""
    if 0 in x.spec.hints:
        raise NotImplementedError("the transform of no elements")
    real = real_of(b.result.dtype)
    return b.astype(x, dtype=complex_of(real) if is_complex(x.dtype) and name not in _REAL_INPUT else real)


def _one(name: str) -> Callable[..., Any]:
    def row(b: JaxBuilder, a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
        x = _floating(b, a, name)
        x = b.astype(x, dtype=complex_of(x.dtype)) if name in ("irfft", "hfft") else x
        return getattr(b, name)(x, n=n, axis=axis % x.ndim, norm=norm or "backward")

    return row


def _several(name: str, default: Any) -> Callable[..., Any]:
    def row(b: JaxBuilder, a: Any, s: Any = None, axes: Any = default, norm: Any = None) -> Any:
        x = _floating(b, a, name)
        x = b.astype(x, dtype=complex_of(x.dtype)) if name == "irfftn" else x
        if axes is None:
            axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
        places = tuple(axis % x.ndim for axis in axes)
        return getattr(b, name)(x, s=None if s is None else tuple(s), axes=places, norm=norm or "backward")

    return row


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    if _name not in ("hfft", "ihfft"):
        rows.row(f"jax.numpy.fft.{_name}")(_one(_name))
for _name in ("fft", "ifft", "rfft", "irfft"):
    rows.row(f"jax.numpy.fft.{_name}n")(_several(f"{_name}n", None))
    rows.row(f"jax.numpy.fft.{_name}2")(_several(f"{_name}n", (-2, -1)))


def _shift(name: str) -> Callable[..., Any]:
    def row(b: JaxBuilder, x: Any, axes: Any = None) -> Any:
        places = range(x.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
        return getattr(b, name)(x, axes=tuple(axis % x.ndim for axis in places))

    return row


rows.row("jax.numpy.fft.fftshift")(_shift("fftshift"))
rows.row("jax.numpy.fft.ifftshift")(_shift("ifftshift"))


def _frequencies(name: str) -> Callable[..., Any]:
    def row(b: JaxBuilder, n: Any, d: Any = 1.0) -> Any:
        if not isinstance(d, (int, float)):
            raise NotImplementedError
        return getattr(b, name)(n=n, d=float(d), dtype=b.result.dtype)

    return row


rows.row("jax.numpy.fft.fftfreq")(_frequencies("fftfreq"))
rows.row("jax.numpy.fft.rfftfreq")(_frequencies("rfftfreq"))
