"""Random numbers of Python and NumPy: functions that draw them, and state of the generators."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

# A recording replaces the public functions, but a nested one still has to read and restore the states.
_GET_PYTHON, _GET_NUMPY, _SET_PYTHON, _SET_NUMPY = (
    random.getstate,
    np.random.get_state,
    random.setstate,
    np.random.set_state,
)

_NO_DRAWS = frozenset({"seed", "getstate", "setstate", "get_state", "set_state"})


def _methods(module: Any, generator: Any) -> Iterator[str]:
    return (
        name
        for name, item in vars(module).items()
        if getattr(item, "__self__", None) is generator and name not in _NO_DRAWS
    )


# Functions that draw from the global generator of their module; ``ranf`` and ``sample`` call another one.
DRAWS: dict[Any, tuple[str, ...]] = {
    random: tuple(_methods(random, random._inst)),
    np.random: (*_methods(np.random, np.random.mtrand._rand), "ranf", "sample"),
}


def host_state() -> tuple[Any, Any]:
    return _GET_PYTHON(), _GET_NUMPY()


def restore_host_state(states: tuple[Any, Any]) -> None:
    _SET_PYTHON(states[0])
    _SET_NUMPY(states[1])


@contextmanager
def host_state_kept() -> Iterator[None]:
    """Restore the states of Python's and NumPy's global generators after the block.

    It surrounds imports of frameworks, which draw numbers when they are loaded for the first time.
    """
    before = host_state()
    try:
        yield
    finally:
        restore_host_state(before)


@contextmanager
def host_state_seeded(seed: int) -> Iterator[None]:
    """Seed Python's and NumPy's global generators inside the block, and restore their states after it."""
    with host_state_kept():
        # Setting a state is no draw to an enclosing recording.
        restore_host_state((random.Random(seed).getstate(), np.random.RandomState(seed % 2**32).get_state()))
        yield


def same_host_state(left: tuple[Any, Any], right: tuple[Any, Any]) -> bool:
    return bool(left[0] == right[0] and left[1][2:] == right[1][2:] and (left[1][1] == right[1][1]).all())
