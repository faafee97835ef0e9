"""Tests that generated source is self-contained: it runs without this package and imports only the target and
the classes of results.
"""

from __future__ import annotations

import ast
import builtins
import collections
import dataclasses
import types
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402
from graph_compiler.errors import GuardFailed  # noqa: E402
from tests.support.compare import assert_same, to_numpy  # noqa: E402

TARGETS = ["torch", "jax", "tensorflow", "numpy"]


def executed(program: Any) -> Callable[..., Any]:
    """Execute the source of a program with this package hidden, and return its function."""

    def importing(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] in ("graph_compiler", "frontends", "backends"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return __import__(name, *rest)

    scope: dict[str, Any] = {"__name__": "alone", "__builtins__": {**vars(builtins), "__import__": importing}}
    exec(compile(program.source, "<alone>", "exec"), scope)
    found: Callable[..., Any] = scope[program.name]
    return found


def result_of(graph: Any, args: tuple[Any, ...]) -> Any:
    """Return the result of the latest variant's source, called with the weights of the graph and ``args``."""
    variant = graph.variants[-1]
    assert not variant.program.globals
    arrays = [variant.target.convert(arg) for arg in args]
    held = variant.executable
    found = executed(variant.program)(*held.leading(held.read_weights()), *arrays)
    return found[0] if variant.graph.effects or variant.program.checks else found


class Counting(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x: Any) -> Any:
        self.count = self.count + x.sum()
        return self.linear(x) * self.count


def read(x: Any) -> Any:
    return x + 1 if x.sum() > 0 else x - 1


def kept_rows(x: Any) -> Any:
    rows = x[x[:, 0] > 0]
    return rows.reshape(rows.shape[0] // 2, 2, 3) if rows.shape[0] % 2 == 0 else rows


def looped(x: Any) -> Any:
    return torch.cumsum(x, 0), torch.logcumsumexp(x, 1), torch.where(x > 0, x, 0.0)


class Doubling(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return torch.linalg.eigvals(gradient.detach()[:2, :2]).real.sum() * gradient


CASES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "updates": (Counting, lambda rows: torch.ones(rows, 3)),
    "elements read": (lambda: read, lambda rows: torch.ones(rows, 3)),
    "sizes inside": (lambda: kept_rows, lambda rows: torch.ones(rows, 3)),
    "statistics": (lambda: looped, lambda rows: torch.linspace(-1, 1, rows * 3).reshape(rows, 3)),
    "rule": (lambda: Doubling.apply, lambda rows: torch.ones(rows, 3)),
    "containers": (
        lambda: (
            lambda x: collections.OrderedDict(
                b=collections.deque([x], 3),
                a=types.SimpleNamespace(x=x * 2, dtype=torch.float32),
                c=collections.defaultdict(list, k=x),
                d=collections.Counter(x=x),
            )
        ),
        lambda rows: torch.ones(rows, 3),
    ),
}


@pytest.mark.parametrize("to", TARGETS)
def test_source_with_regions_runs_where_this_package_is_not(to: str) -> None:
    pytest.importorskip(to)
    jax = pytest.importorskip("jax")

    def function(rows: Any, rate: Any) -> Any:
        def step(state: Any, row: Any) -> Any:
            state = jax.lax.cond(
                row[0] > rate,
                lambda: state * rate + row,
                lambda: jax.lax.while_loop(is_small, twice, state + row),
            )
            return state, state.sum()

        return jax.lax.scan(step, rows[0] * 0 + 1, rows)

    def is_small(state: Any) -> Any:
        return state.sum() < 20

    def twice(state: Any) -> Any:
        return state * 2

    rows = np.linspace(0, 1, 12, dtype=np.float32).reshape(4, 3)
    graph = graph_compiler.compile(
        function, source="jax", to=to, args=(jax.numpy.asarray(rows), jax.numpy.float32(0.5))
    )
    assert "graph_compiler" not in imported(graph.source)
    more = np.linspace(0, 2, 18, dtype=np.float32).reshape(6, 3)
    assert_same(result_of(graph, (more, np.array(0.5, np.float32))), function(more, np.float32(0.5)))


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("case", CASES)
def test_source_runs_where_this_package_is_not(case: str, to: str) -> None:
    pytest.importorskip(to)
    make, argument = CASES[case]
    function = make()
    original = make()
    if isinstance(function, torch.nn.Module):
        original.load_state_dict(function.state_dict())
    graph = graph_compiler.compile(function, to=to, args=(argument(4),))
    assert "graph_compiler" not in imported(graph.source)
    assert_same(result_of(graph, (argument(6),)), original(argument(6)))


def imported(source: str) -> set[str]:
    """Return the names of the top-level packages that a source imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            found.add(str(node.module).partition(".")[0])
    return found


STANDARD = {"math", "typing", "collections", "dataclasses", "types", "functools", "itertools"}
ALLOWED = {
    "torch": {"torch"},
    "jax": {"jax", "numpy"},
    "tensorflow": {"tensorflow", "numpy"},
    "numpy": {"numpy", "scipy"},
}


@pytest.mark.parametrize("to", TARGETS)
def test_source_of_a_language_model_imports_its_target_and_the_class_of_its_result(to: str) -> None:
    pytest.importorskip(to)
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        vocab_size=20,
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=16,
    )
    model = transformers.BertModel(config).eval()
    tokens = torch.arange(10).reshape(2, 5)
    graph = graph_compiler.compile(model, to=to, args=(tokens,))
    packages = imported(graph.source) - STANDARD
    assert packages <= {*ALLOWED[to], "transformers"} and "transformers" in packages
    more = torch.arange(12).reshape(2, 6)
    assert_same(result_of(graph, (more,)), model(more))


@pytest.mark.parametrize("to", TARGETS)
def test_a_guard_in_the_source_raises_a_value_error(to: str) -> None:
    pytest.importorskip(to)
    graph = graph_compiler.compile(kept_rows, to=to, args=(torch.ones(4, 3),), on_miss="error")
    graph(torch.ones(6, 3))
    array = graph.variants[-1].target.convert(torch.ones(3, 3))
    with pytest.raises(ValueError, match=r"was recorded for .*, and .* is 3 for this call") as problem:
        executed(graph.variants[-1].program)(array)
    assert type(problem.value).__module__ == "alone" and not isinstance(problem.value, GuardFailed)
    with pytest.raises(GuardFailed):
        graph(torch.ones(3, 3))
    assert issubclass(GuardFailed, ValueError)


class Logged(torch.autograd.Function):
    """A function whose backward has a side effect, so that it cannot be recorded."""

    steps: ClassVar[list[Any]] = []

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        Logged.steps.append(len(Logged.steps))
        return gradient * 2


@pytest.mark.parametrize("to", ["jax", "tensorflow"])
def test_a_gradient_that_is_refused_is_an_error_of_the_source(to: str) -> None:
    pytest.importorskip(to)
    graph = graph_compiler.compile(Logged.apply, to=to, args=(torch.ones(2, 3),))
    assert "class GradientRefused(RuntimeError)" in graph.source and "graph_compiler" not in imported(
        graph.source
    )
    with pytest.raises(graph_compiler.errors.GradientRefused):
        graph_compiler.transforms.grad(lambda x: graph(x)[0, 0])(
            graph.variants[-1].target.convert(torch.ones(2, 3))
        )


# ----------------------------------------------------------------------------------------- the order of items
@dataclasses.dataclass
class Output(collections.OrderedDict):  # type: ignore[type-arg]
    """A mapping and dataclass at once, as model libraries return: each item is also a field."""

    first: Any
    second: Any = None
    third: Any = None

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            if getattr(self, field.name) is not None:
                self[field.name] = getattr(self, field.name)

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        object.__setattr__(self, key, value)


def in_reverse(x: Any) -> Any:
    output = Output(first=x)
    output["third"] = (x + 1,)
    output["second"] = x * 2
    return output


def extended(x: Any) -> Any:
    output = Output(first={"a": x})
    output["more"] = x + 1
    return output


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("function", [in_reverse, extended])
def test_items_of_an_output_keep_their_order(function: Callable[..., Any], to: str) -> None:
    pytest.importorskip(to)
    graph = graph_compiler.compile(function, to=to, args=(torch.ones(2),))
    x = torch.arange(3.0)
    found, wanted = graph(x), function(x)
    assert type(found) is Output and list(found) == list(wanted)
    assert_same(found, wanted)
    assert {**vars(found)}.keys() == {**vars(wanted)}.keys()
    assert to_numpy(found["first"] if function is in_reverse else found.more).shape == (3,)


@pytest.mark.parametrize("to", TARGETS)
def test_model_outputs_keep_the_order_in_which_the_model_set_them(to: str) -> None:
    pytest.importorskip(to)
    outputs = pytest.importorskip("transformers.modeling_outputs")

    def function(x: Any) -> Any:
        output = outputs.BaseModelOutputWithPooling(last_hidden_state=x, hidden_states=(x + 2,))
        output.pooler_output = x + 1
        return output

    graph = graph_compiler.compile(function, to=to, args=(torch.ones(2, 2),))
    found, wanted = graph(torch.ones(3, 2)), function(torch.ones(3, 2))
    assert list(found) == list(wanted) == ["last_hidden_state", "hidden_states", "pooler_output"]
    assert_same(found.to_tuple(), wanted.to_tuple())
