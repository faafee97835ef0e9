"""Peak of resident memory while a model with 1 GB of weights is converted, above the model itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from .. import peak
from ..results import Results
from ..settings import Settings

CASE = "Llama, 1 GB of weights"
GB = 1e9


def _measure_in_subprocess(contender: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.peak", contender]
    # The package `benchmarks` is found only from the root of the checkout.
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    # Libraries may have printed lines before.
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def run(settings: Settings) -> Results:
    results = Results("memory")
    for contender in peak.CONTENDERS:
        with results.surviving(CASE, contender):
            found = _measure_in_subprocess(contender)
            name = "peak memory above the model" if contender == "graph" else f"peak of {contender}"
            results.add_figure(CASE, name, found["peak"] / GB, "GB")
            results.add_figure(CASE, f"kept by {contender}", found["kept"] / GB, "GB")
    return results
