"""What torch and Python tell of a process while torch code is recorded: settings, and whether other threads run."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch.backends import ContextProp

from ....tracing.probes import NOTE, Probe, Probes, Session
from ....tracing.probes.call_site import user_of
from ....tracing.probes.settings import SETTINGS, assumed, refused


def _context_property(probe: Probe, probes: Probes, original: Any) -> Any:
    """A flag that torch keeps as a property of a module, such as ``torch.backends.cudnn.benchmark``."""

    def read(prop: Any, module: Any, owner: Any) -> Any:
        if (sessions := probes.here()) and user_of(sys._getframe(1)) is not None:
            name = f"{getattr(module, '__name__', '')}.{prop.getter.__name__}"
            for session in sessions:
                session.assume(name, name, prop.getter)
        return original(prop, module, owner)

    return read


def _started(session: Session, *args: Any, **kwargs: Any) -> None:
    session.trace.has_started_threads = True


SETTING_READS: tuple[Probe, ...] = (
    *SETTINGS,
    *assumed({
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
    }),
    *refused({torch: ("initial_seed",), torch.random: ("initial_seed",)}),
    Probe(ContextProp, "__get__", _context_property, _started),
    # a recording sees its own thread only
    Probe(threading.Thread, "start", NOTE, _started),
    Probe(ThreadPoolExecutor, "submit", NOTE, _started),
)  # fmt: skip
