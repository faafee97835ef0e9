"""Calls of the user's code of which nothing is recorded: what a node that runs blocks gives for the arrays of the recording."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.overrides import TorchFunctionMode

from ....forwarding import forward
from ..basics.names import name_of, row_key
from ..basics.tensors import hints
from ..compat import HigherOrderOperator
from .running import Running
from .written_out import WRITTEN_OUT, flex_attention


class Unrecorded(TorchFunctionMode):
    """Sizes that stand in the arguments of calls are given as the numbers that they are."""

    def __init__(self, capture: Running) -> None:
        super().__init__()
        self.here = capture.here

    def __torch_function__(self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        args, kwargs = hints(args), hints(kwargs or {})
        if isinstance(function, HigherOrderOperator):
            key = row_key(name_of(function))
            return WRITTEN_OUT[key](self, args) if key in WRITTEN_OUT else flex_attention(self, function, args, kwargs)
        return forward(function, *args, **kwargs)


def unrecorded_call(capture: Running, call: Callable[[Unrecorded], Any]) -> Any:
    """What ``call`` gives, which is handed the mode to run the user's functions in; tensors that it makes and keeps aside are hidden from
    the recording."""
    unseen = capture.unseen
    before, unseen.inside_call = unseen.inside_call, True
    try:
        return call(Unrecorded(capture))
    finally:
        unseen.inside_call = before
