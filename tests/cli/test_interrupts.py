"""Tests of Ctrl-C: a command ends at once and leaves no partly written file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import graph_compiler
from graph_compiler.runtime.saving.pieces import FILES, discard_partial, write

pytest.importorskip("typer")
pytest.importorskip("rich")

PROGRAM = """
import hashlib
import time


def sleeps(x):
    print("begun", flush=True)
    time.sleep(60)
    return x


def drops_it(x):
    print("begun", flush=True)
    try:
        time.sleep(60)
    except BaseException:
        time.sleep(60)
    return x


def computes_in_c(x):
    print("begun", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 200_000_000)
    return x

"""
# Time for a process to end on a busy machine. Without the handling it takes a minute.
SECONDS = 10


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "net.py").write_text(PROGRAM, "utf-8")
    return tmp_path


@pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
@pytest.mark.skipif(
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN,
    reason="what a shell runs in the background ignores this signal",
)
@pytest.mark.parametrize("function", ["sleeps", "drops_it", "computes_in_c"])
def test_a_command_ends_at_once(folder: Path, function: str) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(graph_compiler.__file__).parents[1]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    words = ["convert", f"net.py:{function}", "--to", "numpy", "-i", "x=float64[3]", "-o", "a.zip"]
    command = [sys.executable, "-m", "graph_compiler", *words]
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    while "begun" not in process.stdout.readline():
        pass
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, said = process.communicate(timeout=100)
    assert time.monotonic() - began < SECONDS
    assert process.returncode == 130 and said.strip() == "graph-compiler: interrupted"
    assert [file.name for file in folder.iterdir()] == ["net.py"]


def interrupted(*pieces: bytes) -> Iterator[bytes]:
    yield from pieces
    raise KeyboardInterrupt


@pytest.mark.parametrize("pieces", [(), (b"some",), (b"some", b"more")])
@pytest.mark.parametrize("name", ["a.zip", "a"])
def test_an_interrupted_file_is_not_there(tmp_path: Path, name: str, pieces: tuple[bytes, ...]) -> None:
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / name, {FILES[0]: [b"whole"], FILES[1]: interrupted(*pieces)})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a.zip", "a"])
def test_an_interrupted_file_leaves_what_was_there(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, {FILES[0]: [b"old"], FILES[1]: [b"older"]})
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / name, {FILES[0]: [b"new"], FILES[1]: interrupted(b"newer")})
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


@pytest.mark.parametrize("moved", [0, 1, 2])
def test_the_files_of_a_folder_are_of_one_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moved: int
) -> None:
    """Ctrl-C comes when only some of the files have been moved to their place."""
    folder, replace, count = tmp_path / "a", Path.replace, []
    write(folder, {FILES[0]: [b"old"], FILES[1]: [b"old"]})

    def interrupts(file: Path, target: Path) -> Path:
        count.append(file)
        if len(count) == moved + 1:
            raise KeyboardInterrupt
        return replace(file, target)

    monkeypatch.setattr(Path, "replace", interrupts)
    with pytest.raises(KeyboardInterrupt):
        write(folder, {FILES[0]: [b"new"], FILES[1]: [b"new"]})
    assert {
        file.name: file.read_bytes() for file in folder.iterdir() if file.name != FILES[2]
    } == dict.fromkeys(FILES[:2], b"new")


@pytest.mark.parametrize("name", ["a.zip", "a"])
def test_a_process_that_ends_discards_what_is_partial(tmp_path: Path, name: str) -> None:
    """The process ends from another thread than the one that writes."""

    def ends() -> Iterator[bytes]:
        yield b"some"
        assert [*tmp_path.rglob(".partial_*")]
        discard_partial()
        assert not [*tmp_path.rglob(".partial_*")]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / name, {FILES[0]: ends(), FILES[1]: []})
    assert not list(tmp_path.iterdir())
