"""Tests of imports inside a recorded function: the module's top level runs outside of the recording."""

from __future__ import annotations

import importlib
import random
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler.errors import TracingError

X = np.linspace(-1, 1, 6, dtype=np.float32)
ARRAYS: dict[str, str] = {
    "torch": "torch.ones(3)",
    "jax": "jax.numpy.ones(3)",
    "tensorflow": "tensorflow.ones(3)",
    "numpy": "numpy.ones(3)",
}
DRAWS = {
    "torch": "torch.rand(3)", "jax": "jax.random.normal(jax.random.key(0), (3,))", "tensorflow": "tensorflow.random.uniform((3,))",
    "numpy": "numpy.random.rand(3)",
}  # fmt: skip
TOP_LEVEL = """
    import os, random, secrets, time, uuid
    import numpy
    import {framework}

    def _drawn():
        return random.gauss(0, 1)

    NUMBERS = [random.random(), _drawn(), float(numpy.random.rand(3)[0]), numpy.random.default_rng().random()]
    NAME = uuid.uuid4().hex + secrets.token_hex(4)
    STARTED = time.time(), os.environ.get("NOTHING"), uuid.uuid4().int % 3
    ARRAY = {array}
    DRAWN = {drawn}
    runs = []
    runs.append(1)

    def twice(x):
        return x * 2 + ARRAY * 0
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Return a function that writes a new module ``imported_here`` for a framework."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def written(framework: str) -> None:
        lines = TOP_LEVEL.format(
            framework=framework, array=ARRAYS[framework], drawn=DRAWS[framework]
        ).splitlines()
        (tmp_path / "imported_here.py").write_text("\n".join(line[4:] for line in lines))
        importlib.invalidate_caches()

    sys.modules.pop("imported_here", None)
    yield written
    sys.modules.pop("imported_here", None)


def by_statement(x: Any) -> Any:
    import imported_here  # type: ignore[import-not-found]

    return imported_here.twice(x)


def by_name_in_it(x: Any) -> Any:
    from imported_here import twice

    return twice(x)


def by_function(x: Any) -> Any:
    return importlib.import_module("imported_here").twice(x)


def array_of(framework: str, values: Any) -> Any:
    if framework == "numpy":
        return np.asarray(values)
    library = importlib.import_module("jax.numpy" if framework == "jax" else framework)
    return library.asarray(values) if framework != "tensorflow" else library.constant(values)


@pytest.mark.parametrize("function", [by_statement, by_name_in_it, by_function])
@pytest.mark.parametrize("framework", ARRAYS)
def test_the_top_level_of_an_imported_module_is_not_recorded(
    framework: str, function: Any, module: Callable[[str], None]
) -> None:
    pytest.importorskip(framework)
    module(framework)
    x = array_of(framework, np.float32([1, 2, 3]))
    graph = graph_compiler.compile(function, source=framework)
    for factor in (1, 2, 3):
        np.testing.assert_allclose(np.asarray(graph(x * factor)), np.asarray(x) * 2 * factor)
    loaded = sys.modules["imported_here"]
    assert (
        loaded.runs == [1] and np.shape(loaded.ARRAY) == (3,) and np.isfinite(np.asarray(loaded.DRAWN)).all()
    )
    operations = graph.variants[0].source
    assert "rand" not in operations and "normal" not in operations


def test_a_module_that_an_inner_function_looks_up_is_watched(module: Callable[[str], None]) -> None:
    module("numpy")
    importlib.import_module("imported_here").FACTOR = 2

    def scaled(x: Any) -> Any:
        def factor() -> Any:
            return sys.modules["imported_here"].FACTOR

        return x * factor()

    graph = graph_compiler.compile(scaled, source="numpy")
    for number in (2, 5):
        sys.modules["imported_here"].FACTOR = number
        np.testing.assert_array_equal(graph(X), X * number)


@pytest.mark.parametrize("framework", ["torch", "jax", "numpy"])
def test_what_the_function_itself_draws_after_an_import_is_told(
    framework: str, module: Callable[[str], None]
) -> None:
    module(framework)

    def draws(x: Any) -> Any:
        import imported_here

        return imported_here.twice(x) * secrets_of_now()

    def secrets_of_now() -> int:
        return uuid.uuid4().int % 7

    with pytest.raises(TracingError, match=r"gives something else at each call"):
        graph_compiler.compile(draws, source=framework, args=(array_of(framework, X[:3]),))


RELATIVE = {
    "a name of the parent": "from ..settings import SCALE",
    "a module of the parent": "from .. import settings; SCALE = settings.SCALE",
    "a name of the own package": "from .near import SCALE",
    "a module of the own package": "from . import near; SCALE = near.SCALE",
}


@pytest.mark.parametrize("framework", ARRAYS)
@pytest.mark.parametrize("statement", RELATIVE.values(), ids=RELATIVE)
def test_names_of_relative_imports_are_guarded(
    statement: str, framework: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(framework)
    inner = tmp_path / "package_here" / "inner"
    inner.mkdir(parents=True)
    for folder in (inner.parent, inner):
        (folder / "__init__.py").write_text("")
    (inner.parent / "settings.py").write_text("SCALE = 2.0\n")
    (inner / "near.py").write_text("SCALE = 2.0\n")
    (inner / "code.py").write_text(f"def scaled(x):\n    {statement}\n    return x * SCALE\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        code = importlib.import_module("package_here.inner.code")
        modules = [importlib.import_module(f"package_here.{name}") for name in ("settings", "inner.near")]
        graph = graph_compiler.compile(code.scaled, source=framework)
        for scale in (2.0, 5.0, 2.0):
            for module in modules:
                vars(module)["SCALE"] = scale
            np.testing.assert_allclose(np.asarray(graph(array_of(framework, X))), X * np.float32(scale))
        assert len(graph.variants) == 2
    finally:
        for name in [name for name in sys.modules if name.startswith("package_here")]:
            del sys.modules[name]


def test_draws_after_an_import_are_inputs() -> None:
    torch = pytest.importorskip("torch")

    def draws(x: Any) -> Any:
        import colorsys  # noqa: F401

        return x * random.random()

    graph = graph_compiler.compile(draws)
    random.seed(3)
    found = [float(graph(torch.ones(1))) for _ in range(3)]
    random.seed(3)
    assert found == pytest.approx([random.random() for _ in range(3)])


def test_an_import_that_fails_is_the_functions_own(module: Callable[[str], None]) -> None:
    def optional(x: Any) -> Any:
        try:
            import no_module_of_this_name  # type: ignore[import-not-found]
        except ImportError:
            return x + 1
        return no_module_of_this_name.f(x)

    np.testing.assert_array_equal(graph_compiler.compile(optional, source="numpy")(X), X + 1)
