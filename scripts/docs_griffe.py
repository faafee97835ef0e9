"""Extension of griffe, which reads docstrings for the site: fences examples and replaces roles of Sphinx."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import griffe

sys.path.insert(0, str(Path(__file__).resolve().parent))
from docs_pages import plain


class Docstrings(griffe.Extension):
    """Extension of griffe that rewrites each docstring as Markdown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = plain(obj.docstring.value)
