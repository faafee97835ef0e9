"""Search for the graphs that a user's function calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..recording.reachability.namespaces import entry_of, spaces_of
from ..recording.reachability.references import function_layers, named_objects
from ..runtime import Graph


def called_graphs(function: Any) -> Iterator[Graph]:
    """Yield the graphs named by the code of ``function`` and of the user's functions that it calls.

    Functions wrapped by a transform are searched, too.

    >>> import torch, graph_compiler
    >>> graph = graph_compiler.compile(torch.sin, args=(torch.ones(2),))
    >>> [found is graph for found in called_graphs(lambda x: graph(x).sum())]
    [True]
    """
    called = (one for space in spaces_of([entry_of(function)]) for one in space.functions)
    for item in (
        item for one in dict.fromkeys((*function_layers(function), *called)) for item in named_objects(one)
    ):
        # A bound method such as ``graph.functional`` belongs to its graph.
        item = getattr(item, "__self__", item)
        if isinstance(item, Graph):
            yield item
