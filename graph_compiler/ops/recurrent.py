"""Recurrent layers: one layer in one direction over all time steps.

Sequences are [time, batch, features]. ``length`` [batch], if given, is the number of valid time steps of each
sequence: outputs of other steps are 0, and these leave the state unchanged. ``reverse`` runs from the last
step to the first. Targets without such layers run a ``scan``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .registry import ArraySpec, declare, decomposition
from .rules import dtype_of

_SECTION = "recurrent layers"
_Bias = ArraySpec | None


@declare(_SECTION)
def lstm(
    x: ArraySpec,
    hidden: ArraySpec,
    cell: ArraySpec,
    weight_ih: ArraySpec,
    weight_hh: ArraySpec,
    bias_ih: _Bias = None,
    bias_hh: _Bias = None,
    weight_hr: _Bias = None,
    length: _Bias = None,
    /,
    *,
    reverse: bool = False,
) -> tuple[ArraySpec, ArraySpec, ArraySpec]:
    """Run a long short-term memory layer; return outputs, last hidden state and last cell state.

    The rows of the weights belong to the input, forget, cell and output gates, in this order. ``weight_hr``,
    if it is given, projects the hidden state after each step, as in ``torch.nn.LSTM``.

    ``x`` and the outputs are [time, batch, features]. From time step ``length`` [batch] on, if it is given,
    outputs are 0 and the state does not change. ``reverse`` runs from the last time step to the first.
    """
    dtype = dtype_of(x, hidden, cell, weight_ih, weight_hh)
    return (
        ArraySpec((*x.shape[:2], hidden.shape[-1]), dtype),
        ArraySpec(hidden.shape, dtype),
        ArraySpec(cell.shape, dtype),
    )


@declare(_SECTION)
def gru(
    x: ArraySpec,
    hidden: ArraySpec,
    weight_ih: ArraySpec,
    weight_hh: ArraySpec,
    bias_ih: _Bias = None,
    bias_hh: _Bias = None,
    length: _Bias = None,
    /,
    *,
    reverse: bool = False,
) -> tuple[ArraySpec, ArraySpec]:
    """Run a gated recurrent unit; return outputs and last hidden state.

    The rows of the weights belong to the reset, update and new gates, in this order. As in ``torch.nn.GRU``,
    the reset gate is applied after the product of the hidden state and ``weight_hh``, and after its bias.

    ``x`` and the outputs are [time, batch, features]. From time step ``length`` [batch] on, if it is given,
    outputs are 0 and the state does not change. ``reverse`` runs from the last time step to the first.
    """
    dtype = dtype_of(x, hidden, weight_ih, weight_hh)
    return ArraySpec((*x.shape[:2], hidden.shape[-1]), dtype), ArraySpec(hidden.shape, dtype)


@declare(_SECTION)
def rnn(
    x: ArraySpec,
    hidden: ArraySpec,
    weight_ih: ArraySpec,
    weight_hh: ArraySpec,
    bias_ih: _Bias = None,
    bias_hh: _Bias = None,
    length: _Bias = None,
    /,
    *,
    activation: str = "tanh",
    reverse: bool = False,
) -> tuple[ArraySpec, ArraySpec]:
    """Run an Elman network with ``activation`` "tanh" or "relu"; return outputs and last hidden state.

    ``x`` and the outputs are [time, batch, features]. From time step ``length`` [batch] on, if it is given,
    outputs are 0 and the state does not change. ``reverse`` runs from the last time step to the first.
    """
    dtype = dtype_of(x, hidden, weight_ih, weight_hh)
    return ArraySpec((*x.shape[:2], hidden.shape[-1]), dtype), ArraySpec(hidden.shape, dtype)


@decomposition("lstm")
def _lstm(
    b: Any,
    x: Any,
    hidden: Any,
    cell: Any,
    weight_ih: Any,
    weight_hh: Any,
    bias_ih: Any = None,
    bias_hh: Any = None,
    weight_hr: Any = None,
    length: Any = None,
    *,
    reverse: bool = False,
) -> Any:
    matrix, projection = _transpose(b, weight_hh), weight_hr and _transpose(b, weight_hr)

    def step(entering: Any, hidden: Any, cell: Any) -> tuple[Any, ...]:
        gates = b.add(entering, b.matmul(hidden, matrix))
        entry, forget, new, exit = _split_gates(
            b, gates, cell.shape[-1], "input_gate", "forget_gate", "new", "output_gate"
        )
        kept = _set_name(
            "kept", b.add(b.multiply(b.sigmoid(forget), cell), b.multiply(b.sigmoid(entry), b.tanh(new)))
        )
        shown = _set_name("shown", b.multiply(b.sigmoid(exit), b.tanh(kept)))
        return shown if projection is None else b.matmul(shown, projection), kept

    return _scan_over_time(
        b,
        step,
        _input_products(b, x, weight_ih, bias_ih, bias_hh),
        matrix,
        {"hidden": hidden, "cell": cell},
        length,
        reverse,
    )


@decomposition("gru")
def _gru(
    b: Any,
    x: Any,
    hidden: Any,
    weight_ih: Any,
    weight_hh: Any,
    bias_ih: Any = None,
    bias_hh: Any = None,
    length: Any = None,
    *,
    reverse: bool = False,
) -> Any:
    matrix = _transpose(b, weight_hh)

    def step(entering: Any, hidden: Any) -> tuple[Any, ...]:
        # The reset gate scales this product and its bias, so the bias cannot be added to the inputs' product.
        product = b.matmul(hidden, matrix)
        recurring = _set_name("recurring", product if bias_hh is None else b.add(product, bias_hh))
        reset_x, update_x, new_x = _split_gates(b, entering, hidden.shape[-1], "reset_x", "update_x", "new_x")
        reset_h, update_h, new_h = _split_gates(
            b, recurring, hidden.shape[-1], "reset_h", "update_h", "new_h"
        )
        reset = _set_name("reset", b.sigmoid(b.add(reset_x, reset_h)))
        update = _set_name("update", b.sigmoid(b.add(update_x, update_h)))
        new = _set_name("new", b.tanh(b.add(new_x, b.multiply(reset, new_h))))
        # This form of ``(1 - update) * new + update * hidden`` has one product instead of two.
        return (b.add(new, b.multiply(update, b.subtract(hidden, new))),)

    return _scan_over_time(
        b, step, _input_products(b, x, weight_ih, bias_ih), matrix, {"hidden": hidden}, length, reverse
    )


@decomposition("rnn")
def _rnn(
    b: Any,
    x: Any,
    hidden: Any,
    weight_ih: Any,
    weight_hh: Any,
    bias_ih: Any = None,
    bias_hh: Any = None,
    length: Any = None,
    *,
    activation: str = "tanh",
    reverse: bool = False,
) -> Any:
    matrix = _transpose(b, weight_hh)

    def step(entering: Any, hidden: Any) -> tuple[Any, ...]:
        return (getattr(b, activation)(b.add(entering, b.matmul(hidden, matrix))),)

    return _scan_over_time(
        b,
        step,
        _input_products(b, x, weight_ih, bias_ih, bias_hh),
        matrix,
        {"hidden": hidden},
        length,
        reverse,
    )


def _input_products(b: Any, x: Any, weight: Any, *biases: Any) -> Any:
    # One product for all time steps is faster than one in each.
    given = [bias for bias in biases if bias is not None]
    return b.linear(x, weight, *([functools.reduce(b.add, given)] if given else []))


def _transpose(b: Any, weight: Any) -> Any:
    # Transposed inside of the loop, XLA for CPU takes several times as long for one row.
    return _set_name("matrix", b.permute_dims(weight, axes=(1, 0)))


def _split_gates(b: Any, joined: Any, size: Any, *names: str) -> Any:
    parts = b.split(joined, sizes=(size,) * len(names), axis=1)
    return tuple(map(_set_name, names, parts))


def _set_name(name: str, value: Any) -> Any:
    value.name = name
    return value


def _scan_over_time(
    b: Any,
    step: Callable[..., tuple[Any, ...]],
    entering: Any,
    matrix: Any,
    state: dict[str, Any],
    length: Any,
    reverse: bool,
) -> Any:
    """Append a ``scan`` that runs ``state = step(row, *state)`` over the rows of ``entering``.

    Return the outputs of the time steps, stacked, and then the arrays of the final state.
    """
    # In the body, the batch size is that of the hidden state, and rows are as wide as ``matrix``. Outside of
    # it, equal sizes may be read from other arrays.
    batch = state["hidden"].shape[0]
    rows = {"entering": (entering, (batch, matrix.shape[1]))}
    if length is not None:
        times = b.reshape(
            b.arange(stop=entering.shape[0], dtype=length.dtype), shape=(entering.shape[0], 1, 1)
        )
        rows["inside"] = b.less(times, b.reshape(length, shape=(length.shape[0], 1))), (batch, 1)

    def write(*given: Any) -> tuple[Any, ...]:
        old, (row, *inside) = given[: len(state)], given[len(state) :]
        # The carry must keep its shape, also if a size is read from another array.
        new = [b.reshape(one, shape=other.shape) for one, other in zip(step(row, *old), old, strict=True)]
        if not inside:
            return (*new, new[0])
        return (
            *(b.where(inside[0], one, other) for one, other in zip(new, old)),
            b.where(inside[0], new[0], 0),
        )

    arguments = [
        b.argument(name, ArraySpec((batch, value.shape[1]), value.dtype)) for name, value in state.items()
    ]
    arguments += [b.argument(name, ArraySpec(shape, value.dtype)) for name, (value, shape) in rows.items()]
    operands = [*state.values(), *(value for value, _ in rows.values())]
    options = {"carried": len(state), "sequences": len(rows), "length": entering.shape[0], "reverse": reverse}
    *last, outputs = b.run("scan", operands, [b.body("step", arguments, write)], **options)
    return (_set_name("outputs", outputs), *map(_set_name, state, last))
