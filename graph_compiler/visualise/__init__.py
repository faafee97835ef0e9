"""Views of a graph: an HTML page (``show``) and a table of its modules (``summary``)."""

from __future__ import annotations

from .page import html, notebook_html, show
from .summary import Summary, summary

__all__ = ["Summary", "html", "notebook_html", "show", "summary"]
