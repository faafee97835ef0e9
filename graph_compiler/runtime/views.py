"""What a graph shows of itself. The drawing stands in a room above this one, which ``api`` names."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Protocol


class Views(Protocol):
    """The room that draws and counts graphs."""

    def show(self, graph: Any, path: str | os.PathLike[str] | None, open: bool | None) -> Path:
        """Writes a page."""

    def summary(self, graph: Any, depth: int | None, variant: int) -> Any:
        """A table."""

    def notebook_html(self, graph: Any) -> str:
        """A graph as the value of a notebook's cell."""


class Viewed:
    """The methods of a graph that show it."""

    _views: ClassVar[Callable[[], Views]]  # loads the room at its first use

    def show(self, path: str | os.PathLike[str] | None = None, open: bool | None = None) -> Path:
        """Writes the graph as one HTML page that needs nothing else, and gives its path.

        Modules are groups that open by a click; an operation shows its shapes, its line in the generated source and yours; guards, state
        and a search over all names stand beside it. Without ``path`` the page goes to a temporary folder. ``open`` shows it in the
        browser, in a notebook below the cell; None does so where no ``path`` is given and somebody sits at the terminal or notebook.

        >>> import os, tempfile, torch, graph_compiler
        >>> graph = graph_compiler.compile(torch.nn.Linear(3, 2), args=(torch.ones(1, 3),))
        >>> graph.show(os.path.join(tempfile.mkdtemp(), "linear.html")).name
        'linear.html'
        """
        return type(self)._views().show(self, path, open)

    def summary(self, depth: int | None = None, variant: int = 0) -> Any:
        """A table of the modules: class, operations, output shapes, parameters and multiply-adds at the sizes that were recorded.

        ``depth`` is how many levels of modules are shown. The table is text by ``str()``, draws itself in rich and in notebooks, and holds
        its data in ``rows`` (all levels, the whole graph first), which :meth:`to_dicts` gives as plain dicts.

        >>> import torch, graph_compiler
        >>> graph = graph_compiler.compile(torch.nn.Linear(3, 2), args=(torch.ones(4, 3),))
        >>> graph.summary().total.multiply_adds
        24
        """
        return type(self)._views().summary(self, depth, variant)

    def _repr_html_(self) -> str:
        return type(self)._views().notebook_html(self)
