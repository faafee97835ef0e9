"""What of torch's surroundings a graph minds: it makes arrays on the device of those that it is given, and
autocast casts nothing that is cast already.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch

from ...ir.graph import Graph

_MADE = re.compile(
    r"\btorch\.(arange|as_tensor|fft\.r?fftfreq|empty|eye|full|linspace|ones|rand\w*|tensor|tri[lu]_indices|zeros)\("
)
_AUTOCAST = ("cpu", "cuda")  # the kinds of devices that it may be on for


def placed(function: Callable[..., Any], graph: Graph, program: Any) -> Callable[..., Any]:
    """``function`` as it is to be called.

    Of a canonical graph whose arrays are on an accelerator, constants are copied there at each call, and new
    arrays are made there. Whether it makes any is told by its text, for rows write numbers as tensors too.
    torch moves no array by itself. A graph in torch's own calls has the devices that its function names.
    """
    if graph.demands.casts_are_written:
        function = _without_autocast(function)
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


def _without_autocast(function: Callable[..., Any]) -> Callable[..., Any]:
    """As the calls of a recording under autocast: its casts are written, and where the function had switched
    it off there are none.
    """

    @functools.wraps(function)
    def exactly(*given: Any) -> Any:
        with contextlib.ExitStack() as off:
            for kind in _AUTOCAST:
                if torch.is_autocast_enabled(kind):
                    off.enter_context(torch.autocast(kind, enabled=False))
            return function(*given)

    return exactly


def _device(given: Iterable[Any]) -> torch.device | None:
    """That of an array that is not on the CPU; numbers may be there while others are not.

    Of parameters the first one tells for all.
    """
    for item in given:
        if isinstance(item, Mapping):
            item = next(iter(item.values()), None)
        if isinstance(item, torch.Tensor) and not item.is_cpu:
            return item.device
    return None


def _moved(constants: Mapping[str, Any], device: torch.device) -> dict[str, Any]:
    return {
        name: array.to(device) if isinstance(array, torch.Tensor) else array
        for name, array in constants.items()
    }
