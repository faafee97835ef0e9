"""Environment variables of every process that runs tests.

They disable model downloads and accelerators, limit frameworks to one thread, verify graphs after every
pass, and let XLA compile quickly instead of well.
"""

from __future__ import annotations

import getpass
import importlib.metadata
import os
import tempfile
from pathlib import Path

# Thousands of small programs are compiled once and run once: XLA need not optimise them.
XLA_FLAGS = ("--xla_backend_optimization_level=0",)

# The older of XLA's two code generators takes half the time for a small program. XLA ends the process for a
# flag that it does not know.
XLA_FLAGS_OF_VERSION = {
    "0.10": ("--xla_cpu_use_fusion_emitters=false", "--xla_cpu_parallel_codegen_split_count=1")
}


def xla_flags() -> str:
    """Return the value of ``XLA_FLAGS`` for the installed version of jaxlib; an empty string if there is
    none.
    """
    try:
        version = importlib.metadata.version("jaxlib")
    except importlib.metadata.PackageNotFoundError:
        return ""
    return " ".join((*XLA_FLAGS, *XLA_FLAGS_OF_VERSION.get(".".join(version.split(".")[:2]), ())))


def variables() -> dict[str, str]:
    """Return the variables and their values.

    Each of two processes has one of two cores, so more threads would only wait for each other.
    """
    capability = os.environ.get("ATEN_CPU_CAPABILITY")
    # torch takes programs from its cache that it compiled for wider vectors, and they return garbage.
    inductor = Path(tempfile.gettempdir(), f"torchinductor_{getpass.getuser()}_{capability}")
    return {
        **({} if capability is None else {"TORCHINDUCTOR_CACHE_DIR": str(inductor)}),
        "GRAPH_COMPILER_CACHE": "off",
        # A failing test must show the whole traceback.
        "GRAPH_COMPILER_TRACEBACK": "full",
        # Verification after every pass takes 1.9 % of the time of the tests.
        "GRAPH_COMPILER_VERIFY": "1",
        "HF_HUB_OFFLINE": "1",
        "JAX_ENABLE_COMPILATION_CACHE": "0",
        "JAX_PLATFORMS": "cpu",
        "OMP_NUM_THREADS": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_NUM_INTRAOP_THREADS": "1",
        "TF_NUM_INTEROP_THREADS": "1",
        "XLA_FLAGS": xla_flags(),
    }


def set_variables() -> None:
    """Set the variables that the environment does not have yet. Call this before any framework is imported."""
    for variable, value in variables().items():
        os.environ.setdefault(variable, value)
