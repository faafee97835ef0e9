"""Tables of graphs before and after a pass, and their check."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from graph_compiler.backends import numpy as numpy_backend
from graph_compiler.ir import Graph
from graph_compiler.passes import decompose
from tests.support.compare import assert_same
from tests.support.graph_text import arrays_for, numbered, read, written

from .graphs import after, computed

SIZES: tuple[dict[str, int], ...] = ({}, {"n": 8, "m": 7, "k": 2})
"""The sizes at which both graphs are run: those of the recording, and others."""


@dataclass(frozen=True)
class Row:
    """A graph before and after a pass, as text.

    name: what the row shows; if ``after`` is None, the reason why the pass does not change the graph.
    sizes: sizes at which the results of both graphs are compared.
    arrays: returns the arrays for a graph and sizes; random ones by default.
    given: declarations that precede both texts.
    """

    name: str
    before: str
    after: str | None = None
    sizes: Sequence[dict[str, int]] = SIZES
    arrays: Callable[[Graph, dict[str, int]], list[Any]] | None = None
    given: str = ""

    def graph(self, text: str) -> Graph:
        """Return the graph of ``given`` followed by ``text``."""
        return read(f"{self.given}\n{textwrap.dedent(text)}")


def rows(*table: Row, given: str = "") -> Any:
    """Return a ``parametrize`` mark over the rows of a table; ``given`` precedes all texts."""
    named = [
        pytest.param(replace(row, given=given + row.given), id=row.name.replace(" ", "_")) for row in table
    ]
    return pytest.mark.parametrize("row", named)


def check(step: Callable[[Graph], tuple[Graph, bool]], row: Row) -> Graph:
    """Assert that a pass makes ``row.after`` of ``row.before`` and keeps its results; return the graph that
    it makes.
    """
    graph = row.graph(row.before)
    made = after(step, graph)
    if row.after is None:
        assert written(made) == written(graph), (
            f"the row has no graph after, and this was made\n\n{written(made)}"
        )
        assert made is graph
    else:
        wanted = row.graph(row.after)
        assert numbered(made) == numbered(wanted), f"{written(made)}\n\nand not\n\n{written(wanted)}"
    for seed, sizes in enumerate(row.sizes):
        arrays = row.arrays(graph, sizes) if row.arrays is not None else arrays_for(graph, seed, **sizes)
        assert_same(numbers(made, *arrays), numbers(graph, *arrays))
    return made


def numbers(graph: Graph, *arrays: Any) -> list[Any]:
    """Return the results of a graph in NumPy for copies of the arrays, after decomposing operations without a
    row.
    """
    with np.errstate(all="ignore"):
        return computed(decompose(graph, numpy_backend.rows)[0], *(array.copy() for array in arrays))
