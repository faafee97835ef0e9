"""Samples of preprocessing: of images, deterministic and random, of audio, and of categories."""

from __future__ import annotations

import keras

from tests.frontends.keras.layer_sample import Array, samples

from .core import BOTH, ROWS, SEQUENCES

L = keras.layers
IMAGES = (Array((2, 10, 12, 3), (3, 9, 13, 3), 0, 255),)
# No quotient that Equalization rounds is a half: XLA divides by a scalar by way of its reciprocal, and gives
# 52.500004 for 12495 / 238.
WITHOUT_TIES = (Array((2, 8, 9, 3), (3, 10, 12, 3), 0, 255),)
FIRST = (Array((2, 3, 10, 12), (3, 3, 9, 13), 0, 255),)
ONE_IMAGE = (Array((10, 12, 3), (9, 13, 3), 0, 255),)
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
    "RandomTranslation": (
        {"height_factor": 0.2, "width_factor": 0.3},
        {"height_factor": 0.2, "width_factor": 0.3, "fill_mode": "wrap"},
    ),
    "RandomZoom": (
        {"height_factor": 0.2},
        {"height_factor": 0.2, "width_factor": 0.1, "fill_mode": "constant"},
    ),
    "RandomCrop": ({"height": 6, "width": 7},),
    "RandomColorDegeneration": (FACTOR,),
    "RandomColorJitter": (
        {"brightness_factor": 0.2, "contrast_factor": 0.2, "saturation_factor": 0.2, "hue_factor": 0.2},
    ),
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
OTHER_RANDOM: dict[str, tuple[dict[str, object], ...]] = {
    "RandomColorDegeneration": ({"factor": 0.4, "value_range": (0, 1)},),
    "RandomElasticTransform": ({"factor": 1.0, "fill_mode": "constant", "fill_value": 1.0},),
    "RandomErasing": ({"factor": 1.0, "scale": (0.1, 0.2), "fill_value": 3.0},),
    "RandomPerspective": ({"factor": 1.0, "scale": 0.5, "interpolation": "nearest", "fill_value": 1.0},),
    "RandomRotation": (
        {"factor": (0.1, 0.2), "fill_mode": "wrap"},
        {"factor": 0.3, "fill_mode": "constant", "fill_value": 2.0},
    ),
    "RandomShear": (
        {"x_factor": 0.2, "interpolation": "nearest", "fill_mode": "constant", "fill_value": 2.0},
    ),
    "RandomTranslation": (
        {
            "height_factor": (0.1, 0.2),
            "width_factor": 0.3,
            "fill_mode": "constant",
            "interpolation": "nearest",
        },
    ),
    "RandomZoom": ({"height_factor": (-0.3, -0.2), "interpolation": "nearest", "fill_mode": "nearest"},),
    "RandomContrast": ({"factor": (0.1, 0.5), "value_range": (0, 1)},),
    "RandomHue": ({"factor": 0.3, "value_range": (0, 1)},),
    "RandomGaussianBlur": ({"factor": 1.0, "kernel_size": (3, 5), "sigma": 0.5},),
    "RandAugment": ({"num_ops": 1, "factor": 0.2},),
}

SAMPLES = [
    *samples(
        "Rescaling",
        IMAGES,
        {"scale": 1 / 255},
        {"scale": 1 / 127.5, "offset": -1.0},
        {"scale": [0.1, 0.2, 0.3], "offset": [1.0, 2.0, 3.0]},
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
    *(
        row
        for name, options in RANDOM.items()
        for row in samples(name, IMAGES, *({**each, **SEED} for each in options), training=BOTH)
    ),
    *samples("RandomFlip", FIRST, {"seed": 4, "data_format": "channels_first"}, training=BOTH),
    *samples("AutoContrast", IMAGES, training=BOTH),
    *samples("Equalization", WITHOUT_TIES, training=BOTH),
    *samples(
        "ContrastLimitedAdaptiveHistogramEqualization", IMAGES, {"tile_grid_size": (2, 2)}, training=BOTH
    ),
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
        for row in samples(
            "STFTSpectrogram",
            (Array((2, 200, 1), (3, 260, 1)),),
            {"mode": mode, "frame_length": 32, "frame_step": 16},
        )
    ),
    *samples(
        "STFTSpectrogram",
        (Array((2, 200, 2), (3, 260, 2)),),
        {"frame_length": 32, "frame_step": 16, "fft_length": 64, "padding": "same", "expand_dims": True},
    ),
    *samples(
        "Discretization",
        ROWS,
        {"bin_boundaries": [-1.0, 0.0, 1.0]},
        {"bin_boundaries": [-1.0, 0.0, 1.0], "output_mode": "one_hot"},
    ),
    *samples("CategoryEncoding", CATEGORIES, {"num_tokens": 8}, {"num_tokens": 8, "output_mode": "count"}),
    *samples(
        "CategoryEncoding", (Array((4,), (6,), 0, 8, "int32"),), {"num_tokens": 8, "output_mode": "one_hot"}
    ),
    *(
        row
        for name, options in OTHER_RANDOM.items()
        for row in samples(name, IMAGES, *({**each, **SEED} for each in options), training=BOTH)
    ),
    *(
        row
        for name in (
            "RandomRotation",
            "RandomTranslation",
            "RandomZoom",
            "RandomGrayscale",
            "RandomHue",
            "RandomSaturation",
            "RandomCrop",
        )
        for row in samples(
            name, FIRST, *({**RANDOM[name][0], **SEED, "data_format": "channels_first"},), training=BOTH
        )
    ),
    *samples("RandomFlip", ONE_IMAGE, {**SEED}, training=BOTH),
    *samples("RandomBrightness", ONE_IMAGE, {**FACTOR, **SEED}, training=BOTH),
    *samples(
        "RandomContrast",
        IMAGES,
        {**FACTOR, **SEED, "dtype": "float64"},
        {**FACTOR, **SEED, "dtype": "mixed_bfloat16"},
        training=BOTH,
    ),
    *samples(
        "Rescaling",
        (Array((2, 5), (3, 7), 0, 200, "uint8"),),
        {"scale": 1 / 255},
        {"scale": 1 / 255, "dtype": "float64"},
    ),
    *samples("Rescaling", FIRST, {"scale": 0.1, "offset": 0.5, "dtype": "mixed_bfloat16"}),
    *samples("Resizing", ONE_IMAGE, {"height": 7, "width": 9}),
    *samples(
        "Resizing", (Array((2, 10, 12, 3), (3, 20, 24, 3), 0, 255, "uint8"),), {"height": 5, "width": 6}
    ),
    *samples(
        "Resizing",
        IMAGES,
        {"height": 7, "width": 9, "pad_to_aspect_ratio": True},
        {"height": 20, "width": 21, "crop_to_aspect_ratio": True, "interpolation": "nearest"},
        {"height": 20, "width": 21, "interpolation": "lanczos5"},
    ),
    *samples("CenterCrop", ONE_IMAGE, {"height": 5, "width": 6}),
    *samples("CenterCrop", IMAGES, {"height": 20, "width": 21}, {"height": 9, "width": 12}),
    *samples("AutoContrast", IMAGES, {"value_range": (0, 1)}, training=BOTH),
    *samples("Equalization", IMAGES, {"bins": 16}, training=BOTH),
    *samples(
        "ContrastLimitedAdaptiveHistogramEqualization",
        IMAGES,
        {"tile_grid_size": (3, 2), "clip_limit": 2.0},
        training=BOTH,
    ),
    *samples(
        "Pipeline",
        IMAGES,
        {"layers": [L.RandomFlip(seed=1), L.RandomContrast(0.3, seed=2), L.Resizing(5, 6)]},
        training=BOTH,
    ),
    *samples(
        "STFTSpectrogram",
        (Array((2, 1, 200), (3, 1, 260)),),
        {"mode": "log", "frame_length": 32, "frame_step": 16, "data_format": "channels_first"},
    ),
    *(
        row
        for options in (
            {"scaling": "spectrum"},
            {"scaling": None, "window": "hamming"},
            {"window": None, "periodic": True},
            {"dtype": "float64"},
        )
        for row in samples(
            "STFTSpectrogram",
            (Array((2, 200, 1), (3, 260, 1)),),
            {"mode": "psd", "frame_length": 32, "frame_step": 16, **options},
        )
    ),
    *samples(
        "MelSpectrogram",
        (Array((200,), (260,)),),
        {
            "fft_length": 64,
            "sequence_stride": 32,
            "num_mel_bins": 8,
            "window": "hamming",
            "sequence_length": 48,
            "top_db": 20.0,
            "mag_exp": 1.0,
        },
    ),
    *samples(
        "Discretization",
        SEQUENCES,
        {"bin_boundaries": [-1.0, 0.0, 1.0]},
        {"bin_boundaries": [0.5], "dtype": "float32"},
    ),
    *samples(
        "Discretization",
        ROWS,
        *({"bin_boundaries": [-1.0, 0.0, 1.0], "output_mode": mode} for mode in ("multi_hot", "count")),
    ),
    *samples(
        "CategoryEncoding",
        (*CATEGORIES, Array((2, 4), (3, 6), 0.1, 2.0)),
        {"num_tokens": 8, "output_mode": "count"},
        call=lambda layer, x, weights: layer(x, count_weights=weights),
    ),
    *samples(
        "CategoryEncoding",
        (Array((3, 1), (5, 1), 0, 8, "int32"),),
        {"num_tokens": 8, "output_mode": "one_hot"},
        {"num_tokens": 8},
    ),
    *samples(
        "CategoryEncoding",
        (Array((4,), (6,), 0, 8, "int64"),),
        {"num_tokens": 8},
        {"num_tokens": 8, "output_mode": "count"},
    ),
]
