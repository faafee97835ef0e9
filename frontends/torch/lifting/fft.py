"""Fourier transforms of torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....ops.dtypes import is_complex, real_of
from ....sizes import apply, hint_of
from ..basics.dtypes import dtype_name
from .table import TorchBuilder, axes, axis, rows

_OPPOSITE = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def _norm(norm: Any) -> str:
    return "backward" if norm is None else str(norm)


def _filled(b: TorchBuilder, x: Any, place: int, name: str) -> Any:
    """``x``; a 0 where an axis has nothing, which torch fills up with zeros, and of which numpy's inverse reads memory that is not
    there."""
    if name.rstrip("n") not in ("irfft", "hfft"):
        return x
    size = x.shape[place]
    is_empty = hint_of(size) == 0
    b.guard(apply("eq" if is_empty else "ne", size, 0))
    return b.full(shape=(*x.shape[:place], 1, *x.shape[place + 1 :]), fill_value=0.0, dtype=x.dtype) if is_empty else x


# ---------------------------------------------------------------------------------------------- one axis
def _along_one(name: str) -> Callable[..., Any]:
    def row(b: TorchBuilder, input: Any, n: Any = None, dim: int = -1, norm: Any = None) -> Any:
        x, place = b.floating(input), axis(dim, input.ndim)
        return getattr(b, name)(_filled(b, x, place, name), n=n, axis=place, norm=_norm(norm))

    return row


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    rows.row(f"fft_{_name}")(_along_one(_name))


# ---------------------------------------------------------------------------------------------- several axes
def _sizes_and_axes(x: Any, s: Any, dim: Any) -> dict[str, Any]:
    """torch's ``s`` and ``dim``: the last axes without ``dim``, -1 in ``s`` for the size that there is."""
    if isinstance(s, int):
        s = (s,)
    if dim is None:
        found = tuple(range(x.ndim)) if s is None else tuple(range(x.ndim - len(s), x.ndim))
    else:
        found = axes(dim, x.ndim) or ()
    if s is not None:
        s = tuple(x.shape[i] if isinstance(size, int) and size == -1 else size for size, i in zip(s, found, strict=True))
    return {"s": s, "axes": found}


def _conj(b: TorchBuilder, x: Any) -> Any:
    return b.conj(x) if is_complex(x.dtype) else x


def _over_several(name: str, two: bool) -> Callable[..., Any]:
    def transform(b: TorchBuilder, input: Any, s: Any, dim: Any, norm: Any) -> Any:
        x, where = b.floating(input), _sizes_and_axes(input, s, dim)
        if not where["axes"]:
            return b.cast(x, b.recorded[0].dtype)
        x = _filled(b, x, where["axes"][-1], name)
        if name == "hfftn":  # the conjugates of the two sides of an inverse transform
            return b.irfftn(_conj(b, x), **where, norm=_OPPOSITE[_norm(norm)])
        if name == "ihfftn":
            return b.conj(b.rfftn(x, **where, norm=_OPPOSITE[_norm(norm)]))
        return getattr(b, name)(x, **where, norm=_norm(norm))

    places = (-2, -1) if two else None
    return lambda b, input, s=None, dim=places, norm=None: transform(b, input, s, dim, norm)


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    rows.row(f"fft_{_name}2")(_over_several(f"{_name}n", two=True))
    rows.row(f"fft_{_name}n")(_over_several(f"{_name}n", two=False))


# ---------------------------------------------------------------------------------------------- ATen's own
_FORWARD = ("backward", "ortho", "forward")
_INVERSE = ("forward", "ortho", "backward")


@rows.row("_fft_c2c")
def fft_c2c(b: TorchBuilder, input: Any, dim: Any, normalization: int, forward: bool) -> Any:
    transform, norms = (b.fftn, _FORWARD) if forward else (b.ifftn, _INVERSE)
    return transform(input, axes=axes(dim, input.ndim), norm=norms[normalization])


@rows.row("_fft_r2c")
def fft_r2c(b: TorchBuilder, input: Any, dim: Any, normalization: int, onesided: bool) -> Any:
    return (b.rfftn if onesided else b.fftn)(input, axes=axes(dim, input.ndim), norm=_FORWARD[normalization])


@rows.row("_fft_c2r")
def fft_c2r(b: TorchBuilder, input: Any, dim: Any, normalization: int, last_dim_size: Any) -> Any:
    where = axes(dim, input.ndim) or ()
    sizes = (*(input.shape[i] for i in where[:-1]), last_dim_size)
    return b.irfftn(input, s=sizes, axes=where, norm=_INVERSE[normalization])


# ---------------------------------------------------------------------------------------------- frequencies
def _frequencies(name: str) -> Callable[..., Any]:
    return lambda b, n, d=1.0, *, dtype=None, **_options: getattr(b, name)(n=n, d=float(d), dtype=dtype_name(dtype))


def _shifted(name: str) -> Callable[..., Any]:
    return lambda b, input, dim=None: getattr(b, name)(input, axes=axes(dim, input.ndim) or tuple(range(input.ndim)))


for _name in ("fftfreq", "rfftfreq"):
    rows.row(f"fft_{_name}")(_frequencies(_name))
for _name in ("fftshift", "ifftshift"):
    rows.row(f"fft_{_name}")(_shifted(_name))


# ---------------------------------------------------------------------------------------------- signals
def _window(b: TorchBuilder, window: Any, n_fft: int, win_length: Any, dtype: str) -> Any:
    """The window; a rectangle where only a shorter length is given, None for a rectangle of full length."""
    if window is None and win_length is not None and b.fix(win_length) != n_fft:
        return b.ones(shape=(b.fix(win_length),), dtype=dtype)
    return window


@rows.row("stft")
def stft(
    b: TorchBuilder,
    input: Any,
    n_fft: Any,
    hop_length: Any = None,
    win_length: Any = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: Any = None,
    return_complex: Any = None,
    align_to_window: Any = None,
) -> Any:
    if align_to_window:
        raise NotImplementedError("stft with align_to_window")
    size = b.fix(n_fft)
    window = _window(b, window, size, win_length, real_of(input.dtype))
    halves = not is_complex(input.dtype) and (window is None or not is_complex(window.dtype)) and onesided is not False
    hop = size // 4 if hop_length is None else b.fix(hop_length)
    options: dict[str, Any] = {"center": bool(center), "pad_mode": pad_mode, "normalized": bool(normalized), "onesided": halves}
    result = b.stft(input, window, n_fft=size, hop_length=hop, **options)
    if return_complex or (return_complex is None and is_complex(input.dtype)):
        return result
    return b.stack(b.real(result), b.imag(result), axis=result.ndim)


@rows.row("istft")
def istft(
    b: TorchBuilder,
    input: Any,
    n_fft: Any,
    hop_length: Any = None,
    win_length: Any = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: Any = None,
    length: Any = None,
    return_complex: bool = False,
) -> Any:
    size = b.fix(n_fft)
    window = _window(b, window, size, win_length, real_of(input.dtype))
    hop = size // 4 if hop_length is None else b.fix(hop_length)
    one_sided = b.fix(input.shape[-2]) != size if onesided is None else bool(onesided)
    options: dict[str, Any] = {"center": bool(center), "normalized": bool(normalized), "as_complex": bool(return_complex)}
    return b.istft(input, window, n_fft=size, hop_length=hop, onesided=one_sided, length=length, **options)
