"""One process that judges cases: a name and a target a line come in, a line of JSON goes out.

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
    """Judges until the input ends; whatever a case prints is dropped."""
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
