"""Command line: convert, inspect, show and run graphs, and check an installation.

Needs typer and rich (``graph-compiler[cli]``).
"""

from __future__ import annotations


def run() -> None:
    """Run the command that the arguments of the process name."""
    from .app import app

    app()


__all__ = ["run"]
