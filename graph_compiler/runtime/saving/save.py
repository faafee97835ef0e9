"""Saving of graphs as JSON and safetensors in a zip file or a folder.

Neither pickles nor source code are stored; the source is written again from the graph.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from ...errors import GraphCompilerError, InvalidFile, NotSerialisable
from ...ir.json import Encoder, named
from ...ops.dtypes import dtype_name
from ...recording.state.container_updates import updates_to_json
from ..calling.binding import has_hooks
from ..options import path_of
from .decode import FORMAT, VERSION, binding_to_json, require_readable
from .pieces import FILES, require_encoding, safetensors_of, write, write_zip

if TYPE_CHECKING:
    from ..recorded_graph import RecordedGraph
    from ..variant import Variant


def save(graph: RecordedGraph, path: str | os.PathLike[str]) -> None:
    write(path_of("path", path), _files_of(graph))


def to_bytes(graph: RecordedGraph) -> bytes:
    held = io.BytesIO()
    try:
        write_zip(held, _files_of(graph))
    except InvalidFile as problem:
        raise NotSerialisable(f"{graph.name} can be neither pickled nor copied: {problem}") from problem
    return held.getvalue()


def _files_of(graph: RecordedGraph) -> dict[str, Iterable[bytes]]:
    parameters = graph.parameters
    arrays = {f"parameters/{name}": array for name, array in parameters.items()}
    bodies = []
    # A file does not hold what variants assume of globals and attributes, and a loaded graph runs the first
    # variant that fits. So the variants that hold now come first.
    variants = sorted(graph.variants, key=lambda variant: not variant.environment.holds())
    for number, variant in enumerate(variants):
        encoder = Encoder(variant.graph, graph._pipeline.frontend.files.spell)
        bodies.append(
            {**encoder.graph_json(), "updates": updates_to_json(variant.graph.state.updates, encoder.item)}
        )
        arrays.update((f"constants/{number}/{name}", array) for name, array in variant.constants.items())
    target = graph.variants[0].target
    about = {
        "format": FORMAT,
        "version": VERSION,
        "name": named(graph.name),
        "source": graph._pipeline.frontend.name,
        "target": target.name,
    }
    text = json.dumps(
        {
            **about,
            "trained": sorted(graph.trained),
            "frozen": sorted(graph.frozen),
            "modes": [_modes_of(variant) for variant in variants],
            "training": _mode_of(variants[0]),
            "static": [sorted(graph._statics.names), sorted(graph._statics.numbers)]
            if graph._statics is not None
            else None,
            "signature": binding_to_json(
                None if has_hooks(graph._pipeline.function) else graph._alternative_calls.binding
            ),
            "array_shapes": {name: list(a.shape) for name, a in arrays.items()},
            "variants": bodies,
        },
        allow_nan=False,
    ).encode()
    # Read back before anything is written, so that a graph that cannot be loaded leaves the old file.
    _read_back(graph, text, arrays)
    return dict(zip(FILES, ([text], safetensors_of(arrays, target.to_bytes))))


def _modes_of(variant: Variant) -> list[bool]:
    modes = []
    for mode in (True, False):
        with nullcontext() if variant.recording is None else variant.recording.weights.in_mode(mode):
            modes += [mode] if variant.environment.holds() else []
    return modes


def _mode_of(variant: Variant) -> bool | None:
    weights = None if variant.recording is None else variant.recording.weights
    return weights.is_training() if weights is not None and weights.has_modes else None


def _read_back(graph: RecordedGraph, text: bytes, arrays: Mapping[str, Any]) -> None:
    dtypes = {name: dtype_name(array) for name, array in arrays.items()}
    for name, dtype in dtypes.items():
        require_encoding(name, dtype)
    try:
        require_readable(text, arrays, dtypes, graph._pipeline.frontend, graph._pipeline.target)
    except GraphCompilerError as problem:
        raise InvalidFile(
            f"{graph.name} cannot be saved, for it could not be loaded again: {type(problem).__name__}: "
            f"{problem}. Nothing was written"
        ) from problem
