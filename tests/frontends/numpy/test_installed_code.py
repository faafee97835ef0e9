"""Tests of installed libraries: their Python code is recorded like the user's. The library is in a folder
named like an installer's.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import graph_compiler
from tests.support.compare import assert_same

_INIT = """
from .tools import filled, looped, standardised
from .tables import METHODS, Smoother, counted, lazily, measure, powers, traced_twice, through_namespace
"""
_TOOLS = """
import numpy as np
from numpy import zeros as blank

SCALE = np.array([1.0, 2.0, 4.0])


def filled(x):
    out = blank(x.shape)
    out[1:] = x[:-1] * 2
    return out


def looped(x):
    total = np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        total[:] += x[i] * (i + 1)
    return total


def standardised(x):
    return (x - np.mean(x, 0)) / len(x) * SCALE
"""
_TABLES = """
import numpy as np
from . import compat
from .tools import filled, looped

METHODS = {"filled": filled, "looped": looped}
STATE = {"calls": 0}


def measure(x, method="looped"):
    return METHODS[method](x)


def namespace_of(x):
    return compat


def through_namespace(x):
    xp = namespace_of(x)
    return xp.spread(x) + 1


class Smoother:
    def __init__(self, rate):
        self.rate = rate

    def __call__(self, x):
        return self._blend(x, np.zeros_like(x))

    def _blend(self, x, state):
        state[0] = x[0]
        for k in range(1, x.shape[0]):
            state[k] = self.rate * state[k - 1] + (1 - self.rate) * x[k]
        return state


def lazily(x):
    from .lazy import half

    return half(x)


def counted(x):
    STATE["calls"] += 1
    return x * STATE["calls"]


def powers(x):
    def row(k):
        made = np.empty(x.shape)
        made[...] = x**k
        return made

    return np.stack([row(k) for k in range(3)])


def traced_twice(x):
    return filled(filled(x))
"""
_FILES = {
    "__init__.py": _INIT,
    "tools.py": _TOOLS,
    "tables.py": _TABLES,
    "compat.py": "from numpy import *\nimport numpy as np\n\ndef spread(x):\n    out = ones(x.shape)\n    out[0] = x[0]\n    return out\n",
    "lazy.py": "import numpy as np\n\ndef half(x):\n    out = np.empty_like(x)\n    out[:] = x / 2\n    return out\n",
}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    folder = tmp_path_factory.mktemp("lib") / "site-packages"
    (folder / "installed_measures").mkdir(parents=True)
    for name, text in _FILES.items():
        (folder / "installed_measures" / name).write_text(text, "utf-8")
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module("installed_measures")
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.partition(".")[0] == "installed_measures"]:
            del sys.modules[name]


CASES: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "a function that fills an array": lambda package: package.filled,
    "a loop": lambda package: package.looped,
    "an array that the library keeps": lambda package: package.standardised,
    "a table of functions": lambda package: package.measure,
    "an item of a table": lambda package: lambda x: package.METHODS["filled"](x * 2),
    "an object that is made inside": lambda package: lambda x: package.Smoother(0.9)(x * 2),
    "an object that is given": lambda package: package.Smoother(0.9),
    "a module that a function returns": lambda package: package.through_namespace,
    "a module that is imported inside": lambda package: package.lazily,
    "a function inside of a function": lambda package: package.powers,
    "a function of the user's around two": lambda package: (
        lambda x: package.filled(package.measure(x, method="filled"))
    ),
}


@pytest.mark.parametrize("target", ["torch", "numpy"])
@pytest.mark.parametrize("case", CASES)
def test_library_code_is_recorded(case: str, target: str, package: ModuleType) -> None:
    function = CASES[case](package)
    graph = graph_compiler.transpile(function, source="numpy", to=target)
    for rows in (4, 7):
        x = np.random.RandomState(rows).rand(rows, 3)
        assert_same(graph(x), function(x))
    assert len(graph.variants) == 1


def test_state_of_a_library_is_state(package: ModuleType) -> None:
    function, state = package.counted, package.tables.STATE
    graph = graph_compiler.compile(function, source="numpy")
    found = [float(graph(np.ones(2))[0]) for _ in range(4)]
    assert (found, state) == ([1.0, 2.0, 3.0, 4.0], {"calls": 4})


def test_the_library_is_left_as_it_was(package: ModuleType) -> None:
    before = {
        name: dict(vars(sys.modules[name])) for name in sys.modules if name.startswith("installed_measures")
    }
    graph_compiler.transpile(
        lambda x: package.measure(x, "filled"), source="numpy", to="torch", args=(np.ones((3, 3)),)
    )
    for name, held in before.items():
        now = vars(sys.modules[name])
        assert now.keys() == held.keys()
        assert all(now[key] is item for key, item in held.items())


def test_the_walk_does_not_depend_on_the_size_of_a_package(tmp_path: Path) -> None:
    from graph_compiler.recording.reachability.libraries import library_code

    folder = tmp_path / "site-packages"
    folder.mkdir()
    parts = "\n".join(f"def part_{i}(x):\n    return part_{i + 1}(x)\n" for i in range(3000))
    (folder / "installed_large.py").write_text(
        f"{parts}\ndef used(x):\n    return helper(x)\n\ndef helper(x):\n    return x\n", "utf-8"
    )
    sys.path.insert(0, str(folder))
    try:
        used = importlib.import_module("installed_large").used
    finally:
        sys.path.remove(str(folder))
        del sys.modules["installed_large"]
    assert sorted(function.__name__ for function in library_code([used]).functions) == ["helper", "used"]
