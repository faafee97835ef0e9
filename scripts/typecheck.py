"""Type-check the three folders of the package as the one package they are installed as.

Arguments go to mypy. mypy does not follow the finder of graph_compiler/_rooms.py: in the checkout it reports
success after having checked only a part of the files. So it runs in a temporary tree of links that looks
like the installed package.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def link_tree(scratch: Path) -> None:
    """Create the tree of the installed package below ``scratch``, as links."""
    package = scratch / "graph_compiler"
    package.mkdir()
    for item in [*(ROOT / "graph_compiler").iterdir(), ROOT / "backends", ROOT / "frontends"]:
        (package / item.name).symlink_to(item)


def main(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        link_tree(Path(scratch))
        options = [
            "--config-file",
            str(ROOT / "pyproject.toml"),
            "--cache-dir",
            str(ROOT / ".mypy_cache"),
            "-p",
            "graph_compiler",
        ]
        return subprocess.run(
            [sys.executable, "-m", "mypy", *options, *arguments], cwd=scratch, check=False
        ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
