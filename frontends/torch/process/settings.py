"""Settings of torch that hold for a whole thread or process: what a recorded function changes of them is put back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ....errors import TracingError
from ..compat import default_device


def _set_device(before: Any) -> None:
    default_device.device_context = before  # its mode goes with the others: see modes.py


# what it is -> (read it, set it)
_SETTINGS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "the grad mode": (torch.is_grad_enabled, torch.set_grad_enabled),
    "the default dtype": (torch.get_default_dtype, torch.set_default_dtype),
    "the default device": (lambda: default_device.__dict__.get("device_context"), _set_device),
    "deterministic algorithms": (torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms),
    "the precision of matrix products": (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
}


@contextmanager
def settings_kept(name: str) -> Iterator[None]:
    """Puts the settings back after the block; ``TracingError`` where it ends and leaves another one, which calls of the graph would not
    do."""
    before = {what: read() for what, (read, _) in _SETTINGS.items()}
    changed: list[str] = []
    try:
        yield
    finally:
        for what, (read, write) in _SETTINGS.items():
            if read() != before[what]:
                changed.append(what)
                write(before[what])
    if changed:
        raise TracingError(
            f"{name} changes {' and '.join(changed)} of torch and leaves it so, which calls of a graph would not do; use the context "
            "manager (torch.no_grad() and the like), or change it outside of the compiled function"
        )
