"""The command line: convert, inspect, show and run graphs, and look at an installation. Needs typer and rich (``graph-compiler[cli]``)."""

from __future__ import annotations


def run() -> None:
    """Runs the command that the arguments of the process name."""
    from .app import app

    app()


__all__ = ["run"]
