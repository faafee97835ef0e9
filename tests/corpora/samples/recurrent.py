"""Samples of recurrent layers."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from tests.support.samples import Array, ErrorSample, Sample, array

_GATES = {torch.lstm: 4, torch.gru: 3, torch.rnn_tanh: 1, torch.rnn_relu: 1}


def _weights(gates: int, layers: int, directions: int, biases: bool, projection: int = 0) -> list[Array]:
    """Return flat weights for 3 features and 4 hidden units in torch's order."""
    arrays = []
    for layer in range(layers):
        for _ in range(directions):
            shown = projection or 4
            arrays += [
                array(4 * gates, 3 if layer == 0 else shown * directions, kind="unit"),
                array(4 * gates, shown, kind="unit"),
            ]
            arrays += [array(4 * gates), array(4 * gates)] if biases else []
            arrays += [array(projection, 4)] if projection else []
    return arrays


def _arguments(
    function: Any,
    time: int,
    batch: int,
    *,
    layers: int = 1,
    both: bool = False,
    biases: bool = True,
    first: bool = False,
    projection: int = 0,
) -> Any:
    directions = 2 if both else 1
    state = array(layers * directions, batch, projection or 4)
    hx = [state, array(layers * directions, batch, 4)] if function is torch.lstm else state
    x = array(batch, time, 3) if first else array(time, batch, 3)
    return (
        x,
        hx,
        _weights(_GATES[function], layers, directions, biases, projection),
        biases,
        layers,
        0.0,
        False,
        both,
        first,
    )


def _packed(function: Any, sizes: list[int], *, layers: int, both: bool) -> Any:
    _, hx, *rest = _arguments(function, len(sizes), sizes[0], layers=layers, both=both)
    return array(sum(sizes), 3), torch.tensor(sizes), hx, *rest[:-1]


def projecting_lstm(*args: Any) -> Any:
    """Call ``torch.lstm`` without its warning that oneDNN does not support projections."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.lstm(*args)


def lstm_of_lengths(x: Any, lengths: Any, hx: Any, weights: Any, *, sort: bool) -> Any:
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=not sort)
    data, *state = torch.lstm(packed.data, packed.batch_sizes, hx, weights, True, 1, 0.0, False, False)
    result = PackedSequence(data, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices)
    return *pad_packed_sequence(result, batch_first=True, padding_value=-1.0, total_length=7), *state


def both_activations(*args: Any) -> Any:
    """Run two loops that differ only in their bodies."""
    return torch.rnn_tanh(*args), torch.rnn_relu(*args)


def _lengths(*lengths: int, sort: bool) -> Sample:
    count = len(lengths)
    args = (array(count, 6, 3), torch.tensor(lengths), [array(1, count, 4)] * 2, _weights(4, 1, 1, True))
    return Sample(lstm_of_lengths, args, {"sort": sort})


def _layer(function: Any, **options: Any) -> Sample:
    return Sample(
        projecting_lstm if "projection" in options else function,
        _arguments(function, 5, 2, **options),
        other=_arguments(function, 3, 4, **options),
        name=f"{function.__name__}-{options}",
    )


def _cell(function: Any, gates: int, biases: bool) -> Sample:
    hx = (array(2, 4), array(2, 4)) if gates == 4 else array(2, 4)
    weights = [
        array(4 * gates, 3),
        array(4 * gates, 4),
        *([array(4 * gates), array(4 * gates)] if biases else []),
    ]
    other = (array(5, 4), array(5, 4)) if gates == 4 else array(5, 4)
    return Sample(function, (array(2, 3), hx, *weights), other=(array(5, 3), other, *weights))


SAMPLES = [
    *(_layer(function) for function in _GATES),
    *(_layer(function, layers=2, both=True, first=True) for function in _GATES),
    *(_layer(function, biases=False) for function in _GATES),
    _layer(torch.lstm, layers=2, both=True, projection=2),
    *(
        Sample(
            function, _packed(function, [3, 3, 2, 1], layers=2, both=True), name=f"{function.__name__}-packed"
        )
        for function in _GATES
    ),
    Sample(both_activations, _arguments(torch.rnn_tanh, 5, 2)),
    _lengths(6, 3, 3, 1, sort=False),
    _lengths(2, 6, 5, sort=True),
    *(_cell(torch.lstm_cell, 4, biases) for biases in (True, False)),
    *(_cell(torch.gru_cell, 3, biases) for biases in (True, False)),
    *(
        _cell(function, 1, biases)
        for function in (torch.rnn_tanh_cell, torch.rnn_relu_cell)
        for biases in (True, False)
    ),
]

ERRORS: list[ErrorSample] = []
