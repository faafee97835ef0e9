"""Fourier transforms in TensorFlow: helpers around ``tf.signal``, which transforms last axes only and knows no other scales."""

from __future__ import annotations

from .table import rows

rows.table({name: f"{name}({{x}}, {{n=}}, {{axis=}}, {{norm=}})" for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")})
rows.table({name: f"{name}({{x}}, {{s=}}, {{axes=}}, {{norm=}})" for name in ("fftn", "ifftn", "rfftn", "irfftn")})
rows.table({
    "fftshift": "tf.signal.fftshift({x}, {axes})",
    "ifftshift": "tf.signal.ifftshift({x}, {axes})",
    "fftfreq": "fftfreq({n}, {d}, {dtype})",
    "rfftfreq": "rfftfreq({n}, {d}, {dtype})",
})  # fmt: skip
