"""An extension of griffe, which reads docstrings for the site: examples in fences, and roles of Sphinx as
code.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import griffe

sys.path.insert(0, str(Path(__file__).resolve().parent))
from docs_pages import plain


class Docstrings(griffe.Extension):
    """Rewrite each docstring as Markdown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = plain(obj.docstring.value)
