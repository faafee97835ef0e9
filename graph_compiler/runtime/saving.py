"""Writes graphs to files: JSON and safetensors in a zip or a folder. No pickle, and no source: it is written anew from the graph."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..ir.serialisation import Encoder, named
from .piecewise import FILES, safetensors_of, write

if TYPE_CHECKING:
    from .graph import Graph

FORMAT = "graph_compiler"
VERSION = 1


def save(graph: Graph, path: str | os.PathLike[str]) -> None:
    """Writes all variants of a graph: into a zip file where ``path`` has a suffix, otherwise into a folder."""
    parameters = graph.parameters
    arrays = {f"parameters/{name}": array for name, array in parameters.items()}
    bodies = []
    for number, variant in enumerate(graph.variants):
        bodies.append(Encoder(variant.graph, graph.pipeline.frontend.files.spell).graph_json())
        arrays.update((f"constants/{number}/{name}", array) for name, array in variant.constants.items())
    target = graph.variants[0].target
    about = {
        "format": FORMAT,
        "version": VERSION,
        "name": named(graph.name),
        "source": graph.pipeline.frontend.name,
        "target": target.name,
    }
    text = json.dumps(
        {
            **about,
            "trained": sorted(graph.trained),
            "array_shapes": {name: list(a.shape) for name, a in arrays.items()},
            "variants": bodies,
        },
        allow_nan=False,
    ).encode()
    write(Path(path), dict(zip(FILES, ([text], safetensors_of(arrays, target.to_bytes)))))
