"""numpy.fft."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....ops.dtypes import complex_of, is_complex, real_of
from .table import NumpyBuilder, axes_of, axis_of, rows

_FROM_COMPLEX = frozenset({"fft", "ifft", "fftn", "ifftn", "irfft", "irfftn", "hfft"})


def _input(b: NumpyBuilder, name: str, a: Any) -> Any:
    """The array in the type that numpy transforms: half precision is lifted, integers are float64."""
    result = b.recorded_dtype()
    if name in _FROM_COMPLEX:
        return b.astype(a, dtype=complex_of(result) if not is_complex(result) else result)
    return b.astype(a, dtype=real_of(result))


def _line(name: str) -> Callable[..., Any]:
    def row(b: NumpyBuilder, a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
        x = _input(b, name, b.array(a))
        return getattr(b, name)(x, n=n, axis=axis_of(axis, x.ndim), norm=norm or "backward")

    return row


def _several(name: str, default: Any) -> Callable[..., Any]:
    def row(b: NumpyBuilder, a: Any, s: Any = None, axes: Any = default, norm: Any = None) -> Any:
        x = _input(b, name, b.array(a))
        if axes is None:
            axes = tuple(range(x.ndim - len(s), x.ndim)) if s is not None else tuple(range(x.ndim))
        return getattr(b, name)(x, s=None if s is None else tuple(s), axes=axes_of(axes, x.ndim), norm=norm or "backward")

    return row


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    rows.row(f"fft.{_name}")(_line(_name))
for _name in ("fftn", "ifftn", "rfftn", "irfftn"):
    rows.row(f"fft.{_name}")(_several(_name, None))
    rows.row(f"fft.{_name[:-1]}2")(_several(_name, (-2, -1)))


rows.table({
    "fft.fftfreq": lambda b, n, d=1.0, device=None: b.fftfreq(n=n, d=d, dtype="float64"),
    "fft.rfftfreq": lambda b, n, d=1.0, device=None: b.rfftfreq(n=n, d=d, dtype="float64"),
})  # fmt: skip


def _shift(name: str) -> None:
    @rows.row(f"fft.{name}")
    def row(b: NumpyBuilder, x: Any, axes: Any = None) -> Any:
        """numpy.fft: the zero frequency to the middle, and back."""
        return getattr(b, name)(x, axes=axes_of(axes, x.ndim) or tuple(range(x.ndim)))


_shift("fftshift")
_shift("ifftshift")
