"""Doctests of the package: every module can be imported, and the examples in its docstrings are right.

``backends`` and ``frontends`` are walked separately, because in a checkout they are not inside the folder
of the package.
"""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import pkgutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

import graph_compiler
import graph_compiler.backends
import graph_compiler.frontends

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
NEEDS = {
    "torch": "torch",
    "jax": "jax",
    "tensorflow": "tensorflow",
    "cli": "typer",
}


def names_below(package: str, paths: Iterable[str]) -> Iterator[str]:
    """Yield the names of a package and of its modules, without importing them. ``__main__`` modules are left
    out.
    """
    yield package
    for path in paths:
        for module in pkgutil.iter_modules([path]):
            name = f"{package}.{module.name}"
            if module.ispkg:
                yield from names_below(name, [str(Path(path, module.name))])
            elif module.name != "__main__":
                yield name


def has_examples(module: ModuleType) -> bool:
    """Return True if the text of the module contains an example.

    This saves 20 ms per module, which a search through its objects takes.
    """
    return ">>> " in Path(str(module.__file__)).read_text(encoding="utf-8")


WALKED = (graph_compiler, graph_compiler.backends, graph_compiler.frontends)
MODULES = sorted({name for room in WALKED for name in names_below(room.__name__, room.__path__)})


def needed_by(name: str) -> str | None:
    """Return the framework or dependency that a module imports, or None."""
    return next((NEEDS[part] for part in name.split(".")[2:3] if part in NEEDS), None)


@pytest.mark.smoke
def test_every_module_can_be_imported() -> None:
    for name in MODULES:
        if (needed := needed_by(name)) is None or importlib.util.find_spec(needed):
            importlib.import_module(name)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    if (needed := needed_by(name)) is not None:
        pytest.importorskip(needed)
    module = importlib.import_module(name)
    if has_examples(module):
        assert not doctest.testmod(module, optionflags=OPTIONS).failed


def test_no_module_takes_the_name_of_a_function_of_its_package() -> None:
    """As soon as such a module is imported, the attribute of the package is the module instead of the
    function.
    """
    for name in MODULES:
        if (spec := importlib.util.find_spec(name)) is not None and spec.submodule_search_locations:
            text = Path(str(spec.origin)).read_text(encoding="utf-8")
            own = [module.name for module in pkgutil.iter_modules(list(spec.submodule_search_locations))]
            assert not [module for module in own if f"\ndef {module}(" in text], name


def test_all_rooms_are_walked() -> None:
    some = {
        "graph_compiler.errors",
        "graph_compiler.ir.graph",
        "graph_compiler.backends.common.rows",
        "graph_compiler.frontends.common.lifter",
    }
    assert some <= set(MODULES)


def test_modules_with_examples_are_told_by_their_text() -> None:
    assert has_examples(importlib.import_module("graph_compiler.sizes"))
    assert not has_examples(importlib.import_module("graph_compiler.ir.verifier"))


def test_a_wrong_example_fails() -> None:
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, None)
    assert doctest.DocTestRunner(verbose=False).run(wrong, out=lambda text: None).failed == 1
