"""Calls under ``torch.autocast``, which casts below torch's public functions: recorded with their casts written out.

What autocast does to a call is found by trial: the call is made once as it is, and again without autocast on operands that are left alone,
cast to the lower dtype, or cast to float32. The first trial that gives the very same bits is what is recorded. A call that none explains
(it consists of several that autocast treats in different ways) is recorded kernel by kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ....forwarding import forward
from ....trees import iterate_structure, map_structure
from ..basics import kinds
from ..basics.names import is_in_place
from ..basics.writing import written_arguments
from ..compat import is_any_autocast_enabled
from ..memory.snapshots import elements_of
from ..trace import Trace
from .generators import default_generators

_CAST = (torch.float32, torch.float16, torch.bfloat16)  # float64 is left alone
Cast = Callable[[Any], Any]


def device_under_autocast(capture: Trace, operands: list[torch.Tensor]) -> str:
    """The kind of device of the operands where autocast is on for it; empty otherwise. On another device it may be on, or off."""
    if not is_any_autocast_enabled():
        return ""
    if operands:
        capture.depends_on("device", operands[0])
    device = operands[0].device.type if operands else "cpu"
    return device if torch.is_autocast_enabled(device) else ""


def record_cast(capture: Trace, function: Any, name: str, key: str, args: tuple[Any, ...], kwargs: dict[str, Any], device: str) -> Any:
    """The call as it is made under autocast, recorded without."""

    def recorded(cast: Cast) -> Any:
        with torch.autocast(device, enabled=False):
            with capture:
                cast_args, cast_kwargs = map_structure(cast, (args, kwargs))
            return capture.record_call(function, name, key, cast_args, cast_kwargs)

    if is_in_place(key) or kwargs.get("out") is not None or written_arguments(key) or key in kinds.CUT:
        return recorded(_unchanged)  # autocast does not touch calls that write
    rewind = _rewinding()
    expected = capture.run(function, args, kwargs)
    go_on = _rewinding()
    for cast in (_unchanged, _to(torch.get_autocast_dtype(device)), _to(torch.float32)):
        rewind()
        if _gives(capture, function, map_structure(cast, (args, kwargs)), device, expected):
            rewind()
            return recorded(cast)
    rewind()
    result = forward(function, *args, **kwargs)  # its kernels, casts among them, come to the recording one by one
    go_on()
    return result


def _rewinding() -> Callable[[], None]:
    """A function that puts the default generators, of the CPU and of each GPU, where they are now."""
    states = [(generator, generator.get_state()) for generator in default_generators()]

    def rewind() -> None:
        for generator, state in states:
            generator.set_state(state)

    return rewind


def _unchanged(item: Any) -> Any:
    return item


def _to(dtype: torch.dtype) -> Cast:
    return lambda item: item.to(dtype) if isinstance(item, torch.Tensor) and item.dtype in _CAST and item.dtype != dtype else item


def _gives(capture: Trace, function: Any, arguments: Any, device: str, expected: Any) -> bool:
    """Whether the call gives the same without autocast."""
    args, kwargs = arguments
    with torch.autocast(device, enabled=False):
        try:
            found = capture.run(function, args, kwargs)
        except RuntimeError:  # operands of different dtypes
            return False
    return _bits(found) == _bits(expected)


def _bits(result: Any) -> list[Any]:
    return [
        (item.dtype, tuple(item.shape), elements_of(item)) if isinstance(item, torch.Tensor) else item
        for item in iterate_structure((result,))
    ]
