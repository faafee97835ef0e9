"""Samples of Fourier transforms."""

from __future__ import annotations

from typing import Any

import torch

from tests.support.samples import Array, ErrorSample, Sample, array, ints, quietly

_FFT = torch.fft
_COMPLEX = Array((3, 4, 6), "complex64")
_OTHER_COMPLEX = Array((2, 5, 4), "complex64")
_REAL, _OTHER_REAL = array(3, 4, 6), array(2, 5, 8)


def _one_axis() -> list[Sample]:
    samples = []
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        function, real = getattr(_FFT, name), name in ("rfft", "ihfft")
        x, other = (_REAL, _OTHER_REAL) if real else (_COMPLEX, _OTHER_COMPLEX)
        for given in ({}, {"n": 7}, {"n": 3, "dim": 1}, {"norm": "ortho"}, {"norm": "forward", "dim": 0}):
            samples.append(Sample(function, (x,), given, other=(other,)))
    return samples + [
        Sample(_FFT.fft, (_REAL,), other=(_OTHER_REAL,)),
        Sample(_FFT.ifft, (ints(5),), other=(ints(8),)),
        Sample(_FFT.rfft, (ints(5),)),
        Sample(_FFT.irfft, (_REAL,)),
        Sample(_FFT.fft, (array(5, dtype="float64"),)),
        Sample(_FFT.fft, (_COMPLEX, 5, -2, "ortho"), other=(_OTHER_COMPLEX, 5, -2, "ortho")),
        Sample(padded_to_double, (_REAL,), other=(_OTHER_REAL,)),
    ]


def padded_to_double(x: torch.Tensor) -> torch.Tensor:
    n = 2 * x.shape[-1]
    return torch.fft.irfft(torch.fft.rfft(x, n) * 2, n)[..., : x.shape[-1]]


def _several_axes() -> list[Sample]:
    samples = []
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        x, other = (_REAL, _OTHER_REAL) if name in ("rfft", "ihfft") else (_COMPLEX, _OTHER_COMPLEX)
        for given in (
            {},
            {"norm": "ortho"},
            {"s": (4, 5), "norm": "forward"},
            {"dim": (0, 2)},
            {"s": (-1, 6)},
        ):
            samples.append(Sample(getattr(_FFT, f"{name}2"), (x,), given, other=(other,)))
        for options in ({}, {"dim": (1, 0)}, {"s": (4, 5), "dim": (0, 2)}, {"norm": "forward"}):
            samples.append(Sample(getattr(_FFT, f"{name}n"), (x,), options, other=(other,)))
    samples += [
        Sample(function, (x,), {"dim": ()})
        for function in (_FFT.fftn, _FFT.ifft2)
        for x in (_REAL, array(dtype="complex64"))
    ]
    return samples + [
        Sample(_FFT.fft2, (_REAL,)),
        Sample(_FFT.fftn, (array(2, 3, 2, 3, 2),)),
        Sample(_FFT.irfft2, (_REAL,)),
    ]


def frequencies(x: torch.Tensor) -> Any:
    n = x.shape[-1]
    return torch.fft.fftfreq(n), torch.fft.rfftfreq(n, d=0.5), torch.fft.fftfreq(n, 2.0, dtype=torch.float64)


def _frequencies() -> list[Sample]:
    x, other = array(3, 4, 5), array(2, 6, 7)
    shifts = (_FFT.fftshift, _FFT.ifftshift)
    samples = [
        Sample(function, (x,), given, other=(other,))
        for function in shifts
        for given in ({}, {"dim": 1}, {"dim": (0, -1)})
    ]
    return [*samples, Sample(frequencies, (x,), other=(other,))]


def windowed(function: Any, x: torch.Tensor, size: int, **options: Any) -> torch.Tensor:
    return quietly(function, x, window=torch.hann_window(size, periodic=True), **options)


def through_stft(x: torch.Tensor, **options: Any) -> torch.Tensor:
    """Compute the short-time transform and its inverse."""
    window = torch.hamming_window(8)
    return torch.istft(
        torch.stft(x, 8, window=window, return_complex=True, **options), 8, window=window, **options
    )


def signal_of(x: torch.Tensor, **options: Any) -> torch.Tensor:
    return torch.istft(x, 8, window=torch.ones(8), **options)


def _signals() -> list[Sample]:
    x, other, stack, later = array(40), array(57), array(3, 40), array(2, 33)
    samples = []
    for options in (
        {},
        {"hop_length": 3},
        {"center": False},
        {"normalized": True},
        {"onesided": False},
        {"pad_mode": "constant"},
        {"win_length": 5},
    ):
        given = {"n_fft": 8, "return_complex": True, **options}
        samples.append(Sample(quietly, (torch.stft, stack), given, other=(torch.stft, later)))
    for mode in ("replicate", "circular"):
        samples.append(
            Sample(
                quietly,
                (torch.stft, stack),
                {"n_fft": 8, "pad_mode": mode, "return_complex": True},
                other=(torch.stft, later),
            )
        )
    return samples + [
        Sample(
            windowed, (torch.stft, x, 6), {"n_fft": 6, "return_complex": True}, other=(torch.stft, other, 6)
        ),
        Sample(
            windowed,
            (torch.stft, x, 6),
            {"n_fft": 9, "win_length": 6, "return_complex": True},
            other=(torch.stft, other, 6),
        ),
        Sample(
            windowed, (torch.stft, x, 6), {"n_fft": 6, "return_complex": False}, other=(torch.stft, other, 6)
        ),
        Sample(quietly, (torch.stft, Array((40,), "complex64")), {"n_fft": 8, "return_complex": True}),
        Sample(through_stft, (x,), other=(other,)),
        Sample(through_stft, (stack,), {"hop_length": 3, "normalized": True}, other=(later,)),
        Sample(through_stft, (stack,), {"onesided": False}, other=(later,)),
        Sample(
            signal_of, (Array((5, 9), "complex64"),), {"length": 15}, other=(Array((5, 12), "complex64"),)
        ),
        Sample(signal_of, (Array((5, 9), "complex64"),), {"normalized": True, "win_length": 8}),
        Sample(signal_of, (Array((8, 9), "complex64"),), {"onesided": False, "return_complex": True}),
    ]


SAMPLES: list[Sample] = [*_one_axis(), *_several_axes(), *_frequencies(), *_signals()]

ERRORS: list[ErrorSample] = []
