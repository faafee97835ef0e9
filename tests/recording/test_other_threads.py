"""Tests of other threads during a recording or call, which must not affect its graph."""

from __future__ import annotations

import decimal
import os
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
jnp = pytest.importorskip("jax").numpy

import graph_compiler  # noqa: E402

MODEL = torch.nn.Linear(3, 3)
LIMIT = 2.0


def _file(number: int) -> None:
    path = Path(tempfile.gettempdir()) / f"graph_compiler_other_thread_{os.getpid()}"
    path.write_text(str(number))
    with path.open() as file:
        file.read()
    path.unlink()


# What another thread does, again and again.
OTHERS: dict[str, Callable[[int], Any]] = {
    "files": _file,
    "settings": lambda number: (
        Path.cwd(),
        np.geterr(),
        decimal.getcontext(),
        torch.is_grad_enabled(),
        torch.backends.cudnn.enabled,
    ),
    "globals by name": lambda number: globals()["LIMIT"] if number else eval("LIMIT"),
    "all globals": lambda number: sorted(globals()),
    "weights": lambda number: [*MODEL.parameters(), *MODEL.buffers(), MODEL.training],
    "random numbers": lambda number: (
        random.random(),
        np.random.rand(2),
        os.urandom(2),
        np.random.default_rng().random(),
    ),
    "clocks": lambda number: (time.time(), time.perf_counter()),
    "attributes": lambda number: (hasattr(MODEL.weight, "scale"), hasattr(MODEL, "scale")),
}


@contextmanager
def busy(work: Callable[[int], Any], each: float = 0.0) -> Iterator[list[BaseException]]:
    """Run ``work`` repeatedly in another thread while the block runs; yield the list of its exceptions."""
    ends, problems, began = threading.Event(), list[BaseException](), threading.Event()

    def run() -> None:
        number = 0
        while not ends.is_set():
            try:
                work(number)
            except BaseException as problem:
                problems.append(problem)
            number += 1
            began.set()
            time.sleep(each)

    thread = threading.Thread(target=run)
    thread.start()
    began.wait(10)
    try:
        yield problems
    finally:
        ends.set()
        thread.join()


def _waiting(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with pauses, in which other threads can run."""

    def waits(x: Any) -> Any:
        for _ in range(5):
            x = function(x)
            _sleep(0.002)
        return x + LIMIT

    return waits


_sleep = time.sleep
FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "torch": (_waiting(lambda x: torch.relu(MODEL(x))), lambda rows: torch.ones(rows, 3)),
    "jax": (_waiting(lambda x: jnp.sin(x) * 2), lambda rows: jnp.ones((rows, 3))),
    "numpy": (_waiting(lambda x: np.sin(x) * 2), lambda rows: np.ones((rows, 3), np.float32)),
}


@pytest.mark.parametrize("source", FUNCTIONS)
@pytest.mark.parametrize("other", OTHERS)
def test_a_thread_that_reads_beside_a_recording(other: str, source: str) -> None:
    function, array = FUNCTIONS[source]
    with busy(OTHERS[other], 0.05 if other == "random numbers" else 0.0) as problems:
        graph = graph_compiler.compile(function, source=source)
        for rows in (2, 3, 4):
            graph(array(rows))
    assert not problems and len(graph.variants) == 1
    held = [fact.what for fact in graph.variants[0].environment._guards]
    assert not [
        what for what in held if what.startswith("what ") and "grad" not in what or "which weights" in what
    ], held
