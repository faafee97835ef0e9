"""Tests of simultaneous recordings in several threads and frameworks, and of a fork during a recording."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
jnp = pytest.importorskip("jax.numpy")

import graph_compiler  # noqa: E402
from tests.support.compare import to_numpy  # noqa: E402
from tests.support.processes import holds_in_child  # noqa: E402
from tests.support.threads import Signal  # noqa: E402


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:")
# JAX's own threads do not survive a fork.
@pytest.mark.parametrize("name", ["torch", "numpy"])
def test_a_fork_waits_for_the_recording_of_another_thread(name: str) -> None:
    array = {"torch": torch.ones, "numpy": np.ones}[name]
    begun, go_on = Signal(), Signal()

    def slow(x: Any) -> Any:
        begun.send()
        go_on.came(60)
        return x + 1

    recording = threading.Thread(target=lambda: graph_compiler.compile(slow, source=name, args=(array(2),)))
    recording.start()
    assert begun.came(60)
    threading.Timer(0.2, go_on.send).start()

    def records() -> bool:
        graph = graph_compiler.compile(lambda x: x * 3, source=name, args=(array(2),))
        return bool(to_numpy(graph(array(4))).tolist() == [3] * 4)

    ended = holds_in_child(records, meanwhile=go_on.send)
    recording.join()
    assert ended


def test_two_frameworks_that_record_each_other_do_not_wait_for_ever() -> None:
    inside = {name: Signal() for name in ("torch", "jax")}
    results: dict[str, Any] = {}

    def outer(name: str, other: str, array: Any, others: Any) -> None:
        def function(x: Any) -> Any:
            inside[name].send()
            # With one lock per framework this would be a deadlock.
            inside[other].came(0.5)
            inner = graph_compiler.compile(lambda y: y + 1, source=other, args=(others(2),))
            return x * float(to_numpy(inner(others(1)))[0])

        results[name] = to_numpy(
            graph_compiler.compile(function, source=name, args=(array(2),))(array(3))
        ).tolist()

    threads = [
        threading.Thread(target=outer, args=("torch", "jax", torch.ones, np.ones), daemon=True),
        threading.Thread(target=outer, args=("jax", "torch", jnp.ones, np.ones), daemon=True),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == {"torch": [2, 2, 2], "jax": [2, 2, 2]}
