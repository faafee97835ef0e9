"""Settings of torch that hold for a whole thread or process: what a recorded function changes of them is put back."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ....errors import TracingError
from ..compat import default_device, deterministic_warns, is_any_autocast_enabled, is_deterministic


def _set_device(before: Any) -> None:
    default_device.device_context = before  # its mode goes with the others: see modes.py


_KINDS = ("cpu", "cuda", "mps", "xpu")


def _autocast() -> Any:
    return is_any_autocast_enabled() and [(torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)) for kind in _KINDS]


def _set_autocast(before: Any) -> None:
    for kind, (is_enabled, dtype) in zip(_KINDS, before or [(False, None)] * len(_KINDS)):
        torch.set_autocast_enabled(kind, is_enabled)
        if dtype is not None:
            torch.set_autocast_dtype(kind, dtype)
    if not before:  # what was entered and never left would keep the weights that were cast for the rest of the process
        torch.autocast_increment_nesting()
        while torch.autocast_decrement_nesting() > 0:
            pass
        torch.clear_autocast_cache()


def _set_deterministic(before: bool) -> None:
    torch.use_deterministic_algorithms(before, warn_only=deterministic_warns())


def _set_deterministic_warnings(before: bool) -> None:
    torch.use_deterministic_algorithms(is_deterministic(), warn_only=before)


# what it is -> (read it, set it)
_SETTINGS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "the grad mode": (torch.is_grad_enabled, torch.set_grad_enabled),
    "the default dtype": (torch.get_default_dtype, torch.set_default_dtype),
    "the default device": (functools.partial(getattr, default_device, "device_context", None), _set_device),
    "deterministic algorithms": (is_deterministic, _set_deterministic),
    "warnings of deterministic algorithms": (deterministic_warns, _set_deterministic_warnings),
    "autocast": (_autocast, _set_autocast),
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
