"""Numbers that Python reads from arrays while recording (``x.max().item()``, ``sizes.tolist()``): symbols, as sizes are.

What Python computes from them is recorded as arithmetic on the symbols. Where Python has to have the number itself it becomes a guard: of a
comparison its outcome, of a whole number that it is this one, of a float that all that it was computed from is as it was.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..ir.node import Origin, Value
from ..ir.record import CallRecord
from ..ops.registry import ArraySpec
from ..sizes import Size, Symbol
from ..tracing import Recorder
from ..trees import iterate_structure, map_structure
from .open_numbers import DTYPES

_MOST_READ = 16  # more would be lines of names in the source; they are guarded as they are


class Reading:
    """Whether numbers that are read, and what Python's own functions make of sizes, become symbols in an attempt at a recording; ``any``:
    whether some did."""

    def __init__(self, symbolic: bool = True) -> None:
        self.symbolic, self.any = symbolic, False


class _Read:
    """What stands for a number among the recorder's arrays."""


def can_be_symbols(seen: Any) -> bool:
    """Whether what was read is a whole number or float, or nested lists of a few of them."""
    leaves = list(iterate_structure((seen,)))
    return 0 < len(leaves) <= _MOST_READ and all(type(leaf) in DTYPES for leaf in leaves)


def read(recorder: Recorder, op: str, value: Value, seen: Any, origin: Origin, record: CallRecord) -> Any:
    """Records that Python reads ``seen`` from a value by the call ``op``; gives the same with expressions for the numbers."""
    name = f"{value.name}_{op.rpartition('.')[2]}"
    outputs = recorder.new_values([(name, _Read(), ArraySpec((), DTYPES[type(leaf)])) for leaf in iterate_structure((seen,))])
    values, places = iter(outputs), iter(outputs)
    recorder.add_call(op, (value,), {}, origin, outputs, replace(record, result=map_structure(lambda leaf: next(values), seen)))
    return map_structure(lambda leaf: Size.of(Symbol(next(places), 0, leaf, "number")), seen)


def decide(recorder: Recorder, size: Size, where: Origin) -> Any:
    """The number that an expression has now, as a guard."""
    if size.type is not float or not size.reads_elements():
        return recorder.decide_size(size, where)
    for symbol in size.symbols():
        if symbol.kind == "number":
            recorder.decide_number(symbol.source, symbol.hint, where)
        else:
            recorder.decide_size(Size.of(symbol), where)
    return size.hint
