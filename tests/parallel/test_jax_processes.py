"""Tests of JAX over several processes, each with one device."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax")

_PROGRAM = """
import sys
import jax
import numpy as np
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(sys.argv[1], 2, int(sys.argv[2]), initialization_timeout=60)

from graph_compiler import parallel
from graph_compiler.errors import CallMismatch

rows = np.arange(6, dtype=np.float32).reshape(2, 3)
rows[:, 0] = np.nan
for array in (rows, rows + 1j * rows, rows > 1):
    try:
        parallel.Parallel(lambda x: x, reduce="first")(jax.numpy.asarray(array))
    except CallMismatch as problem:
        assert "differs between the devices" in str(problem)
    else:
        raise AssertionError("devices of other processes differ")
same = parallel.Parallel(lambda x: parallel.pmean(x, "device"), reduce="first")(jax.numpy.asarray(rows))
np.testing.assert_array_equal(same, rows.mean(0, keepdims=True))
"""


def test_results_that_differ_between_processes_are_refused() -> None:
    with socket.socket() as listening:
        listening.bind(("localhost", 0))
        address = f"localhost:{listening.getsockname()[1]}"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, address, str(number)],
            cwd=Path(__file__).parents[2],
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    told = [process.communicate(timeout=120)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], "\n".join(told)
