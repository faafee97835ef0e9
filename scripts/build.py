"""Build the sdist, and the wheel from that sdist, into a folder: python scripts/build.py FOLDER

It works on copies, because a build/ left in the checkout would ship deleted modules in the next wheel. It
needs setuptools and no network.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOT_COPIED = shutil.ignore_patterns(".*", "build", "dist", "shared", "*.egg-info", "__pycache__", "results")


def build(kind: str, tree: Path, folder: Path) -> Path:
    """Build the ``sdist`` or ``wheel`` (``kind``) of ``tree`` into ``folder`` and return its path.

    Exit with the output of setuptools if it fails.
    """
    # The hook of setuptools is called directly, because the package build would install its own copy of
    # setuptools from the network.
    command = f"from setuptools import build_meta; print(build_meta.build_{kind}({str(folder)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", command], cwd=tree, check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"building the {kind} failed:\n{done.stdout}{done.stderr}")
    return folder / done.stdout.splitlines()[-1]


def build_both(folder: Path) -> tuple[Path, Path]:
    """Build the sdist of the checkout, and the wheel from the sdist alone; return both paths."""
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch, "copy")
        shutil.copytree(ROOT, copy, ignore=NOT_COPIED, symlinks=True)
        sdist = build("sdist", copy, folder)
        shutil.unpack_archive(sdist, scratch)
        return sdist, build("wheel", Path(scratch, sdist.name.removesuffix(".tar.gz")), folder)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(*build_both(Path(sys.argv[1])), sep="\n")
