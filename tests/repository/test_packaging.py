"""Tests of the wheel built from the sdist: it contains every file of the package under the name by which it
is imported.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def built(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return (sdist, wheel), built once per module."""
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, checkout / "scripts" / "build.py", folder],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    sdist, wheel = done.stdout.splitlines()[-2:]
    return Path(sdist), Path(wheel)


def test_wheel_holds_every_file_of_the_rooms(built: tuple[Path, Path], checkout: Path) -> None:
    files = {
        Path("graph_compiler", *file.relative_to(checkout).parts[room == "graph_compiler" :]).as_posix()
        for room in ("graph_compiler", "backends", "frontends")
        for file in (checkout / room).rglob("*.py")
    }
    with zipfile.ZipFile(built[1]) as wheel:
        names = {name for name in wheel.namelist() if name.endswith(".py")}
    assert {"graph_compiler/backends/__init__.py", "graph_compiler/frontends/__init__.py"} <= names
    assert names == files


def test_wheel_and_sdist_hold_what_pages_are_made_of(built: tuple[Path, Path], checkout: Path) -> None:
    files = {
        file.relative_to(checkout).as_posix()
        for file in (checkout / "graph_compiler/visualise/assets").rglob("*")
        if file.is_file()
    }
    assert {
        "graph_compiler/visualise/assets/vendor/d3.LICENSE",
        "graph_compiler/visualise/assets/vendor/dagre.LICENSE",
    } <= files
    with zipfile.ZipFile(built[1]) as wheel, tarfile.open(built[0]) as sdist:
        assert files <= set(wheel.namelist())
        assert files <= {name.partition("/")[2] for name in sdist.getnames()}


def test_wheel_has_one_top_level_package(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[1]) as wheel:
        top = {name.split("/")[0] for name in wheel.namelist()}
        assert "graph_compiler/py.typed" in wheel.namelist()
        points = next(name for name in wheel.namelist() if name.endswith("entry_points.txt"))
        assert "graph-compiler = graph_compiler.__main__:main" in wheel.read(points).decode()
    assert {name for name in top if not name.endswith(".dist-info")} == {"graph_compiler"}


def test_sdist_keeps_the_layout(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[0]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "constraints.txt",
        "backends/__init__.py",
        "frontends/__init__.py",
    } <= names
    assert {"tests/conftest.py", "scripts/test", "docs/architecture.md"} <= names
    assert not [name for name in names if "__pycache__" in name]


def test_building_leaves_nothing_behind(built: tuple[Path, Path], checkout: Path) -> None:
    assert built
    assert not (checkout / "build").exists()
