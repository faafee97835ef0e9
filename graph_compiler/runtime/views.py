"""Methods that display a graph, and access to attributes of the original through its graph."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, ClassVar, Protocol

from ..registration import entry_method, trait


class GraphRenderer(Protocol):
    """Interface of the package ``visualise``, which displays graphs."""

    def show(self, graph: Any, path: str | os.PathLike[str] | None, open: bool | None) -> Path:
        """Write ``graph`` as an HTML page and return the page's path."""

    def summary(self, graph: Any, depth: int | None, variant: int) -> Any:
        """Return a table of the modules of ``graph``."""

    def notebook_html(self, graph: Any) -> str:
        """Return the HTML that a notebook displays for ``graph``."""


class DisplayMethods:
    """Mixin of :class:`Graph` with the methods that display a graph."""

    # Imports the package that draws at its first use. ``api`` sets it, because ``runtime`` ranks below
    # ``visualise``.
    _renderer: ClassVar[Callable[[], GraphRenderer]]

    def show(self, path: str | os.PathLike[str] | None = None, open: bool | None = None) -> Path:
        """Write the graph as one self-contained HTML page, and return its path.

        Modules are groups that a click expands. An operation shows its shapes, its generated line and
        yours. The page also lists guards and state, and has a search field.

        Args:
            path: File to write or replace. Default: a file in a temporary folder.
            open: True shows the page in the browser, or below the cell of a notebook. None does so if there
                is no ``path`` and a person seems to be at the terminal or notebook.

        Raises:
            FileNotFoundError: The folder of ``path`` does not exist.
            NotTraced: Nothing was recorded yet.

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
            variant: Index of the variant, from 0.

        Raises:
            InvalidOption: ``depth`` is negative, there is no such variant, or one of them is not an int.
            NotTraced: Nothing was recorded yet.

        >>> import torch, graph_compiler
        >>> graph = graph_compiler.compile(torch.nn.Linear(3, 2), args=(torch.ones(4, 3),))
        >>> graph.summary().total.multiply_adds
        24
        """
        return type(self)._renderer().summary(self, depth, variant)

    def _repr_html_(self) -> str:
        return type(self)._renderer().notebook_html(self)


# --------------------------------------------------------------------------------------- forwarded attributes
# Attributes of the original that its graph has too, such as ``config``, ``device`` and ``encode``.

_FUNCTIONS = (FunctionType, MethodType, BuiltinFunctionType)


def forwarded_attribute(graph: Any, name: str) -> Any:
    """Return the attribute ``name`` that a graph takes from its original, or raise ``AttributeError``."""
    # ``copy`` and ``pickle`` look for attributes of an object before it has any.
    original = vars(graph)["_pipeline"].function if "_pipeline" in vars(graph) else None
    if original is None or name.startswith("_") or isinstance(original, _FUNCTIONS):
        raise AttributeError(f"{type(graph).__name__!r} object has no attribute {name!r}")
    try:
        item = getattr(original, name)
    except AttributeError as problem:
        # A property of the original may have raised it, so its text is shown, too.
        raise AttributeError(
            f"neither the graph {graph.name} nor its original has an attribute {name!r}: {problem}"
        ) from None
    # Other libraries inspect the signature of the entry method and may call it, so it is the graph.
    if name in trait("entry_methods"):
        return graph
    if isinstance(getattr(item, "__self__", item), type) or not callable(item):
        return item
    is_method = (
        isinstance(item, MethodType)
        and item.__self__ is original
        and entry_method(type(original)) is not None
    )
    if is_method and getattr(graph._pipeline, "keeps_calls", False):
        return MethodType(item.__func__, _as_original(graph, original))
    raise AttributeError(
        f"{name} of the original {graph.name} would run that and not its graph, which has its plain "
        f"attributes (config, device, dtype), and in the same framework its methods. Call {name} of the "
        "original"
    )


def _as_original(graph: Any, original: Any) -> Any:
    """Return an instance of a subclass of the original's class whose entry methods are the graph.

    It shares the original's ``__dict__``.
    """
    cls = type(original)
    methods = [name for name in trait("entry_methods") if hasattr(cls, name)]
    made: Any = object.__new__(
        type(
            cls.__name__,
            (cls,),
            {**dict.fromkeys(methods, staticmethod(graph)), "__module__": cls.__module__},
        )
    )
    made.__dict__ = original.__dict__
    return made
