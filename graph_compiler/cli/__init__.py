"""Command line: convert, inspect, show and run graphs, and check an installation.

Needs typer and rich (``graph-compiler[cli]``).
"""

from __future__ import annotations


def run() -> None:
    from .app import app

    app()


__all__ = ["run"]
