"""Keras models: in JAX against Keras' own JAX backend, in TensorFlow against ``predict_on_batch``.

The conversion is timed, too.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from .. import keras_cases
from ..keras_peer import (
    BACKENDS,
    GRAPH_JAX,
    GRAPH_TENSORFLOW,
    GRAPH_XLA,
    KERAS_JAX,
    PREDICT,
    PREDICT_XLA,
    weights_file,
)
from ..measure import Call, Samples, ratio, seconds
from ..results import Results
from ..settings import Settings

RATIOS = (
    ("jax.jit against Keras on JAX", GRAPH_JAX, KERAS_JAX),
    ("tf.function against predict_on_batch", GRAPH_TENSORFLOW, PREDICT),
    ("tf.function with XLA against predict_on_batch with XLA", GRAPH_XLA, PREDICT_XLA),
)
RESNET = "Keras ResNet-50"
_PERMUTATION = re.compile(r"\.(?:transpose|permute|swapaxes|moveaxis)\(|\.m?T\b")


class Peer:
    """Process that calls one model each time :meth:`call` asks for it (see ``keras_peer``)."""

    def __init__(self, contender: str, case: str, folder: Path) -> None:
        command = [sys.executable, "-m", "benchmarks.keras_peer", contender, case, str(folder)]
        environment = {**os.environ, "KERAS_BACKEND": BACKENDS[contender], "TF_CPP_MIN_LOG_LEVEL": "3"}
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            # The package `benchmarks` is found only from the root of the checkout.
            cwd=Path(__file__).parents[2],
        )  # fmt: skip

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"ended with {self.process.wait()}")
        return line

    def wait(self) -> None:
        while "ready" not in self._line():
            pass

    def call(self) -> tuple[float, float]:
        """Make one call. Return its seconds, and the seconds of the processors."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        wall, busy = map(float, self._line().split())
        return wall, busy


@contextlib.contextmanager
def _peers(results: Results, case: str, folder: Path) -> Iterator[dict[str, Peer]]:
    """Start the contenders, and kill them after the block. Those that fail are left out.

    They start one after the other, because the memory of compilers adds up.
    """
    peers: dict[str, Peer] = {}
    try:
        for contender in BACKENDS:
            with results.surviving(case, contender):
                peer = Peer(contender, case, folder)
                peer.wait()
                peers[contender] = peer
        yield peers
    finally:
        for peer in peers.values():
            peer.process.kill()
            peer.process.wait()


def _compare(folder: Path, contenders: list[str]) -> None:
    numpy = importlib.import_module("numpy")
    # A wrong result may be faster, so contenders are timed only if they agree.
    first, *others = (numpy.load(folder / f"{contender}.npy") for contender in contenders)
    for other in others:
        numpy.testing.assert_allclose(other, first, rtol=1e-3, atol=1e-4)


def _raced(peers: dict[str, Peer], rounds: int) -> tuple[Samples, Samples]:
    """Return samples of the calls in turns: their seconds, and those of the processors."""
    wall: Samples = {name: [] for name in peers}
    busy: Samples = {name: [] for name in peers}
    for place in range(rounds):
        names = [*peers][place % len(peers) :] + [*peers][: place % len(peers)]
        for name in names:
            taken = peers[name].call()
            wall[name].append(taken[0])
            busy[name].append(taken[1])
    return wall, busy


def _race(results: Results, case: str, model: Any, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model.save_weights(weights_file(folder))
        with _peers(results, case, folder) as peers:
            _compare(folder, [*peers])
            # The first calls fill caches and start threads, and are not counted.
            _raced(peers, 3)
            wall, busy = _raced(peers, rounds)
    results.add_samples(case, "steady call", wall)
    results.add_samples(case, "steady call, processors", busy)
    for figure, ours, theirs in RATIOS:
        if {ours, theirs} <= peers.keys():
            results.add_figure(case, figure, ratio(wall, ours, theirs), "x")
            results.add_figure(case, f"{figure}, processors", ratio(busy, ours, theirs), "x")


def permutations(source: str) -> int:
    """Count the permutations in the last function of a program; those in its helpers are left out."""
    # The last function of the module is the graph itself.
    return len(_PERMUTATION.findall(source[source.rindex("\ndef ") :]))


def _conversion(call: Call) -> tuple[float, float]:
    start = time.process_time()
    return seconds(call), time.process_time() - start


def _convert(results: Results, case: str, model: Any, rounds: int) -> None:
    """Measure conversions to JAX and torch, and the permutations in their source."""
    compiler, constant = (
        importlib.import_module("graph_compiler"),
        importlib.import_module("tensorflow").constant,
    )
    given = [constant(array) for array in keras_cases.arrays(case)]
    args = (given if len(given) > 1 else given[0],)
    for to in ("jax", "torch"):
        convert = partial(compiler.transpile, model, to=to, args=args)
        results.add_figure(case, f"permutations, {to}", permutations(convert().source), "")
        wall, busy = zip(*(_conversion(convert) for _ in range(rounds)))
        results.add_samples(case, f"conversion to {to}", {"graph": [*wall]})
        results.add_samples(case, f"conversion to {to}, processors", {"graph": [*busy]})
        if to == "jax" and case == RESNET:
            # The fastest conversion is the one that other processes have disturbed least.
            results.add_figure(case, "conversion of Keras ResNet-50", min(wall), "s")


def run(settings: Settings) -> Results:
    """Measure a ResNet, an EfficientNet and a transformer, or the ResNet alone if ``quick``."""
    results = Results("keras")
    for case in [RESNET] if settings.quick else keras_cases.CASES:
        model = keras_cases.CASES[case]()
        _convert(results, case, model, settings.few_rounds)
        _race(results, case, model, settings.rounds)
    return results
