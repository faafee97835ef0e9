"""Recurrent layers: one layer in one direction over a whole sequence.

Sequences are [time, batch, features]. ``length`` [batch], where given, ends each sequence early: later outputs are 0, and the final
state is that of the last step in the sequence. ``reverse`` runs from the last step to the first.
"""

from __future__ import annotations

from ..registry import ArraySpec, declare
from ..rules import dtype_of

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
    """Long short-term memory: (outputs, last hidden state, last cell state). Rows of the weights: input, forget, cell, output gates.

    ``weight_hr`` projects the hidden state.
    """
    dtype = dtype_of(x, hidden, cell, weight_ih, weight_hh)
    return ArraySpec((*x.shape[:2], hidden.shape[-1]), dtype), ArraySpec(hidden.shape, dtype), ArraySpec(cell.shape, dtype)


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
    """Gated recurrent unit: (outputs, last hidden state). Rows of the weights: reset, update, new gates."""
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
    """Elman network with ``activation`` tanh or relu: (outputs, last hidden state)."""
    dtype = dtype_of(x, hidden, weight_ih, weight_hh)
    return ArraySpec((*x.shape[:2], hidden.shape[-1]), dtype), ArraySpec(hidden.shape, dtype)
