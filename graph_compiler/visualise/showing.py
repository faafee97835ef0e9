"""Display of the page of a graph in a browser or notebook."""

from __future__ import annotations

import html as escaping
import os
import re
import sys
import tempfile
import webbrowser
from pathlib import Path

from ..ir.node import count_all
from ..runtime.graph import Graph
from .page import html

_LARGEST_IN_NOTEBOOK = 8 << 20  # characters: the page becomes a part of the notebook's file
_MOST_LINES = 200


def show(graph: Graph, path: str | os.PathLike[str] | None, open: bool | None) -> Path:
    """Write the page and open it; see :meth:`graph_compiler.Graph.show`."""
    text = html(graph)
    file = Path(path) if path is not None else Path(tempfile.mkdtemp(prefix="graph_compiler_")) / f"{_file_name(graph.name)}.html"
    file.write_text(text, "utf-8")
    file = file.resolve()
    if open or (open is None and path is None and _somebody_looks()):
        _open(text, file)
    return file


def _open(text: str, file: Path) -> None:
    if not (_in_notebook() and _shown_in_notebook(text)):
        webbrowser.open(file.as_uri())


def notebook_html(graph: Graph) -> str:
    """Return the HTML of a graph as the value of a notebook cell: a line, and its source to unfold."""
    head = escaping.escape(repr(graph))
    parts = [f"<code>{head}</code>"]
    for number, variant in enumerate(graph.variants):
        lines = variant.source.splitlines()
        more = f"\n… {len(lines) - _MOST_LINES} more lines: see .variants[{number}].source" if len(lines) > _MOST_LINES else ""
        inputs = ", ".join(f"{value.name} {value.dtype}{list(value.spec.hints)}" for value in variant.graph.inputs)
        title = escaping.escape(f"variant {number}: {inputs or 'no arrays'}; {count_all(variant.graph.nodes)} operations")
        text = escaping.escape("\n".join(lines[:_MOST_LINES]) + more)
        parts.append(f"<details><summary>{title}</summary><pre>{text}</pre></details>")
    return f"<div>{''.join(parts)}<small><code>.show()</code> draws it, <code>.summary()</code> counts it</small></div>"


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name).strip("._")[:80] or "graph"


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None  # a terminal of IPython has none


def _somebody_looks() -> bool:
    """Return True in a notebook, and in a terminal with a display."""
    if _in_notebook():
        return True
    has_screen = sys.platform in ("win32", "darwin") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return has_screen and sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("CI")


def _shown_in_notebook(text: str) -> bool:
    if len(text) > _LARGEST_IN_NOTEBOOK:
        return False
    from importlib import import_module

    display = import_module("IPython.display")
    frame = f'<iframe srcdoc="{escaping.escape(text)}" style="width: 100%; height: 640px; border: 0"></iframe>'
    display.display(display.HTML(frame))
    return True
