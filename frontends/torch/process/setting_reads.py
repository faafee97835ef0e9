"""The settings of torch that recorded code asks for, beside those of Python and numpy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.backends import ContextProp

from ...fleeting import refusals
from ...setting_reads import Rows, SettingReads, note, shims_of

_ROWS: Rows = {
    torch: (
        "is_grad_enabled",
        "is_inference_mode_enabled",
        "are_deterministic_algorithms_enabled",
        "is_deterministic_algorithms_warn_only_enabled",
        "get_deterministic_debug_mode",
        "get_float32_matmul_precision",
        "get_num_threads",
        "get_num_interop_threads",
        "is_warn_always_enabled",
        "is_anomaly_enabled",
        "is_anomaly_check_nan_enabled",
    ),
    torch.backends.cuda: ("math_sdp_enabled", "flash_sdp_enabled", "mem_efficient_sdp_enabled", "cudnn_sdp_enabled"),
    torch.backends.mha: ("get_fastpath_enabled",),
}
_SEEDS: Rows = {torch: ("initial_seed",), torch.random: ("initial_seed",)}
_property_get: Callable[..., Any] = ContextProp.__get__


class TorchSettingReads(SettingReads):
    """As :class:`SettingReads`, of torch too.

    >>> with TorchSettingReads() as reads:
    ...     _ = eval("torch.is_grad_enabled()", {"torch": torch, "__name__": "users"})
    >>> [fact.what for fact in reads.facts()]
    ['what is_grad_enabled gives']
    """

    shims = (*SettingReads.shims, *shims_of(_ROWS), *refusals(_SEEDS))

    def __init__(self, spaces: Iterable[dict[str, Any]] = ()) -> None:
        super().__init__(spaces)
        self._before: Any = None

    def __enter__(self) -> TorchSettingReads:
        super().__enter__()
        self._before, ContextProp.__get__ = ContextProp.__get__, _property_read
        return self

    def __exit__(self, *_: object) -> None:
        ContextProp.__get__ = self._before
        super().__exit__()


def _property_read(prop: Any, obj: Any, owner: Any) -> Any:
    name = f"{getattr(obj, '__name__', '')}.{prop.getter.__name__}"
    note(name, name, prop.getter)
    return _property_get(prop, obj, owner)
