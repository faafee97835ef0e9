"""Tests of compilation by default: results are those of uncompiled graphs."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402
from graph_compiler.backends.common import compilers  # noqa: E402
from graph_compiler.errors import InternalError  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402
from tests.support.logs import logged  # noqa: E402

COMPILING = [
    name
    for name in ("jax", "tensorflow")
    if graph_compiler.runtime.frameworks.backend_of(name).target.compiles_by_default
]
EACH = pytest.mark.parametrize("to", COMPILING)
PROGRAM = {"jax": "as one program of jax.jit", "tensorflow": "as one program of XLA"}
NAN, INF = float("nan"), float("inf")


def how(graph: Any) -> str:
    """Return the lines of ``explain()`` that say how each variant runs."""
    return "\n".join(
        line.strip() for line in graph.explain().splitlines() if line.strip().startswith("runs ")
    )


def outcome(function: Callable[..., Any], args: Any) -> Any:
    """Return the result, or (class, message) of the exception."""
    try:
        return function(*args)
    except Exception as problem:
        return type(problem), str(problem)


def assert_same_outcome(found: Any, expected: Any) -> None:
    if isinstance(expected, tuple) and isinstance(expected[0], type):
        assert found == expected
    else:
        assert_same(found, expected)


# --------------------------------------------------------------------------------------------- how graphs run
@EACH
def test_a_graph_runs_as_one_program_and_its_source_is_the_same(to: str) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    graph, plain = (
        graph_compiler.transpile(
            lambda x: torch.tanh(x) @ x.T, to=to, args=(x,), return_backend_compiled_fn=chosen
        )
        for chosen in (None, False)
    )
    assert_same(graph(x + 1), torch.tanh(x + 1) @ (x + 1).T), plain(x)
    assert PROGRAM[to] in how(graph) and "compiled for 1 shape of its arguments" in how(graph)
    assert not how(plain) and graph.source == plain.source


@pytest.mark.skipif("tensorflow" not in COMPILING, reason="needs tensorflow")
def test_xla_compiles_for_the_second_call_with_the_same_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    from graph_compiler.backends.tensorflow.compiled import ConcreteFunctions

    monkeypatch.setattr(compilers, "is_second_call_compiled", True)
    options: list[dict[str, Any]] = []
    trace = ConcreteFunctions._trace

    def traced(self: Any, args: Any, tensors: Any) -> Any:
        options.append(self._options)
        return trace(self, args, tensors)

    monkeypatch.setattr(ConcreteFunctions, "_trace", traced)
    graph = graph_compiler.transpile(lambda x: torch.tanh(x) @ x.T, to="tensorflow", args=(torch.ones(2, 3),))
    for rows in (4, 4, 5, 4, 5, 5):
        x = torch.arange(3.0 * rows).reshape(rows, 3) / 9
        assert_same(graph(x), torch.tanh(x) @ x.T)
    assert options == [{}, {"jit_compile": True}, {}, {"jit_compile": True}]
    assert PROGRAM["tensorflow"] in how(graph) and "from the second call" in how(graph)


@pytest.mark.parametrize("to", ["torch", "numpy"])
def test_other_targets_run_operation_by_operation(to: str) -> None:
    graph = graph_compiler.transpile(lambda x: x + 1, to=to, args=(torch.ones(2),))
    assert_same(graph(torch.ones(2)), torch.ones(2) + 1)
    assert not how(graph)


@EACH
def test_the_third_shape_warns_once_and_names_the_argument(to: str) -> None:
    graph = graph_compiler.transpile(
        lambda cache, x: cache.sum() + x, to=to, args=(torch.ones(1), torch.ones(2))
    )
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for length in range(1, 6):
            assert_same(graph(torch.ones(length), torch.ones(2)), torch.ones(length).sum() + torch.ones(2))
    (warning,) = (each for each in found if "was compiled" in str(each.message))
    assert issubclass(warning.category, RuntimeWarning) and warning.filename == __file__
    assert "compiled 3 times" in str(warning.message) and "cache [1], [2], [3]" in str(warning.message)
    assert "return_backend_compiled_fn=False" in str(warning.message)


@EACH
def test_a_size_that_grows_at_every_call_is_not_compiled_forever(to: str) -> None:
    graph = graph_compiler.transpile(lambda x: x.cumsum(0) * 2, to=to, args=(torch.ones(1),))
    # The last two lengths repeat earlier ones.
    for length in (*range(1, 24), 23, 22):
        assert_same(graph(torch.ones(length)), torch.ones(length).cumsum(0) * 2)
    assert "compiled for 18 shapes" in how(graph)


@EACH
def test_what_cannot_be_compiled_runs_operation_by_operation_and_says_why(to: str) -> None:
    x = torch.tensor([1.0, -2.0, 3.0])
    # The message is no warning, because the user has not asked for a compiled function.
    for level, count in ((logging.INFO, 1), (logging.WARNING, 0)):
        graph = graph_compiler.transpile(lambda x: torch.nonzero(x > 0), to=to, args=(x,))
        with logged(level) as told:
            for values in (x, -x, x):
                assert_same(graph(values), torch.nonzero(values > 0))
        because = (
            "because a size in it depends on the elements of an array"
            if to == "jax"
            else "without XLA, because"
        )
        assert because in how(graph)
        assert sum("is not compiled" in line or "is compiled without" in line for line in told) == count


@EACH
def test_a_bug_in_the_compilation_surfaces(to: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_compiler.transpile(lambda x: x + 1, to=to, args=(torch.ones(2),))
    monkeypatch.setattr(graph_compiler.backends.common.compilers, "_NUMBERS", None)
    with pytest.raises(InternalError, match="NoneType"):
        graph(torch.ones(2))


# ------------------------------------------------------------------------- the same as operation by operation
def branches(x: Any) -> Any:
    if x.shape[0] > 3:
        return x * 2
    return x - 1 if x.sum() > 0 else x + 10


class Negative(ValueError): ...


def guarded(x: Any) -> Any:
    if (x < 0).any():
        raise Negative(f"{int((x < 0).sum())} negative")
    return x.sqrt()


def written(x: Any) -> Any:
    x.mul_(2)
    return x + 1


def f16(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float16)


def ints(*values: int) -> Any:
    return torch.tensor(values)


TABLE = torch.arange(12.0).reshape(4, 3)
# name -> (function, arguments of the recording, arguments of calls)
SAME: dict[str, tuple[Callable[..., Any], tuple[Any, ...], list[tuple[Any, ...]]]] = {
    "branches": (branches, (torch.ones(2),), [(torch.ones(2) * 3,), (-torch.ones(2),), (torch.ones(5),), (torch.ones(1),)]),
    "an exception of the user's": (guarded, (torch.ones(2),), [(torch.ones(3) * 4,), (torch.tensor([1.0, -1.0]),), (torch.ones(2),)]),
    "an argument that is written to": (written, (torch.ones(2),), [(torch.ones(2),), (torch.ones(3),)]),
    "integer division": (lambda x, y: (x // y, x % y), (ints(7), ints(2)), [(ints(-7, 7), ints(2, -2)), (ints(1, 2), ints(0, 1))]),
    "integer powers": (lambda x, y: x**y, (ints(2), ints(3)), [(ints(2, -3), ints(3, 2)), (ints(2, 1), ints(-1, -1))]),
    "an index out of range": (lambda i, t: t[i], (ints(1), TABLE), [(ints(3, 0), TABLE), (ints(4, 0), TABLE), (ints(-1, -4), TABLE)]),
    "an embedding": (torch.nn.functional.embedding, (ints(1), TABLE), [(ints(3, 0), TABLE), (ints(4), TABLE), (ints(-1), TABLE)]),
    "gather": (lambda t, i: t.gather(0, i[None]), (TABLE, ints(0, 1, 2)), [(TABLE, ints(3, 3, 0)), (TABLE, ints(9, 0, 0))]),
    "scatter": (
        lambda t, i: t.index_add(0, i, torch.ones(1, 3)), (TABLE, ints(0)), [(TABLE, ints(3)), (TABLE, ints(4))],
    ),
    "NaN in maxima": (
        lambda x, y: (torch.maximum(x, y), torch.minimum(x, y), x.max(), x.clamp(0.0, 1.0), x.relu(), x.argmax()),
        (torch.ones(2), torch.ones(2)),
        [(torch.tensor([NAN, 1.0]), torch.tensor([1.0, NAN])), (torch.tensor([INF, -INF]), torch.tensor([NAN, 0.0]))],
    ),
    # Processors with float16 arithmetic may fuse the product and the sum, which is the same for these numbers.
    "casts to half precision": (
        lambda x: ((x * 3).half().float() / 3, (x.half() * 2.7 + 1).float()), (torch.ones(2),), [(torch.tensor([0.1, 1.2345, 7e4]),)],
    ),
    "casts to integers": (lambda x: (x.int(), x.to(torch.uint8)), (torch.ones(2),), [(torch.tensor([1.9, 200.5]),)]),
    "half precision": (lambda x: (x * x).sum(), (f16(1, 2),), [(f16(0.1, 3, 200),), (f16(300, 0.3),)]),
    "numbers that are read": (lambda x: x * x.sum().item() + int(x[0]), (torch.ones(2),), [(torch.ones(3) * 2,), (torch.ones(2) * 7,)]),
    "a number as argument": (lambda x, n: x * n, (torch.ones(2), 2), [(torch.ones(2), 3), (torch.ones(2), 4), (torch.ones(2), 5)]),
    "a factorisation": (torch.linalg.cholesky, (torch.eye(2),), [(torch.eye(2) * 4,), (-torch.eye(2),)]),
    "an inverse": (torch.linalg.inv, (torch.eye(2),), [(torch.eye(2) * 4,), (torch.zeros(2, 2),)]),
    "no array": (lambda x: {"size": x.shape[0], "text": "words", "sum": x.sum(), "none": None}, (torch.ones(2),), [(torch.ones(3),)]),
    "an empty array": (lambda x: (x.sum(), x * 2), (torch.ones(2),), [(torch.ones(0),)]),
}  # fmt: skip


@EACH
@pytest.mark.parametrize("name", SAME)
def test_compiled_graphs_do_what_others_do(name: str, to: str) -> None:
    function, recorded, calls = SAME[name]
    copied = lambda args: tuple(arg.clone() if isinstance(arg, torch.Tensor) else arg for arg in args)  # noqa: E731
    graph, plain = (
        graph_compiler.transpile(function, to=to, args=copied(recorded), return_backend_compiled_fn=chosen)
        for chosen in (None, False)
    )
    for args in calls:
        ours, theirs = copied(args), copied(args)
        assert_same_outcome(outcome(graph, ours), outcome(plain, theirs))
        assert_same(ours, theirs)
    assert not any("because" in line for line in how(graph).splitlines()) or to == "tensorflow"
    assert len(graph.variants) == len(plain.variants)


# ----------------------------------------------------------------------------------- state and random numbers
@EACH
def test_buffers_are_updated_in_the_users_model(to: str) -> None:
    model, reference = torch.nn.BatchNorm1d(3), torch.nn.BatchNorm1d(3)
    graph = graph_compiler.transpile(model, to=to, args=(torch.randn(4, 3),))
    for seed in range(3):
        x = torch.randn(5, 3, generator=torch.Generator().manual_seed(seed))
        assert_same(graph(x), reference(x).detach())
    assert_same(dict(model.named_buffers()), dict(reference.named_buffers()))
    model.weight.data.mul_(2), reference.weight.data.mul_(2)
    assert_same(graph(x), reference(x).detach())
    assert PROGRAM[to] in how(graph)


@EACH
def test_containers_are_updated(to: str) -> None:
    def append(cache: list[Any], x: Any) -> Any:
        cache.append(x * 2)
        return x.sum()

    graph = graph_compiler.transpile(append, to=to, args=([], torch.ones(2)))
    cache: list[Any] = []
    graph(cache, torch.ones(2))
    assert_same(cache, [torch.ones(2) * 2])


@EACH
def test_every_call_draws_other_numbers_and_a_seed_repeats_them(to: str) -> None:
    graph = graph_compiler.transpile(lambda x: torch.rand_like(x) + 0 * x, to=to, args=(torch.ones(5),))
    graph.seed(3)
    first, second = np.asarray(graph(torch.ones(5))), np.asarray(graph(torch.ones(5)))
    graph.seed(3)
    assert (first != second).all() and (np.asarray(graph(torch.ones(5))) == first).all()
    assert "runs as one" in how(graph)


# ---------------------------------------------------------------------------------------------- files
@EACH
def test_loaded_graphs_run_as_one_program(to: str, tmp_path: Path) -> None:
    model = torch.nn.Linear(3, 2)
    graph_compiler.transpile(model, to=to, args=(torch.ones(1, 3),)).save(tmp_path / "graph.zip")
    loaded, x = graph_compiler.load(tmp_path / "graph.zip"), torch.randn(4, 3)
    assert_same(loaded(x.numpy()), model(x).detach())
    assert PROGRAM[to] in how(loaded)


# ---------------------------------------------------------------------------- inside of JAX's transformations
@pytest.mark.skipif("jax" not in COMPILING, reason="needs jax")
def test_inside_of_jax_transformations_the_graph_is_part_of_them() -> None:
    import jax
    import jax.numpy as jnp

    graph = graph_compiler.transpile(lambda x: (torch.sin(x) * x).sum(), to="jax", args=(torch.ones(3),))
    x = jnp.arange(3.0)
    expected = jnp.cos(x) * x + jnp.sin(x)
    for derive in (
        jax.grad(graph),
        jax.jit(jax.grad(graph)),
        jax.grad(jax.jit(graph)),
        jax.jacfwd(graph),
        jax.jacrev(graph),
    ):
        assert_same(derive(x), expected)
    rows = jnp.stack([x, x + 1])
    for mapped in (jax.vmap(graph), jax.jit(jax.vmap(graph)), lambda rows: jax.lax.map(graph, rows)):
        assert_same(mapped(rows), jnp.stack([(jnp.sin(row) * row).sum() for row in rows]))
    # Inside another program the graph becomes a part of that, not a program of its own.
    assert "pjit" not in str(jax.make_jaxpr(graph)(x)) and "jit[" not in str(jax.make_jaxpr(graph)(x))


# ---------------------------------------------------------- with tapes, variables and functions of TensorFlow
@pytest.mark.skipif("tensorflow" not in COMPILING, reason="needs tensorflow")
def test_a_tape_records_and_a_tf_function_contains_the_graph() -> None:
    import tensorflow as tf

    graph = graph_compiler.transpile(
        lambda x: (torch.sin(x) * x).sum(), to="tensorflow", args=(torch.ones(3),)
    )
    x = tf.range(3.0)
    expected = tf.cos(x) * x + tf.sin(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        result = graph(x)
    assert_same(tape.gradient(result, x), expected)
    inside = tf.function(graph, input_signature=[tf.TensorSpec((None,), tf.float32)], autograph=False)
    assert_same(inside(x), graph(x)), assert_same(inside(tf.range(5.0)), graph(tf.range(5.0)))


@pytest.mark.skipif("tensorflow" not in COMPILING, reason="needs tensorflow")
def test_variables_are_read_and_written() -> None:
    import tensorflow as tf

    weight, count = tf.Variable([1.0, 2.0]), tf.Variable(0.0)

    def function(x: Any) -> Any:
        count.assign_add(1.0)
        return x * weight + count

    graph = graph_compiler.compile(function, args=(tf.ones(2),))
    before = float(count)
    assert_same(graph(tf.ones(2)), tf.constant([2.0, 3.0]) + before)
    weight.assign([5.0, 6.0])
    assert_same(graph(tf.ones(2)), tf.constant([7.0, 8.0]) + before)
    assert float(count) == before + 2


@pytest.mark.skipif("tensorflow" not in COMPILING, reason="needs tensorflow")
def test_checks_that_xla_leaves_out_are_made_once_in_functions_that_write() -> None:
    import tensorflow as tf

    count, table = tf.Variable(0.0), tf.reshape(tf.range(12.0), (4, 3))

    def function(i: Any) -> Any:
        count.assign_add(1.0)
        return tf.gather(table, i) + count

    graph = graph_compiler.compile(function, args=(tf.constant([1]),))
    before = float(count)
    graph(tf.constant([3, 0]))
    assert float(count) == before + 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="is not in"):
        graph(tf.constant([9]))


@pytest.mark.skipif("tensorflow" not in COMPILING, reason="needs tensorflow")
@pytest.mark.parametrize("seeded", [True, False])
def test_random_numbers_of_tensorflow_are_those_of_its_kernels(seeded: bool) -> None:
    import tensorflow as tf

    def function(x: Any) -> Any:
        return x + (
            tf.random.stateless_normal((3,), seed=tf.cast(x[:2], tf.int32))
            if seeded
            else tf.random.normal((3,))
        )

    graph, plain = (
        graph_compiler.compile(function, args=(tf.ones(3),), return_backend_compiled_fn=chosen)
        for chosen in (None, False)
    )
    found = []
    for call in (graph, plain):
        tf.random.set_seed(5)
        found.append([call(tf.ones(3)), call(tf.ones(3))])
    assert_same(*found)
    assert (
        "without XLA, because XLA draws other numbers"
        if seeded
        else "operation by operation, because it draws from"
    ) in how(graph)


@pytest.mark.skipif("tensorflow" not in COMPILING, reason="needs tensorflow")
def test_elements_that_xla_treats_otherwise_end_its_use() -> None:
    import tensorflow as tf

    graph = graph_compiler.compile(tf.argmax, args=(tf.ones(3),))
    plain = graph_compiler.compile(tf.argmax, args=(tf.ones(3),), return_backend_compiled_fn=False)
    x = tf.constant([1.0, NAN, 3.0])
    assert_same(graph(tf.ones(3)), plain(tf.ones(3)))
    assert PROGRAM["tensorflow"] in how(graph)
    for _ in range(2):
        assert_same(graph(x), plain(x))
        assert "without XLA, because elements came" in how(graph)


def test_decompositions_of_doubles_are_as_precise_as_in_tensorflow() -> None:
    """XLA computes them to seven digits."""
    x = np.random.default_rng(0).standard_normal((20, 20))
    graph = graph_compiler.compile(np.linalg.svd, to="tensorflow", args=(x,))
    u, s, v = (part.numpy() for part in graph(x))
    np.testing.assert_allclose((u * s) @ v, x, atol=1e-12)
    assert "Svd of float64" in str(graph.explain())
