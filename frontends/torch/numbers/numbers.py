"""Numbers that Python reads from tensors while recording (``x.max().item()``, ``sizes.tolist()``): symbols, as sizes are.

What Python computes from them is recorded as arithmetic on the symbols. Where Python has to have the number itself it becomes a guard: of a
comparison its outcome, of a whole number that it is this one, of a float that all that it was computed from is as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from ....errors import TracingError
from ....ir.node import Origin, Value
from ....ops.registry import ArraySpec
from ....sizes import Size, Symbol
from ....tracing.checks import in_check
from ....trees import iterate_structure, map_structure
from ...open_numbers import DTYPES
from ..trace import Trace
from .of_sizes import numbers_of_sizes
from .sizes import expression_of, symbolic

_MOST_READ = 16  # more would be lines of names in the source; they are guarded as they are


class Reading:
    """Whether numbers that are read, and what Python's own functions make of sizes, become symbols in an attempt at a recording; ``any``:
    whether some did."""

    def __init__(self, symbolic: bool = True) -> None:
        self.symbolic, self.any = symbolic, False


class _Read:
    """What stands for a number among the recorder's arrays."""


def read_numbers(capture: Trace, tensor: torch.Tensor, name: str) -> Any:
    """What ``item`` or ``tolist`` (``name``) gives of a tensor that depends on the inputs; None where its elements cannot be symbols."""
    if not capture.reading.symbolic or "type" in capture.locator.names_read():  # type(number) is float
        return None
    if (of_sizes := numbers_of_sizes(capture, capture.value(tensor))) is not None:
        return of_sizes[0] if name == "item" and isinstance(of_sizes, list) else of_sizes
    seen = capture.run(getattr(tensor, name), (), {})
    leaves = list(iterate_structure((seen,)))
    if not 0 < len(leaves) <= _MOST_READ or any(type(leaf) not in DTYPES for leaf in leaves):
        return None
    capture.reading.any = True
    value = capture.value(tensor)
    if name == "tolist":  # its length is that of the list
        decide_sizes(capture, value)
    made = [(f"{value.name}_{name}", _Read(), ArraySpec((), DTYPES[type(leaf)])) for leaf in leaves]
    outputs = capture.recorder.new_values(made)
    values, places = iter(outputs), iter(outputs)
    record = replace(capture.history.record_of(name, (value,), []), result=map_structure(lambda leaf: next(values), seen))
    capture.recorder.add_call(f"torch.Tensor.{name}", (value,), {}, capture.here(), outputs, record)
    return map_structure(lambda leaf: symbolic(Size.of(Symbol(next(places), 0, leaf, "number")), capture.decide), seen)


def opened(capture: Trace, operands: Sequence[Any]) -> tuple[Any, ...] | None:
    """The expressions behind operands of a function of Python's whose result may be one as well; None where it has to be given the
    numbers."""
    expressions = tuple(map(expression_of, operands))
    sizes = [item for item in expressions if isinstance(item, Size)]
    if not (sizes and capture.reading.symbolic and all(isinstance(item, (Size, int, float)) for item in expressions)):
        return None
    if not any(size.reads_elements() for size in sizes) and "type" in capture.locator.names_read():  # as in read_numbers
        return None
    capture.reading.any = True
    return expressions


def decide_sizes(capture: Trace, value: Value, where: Origin | None = None) -> None:
    """The sizes of an array are what they are from here on."""
    for axis in range(value.ndim):
        if isinstance(size := capture.size(value, axis), Size):
            decide(capture, size, where)


def decide(capture: Trace, size: Size, where: Origin | None = None) -> Any:
    """The number that an expression has now, as a guard."""
    where = where or capture.here()
    read = [symbol for symbol in size.symbols() if symbol.kind == "number"]
    for symbol in read:
        refuse_random(capture, symbol.source)
    if not read or size.type is not float:
        return capture.recorder.decide_size(size, where)
    for symbol in size.symbols():
        if symbol.kind == "number":
            capture.recorder.decide_number(symbol.source, symbol.hint, where)
        else:
            capture.recorder.decide_size(Size.of(symbol), where)
    return size.hint


def decide_all(capture: Trace, structure: Any) -> None:
    """Numbers among arguments, sizes too, went into code that cannot be seen: from here on they are what they are."""
    for item in map(expression_of, iterate_structure(structure)):
        if isinstance(item, Size):
            capture.decide(item)


def decide_read(capture: Trace, structure: Any) -> None:
    """As :func:`decide_all`, of what was read from elements: where the sizes of all inputs are fixed already."""
    for item in map(expression_of, iterate_structure(structure)):
        if isinstance(item, Size) and any(symbol.kind in ("item", "number") for symbol in item.symbols()):
            capture.decide(item)


def refuse_random(capture: Trace, value: Value) -> None:
    """Another framework draws other numbers: what they decide in Python cannot be right for both, unless it is whether an error is
    raised."""
    if not capture.for_torch and capture.recorder.is_random(value) and not in_check():
        raise TracingError(
            f"{capture.here()}: random elements are handed to Python, which would tie the graph to the numbers that torch drew, while its "
            "target draws its "
            "own. Compute with the tensor instead (torch.where)"
        )
