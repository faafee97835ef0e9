"""Which settings of the process the recorded code asks for: a graph holds while they are what they were."""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch.backends import ContextProp

from ....tracing.conjunction import Fact
from ..numbers.spaces import Space

_ROWS: dict[Any, tuple[str, ...]] = {  # what holds functions that only tell a setting, and their names
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
    np: ("geterr",),
    os: ("getcwd",),
}
_NO_USERS = frozenset({"torch", __name__.partition(".")[0]})  # what torch decides by a setting gives the same numbers
_lock = threading.Lock()
_open: list[SettingReads] = []
_property_get: Callable[..., Any] = ContextProp.__get__


class SettingReads:
    """Inside of the block, notes which settings code outside of torch asks for, under the names of torch and those in these modules.

    >>> with SettingReads() as reads:
    ...     _ = eval("torch.is_grad_enabled()", {"torch": torch, "__name__": "users"})
    >>> [fact.what for fact in reads.facts()]
    ['what is_grad_enabled gives']
    """

    def __init__(self, spaces: Iterable[Space] = ()) -> None:
        self._spaces = tuple(spaces)
        self._asked: dict[str, Callable[[], Any]] = {}
        self._imported: list[tuple[dict[str, Any], str, Any]] = []

    def __enter__(self) -> SettingReads:
        with _lock:
            _open.append(self)
            for owner, name, stand_in in _STAND_INS:
                setattr(owner, name, stand_in)
            ContextProp.__get__ = _property_read
        told = {id(stand_in.__wrapped__): stand_in for _, _, stand_in in _STAND_INS}
        self._imported = [(space.held, name, item) for space in self._spaces for name, item in space.held.items() if id(item) in told]
        for held, name, item in self._imported:
            held[name] = told[id(item)]
        return self

    def __exit__(self, *_: object) -> None:
        for held, name, item in self._imported:
            held[name] = item
        with _lock:
            _open.remove(self)
            if not _open:
                for owner, name, stand_in in _STAND_INS:
                    setattr(owner, name, stand_in.__wrapped__)
                ContextProp.__get__ = _property_get

    def note(self, name: str, ask: Callable[[], Any]) -> None:
        """This setting was asked for."""
        self._asked[name] = ask

    def facts(self) -> list[Fact]:
        """The settings are what they are now: what the function changes of them it has put back."""
        return [Fact("{}() == {}", (ask, ask()), f"what {name} gives") for name, ask in self._asked.items()]


def _note(name: str, ask: Callable[[], Any]) -> None:
    if sys._getframe(2).f_globals.get("__name__", "").partition(".")[0] not in _NO_USERS:
        for reads in tuple(_open):
            reads.note(name, ask)


def _noting(original: Callable[..., Any]) -> Any:
    @functools.wraps(original)
    def asked(*args: Any, **kwargs: Any) -> Any:
        _note(original.__name__, original)
        return original(*args, **kwargs)

    return asked


def _property_read(prop: Any, obj: Any, owner: Any) -> Any:
    _note(f"{getattr(obj, '__name__', '')}.{prop.getter.__name__}", prop.getter)
    return _property_get(prop, obj, owner)


_STAND_INS = tuple((owner, name, _noting(getattr(owner, name))) for owner, names in _ROWS.items() for name in names)
