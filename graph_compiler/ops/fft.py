"""Fourier transforms (array API standard, the ``fft`` extension), and the short-time transforms of signals.

``norm`` says which direction is divided by the number of points: "backward", "forward", or "ortho" for both
by the root.
"""

from __future__ import annotations

from typing import Any

from ..sizes import Dim
from .dtypes import complex_of, real_of
from .registry import ArraySpec, declare

_SECTION = "fft"
Sizes = tuple[Dim, ...] | None


def _resized(x: ArraySpec, sizes: Sizes, axes: tuple[int, ...], last: Any = None) -> tuple[Dim, ...]:
    """The shape with the given sizes at ``axes``, and ``last`` at the last of them."""
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
    """The discrete Fourier transform along ``axis``, of ``x`` cut or padded with zeros to ``n``."""
    return fftn(x, s=None if n is None else (n,), axes=(axis,))


@declare(_SECTION)
def ifft(x: ArraySpec, /, *, n: Dim | None = None, axis: int = -1, norm: str = "backward") -> ArraySpec:
    """The inverse of ``fft``."""
    return fftn(x, s=None if n is None else (n,), axes=(axis,))


@declare(_SECTION)
def fftn(x: ArraySpec, /, *, s: Sizes = None, axes: tuple[int, ...], norm: str = "backward") -> ArraySpec:
    """The discrete Fourier transform over ``axes``, of ``x`` cut or padded with zeros to ``s``."""
    return ArraySpec(_resized(x, s, axes), complex_of(x.dtype))


@declare(_SECTION)
def ifftn(x: ArraySpec, /, *, s: Sizes = None, axes: tuple[int, ...], norm: str = "backward") -> ArraySpec:
    """The inverse of ``fftn``."""
    return ArraySpec(_resized(x, s, axes), complex_of(x.dtype))


@declare(_SECTION)
def rfft(x: ArraySpec, /, *, n: Dim | None = None, axis: int = -1, norm: str = "backward") -> ArraySpec:
    """The first half, up to and with ``n // 2``, of the Fourier transform of real ``x``."""
    return ArraySpec(_resized(x, None, (axis,), _one(x, n, axis) // 2 + 1), complex_of(x.dtype))


@declare(_SECTION)
def irfft(x: ArraySpec, /, *, n: Dim | None = None, axis: int = -1, norm: str = "backward") -> ArraySpec:
    """The inverse of ``rfft``; ``n`` is even where it is not given."""
    return ArraySpec(
        _resized(x, None, (axis,), 2 * (x.shape[axis] - 1) if n is None else n), real_of(x.dtype)
    )


@declare(_SECTION)
def rfftn(x: ArraySpec, /, *, s: Sizes = None, axes: tuple[int, ...], norm: str = "backward") -> ArraySpec:
    """``rfft`` along the last of ``axes``, ``fft`` along the others."""
    last = _one(x, s[-1] if s else None, axes[-1]) // 2 + 1
    return ArraySpec(_resized(x, s, axes, last), complex_of(x.dtype))


@declare(_SECTION)
def irfftn(x: ArraySpec, /, *, s: Sizes = None, axes: tuple[int, ...], norm: str = "backward") -> ArraySpec:
    """The inverse of ``rfftn``; the last size is even where ``s`` is not given."""
    last = s[-1] if s else 2 * (x.shape[axes[-1]] - 1)
    return ArraySpec(_resized(x, s, axes, last), real_of(x.dtype))


@declare(_SECTION)
def hfft(x: ArraySpec, /, *, n: Dim | None = None, axis: int = -1, norm: str = "backward") -> ArraySpec:
    """The real Fourier transform of a signal that is the conjugate of itself reversed, of which ``x`` is the
    first half.
    """
    return irfft(x, n=n, axis=axis)


@declare(_SECTION)
def ihfft(x: ArraySpec, /, *, n: Dim | None = None, axis: int = -1, norm: str = "backward") -> ArraySpec:
    """The inverse of ``hfft``."""
    return rfft(x, n=n, axis=axis)


@declare(_SECTION)
def fftfreq(*, n: Dim, d: float = 1.0, dtype: str = "float32") -> ArraySpec:
    """The frequencies of the elements that ``fft`` gives, for samples ``d`` apart."""
    return ArraySpec((n,), dtype)


@declare(_SECTION)
def rfftfreq(*, n: Dim, d: float = 1.0, dtype: str = "float32") -> ArraySpec:
    """The frequencies of the elements that ``rfft`` gives, for samples ``d`` apart."""
    return ArraySpec((n // 2 + 1,), dtype)


@declare(_SECTION)
def fftshift(x: ArraySpec, /, *, axes: tuple[int, ...]) -> ArraySpec:
    """Moves frequency zero to the middle of ``axes``."""
    return x


@declare(_SECTION)
def ifftshift(x: ArraySpec, /, *, axes: tuple[int, ...]) -> ArraySpec:
    """Moves frequency zero from the middle of ``axes`` to the front."""
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
    """The Fourier transforms of the parts of ``x`` (last axis) that a window of ``n_fft`` sees: frequencies x
    parts.

    A shorter ``window`` stands in the middle; ``center`` pads ``x`` by half a window on both sides;
    ``normalized`` divides by ``sqrt(n_fft)``.
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
    """The signal of which ``x`` is the ``stft``: overlapping parts are added and divided by the squares of
    the windows.
    """
    whole = n_fft + hop_length * (x.shape[-1] - 1) - (2 * (n_fft // 2) if center else 0)
    return ArraySpec(
        (*x.shape[:-2], whole if length is None else length), x.dtype if as_complex else real_of(x.dtype)
    )
