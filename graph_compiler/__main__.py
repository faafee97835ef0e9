"""Entry point of ``python -m graph_compiler`` and of the command ``graph-compiler``."""

from __future__ import annotations

import importlib.util
import sys


def main() -> None:
    """Run the command line; exit with status 5 if ``typer`` or ``rich`` is not installed."""
    missing = [name for name in ("typer", "rich") if importlib.util.find_spec(name) is None]
    if missing:
        sys.stderr.write(
            f"graph-compiler: the command line needs {' and '.join(missing)}; "
            "install it with: pip install graph-compiler[cli]\n"
        )
        sys.exit(5)
    try:
        from .cli import run
        from .cli.exits import end_when_interrupted, exit_interrupted
    except KeyboardInterrupt:
        # The exit status of a process that Ctrl-C ended: 128 and the number of SIGINT.
        sys.exit(130)
    end_when_interrupted()
    try:
        run()
    except SystemExit as ended:
        if ended.code == 130:
            exit_interrupted()
        raise


if __name__ == "__main__":
    main()
