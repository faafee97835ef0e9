"""Fourier transforms in JAX."""

from __future__ import annotations

from typing import Any

from ...rows import Operand
from .table import rows

rows.table({name: f"jnp.fft.{name}({{x}}, {{n=}}, {{axis=}}, {{norm=}})" for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")})
rows.table({name: f"jnp.fft.{name}({{x}}, {{s=}}, {{axes=}}, {{norm=}})" for name in ("fftn", "ifftn", "rfftn", "irfftn")})
rows.table({name: f"jnp.fft.{name}({{x}}, {{axes=}})" for name in ("fftshift", "ifftshift")})
rows.table({name: f"jnp.fft.{name}({{n}}, {{d=}}, dtype={{dtype}})" for name in ("fftfreq", "rfftfreq")})


def _given(params: dict[str, Any], defaults: dict[str, Any]) -> str:
    return "".join(f", {name}={value!r}" for name, value in params.items() if name not in defaults or value != defaults[name])


_DEFAULTS = {"center": True, "pad_mode": "reflect", "normalized": False, "onesided": True, "length": None, "as_complex": False}


@rows.row("stft")
def _stft(x: Operand, window: Operand | None = None, **params: Any) -> str:
    return f"stft({x}{'' if window is None else f', {window}'}{_given(params, _DEFAULTS)})"


@rows.row("istft")
def _istft(x: Operand, window: Operand | None = None, **params: Any) -> str:
    return f"istft({x}{'' if window is None else f', {window}'}{_given(params, _DEFAULTS)})"
