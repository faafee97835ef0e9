"""Fourier transforms (array API standard, the ``fft`` extension), and short-time Fourier transforms.

``norm`` selects the direction that is divided by the number of points: "backward", "forward", or "ortho"
for both directions by its square root.
"""

from __future__ import annotations

from typing import Any

from ..sizes import Dim
from .dtypes import complex_of, real_of
from .registry import ArraySpec, declare

_SECTION = "fft"
Sizes = tuple[Dim, ...] | None


def _resized(x: ArraySpec, sizes: Sizes, axes: tuple[int, ...], last: Any = None) -> tuple[Dim, ...]:
    """Return the shape of ``x`` with ``sizes`` at ``axes``, and ``last``, if given, at the last of these."""
    shape = list(x.shape)
    for axis, size in zip(axes, sizes or ()):
        shape[axis] = size
    if last is not None:
        shape[axes[-1]] = last
    return tuple(shape)


def _one(x: ArraySpec, n: Dim | None, axis: int) -> Any:
    return x.shape[axis] if n is None else n


@declare(_SECTION)
def fft(x: ArraySpec, /, *, n: Dim | None = None, axis: int = -1, norm: str = "backward") -> ArraySpec:
    """Compute the discrete Fourier transform along ``axis``.

    ``x`` is truncated or zero-padded to ``n`` before.
    """
    return fftn(x, s=None if n is None else (n,), axes=(axis,))


@declare(_SECTION)
def ifft(x: ArraySpec, /, *, n: Dim | None = None, axis: int = -1, norm: str = "backward") -> ArraySpec:
    """Compute the inverse of ``fft``."""
    return fftn(x, s=None if n is None else (n,), axes=(axis,))


@declare(_SECTION)
def fftn(x: ArraySpec, /, *, s: Sizes = None, axes: tuple[int, ...], norm: str = "backward") -> ArraySpec:
    """Compute the discrete Fourier transform over ``axes``.

    ``x`` is truncated or zero-padded to ``s`` before.
    """
    return ArraySpec(_resized(x, s, axes), complex_of(x.dtype))


@declare(_SECTION)
def ifftn(x: ArraySpec, /, *, s: Sizes = None, axes: tuple[int, ...], norm: str = "backward") -> ArraySpec:
    """Compute the inverse of ``fftn``."""
    return ArraySpec(_resized(x, s, axes), complex_of(x.dtype))


@declare(_SECTION)
def rfft(x: ArraySpec, /, *, n: Dim | None = None, axis: int = -1, norm: str = "backward") -> ArraySpec:
    """Compute the Fourier transform of real ``x`` along ``axis``, up to frequency ``n // 2``.

    The other frequencies are redundant. ``x`` is truncated or zero-padded to ``n`` before.
    """
    return ArraySpec(_resized(x, None, (axis,), _one(x, n, axis) // 2 + 1), complex_of(x.dtype))


@declare(_SECTION)
def irfft(x: ArraySpec, /, *, n: Dim | None = None, axis: int = -1, norm: str = "backward") -> ArraySpec:
    """Compute the inverse of ``rfft``, with an output of size ``n``.

    Without ``n`` the size is even: twice the number of frequencies minus 2.
    """
    return ArraySpec(
        _resized(x, None, (axis,), 2 * (x.shape[axis] - 1) if n is None else n), real_of(x.dtype)
    )


@declare(_SECTION)
def rfftn(x: ArraySpec, /, *, s: Sizes = None, axes: tuple[int, ...], norm: str = "backward") -> ArraySpec:
    """Compute ``rfft`` along the last of ``axes`` and ``fft`` along the others."""
    last = _one(x, s[-1] if s else None, axes[-1]) // 2 + 1
    return ArraySpec(_resized(x, s, axes, last), complex_of(x.dtype))


@declare(_SECTION)
def irfftn(x: ArraySpec, /, *, s: Sizes = None, axes: tuple[int, ...], norm: str = "backward") -> ArraySpec:
    """Compute the inverse of ``rfftn``; without ``s`` the last size is even."""
    last = s[-1] if s else 2 * (x.shape[axes[-1]] - 1)
    return ArraySpec(_resized(x, s, axes, last), real_of(x.dtype))


@declare(_SECTION)
def hfft(x: ArraySpec, /, *, n: Dim | None = None, axis: int = -1, norm: str = "backward") -> ArraySpec:
    """Compute the real Fourier transform of a Hermitian-symmetric signal, given its first half."""
    return irfft(x, n=n, axis=axis)


@declare(_SECTION)
def ihfft(x: ArraySpec, /, *, n: Dim | None = None, axis: int = -1, norm: str = "backward") -> ArraySpec:
    """Compute the inverse of ``hfft``."""
    return rfft(x, n=n, axis=axis)


@declare(_SECTION)
def fftfreq(*, n: Dim, d: float = 1.0, dtype: str = "float32") -> ArraySpec:
    """Return the frequencies of the outputs of ``fft``, for a sample spacing of ``d``."""
    return ArraySpec((n,), dtype)


@declare(_SECTION)
def rfftfreq(*, n: Dim, d: float = 1.0, dtype: str = "float32") -> ArraySpec:
    """Return the frequencies of the outputs of ``rfft``, for a sample spacing of ``d``."""
    return ArraySpec((n // 2 + 1,), dtype)


@declare(_SECTION)
def fftshift(x: ArraySpec, /, *, axes: tuple[int, ...]) -> ArraySpec:
    """Move frequency zero to the middle of ``axes``."""
    return x


@declare(_SECTION)
def ifftshift(x: ArraySpec, /, *, axes: tuple[int, ...]) -> ArraySpec:
    """Move frequency zero from the middle of ``axes`` to the front."""
    return x


# ---------------------------------------------------------------------------------------------- signals
@declare(_SECTION)
def stft(
    x: ArraySpec,
    window: ArraySpec | None = None,
    /,
    *,
    n_fft: int,
    hop_length: int,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool = True,
) -> ArraySpec:
    """Compute the short-time Fourier transform along the last axis: [frequencies, frames].

    A frame has ``n_fft`` elements, and a shorter ``window`` is centred in it. ``center`` pads ``x`` by
    half a frame on both sides. ``normalized`` divides by ``sqrt(n_fft)``.
    """
    size = x.shape[-1] + (2 * (n_fft // 2) if center else 0)
    frequencies = n_fft // 2 + 1 if onesided else n_fft
    return ArraySpec((*x.shape[:-1], frequencies, (size - n_fft) // hop_length + 1), complex_of(x.dtype))


@declare(_SECTION)
def istft(
    x: ArraySpec,
    window: ArraySpec | None = None,
    /,
    *,
    n_fft: int,
    hop_length: int,
    center: bool = True,
    normalized: bool = False,
    onesided: bool = True,
    length: Dim | None = None,
    as_complex: bool = False,
) -> ArraySpec:
    """Compute the inverse of ``stft`` by overlap-add, divided by the sum of squared windows."""
    whole = n_fft + hop_length * (x.shape[-1] - 1) - (2 * (n_fft // 2) if center else 0)
    return ArraySpec(
        (*x.shape[:-2], whole if length is None else length), x.dtype if as_complex else real_of(x.dtype)
    )
