"""What people see of a graph: a page to look through it (``show``), and a table of its modules (``summary``)."""

from __future__ import annotations

from .page import html
from .showing import notebook_html, show

__all__ = ["html", "notebook_html", "show"]
