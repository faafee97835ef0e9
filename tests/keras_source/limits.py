"""Samples of layers that are refused, with what the error says."""

_COMPUTED, _DRAWN = (
    "computed from elements of arrays",
    "draws numbers of a seed by an algorithm|computed from elements|random int64 of a seed",
)
_WIDE = "random numbers of float64 of a seed"
REFUSED: dict[str, str] = {
    "Resizing(height=7, width=9, crop_to_aspect_ratio=True)": _COMPUTED,
    "Resizing(height=7, width=9, pad_to_aspect_ratio=True, fill_value=2.0)": _COMPUTED,
    "Equalization()(training=True)": _COMPUTED,
    "RandomCrop(height=6, width=7, seed=4)(training=True)": _COMPUTED,
    "RandomElasticTransform(factor=1.0, seed=4)(training=True)": _COMPUTED,
    "RandomGaussianBlur(kernel_size=3, sigma=1.0, seed=4)(training=True)": _COMPUTED,
    "RandomPosterization(factor=4, seed=4)(training=True)": _DRAWN,
    "RandAugment(seed=4)(training=True)": _DRAWN,
    "AugMix(seed=4)(training=True)": _DRAWN,
    "MixUp(seed=4)(training=True)": _DRAWN,
    "CutMix(seed=4)(training=True)": _DRAWN,
    "Resizing(height=7, width=9, pad_to_aspect_ratio=True)": _COMPUTED,
    "Resizing(height=20, width=21, crop_to_aspect_ratio=True, interpolation=nearest)": _COMPUTED,
    "RandomCrop(height=6, width=7, seed=4, data_format=channels_first)(training=True)": _COMPUTED,
    "RandomElasticTransform(factor=1.0, fill_mode=constant, fill_value=1.0, seed=4)(training=True)": _COMPUTED,
    "RandomGaussianBlur(factor=1.0, kernel_size=(3, 5), sigma=0.5, seed=4)(training=True)": _COMPUTED,
    "RandAugment(num_ops=1, factor=0.2, seed=4)(training=True)": _COMPUTED,
    "Equalization(bins=16)(training=True)": _COMPUTED,
    "Dropout(rate=0.4, seed=3, dtype=float64)(training=True)": _WIDE,
    "GaussianDropout(rate=0.4, seed=3, dtype=float64)(training=True)": _WIDE,
    "RandomContrast(factor=0.4, seed=4, dtype=float64)(training=True)": _WIDE,
    **{
        f"{name}(units=4, dropout=0.3, recurrent_dropout=0.2, seed=1, return_sequences=True, dtype=float64)(training=True)": _WIDE
        for name in ("SimpleRNN", "GRU", "LSTM")
    },
}
