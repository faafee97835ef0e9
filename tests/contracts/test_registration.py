"""Tests of the registration of frontends, backends and containers."""

from __future__ import annotations

import configparser
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler import registration
from graph_compiler.codegen.source import _helpers
from graph_compiler.errors import DuplicateRow, InvalidRegistration, UnknownFramework, UnknownOperation
from graph_compiler.ops import declare
from graph_compiler.ops.registry import SECTIONS, declare_section
from graph_compiler.registration import BackendEntry, FrontendEntry, Registry, backends, frontends
from graph_compiler.trees import flatten, leaves_at, register_container

GROUPS = {"graph_compiler.frontends": frontends, "graph_compiler.backends": backends}


@pytest.mark.parametrize("group", GROUPS)
def test_own_entries_are_the_entry_points_of_the_package(group: str, checkout: Path) -> None:
    metadata = configparser.ConfigParser()
    metadata.read(checkout / "setup.cfg")
    registered = dict(
        line.split(" = ") for line in metadata["options.entry_points"][group].strip().splitlines()
    )
    assert registered == {name: f"{group}.entries:{name}" for name in GROUPS[group].own}


def test_entry_points_are_not_read_for_own_names() -> None:
    code = """
import sys
import graph_compiler, numpy as np
from graph_compiler.registration import backends, frontends
graph_compiler.transpile(lambda x: np.tanh(x) + 1, to="numpy", args=(np.ones(3),))
assert not frontends._is_read and not backends._is_read
try:
    graph_compiler.transpile(np.tanh, source="numpy", to="none", args=(np.ones(3),))
except graph_compiler.errors.UnknownFramework:
    assert backends._is_read
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_entries_import_no_framework() -> None:
    code = """
import sys
from graph_compiler.registration import backends, frontends
found = [package for registry in (frontends, backends) for entry in registry.own.values() for package in entry.packages]
assert found and not {"torch", "jax", "tensorflow", "keras", "flax"} & sys.modules.keys(), sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


class Point:
    """A stand-in for an entry point."""

    def __init__(self, name: str, found: Any) -> None:
        self.name, self.value, self._found = name, "somewhere:entry", found

    def load(self) -> Any:
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


def _backend(name: str, module: str = "somewhere") -> BackendEntry:
    return BackendEntry(name=name, module=module, packages=("somewhere",), aliases=("sw",))


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that creates a registry of backends; its arguments are the only installed entry
    points.
    """

    def made(*points: Point) -> Registry[BackendEntry]:
        monkeypatch.setattr("importlib.metadata.entry_points", lambda group: list(points))
        return Registry(BackendEntry, "graph_compiler.backends", "to")

    return made


def test_an_entry_point_is_found_by_its_name(registry: Any) -> None:
    entry = _backend("mine")
    found = registry(Point("mine", entry))
    assert list(found.known()) == list(found.own) and found.get("mine") is entry and "mine" in found.known()


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (
            [Point("mine", {})],
            "the entry point mine = somewhere:entry .* gives a dict; it must be a BackendEntry",
        ),
        ([Point("mine", _backend("other"))], "gives an entry with the name 'other'; both must have one name"),
        (
            [Point("mine", ImportError("no module named here"))],
            "cannot be loaded: ImportError: no module named here",
        ),
    ],
)
def test_a_wrong_entry_point_says_what_is_wrong(points: list[Point], message: str, registry: Any) -> None:
    found = registry(*points, Point("right", _backend("right")))
    assert found.get("right").name == "right" and found.get("numpy").name == "numpy"
    with pytest.raises(InvalidRegistration, match=message):
        found.get("mine")


def test_the_error_of_an_entry_point_is_found_by_its_name_in_any_case(registry: Any) -> None:
    found = registry(Point("Mine", ImportError("no module named here")))
    for name in ("Mine", "mine"):
        with pytest.raises(InvalidRegistration, match=r"the entry point Mine = .* cannot be loaded"):
            found.get(name)


def test_two_packages_cannot_have_one_name(registry: Any) -> None:
    found = registry(Point("mine", _backend("mine", "a")), Point("mine", _backend("mine", "b")))
    found.all()
    assert "registers 'mine', and a is registered under that name" in str(found.problems["mine"])


def test_own_names_are_taken(registry: Any) -> None:
    found = registry(Point("numpy", _backend("numpy")))
    assert found.all()["numpy"].module == "graph_compiler.backends.numpy"
    with pytest.raises(InvalidRegistration, match="'numpy'"):
        found.register(_backend("numpy"))


@pytest.mark.parametrize(
    "entry", [None, "mine", object(), FrontendEntry(name="x", module="", packages=("x",))]
)
def test_only_entries_of_the_own_kind_are_registered(entry: Any, registry: Any) -> None:
    with pytest.raises(InvalidRegistration, match=f"a {type(entry).__name__}; it must be a BackendEntry"):
        registry().register(entry)


def test_an_unknown_name_is_told_with_those_that_are_meant(registry: Any) -> None:
    with pytest.raises(
        UnknownFramework, match=r"to='sw' is not supported; known are .*'mine'; did you mean 'mine'"
    ):
        registry(Point("mine", _backend("mine"))).get("sw")


def test_traits_of_a_new_frontend_are_known_from_then_on() -> None:
    assert "call" not in registration.trait("entry_methods")
    frontends.register(
        FrontendEntry(
            name="traits",
            module="",
            packages=("traits_here",),
            traits=registration.Traits(entry_methods=("call",)),
        )
    )
    try:
        assert registration.trait("entry_methods")[-1] == "call" and "traits_here" in registration.packages()
    finally:
        frontends.unregister("traits")
    assert "call" not in registration.trait("entry_methods") and "traits_here" not in registration.packages()


# ----- what may be registered beside frameworks


def test_a_section_of_ones_own() -> None:
    with pytest.raises(UnknownOperation, match="declare_section\\('wavelets'\\)"):
        declare("wavelets")
    assert declare_section("wavelets", sums_products=True) == declare_section("wavelets", sums_products=True)
    try:
        assert callable(declare("wavelets"))
        with pytest.raises(DuplicateRow, match="'wavelets' is declared with sums_products=True"):
            declare_section("wavelets")
    finally:
        del SECTIONS["wavelets"]


class Pair:
    """A container whose parts are in a private slot, so that only its registration tells how to flatten it."""

    __slots__ = ("_held",)

    def __init__(self, left: Any, right: Any) -> None:
        self._held = (left, right)

    def swapped(self) -> Pair:
        return Pair(*reversed(self._held))


def test_a_container_of_ones_own() -> None:
    register_container(
        Pair, lambda pair: zip(("left", "right"), pair._held), lambda cls, keys, parts: cls(*parts)
    )

    def function(pair: Pair) -> Pair:
        left, right = pair.swapped()._held
        return Pair(np.sin(left), right * 2)

    graph = graph_compiler.transpile(function, to="numpy", args=(Pair(np.ones(3), np.ones((2, 2))),))
    given = Pair(np.arange(5.0), np.arange(8.0).reshape(2, 4))
    found, expected = graph(given), function(given)
    assert type(found) is Pair and len(graph.variants) == 1
    for one, other in zip(found._held, expected._held):
        np.testing.assert_allclose(one, other)


class Titled(list[Any]):
    """A list whose first item is a title, and no part of the container."""


def test_parts_of_a_subclass_of_a_list_are_those_of_its_registration() -> None:
    register_container(
        Titled, lambda titled: enumerate(titled[1:]), lambda cls, keys, parts: cls(["", *parts])
    )
    given = Titled(["sizes", 2, 3])
    leaves, tree = flatten(given, lambda item: isinstance(item, int))
    assert leaves == leaves_at(tree, given) == [2, 3]


@pytest.mark.parametrize("cls", [tuple, list, dict])
def test_containers_of_python_cannot_be_registered(cls: type) -> None:
    with pytest.raises(TypeError, match=f"register_container: {cls.__name__} .* subclass"):
        register_container(cls, enumerate, lambda cls, keys, parts: cls(parts))


def test_helpers_of_a_prelude(monkeypatch: pytest.MonkeyPatch) -> None:
    import textwrap

    prelude = type(sys)("elsewhere.prelude")
    prelude.__dict__.update(indent=textwrap.indent, dedent=textwrap.dedent, __all__=["indent"])
    assert [helper.__name__ for helper in _helpers(prelude, "indent(dedent(x))")] == ["indent"]
