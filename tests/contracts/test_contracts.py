"""Tests of the contracts of frontends and backends, and of the error that lists missing members."""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

import pytest

import graph_compiler
from graph_compiler.contracts import (
    Backend,
    Frontend,
    LoadsModels,
    Reference,
    Target,
    Weights,
    default,
    require,
)
from graph_compiler.errors import InvalidRegistration
from graph_compiler.registration import BackendEntry, backends, frontends


class MyTarget(Target):
    name = "mine"
    array_types = (list,)

    def convert(self, array: Any) -> Any:
        return list(array)

    def dtype(self, name: str) -> Any:
        return name

    def to_numpy(self, array: Any) -> Any:
        return array


def _module(**members: Any) -> Any:
    made = types.ModuleType("my_backend")
    vars(made).update(members)
    return made


def lacking(contract: type, item: Any) -> dict[str, str]:
    """Return the missing members that the error lists, each with its purpose."""
    with pytest.raises(InvalidRegistration) as found:
        require(contract, item, "it")
    lines = str(found.value).splitlines()
    assert lines[0] == f"it is no {contract.__name__}; it lacks" and "docs/extending.md" in lines[-1]
    return dict(line.strip().split(": ", 1) for line in lines[1:-1])


@pytest.mark.parametrize("framework", frontends.own)
def test_own_frontends_and_backends_keep_their_contracts(framework: str) -> None:
    pytest.importorskip(framework)
    for contract, registry in ((Frontend, frontends), (Backend, backends)):
        require(contract, importlib.import_module(registry.own[framework].module), framework)  # type: ignore[attr-defined]


@pytest.mark.parametrize("framework", backends.own)
def test_a_target_has_dtypes_alone(framework: str) -> None:
    pytest.importorskip(framework)
    target = importlib.import_module(backends.own[framework].module).target  # type: ignore[attr-defined]
    assert str(target.dtype("float32")).count("float32") == 1
    assert [target.dtype(name) for name in ("relu", "nn", "linalg")] == [None] * 3


def test_every_missing_member_is_listed_with_its_purpose() -> None:
    lacks = lacking(Backend, _module(name="mine", target=object(), copy_overwritable_values=None))
    assert lacks["dialect"].startswith("Writer of the nodes of canonical graphs")
    assert lacks["rows"].startswith("Table of rows")
    assert lacks["target.convert"].startswith("Return ``array``, of any framework, as a native array")
    assert (
        "target.require_guards" in lacks and "name" not in lacks and "copy_overwritable_values" not in lacks
    )


def test_what_derives_from_a_contract_has_its_defaults() -> None:
    target = MyTarget()
    lacks = lacking(Target, target)
    assert (
        set(lacks) == {"from_bytes"}
        and target.compile(len, {}) is len
        and target.size_of is None
        and not target.is_traced(1)
    )


def test_what_is_no_function_is_told() -> None:
    class Wrong(MyTarget):
        from_bytes = 3  # type: ignore[assignment]

    assert "it is there, and cannot be called" in lacking(Target, Wrong())["from_bytes"]


def test_a_class_instead_of_an_instance_is_refused() -> None:
    with pytest.raises(
        InvalidRegistration, match=r"mine is the class MyTarget, and has to be an instance.*MyTarget\(\)"
    ):
        require(Target, MyTarget, "mine")


def test_a_frontend_that_loads_models_says_how() -> None:
    assert "pretrained" in lacking(LoadsModels, _module()) and "pretrained" not in lacking(
        Frontend, _module()
    )


def test_defaults_of_weights_and_references() -> None:
    class Nothing(Weights):
        pass

    class Plain(Reference):
        pass

    assert set(lacking(Weights, Nothing())) == {"live", "owner_of", "rebind", "set_elements", "is_trained"}
    assert set(lacking(Reference, Plain())) == {"is_array", "to_numpy", "fresh"}


def test_a_default_is_marked() -> None:
    class Contract:
        def needed(self) -> None:
            """Needed."""

        @default
        def given(self) -> int:
            """Given."""
            return 1

    class Kept(Contract):
        pass

    assert lacking(Contract, Kept()) == {"needed": "Needed."}


def test_a_backend_is_checked_when_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "my_backend", _module(name="mine"))
    backends.register(BackendEntry(name="mine", module="my_backend", packages=("numpy",)))
    try:
        with pytest.raises(
            InvalidRegistration,
            match="my_backend, registered as 'mine', is no Backend; it lacks\n    rows: Table of rows",
        ):
            graph_compiler.transpile(abs, source="numpy", to="mine", args=(1.0,))
    finally:
        backends.unregister("mine")
