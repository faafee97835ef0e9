"""Tests of what generated source omits: unused sizes and helpers, and redundant writes."""

from __future__ import annotations

import ast
import builtins
import dis
import importlib
import inspect
import pickle
import subprocess
import sys
from pathlib import Path
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402
from graph_compiler.codegen import write  # noqa: E402
from graph_compiler.errors import nearest  # noqa: E402
from graph_compiler.ir.graph import Graph  # noqa: E402
from graph_compiler.ir.node import Node, Origin  # noqa: E402
from graph_compiler.trees import Branch  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402


class Normed(torch.nn.Module):
    """A model whose helper in NumPy has parameters with the names of other helpers."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)

    def forward(self, x: Any) -> Any:
        return torch.nn.functional.adaptive_avg_pool2d(self.norm(self.conv(x)), 1).flatten(1)


def body(graph: Any) -> str:
    text: str = graph.source.partition(f"def {graph.name}(")[2]
    return text


@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow", "numpy"])
def test_sizes_and_helpers_that_nothing_uses_are_left_out(to: str) -> None:
    pytest.importorskip(to)
    model = Normed().eval()
    graph = graph_compiler.compile(model, to=to, args=(torch.randn(2, 3, 8, 8),))
    assert (
        "_dim" not in body(graph)
        and "def variance(" not in graph.source
        and "def vector_norm(" not in graph.source
    )
    assert body(graph).splitlines()[1].strip() == "# conv"
    x = torch.randn(3, 3, 6, 7)
    assert_same(graph(x), model(x))


def pooled_by(dilation: int) -> Any:
    return lambda x: torch.nn.functional.max_pool2d(x, 2, dilation=dilation), torch.randn


def convolved(kernel: tuple[int, ...]) -> Any:
    tf = pytest.importorskip("tensorflow")
    weight = tf.random.stateless_normal(kernel, (1, 2))
    return lambda x: tf.nn.relu(tf.nn.conv2d(x, weight, 1, "SAME")), tf.random.normal


@pytest.mark.parametrize(
    ("helper", "make", "shape", "is_needed"),
    [
        ("max_pool_with_indices", lambda: pooled_by(1), (2, 3, 9, 8), False),
        ("max_pool_with_indices", lambda: pooled_by(2), (2, 3, 9, 8), True),
        ("depthwise_conv", lambda: convolved((3, 3, 4, 5)), (2, 9, 8, 4), False),
        ("depthwise_conv", lambda: convolved((3, 3, 1, 4)), (2, 9, 8, 4), True),
    ],
)
def test_helpers_of_rare_cases_are_left_out(
    helper: str, make: Any, shape: tuple[int, ...], is_needed: bool
) -> None:
    pytest.importorskip("jax")
    function, array = make()
    graph = graph_compiler.compile(function, to="jax", args=(array(shape),))
    assert (f"def {helper}(" in graph.source) == is_needed
    x = array((3, *shape[1:]))
    assert_same(graph(x), function(x))


def test_each_module_is_imported_from_once() -> None:
    caches = pytest.importorskip("transformers.cache_utils")

    def function(x: Any, cache: Any) -> Any:
        return cache.update(x, x, 0), cache

    graph = graph_compiler.compile(function, args=(torch.ones(1, 2, 3, 4), caches.DynamicCache()), to="numpy")
    imports = [
        line.partition(" import ")[0] for line in graph.source.splitlines() if line.startswith("from ")
    ]
    assert len(imports) == len(set(imports)) >= 2 and "DynamicLayer" in graph.source


@pytest.mark.parametrize(
    ("to", "write", "count"),
    # TensorFlow has another helper for indices.
    [
        ("jax", ".at[", 3),
        ("tensorflow", "updated(", 2),
        ("numpy", "with_items(", 3),
    ],
)
def test_what_was_written_in_place_is_not_written_again(to: str, write: str, count: int) -> None:
    pytest.importorskip(to)

    def function(x: Any, i: Any) -> Any:
        out = x * 1
        out[:, 1:] += 1
        out[i] *= 2
        out[:, 1:] += 1
        return out

    graph = graph_compiler.transpile(function, to=to, args=(torch.ones(3, 4), torch.tensor([0, 2])))
    assert body(graph).count(write) == count
    call = (torch.randn(5, 3), torch.tensor([3, 1, 1]))
    assert_same(graph(*call), function(*call))


@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow", "numpy"])
def test_each_helper_is_handed_out(to: str) -> None:
    """A helper that the prelude does not export is not copied, or may be shadowed by a variable."""
    pytest.importorskip(to)
    room = importlib.import_module(f"graph_compiler.backends.{to}.prelude")
    files = Path(inspect.getfile(room)).parent.glob("*.py")
    helpers = {
        node.name
        for file in files
        for node in ast.parse(file.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    assert helpers and not helpers - vars(room).keys()


@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow", "numpy"])
def test_each_helper_comes_with_all_that_it_needs(to: str) -> None:
    pytest.importorskip(to)
    dialect = importlib.import_module(f"graph_compiler.backends.{to}").dialect
    names = [name for name, item in vars(dialect.prelude).items() if isinstance(item, FunctionType)]
    assert len(names) > 20
    for name in names:
        graph = Graph("f", "canonical")
        graph.output_tree = Branch(tuple, (), ())
        graph.nodes = [Node("none", (), {}, Origin("f", 1, "", ""))]
        own = {key: getattr(dialect, key) for key in dir(dialect) if not key.startswith("__")}
        only = SimpleNamespace(**{**own, "expression": lambda node, spell, name=name: name})
        text = write(graph, only, "One helper.").source  # type: ignore[arg-type]
        space: dict[str, Any] = {}
        exec(compile(text, name, "exec", dont_inherit=True), space)
        space["f"]()
        helpers = [
            item for item in space.values() if isinstance(item, FunctionType) and item.__globals__ is space
        ]
        used = set().union(*(globals_of(helper.__code__) for helper in helpers))
        assert not {one for one in used if one not in space and not hasattr(builtins, one)}, name


def globals_of(code: CodeType) -> set[str]:
    """Return the names of globals that the code reads, inner functions included."""
    inner = (globals_of(part) for part in code.co_consts if isinstance(part, CodeType))
    return {
        step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }.union(*inner)


def test_a_source_with_guards_runs_without_this_package_and_names_no_machine(tmp_path: Path) -> None:
    graph = graph_compiler.compile(lambda x: x[x > 0] if x[x > 0].shape[0] > 1 else x, args=(torch.ones(3),))
    assert (
        "tests/codegen/test_written_text.py:" in graph.source
        and str(Path(__file__).parents[2]) not in graph.source
    )
    calls = (
        "import torch\nassert function(torch.ones(4)).shape == (4,)\ntry:\n    function(-torch.ones(4))\nexcept GuardFailed:\n    "
        "print('refused')"
    )
    (tmp_path / "alone.py").write_text(
        f"import sys\n\nsys.modules['graph_compiler'] = None\n{graph.source}\n{calls}\n"
    )
    done = subprocess.run(
        [sys.executable, "alone.py"], check=False, cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "refused\n", done.stderr


def test_names_that_stand_twice_are_told_once() -> None:
    assert nearest("too", ["to", "to", "at"]) == "; did you mean 'to'?"


def test_loops_carry_arrays_in_the_order_in_which_they_are_written_to() -> None:
    """The source must be equal in all processes, so that the compiled program is found in the cache."""

    def rows(x: Any) -> Any:
        one, two, three, four, five = (torch.zeros(2, 3) for _ in range(5))
        for i in range(x.shape[0]):
            for array in (four, two, five, one, three):
                array[0] += x[i]
        return one, two, three, four, five

    texts = {graph_compiler.compile(rows, args=(torch.ones(9, 3),)).source for _ in range(4)}
    assert len(texts) == 1 and "for " in texts.pop()


@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow", "numpy"])
def test_float32_literals_have_the_digits_that_were_written(to: str) -> None:
    jax = pytest.importorskip("jax")
    pytest.importorskip(to)

    # The largest finite value has no shorter form that every target accepts.
    def shifted(x: Any) -> Any:
        return jax.numpy.minimum((x + 1e-5) * 0.1, 3.4028234663852886e38)

    graph = graph_compiler.transpile(shifted, to=to, source="jax", args=(jax.numpy.ones(3),))
    assert " 1e-05" in graph.source and " 0.1" in graph.source, graph.source
    x = jax.numpy.asarray([0.3, -7.0, 3.4e38])
    assert_same(graph(x), shifted(x))


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "static",
    [
        INF,
        -INF,
        complex(0, INF),
        complex(NAN, 1),
        (1, INF),
        [[-INF], NAN],
        slice(0, INF),
        {INF: 1, complex(INF, 0): 2},
        314159,
    ],
    ids=repr,
)
def test_results_may_hold_numbers_without_literals(static: Any) -> None:
    graph = graph_compiler.compile(lambda x: {"array": x + 1, "static": static}, args=(torch.ones(2),))
    assert repr(graph(torch.ones(2))["static"]) == repr(static)


def test_sizes_after_a_key_with_both_quotes_are_read() -> None:
    function = lambda x: {'it\'s "x"': x.shape[0], "b": x.shape[1]}  # noqa: E731
    graph = graph_compiler.compile(function, source="torch", args=(torch.ones(2, 3),))
    assert graph(torch.ones(4, 5)) == function(torch.ones(4, 5))


class Unpicklable:
    def __init__(self, problem: type[Exception]) -> None:
        self.problem = problem

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return self is other

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise self.problem("not picklable")


@pytest.mark.parametrize("problem", [TypeError, NotImplementedError, pickle.PicklingError])
def test_keys_of_results_need_not_be_picklable(problem: type[Exception]) -> None:
    key = Unpicklable(problem)
    graph = graph_compiler.compile(lambda x: {key: x + 1}, source="torch", args=(torch.ones(2),))
    assert list(graph(torch.ones(2))) == [key]
