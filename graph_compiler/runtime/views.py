"""Methods that display a graph. The renderer is set by a package above this one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Protocol


class GraphRenderer(Protocol):
    """Renderer of graphs, implemented by the package ``visualise``."""

    def show(self, graph: Any, path: str | os.PathLike[str] | None, open: bool | None) -> Path:
        """Write an HTML page and return its path."""

    def summary(self, graph: Any, depth: int | None, variant: int) -> Any:
        """Return a table of the modules."""

    def notebook_html(self, graph: Any) -> str:
        """Return the HTML of a graph as the value of a notebook cell."""


class DisplayMethods:
    """The methods of a graph that display it."""

    # Imports the package that draws at its first use. ``api`` sets it, because ``runtime`` ranks below
    # ``visualise``.
    _renderer: ClassVar[Callable[[], GraphRenderer]]

    def show(self, path: str | os.PathLike[str] | None = None, open: bool | None = None) -> Path:
        """Write the graph as one self-contained HTML page, and return its path.

        Modules are groups that a click expands. An operation shows its shapes, its generated line and yours.
        Guards, state and a search are next to it.

        Args:
            path: File to write. Default: a file in a temporary folder.
            open: True shows the page in the browser, or below the cell of a notebook. None does so if there
                is no ``path`` and a person is at the terminal or notebook.

        >>> import os, tempfile, torch, graph_compiler
        >>> graph = graph_compiler.compile(torch.nn.Linear(3, 2), args=(torch.ones(1, 3),))
        >>> graph.show(os.path.join(tempfile.mkdtemp(), "linear.html")).name
        'linear.html'
        """
        return type(self)._renderer().show(self, path, open)

    def summary(self, depth: int | None = None, variant: int = 0) -> Any:
        """Return a table of the modules with operations, shapes, parameters and multiply-adds.

        Shapes and multiply-adds are those at the recorded sizes. ``str()`` of the table is text; rich and
        notebooks draw it. ``rows`` holds the data of all levels, and ``to_dicts()`` returns it as dicts.

        Args:
            depth: Number of levels of modules to show. Default: all.
            variant: Index of the variant.

        >>> import torch, graph_compiler
        >>> graph = graph_compiler.compile(torch.nn.Linear(3, 2), args=(torch.ones(4, 3),))
        >>> graph.summary().total.multiply_adds
        24
        """
        return type(self)._renderer().summary(self, depth, variant)

    def _repr_html_(self) -> str:
        return type(self)._renderer().notebook_html(self)
