"""Tests of derivatives of recorded functions in each target, at other arguments than the recorded ones,
compared with the source framework.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.selection import pairs

pytest.importorskip("jax")
pytest.importorskip("tensorflow")

import jax
import tensorflow as tf
import torch

import graph_compiler
from graph_compiler import transforms
from graph_compiler.errors import CallMismatch, GradientRefused
from tests.support.contexts import wide_types
from tests.support.jitted import by_jit, jax_array
from tests.support.selection import is_jitted

from .expected import as_numpy, in_source, own_gradients, own_products
from .table import SOURCES, Case

TARGETS = ("torch", "jax", "tensorflow")
ALL = [f"{source}-{name}" for source, table in SOURCES.items() for name in table]


def case_of(name: str) -> tuple[str, Case]:
    source, _, called = name.partition("-")
    return source, SOURCES[source][called]


SECOND = pairs([name for name in ALL if case_of(name)[1].has_second], TARGETS)


@pytest.fixture(autouse=True)
def wide() -> Any:
    with wide_types():
        yield


def assert_near(found: Any, expected: Any, rtol: float = 1e-6) -> None:
    """Assert equality relative to the largest element."""
    found, expected = as_numpy(found), as_numpy(expected)
    assert found.shape == expected.shape and found.dtype == expected.dtype
    np.testing.assert_allclose(
        found, expected, rtol=0, atol=rtol * max(1.0, float(np.abs(expected).max(initial=0.0)))
    )


def recorded(name: str, to: str) -> tuple[str, Case, Any]:
    """Return (source, case, graph recorded with other arguments)."""
    source, case = case_of(name)
    args = [in_source(source, array) for array in case.arguments(seed=1)]
    return source, case, graph_compiler.compile(case.function, source=source, to=to, args=args)


def run(name: str, to: str, taken: Callable[..., Any], arrays: list[Any], directions: list[Any]) -> Any:
    """Return ``taken(arrays, directions)``; in JAX most cases run as one program."""
    if not is_jitted(name, to):
        return taken(arrays, directions)
    return by_jit(taken, *([jax_array(as_numpy(array)) for array in group] for group in (arrays, directions)))


@pytest.mark.parametrize(("name", "to"), pairs(ALL, TARGETS))
def test_first_derivatives(name: str, to: str) -> None:
    source, case, graph = recorded(name, to)
    arrays, tangents = ([in_source(source, array) for array in case.arguments(seed)] for seed in (0, 2))

    def taken(arrays: list[Any], tangents: list[Any]) -> Any:
        value, gradients = transforms.value_and_grad(graph, argnums=tuple(range(len(arrays))))(*arrays)
        # The source's own operation has neither forward mode nor a second derivative.
        if source == to and not case.has_second:
            with pytest.raises(GradientRefused):
                transforms.jvp(graph, arrays, tangents)
            return value, gradients, ()
        pushed = (
            transforms.jvp(graph, arrays, tangents)[1],
            transforms.linearize(graph, *arrays)[1](*tangents),
        )
        return value, gradients, pushed

    value, gradients, pushed = run(name, to, taken, arrays, tangents)
    expected = own_gradients(source, case.function, arrays)
    assert_near(value, case.function(*arrays))
    for found, own in zip(gradients, expected, strict=True):
        assert_near(found, own)
    along = sum((as_numpy(own) * as_numpy(tangent)).sum() for own, tangent in zip(expected, tangents))
    for found in pushed:
        assert_near(found, np.asarray(along))


@pytest.mark.parametrize(("name", "to"), SECOND)
def test_second_derivatives(name: str, to: str) -> None:
    """The product of the Hessian with a vector is taken by forward over reverse and by reverse over reverse
    mode.
    """
    source, case, graph = recorded(name, to)
    arrays, directions = ([in_source(source, array) for array in case.arguments(seed)] for seed in (0, 2))

    def taken(arrays: list[Any], directions: list[Any]) -> Any:
        gradient = transforms.grad(graph, argnums=tuple(range(len(arrays))))
        return transforms.jvp(gradient, arrays, directions)[1], transforms.vjp(gradient, *arrays)[1](
            tuple(directions)
        )

    expected = own_products(source, case.function, arrays, directions)
    for products in run(name, to, taken, arrays, directions):
        for found, own in zip(products, expected, strict=True):
            assert_near(found, own)


@pytest.mark.parametrize("to", TARGETS)
def test_jacobians_and_hessians(to: str) -> None:
    def function(x: Any, y: Any) -> Any:
        return {"product": torch.sin(x)[:, None] * y, "sum": (x**2).sum() + y.sum() ** 2}

    x, y = torch.linspace(0.1, 1.0, 3, dtype=torch.float64), torch.linspace(-1.0, 1.0, 2, dtype=torch.float64)
    graph = graph_compiler.transpile(function, source="torch", to=to, args=(x[:2], y))
    expected = torch.func.jacrev(function, argnums=(0, 1))(x, y)
    for transform in (transforms.jacrev, transforms.jacfwd):
        found = transform(graph, argnums=(0, 1))(x, y)
        for key in ("product", "sum"):
            for ours, theirs in zip(found[key], expected[key], strict=True):
                assert_near(ours, theirs)
    second = torch.func.hessian(lambda x, y: function(x, y)["sum"], argnums=(0, 1))(x, y)
    ours = transforms.hessian(graph, argnums=(0, 1))(x, y)["sum"]
    for row, expected_row in zip(ours, second, strict=True):
        for block, expected_block in zip(row, expected_row, strict=True):
            assert_near(block, expected_block)


@pytest.mark.parametrize("to", TARGETS)
def test_derivatives_nest_in_any_order(to: str) -> None:
    x = torch.tensor(0.7, dtype=torch.float64)
    graph = graph_compiler.transpile(lambda x: torch.sin(x) * x**3, source="torch", to=to, args=(x,))
    third = torch.func.grad(torch.func.grad(torch.func.grad(lambda x: torch.sin(x) * x**3)))(x)
    # Each of these functions takes 4 seconds.
    for orders in (
        ("rfr", "frr", "ffr") if to == "tensorflow" else map("".join, itertools.product("rf", repeat=3))
    ):
        function = graph
        for one in orders:
            function = (transforms.jacrev if one == "r" else transforms.jacfwd)(function)
        assert_near(function(x), third)


@pytest.mark.parametrize("to", TARGETS)
def test_gradients_of_complex_arguments_follow_one_convention(to: str) -> None:
    def function(z: Any) -> Any:
        return (z * z.conj()).real.sum() + (z**2).imag.sum() + torch.fft.fft(z).abs().sum()

    z = torch.tensor([1 + 2j, 3 - 1j, 0.5j], dtype=torch.complex128)
    graph = graph_compiler.transpile(function, source="torch", to=to, args=(z[:2],))
    expected = torch.func.grad(function)(z)
    assert_near(transforms.grad(graph)(z), expected)
    assert function(z - 1e-3 * expected) < function(z)


@pytest.mark.parametrize("to", TARGETS)
def test_holomorphic_jacobians(to: str) -> None:
    z = torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128)
    graph = graph_compiler.transpile(lambda z: z**2, source="torch", to=to, args=(z,))
    for transform in (transforms.jacrev, transforms.jacfwd):
        assert_near(transform(graph)(z), torch.diag(2 * z))
    second = torch.diag_embed(torch.diag(torch.full_like(z, 2)))
    assert_near(transforms.hessian(graph)(z), second)


@pytest.mark.parametrize("to", TARGETS)
def test_jacobians_between_real_and_complex_numbers(to: str) -> None:
    """Each exists in one mode, and the other one raises instead of returning half of it."""
    x, y = torch.tensor([1.0, 3.0], dtype=torch.float64), torch.tensor([2.0, -1.0], dtype=torch.float64)
    z = torch.complex(x, y)
    squares = graph_compiler.transpile(lambda z: z.abs() ** 2, source="torch", to=to, args=(z,))
    with pytest.raises(CallMismatch, match="an argument is complex and a result is real"):
        transforms.jacfwd(squares)(z)
    along_x, along_y = torch.func.jacfwd(lambda x, y: x**2 + y**2, (0, 1))(x, y)
    assert_near(transforms.jacrev(squares)(z), torch.complex(along_x, along_y))
    powers = graph_compiler.transpile(lambda x: torch.complex(x, x**2), source="torch", to=to, args=(x,))
    with pytest.raises(CallMismatch, match="an argument is real and a result is complex"):
        transforms.jacrev(powers)(x)
    parts = torch.func.jacfwd(lambda x: (x, x**2))(x)
    assert_near(transforms.jacfwd(powers)(x), torch.complex(*parts))


def test_tangents_and_cotangents_belong_to_keys() -> None:
    """A dict may have its keys in another order than the one that it belongs to, as in JAX."""
    point, tangent = {"a": 2.0, "b": 3.0}, {"b": 0.0, "a": 1.0}
    function = lambda point: {"c": point["a"] ** 2 * point["b"], "d": point["a"]}  # noqa: E731
    expected = jax.jvp(function, (point,), (tangent,))[1]
    point, tangent = ({key: torch.tensor(item) for key, item in one.items()} for one in (point, tangent))
    found = transforms.jvp(function, (point,), (tangent,))[1]
    assert {key: float(found[key]) for key in found} == expected
    (pulled,) = transforms.vjp(function, point)[1]({"d": torch.tensor(0.0), "c": torch.tensor(1.0)})
    assert {key: float(pulled[key]) for key in pulled} == {"a": 12.0, "b": 4.0}


@pytest.mark.parametrize("to", TARGETS)
def test_parameters_by_name(to: str) -> None:
    """Gradients have the names of parameters; those of buffers are zero."""
    model = (
        torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 1))
        .double()
        .eval()
    )
    x = torch.randn(5, 4, dtype=torch.float64)
    graph = graph_compiler.transpile(model, to=to, args=(x[:2],))
    jacobians = transforms.jacrev(graph.functional)(graph.parameters, x)
    model(x).sum().backward()
    assert jacobians.keys() == graph.parameters.keys()
    for name, parameter in model.named_parameters():
        assert_near(as_numpy(jacobians[name]).sum((0, 1)), parameter.grad)
    assert not as_numpy(jacobians["1.running_var"]).any()


@pytest.mark.parametrize("to", TARGETS)
def test_arguments_by_name_and_what_is_handed_on(to: str) -> None:
    def function(x: Any, *, scale: Any, index: Any) -> Any:
        return (x * scale)[index].sum(), {"scaled": x * scale, "index": index}

    x, scale, index = torch.arange(4.0), torch.tensor(3.0), torch.tensor([1, 1, 2])
    graph = graph_compiler.transpile(
        function, source="torch", to=to, args=(x,), kwargs={"scale": scale, "index": index}
    )
    gradient, aux = transforms.grad(graph, argnames="scale", has_aux=True)(x, scale=scale, index=index)
    assert float(gradient) == 4.0
    assert as_numpy(aux["scaled"]).tolist() == [0, 3, 6, 9] and as_numpy(aux["index"]).tolist() == [1, 1, 2]
    (value, _), (by_position, by_name) = transforms.value_and_grad(
        graph, argnums=0, argnames=["scale"], has_aux=True
    )(x, scale=scale, index=index)
    assert (
        float(value) == 12.0
        and as_numpy(by_position).tolist() == [0, 6, 3, 0]
        and float(by_name["scale"]) == 4.0
    )


@pytest.mark.parametrize("to", TARGETS)
def test_a_graph_that_was_not_called_is_recorded_for_the_call(to: str) -> None:
    graph = graph_compiler.transpile(lambda x: (x**3).sum(), source="torch", to=to)
    x = torch.tensor([1.0, 2.0])
    assert as_numpy(transforms.vmap(transforms.grad(graph))(torch.stack([x, 2 * x]))).tolist() == [
        [3, 12],
        [12, 48],
    ]
    assert len(graph.variants) == 1


def test_plain_functions_run_in_the_framework_of_their_arrays() -> None:
    for array, wanted in (
        (torch.ones(2), torch.Tensor),
        (jax.numpy.ones(2), jax.Array),
        (tf.ones(2), tf.Tensor),
        (np.ones(2), np.ndarray),
    ):
        gradient = transforms.grad(lambda x: (x * x * x)[0])(array)
        assert isinstance(gradient, wanted) and as_numpy(gradient).tolist() == [3.0, 0.0]
    assert float(transforms.grad(lambda x: x**3)(2.0)) == 12.0
    assert float(transforms.grad(lambda x: min(1.0, 1 / x))(0.0)) == 0.0


@pytest.mark.parametrize("to", TARGETS)
def test_a_function_that_calls_a_graph_runs_in_its_framework(to: str) -> None:
    """The framework is the graph's, whatever arrays the function gets and passes on."""
    x = torch.arange(3.0)
    graph = graph_compiler.transpile(
        lambda scale, x: (scale["a"] * x).sum(), source="torch", to=to, args=({"a": torch.ones(3)}, x)
    )

    def helper(scale: Any) -> Any:
        return graph(scale, x)

    for function in (helper, lambda scale: helper(scale) * 1, lambda scale: graph.functional({}, scale, x)):
        assert_near(transforms.grad(function)({"a": torch.ones(3)})["a"], x)
    pull = transforms.vjp(helper, {"a": torch.ones(3)})[1]
    assert_near(pull(1.0)[0]["a"], x)
    assert_near(transforms.vmap(transforms.grad(helper))({"a": torch.ones(2, 3)})["a"], torch.stack([x, x]))


def test_what_numpy_computes_comes_back_as_numpy() -> None:
    x = np.linspace(0.1, 1.0, 3)
    result, tangent = transforms.jvp(np.sin, (x,), (np.ones(3),))
    assert type(result) is type(tangent) is np.ndarray
    np.testing.assert_allclose(tangent, np.cos(x), rtol=1e-12)
    np.testing.assert_allclose(transforms.hessian(lambda x: np.sum(x**3))(x), np.diag(6 * x), rtol=1e-12)


@pytest.mark.parametrize("to", TARGETS)
def test_stopped_gradients(to: str) -> None:
    def function(x: Any) -> Any:
        kept = transforms.stop_gradient({"x": x, "text": "kept"})
        return (x * kept["x"]).sum() + transforms.ignore_derivatives(x).sum()

    graph = graph_compiler.transpile(function, source="torch", to=to, args=(torch.ones(2),))
    assert as_numpy(transforms.grad(graph)(torch.tensor([2.0, 5.0]))).tolist() == [2, 5]


@dataclasses.dataclass
class Pair:
    x: Any
    text: str


CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "OrderedDict": lambda x: OrderedDict(x=x, text="kept"),
    "dataclass": lambda x: Pair(x, "kept"),
    "nested": lambda x: [Pair(OrderedDict(x=x), "kept")],
}


def array_in(held: Any) -> Any:
    while isinstance(held, (list, dict, Pair)):
        held = held[0] if isinstance(held, list) else held["x"] if isinstance(held, dict) else held.x
    return held


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("container", CONTAINERS)
def test_gradients_are_taken_by_any_container(container: str, to: str) -> None:
    made, x = CONTAINERS[container], torch.tensor([2.0, 5.0])
    function = lambda held: (array_in(held) ** 2).sum()  # noqa: E731
    graph = graph_compiler.transpile(function, source="torch", to=to, args=(made(x + 1),))
    convert = graph.variants[-1].target.convert
    found = transforms.grad(graph)(made(convert(x)))
    assert type(found) is type(made(x)) and as_numpy(array_in(found)).tolist() == [4, 10]


@pytest.mark.parametrize("container", CONTAINERS)
def test_gradients_are_stopped_and_arrays_named_in_any_container(container: str) -> None:
    made = CONTAINERS[container]
    x = torch.tensor([2.0, 5.0])
    stopped = transforms.grad(lambda x: (x * array_in(transforms.stop_gradient(made(x)))).sum())
    assert stopped(x).tolist() == [2, 5]
    named = transforms.name(made(x), "kept")
    assert type(named) is type(made(x)) and array_in(named) is not x and array_in(named).tolist() == [2, 5]


@pytest.mark.parametrize("policy", ["nothing", "dots", "everything"])
@pytest.mark.parametrize("to", TARGETS)
def test_checkpoints_change_no_number(to: str, policy: str) -> None:
    x = torch.randn(4, 4, dtype=torch.float64)
    graph = graph_compiler.transpile(lambda x: torch.tanh(x @ x).sum(), source="torch", to=to, args=(x,))
    assert_near(transforms.grad(transforms.checkpoint(graph, policy))(x), transforms.grad(graph)(x))


@pytest.mark.parametrize("number", [4, True])
def test_whole_numbers_in_a_structure_have_zeros(number: int) -> None:
    found = transforms.grad(lambda held: held["weight"] * held["number"])(
        {"weight": torch.tensor(2.0), "number": number}
    )
    assert found["weight"] == float(number) and found["number"] == 0 and type(found["number"]) is type(number)


@dataclasses.dataclass
class Scaled:
    """Callable without a hash."""

    factor: float

    def __call__(self, x: Any) -> Any:
        return np.sum(x * x * self.factor)


class Alike(Scaled):
    """Callable that equals every other one."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alike)

    def __hash__(self) -> int:
        return 1


@pytest.mark.parametrize("cls", [Scaled, Alike])
def test_callables_are_told_apart_by_identity(cls: type[Scaled]) -> None:
    for factor in (2.0, 5.0):
        found = transforms.grad(cls(factor))(np.ones(2, "float32"))
        assert as_numpy(found).tolist() == [2 * factor] * 2
