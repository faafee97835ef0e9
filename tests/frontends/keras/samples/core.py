"""Samples of dense layers, embeddings, activations, reshaping, dropout and noise."""

from __future__ import annotations

from typing import Any

import keras

from tests.frontends.keras.layer_sample import Array, samples

L = keras.layers
ROWS = (Array((4, 6), (5, 6)),)
SEQUENCES = (Array((2, 5, 6), (3, 7, 6)),)
INDICES = (Array((2, 5), (3, 7), 0, 10, "int32"),)
BOTH = (False, True)
ACTIVATIONS = [
    "celu",
    "elu",
    "exponential",
    "gelu",
    "glu",
    "hard_shrink",
    "hard_sigmoid",
    "hard_silu",
    "hard_tanh",
    "leaky_relu",
    "linear",
    "log_sigmoid",
    "log_softmax",
    "mish",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "softsign",
    "soft_shrink",
    "sparse_plus",
    "sparse_sigmoid",
    "sparsemax",
    "squareplus",
    "tanh",
    "tanh_shrink",
]


def multiplied(x: Any, factor: float) -> Any:
    return x * factor


def passed_on(x: Any, mask: Any) -> Any:
    """Return the mask of the result. Keras warns if a layer does not pass a mask on."""
    return mask


def kept(x: Any, mask: Any) -> Any:
    return keras.ops.where(mask[..., None], x, 0.0)


SAMPLES = [
    *samples(
        "Dense",
        ROWS,
        {"units": 4},
        {"units": 4, "use_bias": False, "activation": "softmax"},
        {"units": 4, "kernel_regularizer": "l1", "activity_regularizer": "l2"},
        {"units": 4, "lora_rank": 2},
        {"units": 4, "dtype": "mixed_float16"},
        {"units": 4, "dtype": "mixed_bfloat16"},
        {"units": 4, "dtype": "float64"},
        {"units": 4, "dtype": "bfloat16"},
        {"units": 4, "kernel_constraint": "non_neg", "bias_constraint": "unit_norm"},
    ),
    *samples("Dense", SEQUENCES, {"units": 4, "activation": "relu"}),
    *samples(
        "EinsumDense",
        SEQUENCES,
        {"equation": "abc,cd->abd", "output_shape": (None, 4), "bias_axes": "d"},
        {"equation": "abc,cde->abde", "output_shape": (None, 2, 3), "bias_axes": "de", "activation": "tanh"},
        {"equation": "...x,xy->...y", "output_shape": 4},
        {"equation": "abc,cd->adb", "output_shape": (4, None), "lora_rank": 2},
    ),
    *samples(
        "Embedding",
        INDICES,
        {"input_dim": 10, "output_dim": 4},
        {"input_dim": 10, "output_dim": 4, "mask_zero": True, "embeddings_constraint": "max_norm"},
    ),
    *samples(
        "Embedding",
        INDICES,
        {"input_dim": 10, "output_dim": 4, "lora_rank": 2},
        {"input_dim": 10, "output_dim": 4, "dtype": "mixed_float16"},
    ),
    *samples(
        "ReversibleEmbedding",
        INDICES,
        {"input_dim": 10, "output_dim": 4},
        {"input_dim": 10, "output_dim": 4, "tie_weights": False},
    ),
    *samples(
        "ReversibleEmbedding",
        (Array((2, 5, 4), (3, 7, 4)),),
        {"input_dim": 10, "output_dim": 4, "logit_soft_cap": 3.0},
        reverse=True,
    ),
    *(row for name in ACTIVATIONS for row in samples("Activation", SEQUENCES, {"activation": name})),
    *samples(
        "ReLU", SEQUENCES, {}, {"max_value": 1.0, "negative_slope": 0.2, "threshold": 0.1}, {"max_value": 1.5}
    ),
    *samples("LeakyReLU", SEQUENCES, {"negative_slope": 0.1}),
    *samples("PReLU", (Array((4, 5, 6), (3, 5, 6)),), {}, {"shared_axes": [1]}),
    *samples("ELU", SEQUENCES, {"alpha": 0.5}),
    *samples("Softmax", SEQUENCES, {}, {"axis": 1}, {"axis": (1, 2)}),
    *samples(
        "Softmax",
        (*SEQUENCES, Array((2, 5, 6), (3, 7, 6), dtype="bool")),
        {},
        call=lambda layer, x, mask: layer(x, mask=mask),
    ),
    *samples("Flatten", SEQUENCES),
    *samples("Flatten", (Array((2, 3, 4, 5), (3, 3, 4, 5)),), {"data_format": "channels_first"}),
    *samples(
        "Reshape",
        (Array((2, 4, 6), (3, 4, 6)),),
        {"target_shape": (3, 8)},
        {"target_shape": (-1, 2)},
        {"target_shape": (24,)},
    ),
    *samples("Permute", SEQUENCES, {"dims": (2, 1)}),
    *samples("RepeatVector", ROWS, {"n": 3}),
    *samples("Identity", SEQUENCES),
    *samples("Masking", (Array((2, 5, 3), (3, 7, 3), 0, 2, "int32"),), {"mask_value": 1, "dtype": "int32"}),
    *samples("Masking", SEQUENCES, {"mask_value": 0.5}),
    *samples("ActivityRegularization", ROWS, {"l1": 0.1, "l2": 0.2}),
    *samples(
        "Lambda",
        ROWS,
        {"function": keras.ops.square},
        {"function": lambda x: keras.ops.reshape(x, (keras.ops.shape(x)[0] * 2, 3))},
    ),
    *samples(
        "Dropout",
        SEQUENCES,
        {"rate": 0.4, "seed": 3},
        {"rate": 0.4, "noise_shape": (None, 1, 6), "seed": 3},
        {"rate": 0.0},
        training=BOTH,
    ),
    *samples("Dropout", SEQUENCES, {"rate": 0.4, "seed": 3, "dtype": "mixed_float16"}, training=BOTH),
    *samples(
        "AlphaDropout",
        SEQUENCES,
        {"rate": 0.4, "seed": 3},
        {"rate": 0.4, "noise_shape": (None, 1, 6), "seed": 3},
        training=BOTH,
    ),
    *samples("GaussianDropout", SEQUENCES, {"rate": 0.4, "seed": 3}, training=BOTH),
    *samples("GaussianNoise", SEQUENCES, {"stddev": 0.4, "seed": 3}, training=BOTH),
    *samples("SpatialDropout1D", SEQUENCES, {"rate": 0.4, "seed": 3}, training=BOTH),
    *samples(
        "SpatialDropout2D", (Array((2, 4, 5, 6), (3, 5, 4, 6)),), {"rate": 0.4, "seed": 3}, training=BOTH
    ),
    *samples(
        "SpatialDropout2D",
        (Array((2, 6, 5, 4), (3, 6, 4, 5)),),
        {"rate": 0.4, "seed": 3, "data_format": "channels_first"},
        training=BOTH,
    ),
    *samples(
        "SpatialDropout3D",
        (Array((2, 3, 4, 5, 6), (3, 4, 3, 4, 6)),),
        {"rate": 0.4, "seed": 3},
        training=BOTH,
    ),
    *samples(
        "Dense", ROWS, {"units": 4, "lora_rank": 2, "lora_alpha": 0.5}, {"units": 4, "dtype": "float16"}
    ),
    *samples("Dense", (Array((2, 3, 4, 6), (1, 5, 2, 6)),), {"units": 3, "activation": "gelu"}),
    *samples("Dense", (Array((0, 6), (4, 6)),), {"units": 3}),
    *samples(
        "EinsumDense",
        (Array((2, 5, 3, 4), (3, 7, 3, 4)),),
        {"equation": "abcd,cde->abe", "output_shape": (None, 6), "bias_axes": "e"},
        {"equation": "abcd,cde->abe", "output_shape": (None, 6), "dtype": "mixed_bfloat16"},
        {"equation": "...cd,cd->...c", "output_shape": 3, "activation": "relu"},
    ),
    *samples(
        "EinsumDense",
        SEQUENCES,
        {
            "equation": "abc,cd->abd",
            "output_shape": (None, 4),
            "lora_rank": 2,
            "lora_alpha": 3.0,
            "bias_axes": "d",
        },
    ),
    *samples(
        "Embedding",
        (Array((2, 3, 4), (3, 5, 2), 0, 10, "int64"),),
        {"input_dim": 10, "output_dim": 4, "mask_zero": True},
    ),
    *samples(
        "Embedding",
        (Array((2, 5), (3, 7), 0, 10),),
        {"input_dim": 10, "output_dim": 4},
        {"input_dim": 10, "output_dim": 4, "dtype": "bfloat16"},
    ),
    *samples(
        "Embedding",
        (Array((2, 5), (3, 7), 0, 10, "uint8"),),
        {"input_dim": 10, "output_dim": 4, "dtype": "float64"},
    ),
    *samples(
        "ReversibleEmbedding",
        (Array((2, 5, 4), (3, 7, 4)),),
        {"input_dim": 10, "output_dim": 4, "reverse_dtype": "float32", "dtype": "mixed_bfloat16"},
        {"input_dim": 10, "output_dim": 4, "tie_weights": False, "logit_soft_cap": 1.0},
        reverse=True,
    ),
    *(
        row
        for name in ACTIVATIONS
        for row in samples("Activation", SEQUENCES, {"activation": name, "dtype": "mixed_bfloat16"})
    ),
    *(
        row
        for name in ACTIVATIONS
        for row in samples("Activation", SEQUENCES, {"activation": name, "dtype": "float64"})
    ),
    *samples(
        "ReLU",
        SEQUENCES,
        {"negative_slope": 0.3, "dtype": "mixed_float16"},
        {"max_value": 1.0, "threshold": 0.5, "dtype": "float64"},
    ),
    *samples(
        "LeakyReLU", SEQUENCES, {"negative_slope": 0.0}, {"negative_slope": 0.2, "dtype": "mixed_bfloat16"}
    ),
    *samples(
        "PReLU",
        (Array((4, 5, 6, 3), (3, 4, 5, 3)),),
        {"shared_axes": [1, 2]},
        {"shared_axes": [1, 2], "dtype": "mixed_bfloat16"},
    ),
    *samples("ELU", SEQUENCES, {"dtype": "float64"}),
    *samples("Softmax", SEQUENCES, {"axis": -2, "dtype": "mixed_float16"}),
    *samples(
        "Softmax",
        (*SEQUENCES, Array((2, 5, 6), (3, 7, 6), dtype="bool")),
        {"axis": (1, 2)},
        call=lambda layer, x, mask: layer(x, mask=mask),
    ),
    *samples("Flatten", ROWS),
    *samples("Flatten", (Array((4,), (5,)),)),
    *samples(
        "Reshape", SEQUENCES, {"target_shape": (-1, 3)}, {"target_shape": (-1,)}, {"target_shape": (2, -1, 3)}
    ),
    *samples("Reshape", ROWS, {"target_shape": (3, 1, 2), "dtype": "mixed_bfloat16"}),
    *samples(
        "Permute",
        (Array((2, 3, 4, 5), (3, 5, 2, 3)),),
        {"dims": (3, 1, 2)},
        {"dims": (2, 1, 3), "dtype": "float64"},
    ),
    *samples("RepeatVector", ROWS, {"n": 1}, {"n": 5, "dtype": "mixed_bfloat16"}),
    *samples("Identity", (Array((2, 5), (3, 7), -3, 4, "int32"),), {"dtype": "int32"}),
    *samples("Masking", SEQUENCES, {"dtype": "mixed_bfloat16"}),
    *samples("ActivityRegularization", ROWS, {"l2": 0.2, "dtype": "float64"}, training=BOTH),
    *samples(
        "Lambda",
        ROWS,
        {"function": multiplied, "arguments": {"factor": 3.0}},
        {"function": keras.ops.sum, "arguments": {"axis": -1}},
    ),
    *samples(
        "Lambda",
        (*SEQUENCES, Array((2, 5), (3, 7), dtype="bool")),
        {"function": kept, "mask": passed_on},
        call=lambda layer, x, mask: layer(x, mask=mask),
    ),
    *samples(
        "Dropout",
        ROWS,
        {"rate": 0.4, "seed": 3, "dtype": "float64"},
        {"rate": 0.9, "seed": 3, "dtype": "mixed_bfloat16"},
        training=BOTH,
    ),
    *samples(
        "AlphaDropout",
        ROWS,
        {"rate": 0.4, "seed": 3, "dtype": "float64"},
        {"rate": 0.1, "seed": 3, "dtype": "mixed_bfloat16"},
        training=BOTH,
    ),
    *samples(
        "GaussianDropout",
        ROWS,
        {"rate": 0.4, "seed": 3, "dtype": "float64"},
        {"rate": 0.4, "seed": 3, "dtype": "mixed_bfloat16"},
        training=BOTH,
    ),
    *samples(
        "GaussianNoise",
        ROWS,
        {"stddev": 0.4, "seed": 3, "dtype": "mixed_bfloat16"},
        {"stddev": 0.0},
        training=BOTH,
    ),
    *samples(
        "SpatialDropout3D",
        (Array((2, 6, 3, 4, 5), (3, 6, 4, 3, 4)),),
        {"rate": 0.4, "seed": 3, "data_format": "channels_first"},
        training=BOTH,
    ),
    *samples(
        "SpatialDropout1D", SEQUENCES, {"rate": 0.4, "seed": 3, "dtype": "mixed_bfloat16"}, training=BOTH
    ),
]
