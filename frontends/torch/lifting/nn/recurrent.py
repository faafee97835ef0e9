"""Recurrent layers and cells, and packed sequences.

A call of ``torch.lstm`` becomes one operation for each layer and direction.
"""

from __future__ import annotations

from typing import Any

from .....ir import Guard
from ..table import TorchBuilder, rows
from .activations import drop


def unpack(b: TorchBuilder, data: Any, batch_sizes: Any, batch: Any) -> tuple[Any, Any]:
    """Return packed rows as [time, batch, ...] and the length of each sequence.

    Elements after the end of a sequence are arbitrary rows of ``data``.
    """
    steps, kind = batch_sizes.shape[0], batch_sizes.dtype
    sizes = b.reshape(batch_sizes, shape=(steps, 1))
    member = b.reshape(b.arange(stop=batch, dtype=kind), shape=(1, batch))
    starts = b.subtract(b.reshape(b.cumulative_sum(batch_sizes, axis=0, dtype=kind), shape=(steps, 1)), sizes)
    length = b.sum(b.astype(b.greater(sizes, member), dtype=kind), axis=0)
    # Steps after the end of a sequence would be read beyond the end of the data.
    return b.embedding(data, b.minimum(b.add(starts, member), data.shape[0] - 1)), length


def pack(b: TorchBuilder, x: Any, batch_sizes: Any, count: Any) -> Any:
    """Return the ``count`` packed rows of ``x``, which is [time, batch, ...]."""
    kind, (steps, batch, *features) = batch_sizes.dtype, x.shape
    ends = b.cumulative_sum(batch_sizes, axis=0, dtype=kind)
    row = b.arange(stop=count, dtype=kind)
    step = b.astype(b.searchsorted(ends, row, side="right"), dtype=kind)
    member = b.subtract(row, b.take(b.subtract(ends, batch_sizes), step, axis=0))
    return b.embedding(b.reshape(x, shape=(steps * batch, *features)), b.add(b.multiply(step, batch), member))


def _holds_for(b: TorchBuilder, value: Any, number: int) -> None:
    b.graph.guards.append(Guard(b.equal(value, number), True, b.origin))


@rows.row("_pack_padded_sequence")
def pack_padded_sequence(
    b: TorchBuilder, input: Any, lengths: Any, batch_first: bool = False
) -> tuple[Any, Any]:
    (count, *_), (steps,) = b.recorded[0].shape, b.recorded[1].shape
    _holds_for(b, b.sum(lengths), count)
    _holds_for(b, b.max(lengths), steps)
    x = b.permute_dims(input, axes=(1, 0, *range(2, input.ndim))) if batch_first else input
    step = b.reshape(b.arange(stop=steps, dtype=lengths.dtype), shape=(steps, 1))
    reaches = b.greater(b.reshape(lengths, shape=(1, lengths.shape[0])), step)
    batch_sizes = b.sum(b.astype(reaches, dtype="int64"), axis=1)
    return pack(b, x, batch_sizes, count), batch_sizes


@rows.row("_pad_packed_sequence")
def pad_packed_sequence(
    b: TorchBuilder, data: Any, batch_sizes: Any, batch_first: bool, padding_value: Any, total_length: Any
) -> tuple[Any, Any]:
    batch = b.recorded[1].shape[0]
    _holds_for(b, b.max(batch_sizes), batch)
    x, length = unpack(b, data, batch_sizes, batch)
    steps, features = x.shape[0], x.shape[2:]
    step = b.reshape(b.arange(stop=steps, dtype=length.dtype), shape=(steps, 1))
    inside = b.less(step, b.reshape(length, shape=(1, batch)))
    x = b.where(
        b.reshape(inside, shape=(steps, batch, *(1,) * len(features))), x, b.array(padding_value, x.dtype)
    )
    wanted = total_length if isinstance(total_length, int) and total_length > 0 else steps
    if wanted != steps:
        more = b.full(shape=(wanted - steps, batch, *features), fill_value=padding_value, dtype=x.dtype)
        x = b.concat(x, more, axis=0)
    return (b.permute_dims(x, axes=(1, 0, *range(2, x.ndim))) if batch_first else x), length


def _row(name: str, op: str, **options: Any) -> None:
    @rows.row(name)
    def row(b: TorchBuilder, input: Any, second: Any, third: Any, *rest: Any) -> Any:
        if rest and isinstance(rest[0], (tuple, list)):
            return _packed(b, op, options, input, second, third, *rest)
        return _padded(b, op, options, input, second, third, *rest)


_row("lstm", "lstm")
_row("gru", "gru")
_row("rnn_tanh", "rnn", activation="tanh")
_row("rnn_relu", "rnn", activation="relu")


def _padded(
    b: TorchBuilder,
    op: str,
    options: dict[str, Any],
    input: Any,
    hx: Any,
    params: Any,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Any, ...]:
    x = b.permute_dims(input, axes=(1, 0, 2)) if batch_first else input
    x, states = _layers(
        b, op, options, x, hx, params, has_biases, num_layers, dropout if train else 0.0, bidirectional, None
    )
    return (b.permute_dims(x, axes=(1, 0, 2)) if batch_first else x), *states


def _packed(
    b: TorchBuilder,
    op: str,
    options: dict[str, Any],
    data: Any,
    batch_sizes: Any,
    hx: Any,
    params: Any,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Any, ...]:
    # The batch size is read from the initial state, because in ``batch_sizes`` it is data.
    batch = (hx[0] if isinstance(hx, (tuple, list)) else hx).shape[1]
    x, length = unpack(b, data, batch_sizes, batch)
    x, states = _layers(
        b,
        op,
        options,
        x,
        hx,
        params,
        has_biases,
        num_layers,
        dropout if train else 0.0,
        bidirectional,
        length,
    )
    return pack(b, x, batch_sizes, data.shape[0]), *states


def _layers(
    b: TorchBuilder,
    op: str,
    options: dict[str, Any],
    x: Any,
    hx: Any,
    params: Any,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    length: Any,
) -> tuple[Any, list[Any]]:
    """Return the outputs of the last layer, and the stacked last states of the layers and directions.

    ``length`` has the lengths of packed sequences; None for other inputs.
    """
    directions = 2 if bidirectional else 1
    count = num_layers * directions
    states = hx if isinstance(hx, (tuple, list)) else (hx,)
    initial = list(zip(*(b.unstack(state, axis=0, count=count) for state in states), strict=True))
    weights = _grouped(list(params), count, has_biases, op)
    final = []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            index = layer * directions + direction
            inputs = [x, *initial[index], *weights[index], *([] if length is None else [length])]
            made = getattr(b, op)(*inputs, reverse=direction == 1, **options)
            outputs.append(made[0])
            final.append(made[1:])
        x = outputs[0] if directions == 1 else b.concat(*outputs, axis=2)
        # torch drops no outputs of the last layer.
        if layer < num_layers - 1:
            x = drop(b, x, dropout)
    return x, [b.stack(*states, axis=0) for states in zip(*final, strict=True)]


def _grouped(params: list[Any], count: int, has_biases: bool, op: str) -> list[list[Any]]:
    size = len(params) // count
    groups = [params[i * size : (i + 1) * size] for i in range(count)]
    filled = [group if has_biases else [*group[:2], None, None, *group[2:]] for group in groups]
    return [group if op != "lstm" or len(group) == 5 else [*group, None] for group in filled]


# ---------------------------------------------------------------------------------------------- single steps
def _linear(b: TorchBuilder, x: Any, weight: Any, bias: Any) -> Any:
    return b.linear(x, weight) if bias is None else b.linear(x, weight, bias)


def _split(b: TorchBuilder, gates: Any, count: int) -> Any:
    *batch, width = gates.shape
    return b.unstack(b.reshape(gates, shape=(*batch, count, width // count)), axis=len(batch), count=count)


@rows.row("lstm_cell")
def lstm_cell(
    b: TorchBuilder, input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None
) -> Any:
    hidden, cell = hx
    gates = b.add(_linear(b, input, w_ih, b_ih), _linear(b, hidden, w_hh, b_hh))
    entry, forget, new, exit = _split(b, gates, 4)
    cell = b.add(b.multiply(b.sigmoid(forget), cell), b.multiply(b.sigmoid(entry), b.tanh(new)))
    return b.multiply(b.sigmoid(exit), b.tanh(cell)), cell


@rows.row("gru_cell")
def gru_cell(
    b: TorchBuilder, input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None
) -> Any:
    reset_x, update_x, new_x = _split(b, _linear(b, input, w_ih, b_ih), 3)
    reset_h, update_h, new_h = _split(b, _linear(b, hx, w_hh, b_hh), 3)
    reset, update = b.sigmoid(b.add(reset_x, reset_h)), b.sigmoid(b.add(update_x, update_h))
    # torch applies the reset gate after the product, so that it scales the bias, too.
    new = b.tanh(b.add(new_x, b.multiply(reset, new_h)))
    return b.add(new, b.multiply(update, b.subtract(hx, new)))


def _cell(activation: str) -> None:
    @rows.row(f"rnn_{activation}_cell")
    def row(
        b: TorchBuilder, input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None
    ) -> Any:
        return getattr(b, activation)(b.add(_linear(b, input, w_ih, b_ih), _linear(b, hx, w_hh, b_hh)))


_cell("tanh")
_cell("relu")
