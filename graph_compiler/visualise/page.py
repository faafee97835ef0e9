"""Self-contained HTML page of a graph: styles, scripts, libraries and data are embedded."""

from __future__ import annotations

import functools
import html as escaping
import json
from importlib import resources
from typing import Any

from ..runtime.graph import Graph
from .description import describe

_LIBRARIES = ("vendor/d3.min.js", "vendor/dagre.min.js")
_SCRIPTS = ("model.js", "layout.js", "drawing.js", "panel.js", "page.js")


def html(graph: Graph) -> str:
    """Return the page of a graph."""
    frontend = graph.pipeline.frontend.name
    data = {
        "name": graph.name,
        "from": frontend,
        "to": graph.pipeline.target.name,
        "variants": [describe(variant) for variant in graph.variants],
    }
    scripts = "\n".join(_asset(name) for name in _SCRIPTS)
    parts = {
        "title": escaping.escape(f"{graph.name}: {frontend} to {data['to']}"),
        "styles": _asset("page.css"),
        "libraries": "\n".join(f"<script>{_asset(name)}</script>" for name in _LIBRARIES),
        "data": _embedded(data),
        "scripts": f'<script>"use strict";(() => {{\n{scripts}\n}})();</script>',
    }
    text = _asset("page.html")
    for name, part in parts.items():
        before, _, after = text.partition(f"<!-- {name} -->")
        text = f"{before}{part}{after}"
    return text


def _embedded(data: Any) -> str:
    """Return JSON for a script element. `<` is escaped, so the user's strings cannot end the element."""
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


@functools.cache
def _asset(name: str) -> str:
    return resources.files(__package__).joinpath("assets", *name.split("/")).read_text("utf-8")
