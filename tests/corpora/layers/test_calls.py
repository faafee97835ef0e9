"""Tests of equal layers that become calls of one function: results, gradients, names of weights, files and
messages stay the same.
"""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler.passes.driver import nodes_of
from tests.support.compare import leaves

from .models import CASES, Dropped, Own, Stack, sequences

torch = pytest.importorskip("torch")


def calls(graph: Any) -> int:
    return sum(node.op == "call" for node in nodes_of(graph.program.block))


@functools.cache
def compiled(name: str, to: str) -> tuple[Any, Any]:
    """Return a model and its graph."""
    pytest.importorskip(to)
    torch.manual_seed(0)
    model = CASES[name].make().eval()
    return model, graph_compiler.compile(model, to=to, args=CASES[name].arguments(2, 5))


def same(found: Any, wanted: Any) -> None:
    for one, other in zip(leaves(found).values(), leaves(wanted).values(), strict=True):
        one, other = (item.detach() if isinstance(item, torch.Tensor) else item for item in (one, other))
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=2e-5, atol=2e-5)


PAIRS = [
    (name, "torch") for name in CASES if name not in ("two by turns", "two of three turns", "as it comes")
]
PAIRS += [
    ("stack", "jax"),
    ("alternating", "jax"),
    ("convolutions", "jax"),
    ("stack", "tensorflow"),
    ("convolutions", "tensorflow"),
]
PAIRS += [
    ("writes of its own", "jax"),
    ("views of what is written", "jax"),
    ("writes of its own", "tensorflow"),
]
PAIRS += [("convolutions inside", "jax"), ("convolutions inside", "tensorflow")]
PAIRS += [("stack", "numpy"), ("hidden states", "numpy"), ("skips", "numpy"), ("convolutions", "numpy")]


@pytest.mark.parametrize(("name", "to"), PAIRS)
def test_layers_are_calls(name: str, to: str) -> None:
    model, graph = compiled(name, to)
    assert calls(graph) == CASES[name].expected(to), graph.source
    for shape in ((2, 5), (3, 7)):
        given = CASES[name].arguments(*shape)
        with torch.no_grad():
            same(graph(*given), model(*given))
    assert len(graph.variants) == 1, graph.explain()


def test_the_source_is_one_function_that_a_person_would_write() -> None:
    source = compiled("stack", "torch")[1].source
    assert (
        source.count("def layer(parameters, constants, index, ")
        + source.count("def layer(parameters, index, ")
        == 1
    ), source
    assert source.count('parameters[f"layers.{index}.query.weight"]') == 1 and "layers.2.query" not in source
    assert "layer(parameters, 3, " in source, source


def test_the_operations_of_a_layer_count_once() -> None:
    _, graph = compiled("stack", "torch")
    recorded, kept = map(int, re.findall(r"(\d+) calls recorded, (\d+) operations", graph.source)[0])
    nodes = graph.program.block.nodes
    inside = {id(node.regions[0]): len(node.regions[0].block.nodes) for node in nodes if node.op == "call"}
    assert kept == len(nodes) + sum(inside.values()) < recorded / 2 and len(inside) == 1


def drawing() -> Any:
    """Return a model of four layers that only drop elements and scale the others."""
    torch.manual_seed(0)
    model = Own(Dropped).train()
    with torch.no_grad():
        for layer in model.layers:
            layer.out.weight.zero_()
            layer.out.bias.zero_()
        for line in (model.first, model.last):
            line.weight.copy_(torch.eye(*line.weight.shape))
            line.bias.zero_()
    return model


@pytest.mark.parametrize(
    ("to", "roll"), [("torch", "auto"), ("jax", "auto"), ("jax", "scan"), ("tensorflow", "auto")]
)
def test_layers_that_draw(to: str, roll: str) -> None:
    pytest.importorskip(to)
    model, (x, mask) = drawing(), sequences(64, 50)
    graph = graph_compiler.compile(model, to=to, args=sequences(2, 5), roll=roll)
    assert calls(graph) == (0 if roll == "scan" else 4), graph.source
    torch.manual_seed(3)
    found = [np.asarray(graph(x, mask).detach() if to == "torch" else graph(x, mask)) for _ in range(2)]
    # The layers draw independent numbers.
    for one in found:
        assert abs((one != 0).mean() - (0.75 * 0.5) ** 4) < 0.006
    assert not np.array_equal(*found)
    if to == "torch":
        torch.manual_seed(3)
        assert np.array_equal(found[0], model(x, mask).detach().numpy())


def test_layers_that_seed_are_written_out() -> None:
    class Seeding(Dropped):
        def forward(self, x: Any, mask: Any) -> Any:
            torch.manual_seed(7)
            return super().forward(x, mask)

    graph = graph_compiler.compile(Own(Seeding).train(), to="jax", args=sequences(2, 5))
    assert calls(graph) == 0


def test_layers_stay_written_out_where_they_are_asked_to() -> None:
    model, _ = compiled("stack", "torch")
    graph = graph_compiler.compile(model, args=sequences(2, 5), roll="never")
    assert not calls(graph) and "layers.3.query.weight" in graph.source


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_gradients_have_the_names_of_the_weights(to: str) -> None:
    model, graph = compiled("stack", to)
    x, mask = sequences(3, 7)
    model.zero_grad()
    model(x, mask).square().sum().backward()
    wanted = {name: value.grad.numpy() for name, value in model.named_parameters()}
    found = _gradients(graph, to, x, mask)
    for name, gradient in wanted.items():
        np.testing.assert_allclose(np.asarray(found[name]), gradient, rtol=1e-3, atol=1e-4, err_msg=name)


def _gradients(graph: Any, to: str, x: Any, mask: Any) -> dict[str, Any]:
    if to == "torch":
        given = {
            name: value.detach().clone().requires_grad_(value.requires_grad)
            for name, value in graph.parameters.items()
        }
        graph.functional(given, x, mask).square().sum().backward()
        return {name: value.grad.numpy() for name, value in given.items() if value.requires_grad}
    jax = pytest.importorskip("jax")
    x, mask = jax.numpy.asarray(x.numpy()), jax.numpy.asarray(mask.numpy())
    return dict(
        jax.jit(jax.grad(lambda given: (graph.functional(given, x, mask) ** 2).sum()))(dict(graph.parameters))
    )


def test_a_module_trains_by_the_names_of_the_weights() -> None:
    model, graph = compiled("stack", "torch")
    module, (x, mask) = graph.as_module(), sequences(3, 7)
    assert {name.replace("/", ".") for name, _ in module.named_parameters()} == {
        name for name, _ in model.named_parameters()
    }
    before = module(x, mask).detach()
    optimiser = torch.optim.SGD(module.parameters(), lr=1e-4)
    module(x, mask).square().sum().backward()
    optimiser.step()
    after = module(x, mask).detach()
    assert after.square().sum() < before.square().sum()


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_saved_layers_are_one_function_still(to: str, tmp_path: Any) -> None:
    model, graph = compiled("stack", to)
    graph.save(tmp_path / "stack")
    again, given = graph_compiler.load(tmp_path / "stack"), sequences(3, 7)
    with torch.no_grad():
        same(again(*given), model(*given))
    assert again.source.count("def layer(") == 1 and calls(again) == 4


def test_a_check_inside_of_a_layer_is_made() -> None:
    """A length of 1 violates the check; it is recorded anew, which raises the original's exception."""
    _, graph = compiled("stack", "torch")
    assert graph.source.count("raise GuardFailed") == 1
    with pytest.raises(AssertionError):
        graph(torch.randn(2, 1, 8), torch.ones(2, 1))


def test_weights_that_change_are_those_of_their_layer() -> None:
    model = Stack().eval()
    graph, given = graph_compiler.compile(model, to="jax", args=sequences(2, 5)), sequences(2, 5)
    for layer, name in ((2, "layers.2.out.weight"), (0, "layers.0.out.weight")):
        with torch.no_grad():
            model.layers[layer].out.weight.mul_(-2.0)
            same(graph(*given), model(*given))
        np.testing.assert_allclose(
            np.asarray(graph.parameters[name]), model.layers[layer].out.weight.detach().numpy()
        )


def test_dropout_draws_for_each_layer() -> None:
    """Layers that draw random numbers must not share a function, since their draws would be equal."""

    class Noisy(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.ModuleList([torch.nn.Linear(64, 64) for _ in range(4)])

        def forward(self, x: Any) -> Any:
            return [
                torch.dropout(layer(x) * 0 + x, 0.5, True).tanh().exp().log().abs() for layer in self.layers
            ]

    for to in ("torch", "jax"):
        found = graph_compiler.compile(Noisy(), to=to, args=(torch.ones(3, 64),))(torch.ones(3, 64))
        kept = [np.asarray(item.detach() if to == "torch" else item) > 0 for item in found]
        assert all((one != other).any() for place, one in enumerate(kept) for other in kept[:place])


def test_summaries_and_pages_tell_of_each_layer() -> None:
    _, graph = compiled("stack", "jax")
    rows = {row["path"]: row for row in graph.summary().to_dicts()}
    assert (
        rows["layers.2.query"]["operations"]
        and rows["layers.2.query"]["multiply_adds"] == rows["layers.0.query"]["multiply_adds"] > 0
    )


def test_a_call_that_the_target_refuses_is_told_by_its_line() -> None:
    _, graph = compiled("stack", "jax")
    program = graph.variants[0].program
    lines = program.source.split("\n")
    told = {
        lines[line - 1].strip().partition(" = ")[0]
        for line, origin in program.inner_origins
        if origin.module.endswith("*.query")
    }
    assert "query" in told or any("query" in name for name in told), told


def test_arrays_that_leave_stay_apart() -> None:
    """Equal results must not share storage, because the caller may write to them."""

    class Scores(Stack):
        def forward(self, x: Any, mask: Any) -> Any:
            found = []
            for layer in self.layers:
                scores = (mask * 2.0)[:, 1:]
                x = layer(x, mask) * scores.sum()
                found.append(scores)
            return x, found

    found = graph_compiler.compile(Scores().eval(), args=sequences(2, 5))(*sequences(2, 5))[1]
    found[0].zero_()
    assert all(scores.any() for scores in found[1:])


# --------------------------------------------------------------------------------- models of other frameworks
def test_layers_of_a_function_of_jax() -> None:
    jnp = pytest.importorskip("jax.numpy")

    def stack(weights: Any, x: Any) -> Any:
        for layer in weights["layers"]:
            y = jnp.tanh(x @ layer["w"] + layer["b"])
            x = x + jnp.where(y > 0, y * 0.5, jnp.exp(y) - 1.0) @ layer["v"]
        return x @ weights["head"]

    rng = np.random.default_rng(0)
    draw = lambda *shape: jnp.asarray(rng.normal(size=shape, scale=0.3).astype("float32"))  # noqa: E731
    weights = {
        "layers": [{"w": draw(8, 6), "b": draw(6), "v": draw(6, 8)} for _ in range(5)],
        "head": draw(8, 2),
    }
    for to in ("jax", "torch"):
        graph = graph_compiler.compile(stack, to=to, args=(weights, draw(3, 8)), parameters=[0])
        x = draw(4, 8)
        same(graph(x), stack(weights, x))
        assert calls(graph) == 5, graph.source


def test_layers_of_a_keras_model() -> None:
    keras = pytest.importorskip("keras")

    class Residual(keras.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.up, self.down = (
                keras.layers.LayerNormalization(),
                keras.layers.Dense(16, "gelu"),
                keras.layers.Dense(8),
            )

        def call(self, x: Any) -> Any:
            return x + self.down(self.up(self.norm(x)))

    given = keras.Input((8,))
    x = given
    for _ in range(4):
        x = Residual()(x)
    model, array = keras.Model(given, x), np.random.default_rng(1).normal(size=(3, 8)).astype("float32")
    for to in ("tensorflow", "numpy"):
        graph = graph_compiler.compile(model, to=to, args=(np.ones((2, 8), "float32"),))
        same(np.asarray(graph(array)), np.asarray(model(array)))
        assert calls(graph) == 4, graph.source
