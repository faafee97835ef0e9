"""Samples of recurrent layers and cells: masks, both directions, what goes backwards, states."""

from __future__ import annotations

from typing import Any

import keras

from ..layer_sample import Array, samples
from .core import BOTH, ROWS, SEQUENCES

L = keras.layers
MASKED = (*SEQUENCES, Array((2, 5), (3, 7), dtype="bool"))
STATE = Array((2, 4), (3, 4))
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


SAMPLES = [
    *(row for name in ("SimpleRNN", "GRU", "LSTM") for row in samples(name, SEQUENCES, *OPTIONS)),
    *(row for name in ("SimpleRNN", "GRU", "LSTM") for row in samples(name, SEQUENCES, DROPPED, training=BOTH)),
    *(
        row
        for name in ("SimpleRNN", "GRU", "LSTM")
        for row in samples(name, MASKED, {"units": 4}, {"units": 4, "return_sequences": True}, call=masked)
    ),
    *samples("LSTM", (*SEQUENCES, STATE, STATE), {"units": 4}, call=lambda layer, x, h, c: layer(x, initial_state=[h, c])),
    *samples("GRU", (*SEQUENCES, STATE), {"units": 4, "reset_after": False}, call=lambda layer, x, h: layer(x, initial_state=h)),
    *samples("GRU", SEQUENCES, {"units": 4, "recurrent_activation": "hard_sigmoid", "unroll": False}),
    *samples("LSTM", (Array((2, 5, 6), (3, 5, 6)),), {"units": 4, "unroll": True}),
    *samples("GRUCell", (*ROWS, Array((4, 3), (5, 3))), {"units": 3}, {"units": 3, "reset_after": False}),
    *samples("SimpleRNNCell", (*ROWS, Array((4, 3), (5, 3))), {"units": 3}),
    *samples("LSTMCell", (*ROWS, Array((4, 3), (5, 3)), Array((4, 3), (5, 3))), {"units": 3}, call=lambda layer, x, h, c: layer(x, [h, c])),
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
]
