"""Samples of convolutions."""

from __future__ import annotations

from ..layer_sample import Array, samples

LINES = (Array((2, 9, 4), (3, 12, 4)),)
IMAGES = (Array((2, 8, 9, 4), (3, 11, 7, 4)),)
VOLUMES = (Array((2, 5, 6, 4, 2), (1, 6, 5, 7, 2)),)
FIRST = (Array((2, 4, 8, 9), (3, 4, 11, 7)),)
SIX = {"filters": 6, "kernel_size": 3}

SAMPLES = [
    *samples(
        "Conv1D",
        LINES,
        SIX,
        {**SIX, "padding": "same", "strides": 2, "activation": "relu"},
        {**SIX, "padding": "causal", "dilation_rate": 2, "use_bias": False},
        {**SIX, "groups": 2, "activation": "gelu", "kernel_constraint": "max_norm"},
        {**SIX, "padding": "same", "kernel_regularizer": "l2", "dtype": "float64"},
    ),
    *samples("Conv1D", (Array((2, 4, 9), (3, 4, 12)),), {**SIX, "data_format": "channels_first"}),
    *samples(
        "Conv2D",
        IMAGES,
        SIX,
        {**SIX, "padding": "same", "strides": (2, 1), "activation": "silu"},
        {**SIX, "dilation_rate": 2, "use_bias": False},
        {"filters": 6, "kernel_size": (1, 4), "padding": "same", "groups": 2},
        {"filters": 6, "kernel_size": (2, 3), "strides": 3, "padding": "same"},
        {**SIX, "dtype": "mixed_bfloat16"},
        {**SIX, "dtype": "mixed_float16"},
        {**SIX, "dtype": "float64", "activation": "selu"},
        {"filters": 4, "kernel_size": 1, "activation": "leaky_relu"},
    ),
    *samples(
        "Conv2D", FIRST, {**SIX, "data_format": "channels_first"}, {**SIX, "data_format": "channels_first", "strides": 2, "padding": "same"}
    ),
    *samples("Conv3D", VOLUMES, {"filters": 3, "kernel_size": 2}, {"filters": 3, "kernel_size": 3, "strides": 2, "padding": "same"}),
    *samples("Conv3D", VOLUMES, {"filters": 2, "kernel_size": (1, 2, 2), "activation": "tanh", "dilation_rate": 2}),
    *samples(
        "Conv1DTranspose",
        LINES,
        SIX,
        {**SIX, "strides": 2, "padding": "same"},
        {**SIX, "strides": 3, "output_padding": 1, "padding": "valid"},
        {**SIX, "dilation_rate": 2},
    ),
    *samples(
        "Conv2DTranspose",
        IMAGES,
        SIX,
        {**SIX, "strides": 2, "padding": "same", "use_bias": False},
        {**SIX, "strides": (2, 3), "output_padding": 1, "activation": "relu"},
        {**SIX, "dilation_rate": 2},
        {"filters": 2, "kernel_size": 2, "strides": 2},
    ),
    *samples(
        "Conv3DTranspose", VOLUMES, {"filters": 3, "kernel_size": 2}, {"filters": 3, "kernel_size": 3, "strides": 2, "padding": "same"}
    ),
    *samples(
        "DepthwiseConv1D",
        LINES,
        {"kernel_size": 3},
        {"kernel_size": 3, "depth_multiplier": 2, "padding": "same"},
        {"kernel_size": 3, "strides": 2, "activation": "relu"},
        {"kernel_size": 2, "dilation_rate": 2},
    ),
    *samples(
        "DepthwiseConv2D",
        IMAGES,
        {"kernel_size": 3},
        {"kernel_size": 3, "depth_multiplier": 2, "padding": "same", "use_bias": False},
        {"kernel_size": (3, 2), "strides": 2, "padding": "same", "activation": "relu6"},
        {"kernel_size": 2, "dilation_rate": 2},
        {"kernel_size": 3, "dtype": "mixed_bfloat16"},
    ),
    *samples("DepthwiseConv2D", FIRST, {"kernel_size": 3, "data_format": "channels_first"}),
    *samples(
        "SeparableConv1D",
        LINES,
        SIX,
        {**SIX, "padding": "same", "strides": 2, "depth_multiplier": 2},
        {**SIX, "dilation_rate": 2},
    ),
    *samples(
        "SeparableConv2D",
        IMAGES,
        SIX,
        {**SIX, "padding": "same", "strides": 2, "depth_multiplier": 2, "activation": "hard_swish"},
        {**SIX, "dilation_rate": 2, "use_bias": False},
    ),
    *samples("SeparableConv2D", FIRST, {**SIX, "data_format": "channels_first"}),
]
