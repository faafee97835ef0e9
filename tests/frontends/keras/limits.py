"""Samples of layers that are refused, with words of the error, and those that draw other numbers of the same
distribution.
"""

_COMPUTED, _DRAWN, _WIDE = (
    "computed from elements of arrays",
    "random int64 of a seed",
    "random numbers of float64 of a seed",
)
_DROPPED = "units=4, dropout=0.3, recurrent_dropout=0.2, seed=1, return_sequences=True, dtype=float64"
REFUSED: dict[str, str] = {
    "Resizing(height=7, width=9, pad_to_aspect_ratio=True)": _COMPUTED,
    "Resizing(height=7, width=9, pad_to_aspect_ratio=True, fill_value=2.0)": _COMPUTED,
    "RandomPosterization(factor=4, seed=4)(training=True)": _DRAWN,
    "RandAugment(seed=4)(training=True)": _DRAWN,
    "AugMix(seed=4)(training=True)": _DRAWN,
    "Dropout(rate=0.4, seed=3, dtype=float64)(training=True)": _WIDE,
    "GaussianDropout(rate=0.4, seed=3, dtype=float64)(training=True)": _WIDE,
    "RandomContrast(factor=0.4, seed=4, dtype=float64)(training=True)": _WIDE,
    **{f"{name}({_DROPPED})(training=True)": _WIDE for name in ("SimpleRNN", "GRU", "LSTM")},
}
OF_THE_SAME_DISTRIBUTION = frozenset({"MixUp(seed=4)(training=True)", "CutMix(seed=4)(training=True)"})
# Each pixel is a sum of four, with weights that are as exact as coordinates of ten or more are in float32: the
# error is that of the largest pixel, however small the result.
RELATIVE_TO_THE_LARGEST = frozenset({"RandomPerspective(factor=1.0, seed=4)(training=True)"})
# Keras computes these in XLA. Operation by operation, as most graphs run in these tests, TensorFlow has no
# kernel of float16 for them on a CPU.
WITHOUT_KERNEL = frozenset(
    (f"{pooling}(pool_size=2, padding=same, dtype=mixed_float16)", "tensorflow")
    for pooling in ("MaxPooling3D", "AveragePooling3D")
)
