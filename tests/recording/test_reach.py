"""Tests of the search for what a function can reach, and of whose code that is."""

from __future__ import annotations

import functools
import json
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler.errors import TracingError
from graph_compiler.recording import Reached
from graph_compiler.recording.code.ownership import is_internal, is_users, owner_of, owner_of_file
from graph_compiler.recording.reachability.containers import MISSING, given_kind
from graph_compiler.recording.reachability.libraries import is_self_contained
from graph_compiler.recording.reachability.namespaces import entry_of, spaces_of
from graph_compiler.recording.reachability.outside import refuse_attributed
from graph_compiler.recording.reachability.snapshot import ObjectSnapshot
from graph_compiler.recording.reachability.walk import WalkPolicy
from tests.support.compare import assert_same


class Named(list[Any]):
    __slots__ = ("__weakref__", "name")


def test_lists_with_a_filled_slot_are_refused() -> None:
    row = Named([1])
    refuse_attributed({"row": row})
    row.name = "first"
    with pytest.raises(TracingError, match=r"a Named has attributes \(name\)"):
        refuse_attributed({"row": row})


def users(x: Any) -> Any:
    return x


@functools.wraps(np.linalg.norm)
def named_as_numpys(x: Any) -> Any:
    return x


OWNERS: list[tuple[Any, str]] = [
    (users, "user"),
    (named_as_numpys, "user"),
    (json.dumps, "python"),
    (np.linalg.norm.__wrapped__, "framework"),
    (graph_compiler.transpile, "own"),
    (pytest.raises, "library"),
    (np.ndarray, "framework"),
    (Path, "python"),
    (ObjectSnapshot, "own"),
    (pytest.ExceptionInfo, "library"),
    (np, "framework"),
    (sys, "python"),
    (sys.modules[__name__], "user"),
    ("users.model", "user"),
    (sys._getframe(), "user"),
    (eval("lambda x: x", {"__name__": "__main__"}), "user"),
]


@pytest.mark.parametrize(("item", "owner"), OWNERS)
def test_owners(item: Any, owner: str) -> None:
    assert owner_of(item) == owner
    assert is_users(item) is (owner == "user")
    assert is_internal(item) is (owner in ("python", "framework", "own"))


def test_the_program_that_runs_the_users_may_stand_among_installed_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = types.ModuleType("__main__")
    module.__file__ = pytest.__file__
    monkeypatch.setitem(sys.modules, "__main__", module)
    assert is_users(module) and is_users(type("Model", (), {"__module__": "__main__"}))


@pytest.mark.parametrize(
    ("file", "owner"),
    [
        (np.__file__, "framework"),
        (str(Path(np.__file__).resolve()), "framework"),
        (json.__file__, "python"),
        (pytest.__file__, "library"),
        (graph_compiler.__file__, "own"),
        (__file__, "user"),
        ("<frozen runpy>", "python"),
    ],
    ids=["numpy", "numpy, without links", "json", "pytest", "this package", "this file", "frozen"],
)
def test_owners_of_files(file: str, owner: str) -> None:
    assert owner_of_file(file) == owner


COUNTS = {"calls": 0}
SHIFT = np.array([1.0, 2.0])


def _chain(depth: int) -> Any:
    """Return a chain of ``depth`` functions that ends with one that counts its calls."""

    def last(x: Any) -> Any:
        COUNTS["calls"] += 1
        return x + COUNTS["calls"]

    function = last
    for _ in range(depth):
        function = functools.partial(lambda inner, x: inner(x) * 2, function)
    return function


def test_what_is_written_to_is_found_behind_many_functions() -> None:
    COUNTS["calls"] = 0
    world = ObjectSnapshot((), called=[_chain(12)])
    COUNTS["calls"] = 3
    assert [(change.where, change.before, change.now) for change in world.changes()] == [
        ("COUNTS['calls']", 0, 3)
    ]
    world.restore()
    assert COUNTS == {"calls": 0}


def test_an_unchanged_list_is_untouched_whatever_its_length() -> None:
    rows = [object() for _ in range(1000)]
    world = ObjectSnapshot([("rows", rows)])
    assert all(held.is_untouched() for held in world.held)
    rows[-1] = object()
    assert not all(held.is_untouched() for held in world.held)


class _Shifted:
    def __call__(self, x: Any) -> Any:
        return x + SHIFT


_SHIFTED = {"first": _Shifted(), "second": lambda x: x * SHIFT}


def test_arrays_are_found_behind_methods_and_in_containers(monkeypatch: pytest.MonkeyPatch) -> None:
    """These arrays become parameters, so that another array needs no new variant."""

    def function(x: Any) -> Any:
        return _SHIFTED["second"](_SHIFTED["first"](x))

    x = np.array([3.0, 4.0])
    graph = graph_compiler.compile(function, args=(x,), to="numpy")
    assert_same(graph(x), function(x))
    monkeypatch.setitem(globals(), "SHIFT", np.array([5.0, 7.0]))
    assert_same(graph(x), function(x))
    assert len(graph.variants) == 1


def test_a_walk_goes_on_from_where_it_was() -> None:
    table, scale = {"a": 1}, {"b": 2}
    reached = Reached([lambda: table], WalkPolicy())
    assert reached.containers == [table]
    functions = list(reached.functions)
    reached.extend([lambda: scale])
    assert reached.containers == [table, scale] and reached.functions[:1] == functions


def test_names_are_found_in_functions_of_functions() -> None:
    def inner(x: Any) -> Any:
        return float(x)

    def outer(x: Any) -> Any:
        return inner(x)

    [space] = spaces_of([entry_of(outer)])
    assert space.looks_up("float") and space.functions == [outer, inner] and space.held is globals()


SCALE = 2.0


def _wrapped() -> dict[str, Any]:
    torch = pytest.importorskip("torch")

    def scaled(x: Any) -> Any:
        return x * SCALE

    inside = torch.no_grad()(scaled)
    return {
        "no_grad": inside,
        "vmap": torch.vmap(scaled),
        "jacrev": torch.func.jacrev(scaled),
        "in another function": lambda x: inside(x) + 1,
        "two decorators": torch.no_grad()(torch.enable_grad()(scaled)),
        "a library's": _decorator_of_a_library()(scaled),
    }


def _decorator_of_a_library() -> Any:
    held: dict[str, Any] = {"functools": functools, "__name__": "decorators"}
    text = "def decorator(function):\n    return functools.wraps(function)(lambda *args: function(*args))"
    exec(compile(text, "/env/site-packages/decorators.py", "exec"), held)
    return held["decorator"]


@pytest.mark.parametrize(
    "wrapper", ["no_grad", "vmap", "jacrev", "in another function", "two decorators", "a library's"]
)
def test_globals_of_functions_that_others_have_wrapped_are_guarded(
    wrapper: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch, function = pytest.importorskip("torch"), _wrapped()[wrapper]
    x = torch.ones(2)
    graph = graph_compiler.compile(function, args=(x,))
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert_same(graph(x), function(x))


def test_a_global_with_the_name_of_an_attribute_is_not_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")

    class Scaled(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return x * x.shape[0] * SCALE

    monkeypatch.setitem(globals(), "shape", (2, 3))
    model, x = Scaled(), torch.ones(4, 3)
    graph = graph_compiler.compile(model, args=(x,))
    monkeypatch.setitem(globals(), "shape", (4, 3))
    assert_same(graph(x), model(x))
    assert len(graph.variants) == 1
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert_same(graph(x), model(x))


def test_globals_of_derivative_rules_are_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")

    class Scaled(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * SCALE

    def function(x: Any) -> Any:
        return Scaled.apply(x)

    x = torch.ones(2, requires_grad=True)
    graph = graph_compiler.compile(function, args=(x,))
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    (expected,), (found,) = (torch.autograd.grad(each(x).sum(), x) for each in (function, graph))
    assert_same(found, expected)


def test_attributes_that_a_decorated_method_of_a_library_reads_are_guarded() -> None:
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    sizes = {
        "hidden_size": 8,
        "intermediate_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
    }
    model = transformers.LlamaModel(transformers.LlamaConfig(vocab_size=16, **sizes)).eval()
    tokens = torch.tensor([[3, 1, 2]])
    with torch.no_grad():
        graph = graph_compiler.compile(model, args=(tokens,), kwargs={"use_cache": False})
        model.rotary_emb.attention_scaling = 0.5
        assert_same(graph(tokens, use_cache=False)[0], model(tokens, use_cache=False)[0])


def with_handler(x: Any) -> Any:
    try:
        return np.sqrt(x)
    except TypeError:
        return x


def with_write(x: Any) -> Any:
    x.step = np.sqrt(x)
    return x


SELF_CONTAINED: dict[str, tuple[Any, bool]] = {
    "functions of a framework": (lambda x: np.sqrt(x.T).sum() * 2, True),
    "nothing": (lambda x: x, True),
    "a number": (lambda x: x * SCALE, False),
    "a default": (lambda x, scale=2.0: x * scale, False),
    "a name of Python's own": (lambda x: len(x) * 2, False),
    "a constant of a framework": (lambda x: x * np.pi, False),
    "a class of a framework": (lambda x: np.float32(x) * 2, False),
    "a module of a framework's": (lambda x: np.linalg.norm(x) * 2, False),
    "a module of Python's": (lambda x: json.dumps(x) * 2, False),
    "a function in it": (lambda x: x.sort(key=lambda y: y[0]), False),
    "its own attributes": (with_write, False),
    "a handler": (with_handler, False),
    "what is hidden": (lambda x: x.__dict__, False),
    "a wrapper": (named_as_numpys, False),
    "a method": ({}.get, False),
}


@pytest.mark.parametrize("what", SELF_CONTAINED)
def test_functions_that_refer_to_nothing_but_functions_of_frameworks(what: str) -> None:
    function, expected = SELF_CONTAINED[what]
    assert is_self_contained(function) is expected


def test_a_self_contained_function_whose_code_changes_is_recorded_again() -> None:
    torch = pytest.importorskip("torch")
    function = eval("lambda x: torch.relu(x) * 2", {"torch": torch})
    x = torch.tensor([-1.0, 2.0])
    graph = graph_compiler.compile(function, args=(x,))
    function.__code__ = eval("lambda x: torch.abs(x)").__code__
    assert_same(graph(x), x.abs())


class _Slotted:
    __slots__ = ("scale",)


class _WithProperty(_Slotted):
    @property
    def scale(self) -> Any:  # type: ignore[override]
        return np.ones(3)


_HIDDEN_SLOT = _WithProperty()


def test_a_slot_that_a_property_hides_is_no_state() -> None:
    def function(x: Any) -> Any:
        return x * _HIDDEN_SLOT.scale

    graph = graph_compiler.compile(function, args=(np.ones(3),))
    assert graph(np.full(3, 2.0)).tolist() == [2.0] * 3
    assert type(_HIDDEN_SLOT.scale) is np.ndarray


def test_a_missing_part_of_an_argument() -> None:
    items, fields = [1, 0], types.SimpleNamespace(a=1, b=2)
    for container, key in ((items, 1), (fields, "a")):
        kind = given_kind(container)
        assert kind is not None
        kind.put(container, key, MISSING)
    assert items == [1, 0]
    assert vars(fields) == {"b": 2}
