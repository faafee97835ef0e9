"""Devices and autocast: new arrays are made on the device of the arguments, and autocast is disabled."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch

from ...ir.graph import Graph

# Calls that make an array on the current default device.
_CREATES_ARRAY = re.compile(
    r"\btorch\."
    r"(arange|as_tensor|fft\.r?fftfreq|empty|eye|full|linspace|ones|rand\w*|tensor|tri[lu]_indices|zeros)\("
)
# The kinds of devices on which autocast may be enabled.
_AUTOCAST = ("cpu", "cuda")


def placed(function: Callable[..., Any], graph: Graph, program: Any) -> Callable[..., Any]:
    """Return ``function``, wrapped so that it runs on the device of its arguments.

    torch does not move arrays between devices. So if an argument is on an accelerator, constants of a
    canonical graph are moved there at each call, and new arrays are made there. Graphs of recorded torch
    calls name their devices themselves. If the source contains the casts of autocast, autocast is
    disabled. Return ``function`` itself if it needs none of this.
    """
    if graph.demands.casts_are_written:
        function = _without_autocast(function)
    leading = program.arguments
    if graph.dialect != "canonical" or not ("constants" in leading or _CREATES_ARRAY.search(program.source)):
        return function
    constants = leading.index("constants") if "constants" in leading else None

    @functools.wraps(function)
    def on_device(*given: Any) -> Any:
        device = _accelerator_of(given)
        if device is None:
            return function(*given)
        if constants is not None:
            given = (*given[:constants], _move_constants(given[constants], device), *given[constants + 1 :])
        with device:
            return function(*given)

    return on_device


def _without_autocast(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``function`` without autocast, because its source contains the casts made while recording."""

    @functools.wraps(function)
    def exactly(*given: Any) -> Any:
        with contextlib.ExitStack() as off:
            for kind in _AUTOCAST:
                if torch.is_autocast_enabled(kind):
                    off.enter_context(torch.autocast(kind, enabled=False))
            return function(*given)

    return exactly


def _accelerator_of(given: Iterable[Any]) -> torch.device | None:
    """Return the device of the first tensor in ``given`` that is not on the CPU, or None.

    Only the first value of a mapping is looked at.
    """
    for item in given:
        if isinstance(item, Mapping):
            item = next(iter(item.values()), None)
        if isinstance(item, torch.Tensor) and not item.is_cpu:
            return item.device
    return None


def _move_constants(constants: Mapping[str, Any], device: torch.device) -> dict[str, Any]:
    return {
        name: array.to(device) if isinstance(array, torch.Tensor) else array
        for name, array in constants.items()
    }
