"""Samples of recurrent layers and cells: masks, both directions, reversed sequences, states."""

from __future__ import annotations

from typing import Any

import keras

from tests.frontends.keras.layer_sample import Array, samples

from .core import BOTH, ROWS, SEQUENCES

L = keras.layers
MASKED = (*SEQUENCES, Array((2, 5), (3, 7), dtype="bool"))
STATE = Array((2, 4), (3, 4))
# Unrolled layers have a fixed number of steps.
FIXED = (Array((2, 5, 6), (3, 5, 6)),)
# Stateful layers have a fixed number of sequences.
BATCH = (Array((2, 5, 6), (2, 7, 6)),)
CONSTRAINED = {
    "kernel_constraint": "max_norm",
    "recurrent_regularizer": "l2",
    "bias_constraint": "non_neg",
    "return_sequences": True,
}
FRAMES = {
    1: (Array((2, 3, 6, 2), (3, 4, 6, 2)),),
    2: (Array((2, 3, 6, 5, 2), (3, 4, 6, 5, 2)),),
    3: (Array((1, 2, 4, 5, 4, 2), (2, 3, 4, 5, 4, 2)),),
}
OPTIONS = (
    {"units": 4},
    {"units": 4, "return_sequences": True, "return_state": True},
    {"units": 4, "go_backwards": True, "return_sequences": True, "use_bias": False},
    {"units": 4, "activation": "relu", "kernel_regularizer": "l2"},
    {"units": 4, "dtype": "mixed_bfloat16"},
    {"units": 4, "dtype": "float64"},
)
DROPPED = {"units": 4, "dropout": 0.3, "recurrent_dropout": 0.2, "seed": 1}


def masked(layer: Any, x: Any, mask: Any, **given: Any) -> Any:
    return layer(x, mask=mask, **given)


def with_fresh_masks(layer: Any, *arrays: Any, **given: Any) -> Any:
    """Call a cell as at the start of a sequence, since it stores its dropout mask for all steps."""
    layer.reset_dropout_mask()
    layer.reset_recurrent_dropout_mask()
    return layer(*arrays, **given)


SAMPLES = [
    *(row for name in ("SimpleRNN", "GRU", "LSTM") for row in samples(name, SEQUENCES, *OPTIONS)),
    *(
        row
        for name in ("SimpleRNN", "GRU", "LSTM")
        for row in samples(name, SEQUENCES, DROPPED, training=BOTH)
    ),
    *(
        row
        for name in ("SimpleRNN", "GRU", "LSTM")
        for row in samples(name, MASKED, {"units": 4}, {"units": 4, "return_sequences": True}, call=masked)
    ),
    *samples(
        "LSTM",
        (*SEQUENCES, STATE, STATE),
        {"units": 4},
        call=lambda layer, x, h, c: layer(x, initial_state=[h, c]),
    ),
    *samples(
        "GRU",
        (*SEQUENCES, STATE),
        {"units": 4, "reset_after": False},
        call=lambda layer, x, h: layer(x, initial_state=h),
    ),
    *samples("GRU", SEQUENCES, {"units": 4, "recurrent_activation": "hard_sigmoid", "unroll": False}),
    *samples("LSTM", (Array((2, 5, 6), (3, 5, 6)),), {"units": 4, "unroll": True}),
    *samples("GRUCell", (*ROWS, Array((4, 3), (5, 3))), {"units": 3}, {"units": 3, "reset_after": False}),
    *samples("SimpleRNNCell", (*ROWS, Array((4, 3), (5, 3))), {"units": 3}),
    *samples(
        "LSTMCell",
        (*ROWS, Array((4, 3), (5, 3)), Array((4, 3), (5, 3))),
        {"units": 3},
        call=lambda layer, x, h, c: layer(x, [h, c]),
    ),
    *samples(
        "StackedRNNCells",
        (*ROWS, Array((4, 3), (5, 3)), Array((4, 2), (5, 2))),
        {"cells": [L.GRUCell(3), L.GRUCell(2)]},
        call=lambda layer, x, first, second: layer(x, [first, second]),
    ),
    *samples(
        "RNN",
        SEQUENCES,
        {"cell": L.LSTMCell(4)},
        {"cell": [L.GRUCell(3), L.LSTMCell(2)], "return_sequences": True},
        {"cell": L.GRUCell(4), "return_state": True},
    ),
    *samples(
        "Bidirectional",
        SEQUENCES,
        {"layer": L.LSTM(4)},
        {"layer": L.GRU(4, return_sequences=True), "merge_mode": "sum"},
        {"layer": L.SimpleRNN(4, return_sequences=True), "merge_mode": "ave"},
        {"layer": L.LSTM(4, return_state=True), "merge_mode": "mul"},
        {"layer": L.GRU(4), "merge_mode": None},
    ),
    *samples("Bidirectional", MASKED, {"layer": L.LSTM(4, return_sequences=True)}, call=masked),
    *samples("TimeDistributed", (Array((2, 3, 6), (3, 3, 6)),), {"layer": L.Dense(4)}),
    *samples("TimeDistributed", (Array((2, 3, 4, 5, 6), (3, 3, 5, 4, 6)),), {"layer": L.Conv2D(4, 2)}),
    *(
        row
        for rank, inputs in FRAMES.items()
        for row in samples(
            f"ConvLSTM{rank}D",
            inputs,
            {"filters": 3, "kernel_size": 2, "padding": "same"},
            {"filters": 3, "kernel_size": 2, "return_sequences": True, "strides": 2},
            {"filters": 3, "kernel_size": 2, "return_state": True, "go_backwards": True},
        )
    ),
    *(
        row
        for name in ("SimpleRNN", "GRU", "LSTM")
        for row in (
            *samples(
                name,
                FIXED,
                {"units": 4, "unroll": True, "return_sequences": True},
                {"units": 4, "unroll": True, "go_backwards": True},
            ),
            *samples(
                name,
                BATCH,
                {"units": 4, "stateful": True},
                {"units": 4, "stateful": True, "return_sequences": True, "return_state": True},
            ),
            *samples(
                name,
                SEQUENCES,
                {"units": 4, "activation": "elu", "dtype": "mixed_float16"},
                {"units": 4, **CONSTRAINED},
            ),
            *samples(
                name, SEQUENCES, {**DROPPED, "return_sequences": True, "dtype": "float64"}, training=BOTH
            ),
            *samples(
                name,
                MASKED,
                {"units": 4, "go_backwards": True, "return_sequences": True, "return_state": True},
                call=masked,
            ),
            *samples(name, MASKED, {**DROPPED, "return_sequences": True}, call=masked, training=BOTH),
            *samples(
                name,
                (Array((2, 5, 6), (3, 5, 6)), Array((2, 5), (3, 5), dtype="bool")),
                {"units": 4, "unroll": True},
                call=masked,
            ),
        )
    ),
    *(
        row
        for name in ("SimpleRNN", "GRU")
        for row in samples(
            name,
            (*MASKED, STATE),
            {"units": 4, "return_state": True},
            {"units": 4, "go_backwards": True, "return_sequences": True},
            call=lambda layer, x, mask, h: layer(x, mask=mask, initial_state=h),
        )
    ),
    *samples(
        "GRU",
        SEQUENCES,
        *(
            {"units": 4, "reset_after": False, **more}
            for more in ({}, {"return_sequences": True, "use_bias": False})
        ),
    ),
    *samples("GRU", SEQUENCES, {"units": 4, "use_cudnn": False, "recurrent_activation": "hard_sigmoid"}),
    *samples(
        "LSTM",
        SEQUENCES,
        {"units": 4, "unit_forget_bias": False, "recurrent_activation": "hard_sigmoid"},
        {"units": 4, "use_cudnn": False},
    ),
    *samples(
        "LSTM",
        (*MASKED, STATE, STATE),
        {"units": 4, "return_state": True},
        call=lambda layer, x, mask, h, c: layer(x, mask=mask, initial_state=[h, c]),
    ),
    *samples(
        "GRUCell",
        (*ROWS, Array((4, 3), (5, 3))),
        {"units": 3, "dropout": 0.3, "recurrent_dropout": 0.2, "seed": 1},
        call=with_fresh_masks,
        training=BOTH,
    ),
    *samples(
        "SimpleRNNCell",
        (*ROWS, Array((4, 3), (5, 3))),
        {"units": 3, "dropout": 0.3, "seed": 1, "activation": "relu"},
        call=with_fresh_masks,
        training=BOTH,
    ),
    *samples(
        "GRUCell",
        (*ROWS, Array((4, 3), (5, 3))),
        {"units": 3, "use_bias": False, "activation": "relu", "recurrent_activation": "hard_sigmoid"},
    ),
    *samples(
        "LSTMCell",
        (*ROWS, Array((4, 3), (5, 3)), Array((4, 3), (5, 3))),
        {"units": 3, "unit_forget_bias": False, "use_bias": False},
        {"units": 3, "dropout": 0.3, "recurrent_dropout": 0.2, "seed": 1},
        call=lambda layer, x, h, c, **given: with_fresh_masks(layer, x, [h, c], **given),
        training=BOTH,
    ),
    *samples(
        "RNN",
        SEQUENCES,
        {"cell": L.StackedRNNCells([L.LSTMCell(4), L.GRUCell(3), L.SimpleRNNCell(2)]), "return_state": True},
        {"cell": L.GRUCell(4), "go_backwards": True, "return_sequences": True},
        {"cell": L.SimpleRNNCell(4, dropout=0.3, recurrent_dropout=0.2, seed=1), "return_sequences": True},
        {"cell": [L.LSTMCell(3, dropout=0.2, seed=1), L.LSTMCell(2, dropout=0.2, seed=2)]},
        training=BOTH,
    ),
    *samples(
        "RNN",
        MASKED,
        {"cell": L.LSTMCell(4), "zero_output_for_mask": True, "return_sequences": True},
        {"cell": [L.GRUCell(3), L.GRUCell(2)], "return_sequences": True, "return_state": True},
        call=masked,
    ),
    *samples(
        "RNN",
        BATCH,
        {"cell": L.GRUCell(4), "stateful": True},
        {"cell": [L.LSTMCell(3), L.GRUCell(2)], "stateful": True},
    ),
    *samples("RNN", FIXED, {"cell": L.LSTMCell(4), "unroll": True}),
    *samples(
        "RNN",
        (*SEQUENCES, STATE, STATE),
        {"cell": L.LSTMCell(4)},
        call=lambda layer, x, h, c: layer(x, initial_state=[h, c]),
    ),
    *samples(
        "RNN",
        SEQUENCES,
        {"cell": L.GRUCell(4, dtype="mixed_bfloat16"), "dtype": "mixed_bfloat16", "return_sequences": True},
    ),
    *samples(
        "Bidirectional",
        SEQUENCES,
        {"layer": L.LSTM(4, return_sequences=True), "merge_mode": "concat", "dtype": "mixed_bfloat16"},
        {"layer": L.LSTM(4), "backward_layer": L.LSTM(4, go_backwards=True, activation="relu")},
        {
            "layer": L.GRU(4, return_sequences=True),
            "backward_layer": L.LSTM(4, go_backwards=True, return_sequences=True),
        },
        {"layer": L.SimpleRNN(4, return_sequences=True, return_state=True), "merge_mode": None},
        {"layer": L.RNN([L.GRUCell(3), L.GRUCell(2)]), "merge_mode": "sum"},
        {"layer": L.GRU(4, return_sequences=True, dropout=0.3, seed=1), "merge_mode": "ave"},
        training=BOTH,
    ),
    *samples(
        "Bidirectional",
        MASKED,
        {"layer": L.GRU(4, return_sequences=True, return_state=True), "merge_mode": "mul"},
        call=masked,
    ),
    *samples(
        "Bidirectional",
        (*SEQUENCES, *(STATE,) * 4),
        {"layer": L.LSTM(4)},
        call=lambda layer, x, *states: layer(x, initial_state=list(states)),
    ),
    *samples("Bidirectional", BATCH, {"layer": L.LSTM(4, stateful=True)}),
    *samples(
        "TimeDistributed",
        SEQUENCES,
        {"layer": L.Dense(4)},
        {"layer": L.BatchNormalization()},
        {"layer": L.Dropout(0.4, seed=1)},
        training=BOTH,
    ),
    *samples("TimeDistributed", MASKED, {"layer": L.LayerNormalization()}, call=masked),
    *samples(
        "TimeDistributed",
        (Array((2, 3, 5, 6), (3, 4, 7, 6)),),
        {"layer": L.LSTM(4)},
        {"layer": L.GlobalMaxPooling1D()},
    ),
    *samples("TimeDistributed", (Array((2, 3, 4, 5, 6), (3, 5, 5, 4, 6)),), {"layer": L.Conv2D(4, 2)}),
    *(
        row
        for rank, inputs in FRAMES.items()
        for row in (
            *samples(
                f"ConvLSTM{rank}D",
                inputs,
                {"filters": 3, "kernel_size": 2, "dilation_rate": 2, "use_bias": False},
                {
                    "filters": 3,
                    "kernel_size": 2,
                    "activation": "relu",
                    "recurrent_activation": "sigmoid",
                    "unit_forget_bias": False,
                },
                {
                    "filters": 3,
                    "kernel_size": 2,
                    "dtype": "float64",
                    "padding": "same",
                    "return_sequences": True,
                    "return_state": True,
                },
            ),
            *samples(
                f"ConvLSTM{rank}D",
                inputs,
                {"filters": 3, "kernel_size": 2, "dropout": 0.3, "recurrent_dropout": 0.2, "seed": 1},
                training=BOTH,
            ),
        )
    ),
    *samples(
        "ConvLSTM2D",
        (*FRAMES[2], Array((2, 3), (3, 4), dtype="bool")),
        {"filters": 3, "kernel_size": 2, "return_sequences": True},
        call=masked,
    ),
    *samples(
        "ConvLSTM1D",
        (Array((2, 3, 2, 6), (3, 4, 2, 6)),),
        {"filters": 3, "kernel_size": 2, "data_format": "channels_first"},
    ),
    *samples(
        "ConvLSTM2D",
        (Array((2, 3, 2, 6, 5), (3, 4, 2, 6, 5)),),
        {"filters": 3, "kernel_size": 2, "data_format": "channels_first"},
    ),
    *samples(
        "ConvLSTM2D",
        (Array((2, 3, 6, 5, 2), (2, 4, 6, 5, 2)),),
        {"filters": 3, "kernel_size": 2, "stateful": True},
    ),
]
