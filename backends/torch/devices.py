"""On which device a graph of another framework makes arrays in torch: on that of the arrays that it is given."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch

from ...ir.graph import Graph

_MADE = re.compile(r"\btorch\.(arange|as_tensor|fft\.r?fftfreq|empty|eye|full|linspace|ones|rand\w*|tensor|tri[lu]_indices|zeros)\(")


def placed(function: Callable[..., Any], graph: Graph, program: Any) -> Callable[..., Any]:
    """``function`` of a canonical graph; where its arrays are on an accelerator, constants are copied there at each call, and new arrays
    are made there.

    Whether it makes any is told by its text, for rows write numbers as tensors too. torch moves no array by itself. A graph in torch's
    own calls has the devices that its function names.
    """
    leading = program.arguments
    if graph.dialect != "canonical" or not ("constants" in leading or _MADE.search(program.source)):
        return function
    constants = leading.index("constants") if "constants" in leading else None

    @functools.wraps(function)
    def on_device(*given: Any) -> Any:
        device = _device(given)
        if device is None:
            return function(*given)
        if constants is not None:
            given = (*given[:constants], _moved(given[constants], device), *given[constants + 1 :])
        with device:
            return function(*given)

    return on_device


def _device(given: Iterable[Any]) -> torch.device | None:
    """That of an array that is not on the CPU; numbers may be there while others are not. Of parameters the first one tells for all."""
    for item in given:
        if isinstance(item, Mapping):
            item = next(iter(item.values()), None)
        if isinstance(item, torch.Tensor) and not item.is_cpu:
            return item.device
    return None


def _moved(constants: Mapping[str, Any], device: torch.device) -> dict[str, Any]:
    return {name: array.to(device) if isinstance(array, torch.Tensor) else array for name, array in constants.items()}
