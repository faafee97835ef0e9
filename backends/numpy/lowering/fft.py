"""Fourier transforms in numpy."""

from __future__ import annotations

from .table import rows

rows.table({name: f"np.fft.{name}({{x}}, {{n=}}, {{axis=}}, {{norm=}})" for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")})
rows.table({name: f"np.fft.{name}({{x}}, {{s=}}, {{axes=}}, {{norm=}})" for name in ("fftn", "ifftn", "rfftn", "irfftn")})
rows.table({name: f"np.fft.{name}({{x}}, {{axes=}})" for name in ("fftshift", "ifftshift")})
rows.table({name: f"np.fft.{name}({{n}}, {{d=}}).astype({{dtype}})" for name in ("fftfreq", "rfftfreq")})
