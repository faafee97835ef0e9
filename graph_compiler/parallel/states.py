"""States of training over devices: the same plan with another framework's engine of steps."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from ..contracts.training import Held, Training
from ..training import TrainState

S = TypeVar("S", bound=TrainState)


def with_training(state: S, engine: Training, held: Held) -> S:
    """The state with steps by this engine, which hold these arrays. The one that was given may go on by itself."""
    state.require_unused()
    return type(state)(replace(state.plan, engine=engine), held, state.step)
