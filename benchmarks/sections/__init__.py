"""The sections by name, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable

from ..results import Results
from ..settings import Settings
from . import (
    chain,
    conversion,
    default,
    gpu,
    jitted,
    keras,
    kernels,
    memory,
    overhead,
    recurrent,
    scaling,
    speed,
    training,
)

SECTIONS: dict[str, Callable[[Settings], Results]] = {
    "overhead": overhead.run,
    "chain": chain.run,
    "conversion": conversion.run,
    "default": default.run,
    "gpu": gpu.run,
    "jitted": jitted.run,
    "keras": keras.run,
    "kernels": kernels.run,
    "memory": memory.run,
    "recurrent": recurrent.run,
    "scaling": scaling.run,
    "speed": speed.run,
    "training": training.run,
}
