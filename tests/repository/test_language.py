"""Limits on the wording of docstrings, on lengths of lines, on names, and on import cycles."""

from __future__ import annotations

import ast
import collections
import re
from collections.abc import Iterator
from pathlib import Path

import networkx
import pytest

from .test_architecture import Source, imports_of, read_sources

MOST_COLUMNS = 110
# First words of docstrings that are neither verbs nor nouns: articles, prepositions, relatives.
CLIPPED = frozenset(
    re.findall(
        r"\w+",
        "a an the all both each every no none one those these such of as by for in inside on at to from with without "
        "under behind beyond before after between along like per if because not only never what where when which that "
        "who whose why how whether true false",
    )
)
# Classes of one name: each is the word of its package.
SAME_NAMES: dict[str, str] = {
    "Graph": "the graph of nodes, for authors of passes, and the object that users call; what uses both imports "
    "the former as IRGraph",
}


@pytest.fixture(scope="module")
def sources(checkout: Path) -> list[Source]:
    return read_sources(checkout)


def docstrings_of_functions(sources: list[Source]) -> Iterator[str]:
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and (
                text := ast.get_docstring(node)
            ):
                yield text


def is_clipped(text: str) -> bool:
    """Return True if a docstring begins with an article, a preposition, a relative pronoun or code.

    >>> is_clipped("Return the axes."), is_clipped("The axes."), is_clipped("``x`` as an array.")
    (False, True, True)
    """
    first = text.split()[0]
    return (
        not first[0].isalpha()
        or any(sign in first for sign in "()[]=_/")
        or first.lower().rstrip(",:;.") in CLIPPED
    )


def is_comment(line: str) -> bool:
    """Return True for a comment on a line of its own; False for a ruler."""
    return line.lstrip().startswith("#") and "-----" not in line


@pytest.fixture(scope="module")
def figures(sources: list[Source]) -> dict[str, float]:
    lines = [line for source in sources for line in source.text.split("\n")]
    documented = list(docstrings_of_functions(sources))
    return {
        "docstrings of functions in 1,000 lines": 1000 * len(documented) / len(lines),
        "% of them that begin with no verb or noun": 100 * sum(map(is_clipped, documented)) / len(documented),
        "% of lines that are no comment on a line of its own": 100
        - 100 * sum(map(is_comment, lines)) / len(lines),
    }


MOST: dict[str, float] = {
    "docstrings of functions in 1,000 lines": 30,
    "% of them that begin with no verb or noun": 2,
    "% of lines that are no comment on a line of its own": 98,
}


@pytest.mark.parametrize("figure", MOST)
def test_figures(figure: str, figures: dict[str, float]) -> None:
    assert figures[figure] <= MOST[figure]


def test_lines_are_short(sources: list[Source]) -> None:
    long = [
        f"{source.path}:{number}"
        for source in sources
        for number, line in enumerate(source.text.splitlines(), 1)
        if len(re.sub(r"  # (type: ignore|noqa).*", "", line)) > MOST_COLUMNS
    ]
    assert not long


def test_classes_have_names_of_their_own(sources: list[Source]) -> None:
    files: dict[str, list[str]] = collections.defaultdict(list)
    for source in sources:
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef):
                files[node.name].append(source.path)
    twice = {name: found for name, found in files.items() if len(found) > 1}
    assert {name: found for name, found in twice.items() if name not in SAME_NAMES} == {}
    assert SAME_NAMES.keys() <= twice.keys(), "listed, and there is one class alone"


def test_modules_import_each_other_in_no_cycle(sources: list[Source]) -> None:
    """Imports for type checkers and within functions count, too."""
    modules = {source.module for source in sources}
    graph = networkx.DiGraph()
    for source in sources:
        for found in imports_of(source, modules, types=True):
            if found.module in modules - {source.module}:
                graph.add_edge(source.module, found.module)
    assert [sorted(each) for each in networkx.strongly_connected_components(graph) if len(each) > 1] == []
