"""Whether code may ask if a tensor that it is given is a parameter of a module: then a graph holds for such tensors only, or for others
only."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from ....tracing.reach.spaces import Space
from ....tracing.source.code_names import names_read
from ..trace import Trace

_NAME = torch.nn.Parameter.__name__


def hold_to_parameters(capture: Trace, spaces: Iterable[Space]) -> None:
    """Notes which of the arguments are parameters where the code names their class: nothing else shows that it has asked."""
    if any(_names_it(space) for space in spaces):
        capture.note_fact("is_parameter", capture.count_call_inputs)


def _names_it(space: Space) -> bool:
    names = {name for function in space.functions for name in names_read(function.__code__)}
    return _NAME in names or any(space.held.get(name) is torch.nn.Parameter for name in names)
