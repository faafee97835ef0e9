"""Conversion of a source named on the command line."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .. import api
from ..runtime import Graph
from ..runtime.progress import show_progress
from . import files as inputs
from . import sources
from .exits import WrongInput


@dataclass
class ConvertedGraph:
    """Graph that a command uses, and how it was obtained and checked.

    graph: the graph.
    seconds: the time for recording or loading it.
    verified: the result of ``verify``; None if it was not verified.
    not_verified: the reason why it could not be verified; empty if there is none.
    """

    graph: Graph
    seconds: float
    verified: dict[str, Any] | None = None
    not_verified: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the data that ``--json`` prints."""
        graph = self.graph
        total = graph.summary().total
        return {
            "name": graph.name,
            "source": graph.pipeline.frontend.name,
            "target": graph.pipeline.target.name,
            "variants": len(graph.variants),
            "inputs": [
                f"{value.name} {value.dtype}{list(value.spec.hints)}"
                for value in graph.variants[0].graph.inputs
            ],
            "operations": total.operations,
            "parameters": total.parameters,
            "multiply_adds": total.multiply_adds,
            "guards": list(graph.guards),
            "has_original": graph.pipeline.has_original,
            "seconds": round(self.seconds, 3),
            "verified": self.verified,
            "not_verified": self.not_verified,
        }


def graph_of(
    source: str, to: str | None, texts: Sequence[str], framework: str | None = None, freeze: bool = False
) -> ConvertedGraph:
    """Return the graph of a source: loaded if it was saved, otherwise recorded.

    ``texts`` are the values of ``--input``. Without any, a model records its own example inputs. Raise
    ``WrongInput`` if example inputs are needed, or are given for a saved graph.
    """
    started = time.perf_counter()
    if sources.is_saved(source):
        if texts:
            raise WrongInput(
                f"{source} is a saved graph, which is recorded already: --input is for originals"
            )
        with show_progress(f"Loading {source}"):
            return ConvertedGraph(api.load(source, to), time.perf_counter() - started)
    given = inputs.parse_inputs(texts)
    function = sources.original(source)
    names = inputs.names_of_arguments(function)
    options: dict[str, Any] = {"source": framework or sources.framework_in(function), "freeze": freeze}
    if any(given) or not names:
        options.update(args=given[0], kwargs=given[1])
    started = time.perf_counter()
    graph = api.compile(function, to=to, **options)
    # A model may provide its own example inputs. If the target is its framework, nothing is recorded yet.
    if not graph.variants and not any(given):
        _record_examples(graph)
    if not graph.variants:
        raise WrongInput(
            f"{source} needs example inputs, --input {names[0]}=float32[2,3]: its arguments are "
            f"{', '.join(names)}"
        )
    return ConvertedGraph(graph, time.perf_counter() - started)


def _record_examples(graph: Graph) -> None:
    # It is None if only a call can tell the framework.
    frontend = getattr(graph.pipeline, "frontend", None)
    if frontend is not None and (examples := frontend.example_inputs(graph.pipeline.function)):
        graph.add_variant((), examples, "its own example inputs")


def verify(made: ConvertedGraph, runs: int = 2) -> None:
    """Compare the graph with its original, and store the result in ``made.verified``.

    For a graph without its original, store the reason in ``made.not_verified``. Raise
    ``VerificationFailed`` if the results differ.
    """
    if not made.graph.pipeline.has_original:
        made.not_verified = "it was loaded from a file, without its original"
        return
    with show_progress(f"Verifying {made.graph.name}"):
        made.verified = asdict(made.graph.verify(runs))


def size_of(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*")) if path.is_dir() else path.stat().st_size
