"""Recording of a program at one length in one framework for another, and comparison with the original at
other lengths.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import graph_compiler
from tests.corpora.rolling.running import library, native
from tests.support.compare import assert_same_leaves

from .programs import Program

# Rows and number of each call; the first is recorded.
LENGTHS = ((6, 5), (9, 4), (3, 30), (12, 2))
SHORT = ((2, 1), (1, 0), (2, 0), (1, 3))


def arguments(rows: int, number: int, framework: str) -> tuple[Any, int]:
    """Return an array with ``rows`` rows of three floats between 0 and 1, and ``number``."""
    return native(np.random.default_rng(rows).random((rows, 3)).astype("float32"), framework), number


def compiled(program: Program, source: str, to: str) -> tuple[Any, Any]:
    """Return (the program as a function of ``x`` and ``n``, its graph)."""
    xp = library(source)

    def run(x: Any, n: int) -> Any:
        return program(xp, x, n)

    return run, graph_compiler.compile(run, source=source, to=to)


def check(
    program: Program, source: str, to: str, number: int | None = None, most: int = 12
) -> tuple[Any, int]:
    """Assert that the graph gives the original's results at all lengths of at most ``most`` rows.

    Return (graph, number of variants after the lengths of more than two rows). ``number`` replaces the
    numbers of ``LENGTHS``.
    """
    run, graph = compiled(program, source, to)
    variants = 0
    for lengths in (lengths for lengths in (*LENGTHS, *SHORT) if lengths[0] <= most):
        lengths = lengths if number is None else (lengths[0], number)
        found, wanted = graph(*arguments(*lengths, to)), run(*arguments(*lengths, source))
        assert_same_leaves(found, wanted, f"of {lengths}")
        variants = len(graph.variants) if lengths[0] > 2 else variants
    return graph, variants
