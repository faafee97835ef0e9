"""Tests of how far the search goes in large and in installed packages."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graph_compiler.recording import Reached, facts_outside
from graph_compiler.recording.code.ownership import owner_of, owner_of_file

_LAYER = """
class Layer{i}(Layer{base}):
    rate_{i} = {i}

    def apply_{i}(self, x):
        try:
            return Layer{next}().apply_{next}(x) * self.rate_{i}
        except AttributeError:
            return self.other_{i}
"""


def _package(count: int) -> Callable[..., Any]:
    """Return the first method of a chain of classes, each of which refers to the next one."""
    module = types.ModuleType("chain_of_layers")
    exec("class Layer:\n    pass\n", vars(module))
    exec(
        "".join(_LAYER.format(i=i, base=i % 7 if i > 6 else "", next=i + 1) for i in range(count)),
        vars(module),
    )
    return vars(module)["Layer0"].apply_0  # type: ignore[no-any-return]


def _calls(function: Callable[..., Any], *args: Any) -> int:
    """Return the number of Python and C calls that a call of ``function`` makes."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        function(*args)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("ask", [Reached, lambda roots: facts_outside(Reached(roots))], ids=["walk", "facts"])
def test_the_walk_takes_time_in_proportion_to_the_number_of_classes(ask: Callable[[list[Any]], Any]) -> None:
    counts = [_calls(ask, [_package(size)]) for size in (600, 1200)]
    assert counts[1] < 2.3 * counts[0], counts


def test_each_class_of_a_chain_is_reached() -> None:
    reached = Reached([_package(300)])
    # The base class is among them.
    assert sum(isinstance(owner, type) for owner in reached.owners) == 301


def test_code_in_a_target_folder_of_an_installer_is_a_librarys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("installed_here", "written_here"):
        (tmp_path / f"{name}.py").write_text("def double(x):\n    return 2 * x\n")
    record = tmp_path / "installed_here-1.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: installed-here\nVersion: 1.0\n")
    (record / "RECORD").write_text("installed_here.py,,\ninstalled_here-1.0.dist-info/RECORD,,\n")
    sources = tmp_path / "written_here.egg-info"
    sources.mkdir()
    (sources / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: written-here\nVersion: 1.0\n")
    (sources / "SOURCES.txt").write_text("written_here.py\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, owner in (("installed_here", "library"), ("written_here", "user")):
        module = importlib.import_module(name)
        monkeypatch.delitem(sys.modules, name)
        assert owner_of(module.double) == owner
        assert owner_of_file(module.__file__ or "") == owner
