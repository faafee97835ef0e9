"""A process that judges cases: it reads a JSON list ``[name, target]`` per line and writes a record as a line
of JSON.

``python -m tests.corpora.coverage.worker operators``
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import sys
import time
from functools import partial

from .corpora import CORPORA
from .outcome import outcome_of


def main(corpus: str) -> None:
    """Judge cases until the input ends. Output of the cases is discarded."""
    import torch

    torch.set_num_threads(1)
    answers = sys.stdout
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        (name, target), start = json.loads(line), time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            outcome = outcome_of(partial(CORPORA[corpus].judge, name, target))
        record = {
            "name": name,
            **dataclasses.asdict(outcome),
            "seconds": round(time.perf_counter() - start, 2),
        }
        print(json.dumps(record), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
