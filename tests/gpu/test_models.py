"""Tests of zoo models on a GPU, in torch and JAX, at other sizes than the recorded ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from .device import DEVICE, moved, needs_jax, places

import torch  # isort: skip

pytest.importorskip("transformers")

import graph_compiler  # isort: skip
from tests.corpora.models import small, zoo  # isort: skip
from tests.support.compare import assert_no_further, assert_same  # isort: skip

# Every 14th entry of the zoo is tested.
STEP = 14
ENTRIES = zoo.entries()[::STEP]


@pytest.fixture(autouse=True)
def _exact() -> Iterator[None]:
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    yield
    torch.backends.cudnn.allow_tf32 = before


def loaded(load: Any) -> Any:
    """Return the result of ``load``, or skip the test if a library is not installed."""
    try:
        return load()
    except ImportError as problem:
        pytest.skip(f"{type(problem).__name__}: {problem}"[:200])


@pytest.mark.parametrize("name", small.BY_NAME)
def test_small_models(name: str) -> None:
    case = loaded(small.BY_NAME[name].load)
    model, options = case.model.to(DEVICE), case.options
    inputs, others = moved(case.inputs), moved(case.other_inputs)
    with torch.no_grad():
        expected = model(**others, **options)
        ours = graph_compiler.compile(model, kwargs={**inputs, **options})(**others, **options)
        assert_same(zoo.flatten(ours), zoo.flatten(expected))
        assert places(zoo.flatten(ours)) == {torch.device(DEVICE).type}
        from_the_cpu = graph_compiler.compile(model.cpu(), kwargs={**case.inputs, **options})
        model.to(DEVICE)
        assert_same(zoo.flatten(from_the_cpu(**others, **options)), zoo.flatten(expected))


def exact(model: Any, call: Any) -> Any:
    """Return the result of ``call`` in float64 on the CPU, or in float32 if that fails. The model is moved
    and converted in place.
    """
    model.cpu().double()
    with torch.no_grad():
        try:
            return call(torch.float64)
        except RuntimeError:
            model.float()
            return call(torch.float32)


@needs_jax
@pytest.mark.parametrize("name", small.BY_NAME)
def test_small_models_in_jax(name: str) -> None:
    case = loaded(small.BY_NAME[name].load)
    model, options = case.model.to(DEVICE), case.options
    graph = graph_compiler.transpile(
        model, to="jax", kwargs={**moved(case.inputs), **options}, return_backend_compiled_fn=True
    )
    with torch.no_grad():
        expected = zoo.flatten(model(**moved(case.other_inputs), **options))
    found = zoo.flatten(_as_torch(graph(**moved(case.other_inputs), **options)))
    inputs = case.other_inputs

    def called(dtype: Any) -> Any:
        return model(
            **{key: item.to(dtype) if item.is_floating_point() else item for key, item in inputs.items()},
            **options,
        )

    reference = zoo.flatten(exact(model, called))
    assert_no_further(found, expected, {key: reference[key] for key in expected}, factor=3.0)


def _as_torch(tree: Any) -> Any:
    import jax
    import numpy as np

    if isinstance(tree, jax.Array):
        return torch.from_numpy(np.array(tree))
    if hasattr(tree, "items"):
        return {key: _as_torch(item) for key, item in tree.items()}
    return [_as_torch(item) for item in tree] if isinstance(tree, (tuple, list)) else tree


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry["id"] for entry in ENTRIES])
def test_models_of_the_zoo(entry: Any) -> None:
    model, inputs, other = loaded(lambda: zoo.load(entry))
    model.to(DEVICE)
    inputs, other = moved(inputs), moved(other if other is not None else zoo.other_contents(entry["inputs"]))
    expected = loaded(lambda: zoo.run(model, entry, other))
    args, kwargs = zoo.arguments(entry, inputs)
    with torch.no_grad():
        ours = graph_compiler.compile(model, args=args, kwargs=kwargs)
        args, kwargs = zoo.arguments(entry, other)
        assert_same(zoo.flatten(ours(*args, **kwargs)), expected)


@needs_jax
@pytest.mark.parametrize("entry", ENTRIES[::2], ids=[entry["id"] for entry in ENTRIES[::2]])
def test_models_of_the_zoo_in_jax(entry: Any) -> None:
    model, inputs, other = loaded(lambda: zoo.load(entry))
    model.to(DEVICE)
    inputs, other = moved(inputs), moved(other if other is not None else zoo.other_contents(entry["inputs"]))
    expected = loaded(lambda: zoo.run(model, entry, other))
    args, kwargs = zoo.arguments(entry, inputs)
    graph = graph_compiler.transpile(model, to="jax", args=args, kwargs=kwargs)
    args, kwargs = zoo.arguments(entry, other)
    found = zoo.flatten(_as_torch(graph(*args, **kwargs)))
    for key, wanted in expected.items():
        scale = float(wanted.double().abs().max()) if wanted.numel() else 1.0
        if wanted.is_floating_point() and wanted.numel():
            assert float((found[key].double() - wanted.cpu().double()).abs().max()) <= 2e-4 * max(
                scale, 1e-3
            ), key


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["bert", "llama", "vit"])
def test_autocast_and_half_precision(name: str, dtype: Any) -> None:
    case = loaded(small.BY_NAME[name].load)
    model, options = case.model.to(DEVICE), case.options
    inputs, others = moved(case.inputs), moved(case.other_inputs)

    def cast(**given: Any) -> Any:
        with torch.autocast(torch.device(DEVICE).type, dtype):
            return model(**given)

    with torch.no_grad():
        assert_same(
            zoo.flatten(graph_compiler.compile(cast, kwargs={**inputs, **options})(**others, **options)),
            zoo.flatten(cast(**others, **options)),
        )
        graph = graph_compiler.compile(model, kwargs={**inputs, **options})
        with torch.autocast(torch.device(DEVICE).type, dtype):
            assert_same(zoo.flatten(graph(**others, **options)), zoo.flatten(model(**others, **options)))
        model.to(dtype)
        halves = {key: item.to(dtype) if item.is_floating_point() else item for key, item in others.items()}
        assert_same(zoo.flatten(graph(**halves, **options)), zoo.flatten(model(**halves, **options)))


def test_training_mode_with_dropout_and_autocast() -> None:
    case = loaded(small.BY_NAME["bert"].load)
    model = case.model.to(DEVICE).train().requires_grad_(True)
    inputs, others = moved(case.inputs), moved(case.other_inputs)

    def loss(**given: Any) -> Any:
        with torch.autocast(torch.device(DEVICE).type, torch.bfloat16):
            return model(**given)[0].float().square().mean()

    graph = graph_compiler.compile(loss, kwargs=inputs)
    results = []
    for function in (loss, graph):
        torch.manual_seed(3)
        value = function(**others)
        results.append((value, torch.autograd.grad(value, model.embeddings.word_embeddings.weight)[0]))
    torch.testing.assert_close(results[1][0], results[0][0], rtol=2e-2, atol=1e-2)
    torch.testing.assert_close(results[1][1], results[0][1], rtol=5e-2, atol=1e-3)
