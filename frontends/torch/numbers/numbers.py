"""What Python makes of numbers that it reads from tensors while recording, and where it has to have the number itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ....errors import TracingError
from ....ir.node import Origin, Value
from ....sizes import Size
from ....tracing.source.checks import in_check
from ....trees import iterate_structure, map_structure
from ... import reading
from ...reading import can_be_symbols, read
from ..trace import Trace
from .of_sizes import numbers_of_sizes
from .sizes import expression_of, symbolic


def read_numbers(capture: Trace, tensor: torch.Tensor, name: str) -> Any:
    """What ``item`` or ``tolist`` (``name``) gives of a tensor that depends on the inputs; None where its elements cannot be symbols."""
    if not capture.reading.symbolic or "type" in capture.locator.names_read():  # type(number) is float
        return None
    if (of_sizes := numbers_of_sizes(capture, capture.value(tensor))) is not None:
        return of_sizes[0] if name == "item" and isinstance(of_sizes, list) else of_sizes
    seen = capture.run(getattr(tensor, name), (), {})
    if not can_be_symbols(seen):
        return None
    capture.reading.any = True
    value = capture.value(tensor)
    if name == "tolist":  # its length is that of the list
        decide_sizes(capture, value)
    record = capture.history.record_of(name, (value,), [])
    found = read(capture.recorder, f"torch.Tensor.{name}", value, seen, capture.here(), record)
    return map_structure(lambda size: symbolic(size, capture.decide), found)


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
    for symbol in size.symbols():
        if symbol.kind == "number":
            refuse_random(capture, symbol.source)
    return reading.decide(capture.recorder, size, where or capture.here())


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
            "target draws its own. Compute with the tensor instead (torch.where)"
        )
