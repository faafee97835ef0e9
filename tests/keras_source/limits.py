"""Samples of layers that are refused, with what the error says."""

_COMPUTED, _DRAWN = (
    "computed from elements of arrays",
    "draws numbers of a seed by an algorithm|computed from elements|random int64 of a seed",
)
REFUSED: dict[str, str] = {
    "Resizing(height=7, width=9, crop_to_aspect_ratio=True)": _COMPUTED,
    "Resizing(height=7, width=9, pad_to_aspect_ratio=True, fill_value=2.0)": _COMPUTED,
    "MelSpectrogram(fft_length=64, sequence_stride=32, num_mel_bins=8)": _COMPUTED,
    "MelSpectrogram(fft_length=64, sequence_stride=32, num_mel_bins=8, power_to_db=False)": _COMPUTED,
    "CategoryEncoding(num_tokens=8)": _COMPUTED,
    "CategoryEncoding(num_tokens=8, output_mode=count)": _COMPUTED,
    "Equalization()(training=True)": _COMPUTED,
    "RandomCrop(height=6, width=7, seed=4)(training=True)": _COMPUTED,
    "RandomElasticTransform(factor=1.0, seed=4)(training=True)": _COMPUTED,
    "RandomGaussianBlur(kernel_size=3, sigma=1.0, seed=4)(training=True)": _COMPUTED,
    "RandomPosterization(factor=4, seed=4)(training=True)": _DRAWN,
    "RandAugment(seed=4)(training=True)": _DRAWN,
    "AugMix(seed=4)(training=True)": _DRAWN,
    "MixUp(seed=4)(training=True)": _DRAWN,
    "CutMix(seed=4)(training=True)": _DRAWN,
}
