"""Tests of ``graph.functional`` and compiled functions: guards on elements are checked there too, and results
keep their structure.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.errors import CallMismatch, GuardFailed  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402

NAN = float("nan")


def by_first(x: Any) -> Any:
    return x * 2 if x[0].item() > 0 else x * 3


def by_list(x: Any) -> Any:
    return x * len(x.tolist())


def by_text(x: Any) -> Any:
    return x * len(str(x[0].item()))


def whole_numbers(x: Any) -> Any:
    return x.long() * 2 if x.sum() > 0 else x.long() * 3


def truth(x: Any) -> Any:
    return x > 1 if x.sum() > 0 else x < 1


def mixed(x: Any) -> Any:
    return {"z": x * 2 if x.sum() > 0 else x, "text": "yes" if x.sum() > 0 else "no", 3: x.shape[0]}


def bisected(x: Any) -> int:
    low, high = 0, x.shape[0]
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if x[middle] < 2.5 else (low, middle)
    return low


def number_and_array(x: Any) -> Any:
    return 1.5 if x.sum() > 0 else 2.5, x * 2


def nothing_or_index(x: Any) -> Any:
    return x.argmax() if x.sum() > 0 else None


# Each row: function, recorded elements, elements for which the guards hold, elements for which they fail.
Row = tuple[Callable[[Any], Any], list[float], list[list[float]], list[list[float]]]
ROWS: dict[str, Row] = {
    "a comparison": (
        by_first,
        [1.0, 2.0],
        [[1.0, 5.0], [2.0, 2.0], [1.0, 2.0, 3.0]],
        [[-1.0, 2.0], [NAN, 2.0]],
    ),
    "an element": (by_text, [1.0, 2.0], [[1.0, 5.0], [1.0, 2.0, 3.0]], [[2.0, 2.0], [10.0, 2.0]]),
    "count of a list": (by_list, [2.0, 2.0], [[2.0, 2.0], [2.0, 3.0]], [[2.0], [2.0, 2.0, 2.0], []]),
    "NaN": (by_first, [NAN, 2.0], [[NAN, 3.0]], [[1.0, 2.0]]),
    "text of NaN": (by_text, [NAN, 2.0], [[NAN, 3.0]], [[1.0, 2.0]]),
    "negative zero": (by_text, [-0.0, 2.0], [[-0.0, 3.0]], [[0.0, 3.0]]),
    "whole numbers": (whole_numbers, [1.0, 2.0], [[3.0, 4.0], [3.0]], [[-3.0, 1.0]]),
    "truth values": (truth, [1.0, 2.0], [[3.0, 0.0]], [[-3.0, 1.0]]),
    "a number of Python alone": (
        bisected,
        [0.0, 1.0, 2.0, 3.0],
        [[0.0, 0.0, 1.0, 9.0]],
        [[3.0, 4.0, 5.0, 6.0]],
    ),
    "a number of Python beside an array": (number_and_array, [1.0, 2.0], [[3.0, 4.0]], [[-3.0, 1.0]]),
    "nothing on the other side": (nothing_or_index, [1.0, 2.0], [[3.0, 4.0]], [[-3.0, 1.0]]),
    "mixed": (mixed, [1.0, 2.0], [[3.0, 4.0], [3.0]], [[-3.0, 1.0]]),
}


def array(elements: list[float]) -> Any:
    return torch.tensor(elements, dtype=torch.float32)


def in_arrays(result: Any) -> Any:
    """Return a result with Python numbers as arrays, as compiled functions return it."""
    return jax.tree.map(
        lambda leaf: torch.tensor(leaf, dtype=torch.int32) if type(leaf) is int else torch.as_tensor(leaf),
        result,
    )


@pytest.mark.parametrize("to", ["torch", "jax", "numpy", "tensorflow"])
@pytest.mark.parametrize("name", ROWS)
def test_guards_on_elements_hold_for_pure_calls(name: str, to: str) -> None:
    function, recorded, right, wrong = ROWS[name]
    graph = graph_compiler.compile(function, to=to, args=(array(recorded),))
    for elements in right:
        assert_same(graph.functional(graph.parameters, array(elements)), function(array(elements)))
    for elements in wrong:
        with pytest.raises(GuardFailed):
            graph.functional(graph.parameters, array(elements))


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_guards_on_elements_hold_inside_of_jit(name: str) -> None:
    function, recorded, right, wrong = ROWS[name]
    graph = graph_compiler.transpile(function, args=(array(recorded),))

    def only_array(result: Any) -> Any:
        return result["z"] if isinstance(result, dict) else result

    def arrays(x: Any) -> Any:
        return only_array(graph.functional({}, x))

    for elements in right:
        assert_same(jax.jit(arrays)(jnp.array(elements)), in_arrays(only_array(function(array(elements)))))
    for elements in wrong:
        try:
            result = jax.tree.leaves(
                jax.block_until_ready(jax.jit(arrays)(jnp.array(elements, dtype=jnp.float32)))
            )
        except (GuardFailed, ValueError, jax.errors.JaxRuntimeError) as problem:
            assert "GuardFailed" in f"{type(problem).__name__}: {problem}"
        else:
            assert all(np.isnan(leaf).all() for leaf in result)


@pytest.mark.parametrize("name", ROWS)
def test_guards_on_elements_hold_inside_of_a_function_of_tensorflow(name: str) -> None:
    tf = pytest.importorskip("tensorflow")
    function, recorded, right, wrong = ROWS[name]
    graph = graph_compiler.compile(function, to="tensorflow", args=(array(recorded),))

    @tf.function
    def pure(x: Any) -> Any:
        result = graph.functional(graph.parameters, x)
        return result["z"] if isinstance(result, dict) else result

    for elements in right:
        expected = function(array(elements))
        assert_same(
            pure(tf.constant(elements, tf.float32)),
            in_arrays(expected["z"] if isinstance(expected, dict) else expected),
        )
    for elements in wrong:
        with pytest.raises(
            (GuardFailed, tf.errors.InvalidArgumentError), match=r"when recorded|x\.shape\[0\] == 2"
        ):
            pure(tf.constant(elements, tf.float32))


@pytest.mark.parametrize("name", ROWS)
def test_guards_that_xla_would_leave_out_of_tensorflow_show_or_refuse_the_trace(name: str) -> None:
    tf = pytest.importorskip("tensorflow")
    function, recorded, _, wrong = ROWS[name]
    graph = graph_compiler.compile(function, to="tensorflow", args=(array(recorded),))

    @tf.function(jit_compile=True, autograph=False)
    def pure(x: Any) -> Any:
        result = graph.functional(graph.parameters, x)
        return result["z"] if isinstance(result, dict) else result

    for elements in wrong:
        try:
            result = tf.nest.flatten(pure(tf.constant(elements, tf.float32)))
        except (GuardFailed, CallMismatch) as problem:
            assert "NaN cannot show" in str(problem) or isinstance(problem, GuardFailed)
        else:
            assert all(np.isnan(leaf).all() for leaf in result)


def test_guards_hold_for_each_example_of_torch_vmap() -> None:
    graph = graph_compiler.compile(lambda x: x * 2 if x[0] > 0 else x * 3, args=(array([1.0, 2.0]),))
    rows = torch.tensor([[[1.0, 5.0], [2.0, -5.0]], [[3.0, 5.0], [4.0, -5.0]]])

    def function(x: Any) -> Any:
        return graph.functional({}, x)

    assert torch.equal(torch.vmap(torch.vmap(function))(rows), rows * 2)
    assert torch.equal(
        torch.vmap(torch.func.grad(lambda x: function(x).sum()))(rows[0]), torch.full((2, 2), 2.0)
    )
    with pytest.raises(GuardFailed, match=__file__):
        torch.vmap(torch.vmap(function))(torch.cat([rows, -rows]))


def test_guards_hold_under_gradients_of_torch() -> None:
    graph = graph_compiler.compile(by_first, args=(array([1.0, 2.0]),))
    gradient = torch.func.grad(lambda x: graph.functional({}, x).sum())
    assert gradient(array([1.0, 5.0])).tolist() == [2, 2]
    with pytest.raises(GuardFailed):
        gradient(array([-2.0, 5.0]))


def test_the_state_is_refused_with_the_result() -> None:
    norm = torch.nn.BatchNorm1d(2)
    graph = graph_compiler.transpile(
        lambda x: norm(x) if x[0, 0].item() > 0 else norm(x * 0), args=(torch.ones(3, 2),)
    )
    pure = jax.jit(lambda parameters, x: graph.functional(parameters, x)[1]["norm.running_mean"])
    assert np.isfinite(pure(graph.parameters, jnp.ones((3, 2)))).all()
    with pytest.raises((ValueError, jax.errors.JaxRuntimeError), match="GuardFailed"):
        jax.block_until_ready(pure(graph.parameters, -jnp.ones((3, 2))))


@pytest.mark.parametrize("count", [1, 0])
def test_guards_of_results_without_elements_are_refused(count: int) -> None:
    tf = pytest.importorskip("tensorflow")

    def function(x: Any, rows: Any) -> Any:
        return (rows * 2, x[:0]) if x.sum() > 0 else (rows * 3, x[:0])

    given = array([1.0, 2.0]), torch.ones(count, 3)
    graph = graph_compiler.transpile(function, source="torch", to="jax", args=given)
    pure = jax.jit(lambda x: graph.functional({}, x, jnp.ones((count, 3))))
    assert_same(pure(jnp.ones(2)), function(*given))
    if count:
        assert np.isnan(pure(-jnp.ones(2))[0]).all()
        return
    with pytest.raises(jax.errors.JaxRuntimeError, match="GuardFailed"):
        jax.block_until_ready(pure(-jnp.ones(2)))
        jax.effects_barrier()
    graph = graph_compiler.transpile(function, source="torch", to="tensorflow", args=given)
    with pytest.raises(CallMismatch, match="or of no elements"):
        tf.function(lambda x: graph.functional({}, x, tf.ones((0, 3))), jit_compile=True)(tf.ones(2))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_guards_of_results_that_are_keys_are_refused() -> None:
    function = lambda x, key: jax.random.split(key) if x.sum() > 0 else key  # noqa: E731
    graph = graph_compiler.compile(function, source="jax", args=(jnp.ones(2), jax.random.key(0)))
    pure = jax.jit(lambda x: graph.functional({}, x, jax.random.key(0)))
    assert pure(jnp.ones(2)).shape == (2,)
    with pytest.raises(jax.errors.JaxRuntimeError, match="GuardFailed"):
        jax.block_until_ready(pure(-jnp.ones(2)))
        jax.effects_barrier()


def test_python_is_called_only_where_a_guard_fails() -> None:
    """A callback into Python takes longer than most compiled functions."""
    graph = graph_compiler.compile(
        lambda x: x.argmax() if x[0] > 0 else x.argmin(), to="jax", args=(array([1.0, 3.0]),)
    )
    pure = functools.partial(graph.functional, {})
    traced = jax.make_jaxpr(pure)(jnp.ones(2))
    assert "pure_callback" not in {equation.primitive.name for equation in traced.eqns}
    assert not traced.effects, "jax.jit calls what has effects on a slow way"
    assert jax.jit(jax.vmap(pure))(jnp.array([[1.0, 3.0], [4.0, 2.0]])).tolist() == [1, 0]
    with pytest.raises((GuardFailed, jax.errors.JaxRuntimeError), match=r"GuardFailed|elements handed"):
        jax.block_until_ready(jax.jit(jax.vmap(pure))(jnp.array([[1.0, 3.0], [-4.0, 2.0]])))
        jax.effects_barrier()


FORMS: dict[str, Callable[[Any], Any]] = {
    "a number of sizes": lambda x: (x, x.shape[0], x.numel()),
    "texts and nothing": lambda x: ["text", None, x, 2.5, True],
    "order of keys": lambda x: {"z": x, "a": x + 1, 3: x * 2},
    "a shape": lambda x: (x.shape, x),
    "no arrays": lambda x: x.shape[0],
}


@pytest.mark.parametrize("name", FORMS)
def test_compiled_functions_give_results_of_the_same_form(name: str) -> None:
    graph = graph_compiler.transpile(FORMS[name], args=(torch.ones(2),), return_backend_compiled_fn=True)
    for size in (2, 3, 2):
        assert_same(graph(torch.ones(size)), FORMS[name](torch.ones(size)))
    assert len(graph.variants) == 1


def test_compiled_functions_round_as_uncompiled_ones() -> None:
    """By default XLA omits casts to half precision between two operations. Compiler options are not allowed
    inside another compiled function.
    """

    def function(x: Any) -> Any:
        half = x.to(torch.bfloat16)
        return (half * half + half * 3).float()

    graph = graph_compiler.transpile(function, args=(torch.ones(2),), return_backend_compiled_fn=True)
    x = torch.linspace(-3, 3, 101)
    assert graph(x).tolist() == function(x).tolist()
    np.testing.assert_allclose(jax.jit(graph)(jnp.asarray(x.numpy())), function(x), rtol=0.02, atol=0.02)


def test_a_traced_call_that_fits_nothing_is_refused() -> None:
    graph = graph_compiler.transpile(lambda x: x * 2, args=(torch.ones(2),))
    with pytest.raises(CallMismatch, match="jax traces this call, which fits no recorded variant"):
        jax.jit(graph)(jnp.ones((2, 3)))
    graph.add_variant((torch.ones(2, 2),), {})
    assert jax.jit(graph)(jnp.ones((2, 3))).shape == (2, 3)


def test_sizes_that_are_broadcast_are_assumed_to_be_equal() -> None:
    graph = graph_compiler.transpile(
        lambda a, b, c: ((a + b) * c).reshape(-1), args=(torch.ones(2, 3), torch.ones(2, 3), torch.ones(3))
    )
    assert [repr(guard.condition) for guard in graph.variants[0].graph.guards] == [
        "a.shape[0] == b.shape[0]",
        "a.shape[1] == b.shape[1]",
        "a.shape[1] == c.shape[0]",
    ]
    for others in ((5,), (1,)):
        given = (torch.ones(4, 5), torch.ones(4, *others), torch.ones(5))
        assert_same(graph(*given), ((given[0] + given[1]) * given[2]).reshape(-1))
    assert len(graph.variants) == 2


@pytest.mark.parametrize("to", ["jax", "tensorflow"])
def test_gradients_are_nan_where_a_guard_fails(to: str) -> None:
    graph = graph_compiler.compile(by_first, to=to, args=(array([1.0, 2.0]),))
    if to == "jax":
        found = [
            jax.jit(jax.grad(lambda x: graph.functional({}, x).sum()))(jnp.array([first, 2.0]))
            for first in (1.0, -1.0)
        ]
    else:
        tf = pytest.importorskip("tensorflow")

        @tf.function(jit_compile=True)  # type: ignore[untyped-decorator]  # XLA leaves the assertion out
        def gradient(x: Any) -> Any:
            return tf.gradients(graph.functional({}, x), x)[0]

        found = [gradient(tf.constant([first, 2.0])).numpy() for first in (1.0, -1.0)]
    assert np.array_equal(found[0], [2, 2]) and np.isnan(found[1]).all()


def test_a_variant_that_holds_is_taken() -> None:
    scales = [2.0]
    graph = graph_compiler.transpile(lambda x: x * scales[0] if x[0].item() > 0 else -x)
    for first in (1.0, -1.0):
        graph(array([first, 2.0]))
    assert_same(graph.functional({}, array([-1.0, 2.0])), array([1.0, -2.0]))
    scales[0] = 3.0
    with pytest.raises(GuardFailed):
        graph.functional({}, array([1.0, 2.0]))
    graph(array([1.0, 2.0]))
    assert_same(graph.functional({}, array([1.0, 2.0])), array([3.0, 6.0]))


# Each row: a call that a graph recorded with ones(2, 3) cannot take while the target traces it, and the
# reason in the message.
TRACED: dict[str, tuple[Callable[..., Any], Any, str]] = {
    "another rank": (lambda x: x * 2, np.ones(3, np.float32), "1 axis and was recorded with 2"),
    "another type": (lambda x: x * 2, np.ones((2, 3), np.int32), "int32 and was recorded as float32"),
    "a size made of elements": (lambda x: x[x > 0], np.ones((2, 3), np.float32), "concrete"),
}


@pytest.mark.parametrize("name", TRACED)
def test_a_call_that_fits_nothing_in_jit_says_why(name: str) -> None:
    function, given, why = TRACED[name]
    graph = graph_compiler.transpile(function, to="jax", args=(torch.ones(2, 3),))
    # The message must be a single line.
    with pytest.raises(CallMismatch, match=f"jax traces this call.*{why}.*functional"):
        jax.jit(graph)(given)
    with pytest.raises(CallMismatch, match=r"first call.*with graph\.add_variant\(\(\.\.\.,\), \{\}\)"):
        jax.jit(graph_compiler.transpile(function, source="torch", to="jax"))(given)
    assert_same(graph(given), function(torch.from_numpy(given)))


def test_a_call_that_fits_nothing_in_a_tensorflow_function_says_why() -> None:
    tf = pytest.importorskip("tensorflow")
    graph = graph_compiler.transpile(
        lambda x: x / math.sqrt(x.shape[0]), to="tensorflow", args=(torch.ones(2, 3),)
    )
    with pytest.raises(CallMismatch, match="tensorflow traces this call"):
        tf.function(graph, input_signature=[tf.TensorSpec([None, 3])], autograph=False)(
            np.ones((4, 3), np.float32)
        )


class Cooling(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.heat, self.calls, self.last = 2.0, 0, torch.zeros(3)

    def forward(self, x: Any) -> Any:
        self.heat, self.calls = self.heat * 0.9, self.calls + 1
        self.last = torch.tanh(self.last + x) / self.heat
        return self.last * self.calls


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_numbers_in_state_pass_through_transformations(dtype: str) -> None:
    """Compiled functions return arrays for Python numbers in the state. They must still count as numbers in
    dtype promotion.
    """
    original, x = Cooling().to(getattr(torch, dtype)), jnp.linspace(-1, 1, 3).astype(dtype)
    original.last = original.last.to(getattr(torch, dtype))
    graph = graph_compiler.transpile(original, to="jax", args=(torch.zeros(3, dtype=getattr(torch, dtype)),))
    wanted, state = [], dict(graph.state)
    compiled = jax.jit(lambda x, state: graph.functional({}, x, state=state))
    scanned = jax.lax.scan(
        lambda state, x: graph.functional({}, x, state=state)[::-1],
        jax.tree.map(jnp.asarray, state),
        jnp.stack([x] * 3),
    )
    for _ in range(3):
        result, state = compiled(x, state)
        wanted.append(result)
    again, _ = graph.functional({}, x, state=state)
    for number, one in enumerate(wanted):
        expected = original(torch.linspace(-1, 1, 3, dtype=getattr(torch, dtype)))
        assert one.dtype == dtype
        np.testing.assert_allclose(
            one.astype("f"), expected.float(), rtol=2e-2 if dtype == "bfloat16" else 1e-5
        )
        np.testing.assert_allclose(
            scanned[1][number].astype("f"), one.astype("f"), rtol=2e-2 if dtype == "bfloat16" else 1e-5
        )
    assert again.dtype == dtype


def test_given_state_that_does_not_fit_is_named() -> None:
    graph = graph_compiler.transpile(Cooling(), to="jax", args=(torch.zeros(3),))
    with pytest.raises(GuardFailed, match="calls is 'many' and was recorded as an int"):
        graph.functional({}, jnp.zeros(3), state={"calls": "many"})


@pytest.mark.parametrize("to", ["jax", "tensorflow"])
def test_a_graph_for_another_framework_stands_in_its_functions_as_a_pure_one(to: str) -> None:
    model = torch.nn.Linear(3, 2)
    graph = graph_compiler.transpile(model, to=to, args=(torch.ones(2, 3),))
    rows = np.linspace(-1, 1, 15, dtype="float32").reshape(5, 3)
    given = graph._pipeline.target.target.convert(rows)
    outer = graph_compiler.transpile(
        lambda parameters, x: graph.functional(parameters, x) + 1,
        source=to,
        to="numpy",
        args=(graph.parameters, given[:2]),
    )
    with torch.no_grad():
        model.weight.mul_(2)
        np.testing.assert_allclose(
            outer(graph.parameters, rows), model(torch.from_numpy(rows)) + 1, rtol=1e-5, atol=1e-6
        )


def by_draw(x: Any) -> Any:
    drawn = random.random()
    return x + drawn if x[0] > 0 else x - drawn


def _drawn(function: Callable[[Any], Any], x: Any) -> tuple[Any, float]:
    random.seed(0)
    return function(x), random.random()


@pytest.mark.parametrize("to", ["torch", "jax", "numpy", "tensorflow", "jax.jit"])
def test_a_variant_that_does_not_fit_draws_no_numbers(to: str) -> None:
    graph = graph_compiler.compile(by_draw, to=to.partition(".")[0], args=(array([1.0, 2.0]),))
    graph(array([-1.0, 2.0]))
    for elements in ([1.0, 3.0], [-1.0, 3.0]):
        # A new function, because JAX traces each once.
        pure = functools.partial(graph.functional, graph.parameters)
        called = jax.jit(pure) if to == "jax.jit" else pure
        given = jnp.array(elements) if to == "jax.jit" else array(elements)
        assert_same(_drawn(called, given), _drawn(by_draw, array(elements)))


def test_a_variant_that_fits_twice_draws_once() -> None:
    """JAX sorts the keywords of a traced call, so it fits as it is and in the recorded order."""

    def scaled(y: Any, x: Any) -> Any:
        return by_draw(x) * y

    graph = graph_compiler.compile(scaled, to="jax", kwargs={"y": array([2.0]), "x": array([1.0, 2.0])})
    graph(y=array([2.0]), x=array([-1.0, 2.0]))
    pure = jax.jit(functools.partial(graph.functional, graph.parameters))
    found = _drawn(lambda x: pure(y=jnp.array([2.0]), x=x), jnp.array([-1.0, 3.0]))
    assert_same(found, _drawn(lambda x: scaled(array([2.0]), x), array([-1.0, 3.0])))
