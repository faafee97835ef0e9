"""Samples of preprocessing: of images as they are, of random changes with and without training, of sounds and of categories."""

from __future__ import annotations

import keras

from ..layer_sample import Array, samples
from .core import BOTH, ROWS

L = keras.layers
IMAGES = (Array((2, 10, 12, 3), (3, 9, 13, 3), 0, 255),)
FIRST = (Array((2, 3, 10, 12), (3, 3, 9, 13), 0, 255),)
SOUNDS = (Array((2, 200), (3, 260)),)
CATEGORIES = (Array((2, 4), (3, 6), 0, 8, "int32"),)
FACTOR, SEED = {"factor": 0.4}, {"seed": 4}
RANDOM: dict[str, tuple[dict[str, object], ...]] = {
    "RandomBrightness": (FACTOR, {"factor": (0.1, 0.3), "value_range": (0.0, 1.0)}),
    "RandomContrast": (FACTOR,),
    "RandomFlip": ({}, {"mode": "horizontal"}, {"mode": "vertical"}),
    "RandomRotation": (
        FACTOR,
        {"factor": 0.2, "fill_mode": "nearest"},
        {"factor": 0.2, "fill_mode": "constant", "interpolation": "nearest"},
    ),
    "RandomTranslation": ({"height_factor": 0.2, "width_factor": 0.3}, {"height_factor": 0.2, "width_factor": 0.3, "fill_mode": "wrap"}),
    "RandomZoom": ({"height_factor": 0.2}, {"height_factor": 0.2, "width_factor": 0.1, "fill_mode": "constant"}),
    "RandomCrop": ({"height": 6, "width": 7},),
    "RandomColorDegeneration": (FACTOR,),
    "RandomColorJitter": ({"brightness_factor": 0.2, "contrast_factor": 0.2, "saturation_factor": 0.2, "hue_factor": 0.2},),
    "RandomElasticTransform": ({"factor": 1.0},),
    "RandomErasing": ({},),
    "RandomGaussianBlur": ({"kernel_size": 3, "sigma": 1.0},),
    "RandomGrayscale": ({"factor": 0.5},),
    "RandomHue": (FACTOR,),
    "RandomInvert": ({"factor": 0.5},),
    "RandomPerspective": ({"factor": 1.0},),
    "RandomPosterization": ({"factor": 4},),
    "RandomSaturation": (FACTOR,),
    "RandomSharpness": (FACTOR,),
    "RandomShear": ({"x_factor": 0.2, "y_factor": 0.1},),
    "Solarization": ({"addition_factor": 0.2, "threshold_factor": 0.5},),
    "RandAugment": ({},),
    "AugMix": ({},),
    "MixUp": ({},),
    "CutMix": ({},),
}

SAMPLES = [
    *samples(
        "Rescaling", IMAGES, {"scale": 1 / 255}, {"scale": 1 / 127.5, "offset": -1.0}, {"scale": [0.1, 0.2, 0.3], "offset": [1.0, 2.0, 3.0]}
    ),
    *samples(
        "Resizing",
        IMAGES,
        {"height": 7, "width": 9},
        {"height": 7, "width": 9, "interpolation": "nearest"},
        {"height": 20, "width": 9, "interpolation": "bicubic"},
        {"height": 7, "width": 9, "antialias": True},
        {"height": 7, "width": 9, "interpolation": "lanczos3"},
        {"height": 7, "width": 9, "interpolation": "area"},
        {"height": 7, "width": 9, "crop_to_aspect_ratio": True},
        {"height": 7, "width": 9, "pad_to_aspect_ratio": True, "fill_value": 2.0},
    ),
    *samples("Resizing", FIRST, {"height": 7, "width": 9, "data_format": "channels_first"}),
    *samples("CenterCrop", IMAGES, {"height": 5, "width": 6}, {"height": 5, "width": 20}),
    *samples("CenterCrop", FIRST, {"height": 5, "width": 6, "data_format": "channels_first"}),
    *(row for name, options in RANDOM.items() for row in samples(name, IMAGES, *({**each, **SEED} for each in options), training=BOTH)),
    *samples("RandomFlip", FIRST, {"seed": 4, "data_format": "channels_first"}, training=BOTH),
    *samples("AutoContrast", IMAGES, training=BOTH),
    *samples("Equalization", IMAGES, training=BOTH),
    *samples("ContrastLimitedAdaptiveHistogramEqualization", IMAGES, {"tile_grid_size": (2, 2)}, training=BOTH),
    *samples("Pipeline", IMAGES, {"layers": [L.Rescaling(0.1), L.CenterCrop(5, 6)]}),
    *samples(
        "MelSpectrogram",
        SOUNDS,
        {"fft_length": 64, "sequence_stride": 32, "num_mel_bins": 8},
        {"fft_length": 64, "sequence_stride": 32, "num_mel_bins": 8, "power_to_db": False},
    ),
    *(
        row
        for mode in ("log", "magnitude", "psd", "real", "imag", "angle", "stft")
        for row in samples("STFTSpectrogram", (Array((2, 200, 1), (3, 260, 1)),), {"mode": mode, "frame_length": 32, "frame_step": 16})
    ),
    *samples(
        "STFTSpectrogram",
        (Array((2, 200, 2), (3, 260, 2)),),
        {"frame_length": 32, "frame_step": 16, "fft_length": 64, "padding": "same", "expand_dims": True},
    ),
    *samples("Discretization", ROWS, {"bin_boundaries": [-1.0, 0.0, 1.0]}, {"bin_boundaries": [-1.0, 0.0, 1.0], "output_mode": "one_hot"}),
    *samples("CategoryEncoding", CATEGORIES, {"num_tokens": 8}, {"num_tokens": 8, "output_mode": "count"}),
    *samples("CategoryEncoding", (Array((4,), (6,), 0, 8, "int32"),), {"num_tokens": 8, "output_mode": "one_hot"}),
]
