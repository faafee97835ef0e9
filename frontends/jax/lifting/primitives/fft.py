"""Fourier transforms."""

from __future__ import annotations

from typing import Any

from ..table import JaxBuilder, rows

_KINDS = {"FFT": "fftn", "IFFT": "ifftn", "RFFT": "rfftn", "IRFFT": "irfftn"}


@rows.row("fft_p")
def fft(b: JaxBuilder, x: Any, *, fft_type: Any, fft_lengths: Any) -> Any:
    """Over the last axes, as many as there are lengths."""
    if 0 in x.spec.hints:
        return b.without_elements(x)
    kind = _KINDS[fft_type.name if hasattr(fft_type, "name") else list(_KINDS)[fft_type]]
    axes = tuple(range(x.ndim - len(fft_lengths), x.ndim))
    return getattr(b, kind)(x, s=tuple(fft_lengths) if kind == "irfftn" else None, axes=axes)
