"""Fourier transforms in torch."""

from __future__ import annotations

from typing import Any

from ....ops.dtypes import real_of
from ....ops.text import Text
from ...calls import call, unless
from ...rows import Operand
from .table import rows

rows.table({
    name: f"torch.fft.{name}({{x}}, {{n=}}, {{dim=axis}}, {{norm=}})" for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
})  # fmt: skip
rows.table({name: f"torch.fft.{name}({{x}}, {{s=}}, {{dim=axes}}, {{norm=}})" for name in ("fftn", "ifftn", "rfftn", "irfftn")})
rows.table({name: f"torch.fft.{name}({{x}}, {{dim=axes}})" for name in ("fftshift", "ifftshift")})
rows.table({name: f"torch.fft.{name}({{n}}, {{d=}}, dtype={{dtype}})" for name in ("fftfreq", "rfftfreq")})
_DEFAULTS = {"center": True, "pad_mode": "reflect", "normalized": False, "length": None}


def _transform(function: str, x: Operand, window: Operand | None, n_fft: int, hop_length: int, options: dict[str, Any]) -> str:
    """A call; a shorter window stands in the middle, and without one torch asks for ones in so many words."""
    width = None if window is None or window.shape[0] == n_fft else Text(f"{window}.shape[0]")
    ones = Text(f"torch.ones({n_fft!r}, dtype=torch.{real_of(x.dtype or '')})")
    changed = {name: unless(value, _DEFAULTS.get(name)) for name, value in options.items()}
    return call(function, x, n_fft, hop_length, win_length=width, window=window if window is not None else ones, **changed)


rows.table({
    "stft": lambda x, window=None, *, n_fft, hop_length, **options: _transform(
        "torch.stft", x, window, n_fft, hop_length, {**options, "return_complex": True}
    ),
    "istft": lambda x, window=None, *, n_fft, hop_length, as_complex, **options: _transform(
        "torch.istft", x, window, n_fft, hop_length, {**options, "return_complex": as_complex}
    ),
})  # fmt: skip
