"""Run random torch programs as they are and as graphs in every target, and print the smallest failing ones.

    python scripts/fuzz.py --minutes 10 --seed 0 --target jax

Program number N is the same on every machine with the same version of torch, so ``--seed N --programs 1``
runs it again. The exit status is 1 if a result was wrong or something crashed.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from pathlib import Path

os.environ.setdefault("GRAPH_COMPILER_VERIFY", "1")
# The programs are written and judged by tests/fuzzing.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.environment import variables

# Frameworks read these variables when they are imported, so they are set before.
os.environ.update({**variables(), **os.environ})

from tests.corpora.fuzzing.check import Setting, Verdict, judge, settings
from tests.corpora.fuzzing.program import Program
from tests.corpora.fuzzing.reduce import reduced
from tests.corpora.fuzzing.writer import draws_numbers, write
from tests.corpora.programs.table import TARGETS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--programs", type=int, default=10**9, help="stop after this many programs")
    parser.add_argument("--seed", type=int, default=0, help="number of the first program")
    parser.add_argument(
        "--target", action="append", choices=TARGETS, help="may be given more than once; all by default"
    )
    options = parser.parse_args()
    return fuzz(
        options.seed,
        options.programs,
        time.monotonic() + 60 * options.minutes,
        tuple(options.target or TARGETS),
    )


def fuzz(seed: int, programs: int, until: float, targets: tuple[str, ...]) -> int:
    """Judge one program after the other until the time ``until``; print each new failure, then the counts.

    Return 1 if a result was wrong or something crashed, otherwise 0.
    """
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    examples: dict[str, int] = {}
    seen: set[str] = set()
    ran = 0
    for number in range(seed, seed + programs):
        if time.monotonic() > until:
            break
        ran += 1
        program = write(number)
        for setting in settings(draws_numbers(program), targets):
            verdict = judge(program.source(), setting)
            counts[verdict.kind] += 1
            if verdict.reason:
                reasons[f"{verdict.kind}: {verdict.reason}"] += 1
                examples.setdefault(f"{verdict.kind}: {verdict.reason}", number)
            if verdict.fails and f"{setting.to} {verdict.reason}" not in seen:
                seen.add(f"{setting.to} {verdict.reason}")
                report(number, program, setting, verdict)
    summary(ran, counts, reasons, examples)
    return 1 if counts["wrong"] or counts["crash"] else 0


def report(number: int, program: Program, setting: Setting, verdict: Verdict) -> None:
    """Print the smallest program that fails in the same way as ``program``."""

    def still(smaller: Program) -> bool:
        again = judge(smaller.source(), setting)
        return again.kind == verdict.kind and again.reason == verdict.reason

    smallest = reduced(program, still)
    print(
        f"{'=' * 100}\nprogram {number}, {setting}: {verdict.kind}\n{verdict.detail[:1500]}\n{'-' * 100}\n{smallest.source()}",
        flush=True,
    )


def summary(ran: int, counts: Counter[str], reasons: Counter[str], examples: dict[str, int]) -> None:
    total = sum(counts.values()) or 1
    print(
        f"{'=' * 100}\n{ran} programs, {total} runs: "
        + ", ".join(f"{n} {kind} ({n / total:.1%})" for kind, n in counts.most_common())
    )
    for reason, n in reasons.most_common():
        print(f"{n:6} {reason} (program {examples[reason]})")


if __name__ == "__main__":
    sys.exit(main())
