"""Tests of training on a GPU: compared with a loop by hand, with batches copied by a thread, in half
precision, and back into the original.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from .device import DEVICE, IS_GPU, PLATFORM, needs_cuda, needs_jax, report

import torch  # isort: skip

pytest.importorskip("optax")

import jax  # isort: skip
import numpy as np  # isort: skip

import graph_compiler  # isort: skip
from graph_compiler import training  # isort: skip
from tests.support.compare import to_numpy  # isort: skip
from tests.training.models import BATCHES, classifier, cross_entropy  # isort: skip

RULE = training.optimizer("sgd", learning_rate=0.05, momentum=0.9)
TARGETS = ["torch", pytest.param("jax", marks=needs_jax)]
TENSORS = [tuple(map(torch.from_numpy, batch)) for batch in BATCHES]
THERE = [tuple(tensor.to(DEVICE) for tensor in batch) for batch in TENSORS]


def created(to: str, model: Any = None, **options: Any) -> Any:
    model = classifier().to(DEVICE) if model is None else model
    place = next(model.parameters()).device
    return training.TrainState.create(
        model,
        options.pop("rule", RULE),
        loss=cross_entropy,
        to=to,
        args=(torch.ones(5, 4, device=place),),
        **options,
    )


def by_hand(batches: Any, dropout: float = 0.0) -> tuple[Any, list[float]]:
    model, losses = classifier(dropout).to(DEVICE), []
    rule = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for x, target in batches:
        rule.zero_grad()
        loss = cross_entropy(model(x), target)
        loss.backward()
        rule.step()
        losses.append(loss.item())
    return model, losses


def stepped(state: Any, batches: Any) -> tuple[Any, list[float]]:
    losses = []
    for batch in batches:
        state, metrics = training.single_train_step(state, batch)
        losses.append(float(metrics["loss"]))
    return state, losses


def on_gpu(array: Any) -> bool:
    return (
        array.device.type == torch.device(DEVICE).type
        if isinstance(array, torch.Tensor)
        else next(iter(array.devices())).platform == PLATFORM
    )


@pytest.mark.parametrize("given", ["there", "tensors", "numpy"])
@pytest.mark.parametrize("to", TARGETS)
def test_steps_are_those_of_a_loop_by_hand(to: str, given: str) -> None:
    model, expected = by_hand(THERE)
    original = classifier().to(DEVICE)
    state = created(to, original)
    state, losses = stepped(state, {"there": THERE, "tensors": TENSORS, "numpy": BATCHES}[given])
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    assert all(map(on_gpu, state.parameters.values()))
    state.to_source()
    assert original.first.weight.device.type == torch.device(DEVICE).type
    for name, array in model.state_dict().items():
        np.testing.assert_allclose(
            to_numpy(original.state_dict()[name]), to_numpy(array), rtol=1e-3, atol=1e-4, err_msg=name
        )


@pytest.mark.parametrize("to", TARGETS)
def test_back_into_a_model_on_the_cpu(to: str) -> None:
    """The state stays on its device; ``to_source`` copies to wherever the model is now."""
    original = classifier().to(DEVICE)
    state, _ = stepped(created(to, original), THERE)
    original.cpu()
    state.to_source()
    assert original.first.weight.is_cpu
    np.testing.assert_array_equal(to_numpy(original.first.weight), to_numpy(state.parameters["first.weight"]))


@needs_jax
def test_a_model_on_the_cpu_trained_in_jax() -> None:
    original = classifier()
    state, losses = stepped(created("jax", original), BATCHES)
    np.testing.assert_allclose(losses, by_hand(THERE)[1], rtol=1e-4)
    assert all(map(on_gpu, state.parameters.values()))
    state.to_source()
    np.testing.assert_array_equal(to_numpy(original.first.weight), to_numpy(state.parameters["first.weight"]))


@pytest.mark.parametrize("prefetch", [1, 3])
@pytest.mark.parametrize("where", ["name", "device", "state"])
@pytest.mark.parametrize("to", TARGETS)
def test_fit_with_a_thread_that_brings_batches(to: str, where: str, prefetch: int) -> None:
    state = created(to)
    places = {
        "name": {"torch": DEVICE, "jax": "jax"}[to],
        "device": torch.device(DEVICE) if to == "torch" else jax.devices()[0],
        "state": state,
    }
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(*(torch.cat(part) for part in zip(*TENSORS))), batch_size=6
    )
    batches = training.DeviceIterator(loader, places[where], prefetch=prefetch)
    assert all(on_gpu(array) for batch in batches for array in batch)
    state, history = training.fit(state, batches, epochs=2, progress=False)
    _, expected = by_hand(THERE * 2)
    np.testing.assert_allclose(history[-1]["loss"], np.mean(expected[-5:]), rtol=1e-3)


@needs_cuda
def test_batches_are_whole_on_any_stream() -> None:
    """The copy must be finished before the loop reads it, even if the loop runs on a stream of its own."""
    held = [np.full((64, 1 << 16), number, "float32") for number in range(24)]
    stream = torch.cuda.Stream()
    busy = torch.randn(4096, 4096, device=DEVICE)
    found = []
    with torch.cuda.stream(stream):
        for batch in training.DeviceIterator(held, DEVICE, prefetch=3):
            with torch.cuda.stream(torch.cuda.default_stream()):
                # This keeps the default stream busy meanwhile.
                busy = busy @ busy * 1e-4
            for _ in range(20):
                total = (batch - batch.mean()).abs().max(), batch[0, 0]
            found.append(total)
    torch.cuda.synchronize()
    assert [float(spread) for spread, _ in found] == [0.0] * 24
    assert [float(first) for _, first in found] == list(map(float, range(24)))


@pytest.mark.parametrize("to", TARGETS)
def test_masters_in_bf16_training(to: str) -> None:
    state, losses = stepped(created(to, precision="bf16"), THERE * 4)
    _, expected = by_hand(THERE * 4)
    assert abs(losses[-1] - expected[-1]) < 0.1 and np.isfinite(losses).all()
    assert {
        str(array.dtype).removeprefix("torch.")
        for name, array in state.parameters.items()
        if "num_batches" not in name
    } == {"float32"}


@pytest.mark.parametrize("to", TARGETS)
def test_the_loss_is_scaled_in_f16(to: str) -> None:
    state = created(to, precision="f16")
    scales = []
    for batch in [*THERE, (THERE[0][0] * float("inf"), THERE[0][1]), *THERE]:
        state, metrics = training.single_train_step(state, batch)
        scales.append(float(metrics["loss_scale"]))
    assert scales[5] < scales[4] or scales[6] < scales[5], scales
    assert all(
        np.isfinite(to_numpy(state.parameters[name])).all() for name in ("first.weight", "last.weight")
    )


@pytest.mark.parametrize("to", TARGETS)
def test_training_goes_on_bit_by_bit(to: str, tmp_path: Path) -> None:
    graph = (
        graph_compiler.transpile(classifier(0.5).to(DEVICE), to=to, args=(torch.ones(5, 4, device=DEVICE),))
        if to == "jax"
        else graph_compiler.compile(classifier(0.5).to(DEVICE), args=(torch.ones(5, 4, device=DEVICE),))
    )
    options: Any = {
        "accumulate": 2,
        "ema": 0.9,
        "clip_norm": 1.0,
        "precision": "f16",
        "freeze": ["first.bias"],
    }

    def begun() -> Any:
        return training.TrainState.create(
            graph, "adamw", loss=cross_entropy, schedule=training.schedule("cosine", 0.1, steps=9), **options
        )

    state, _ = stepped(begun(), THERE[:3])
    state.save(tmp_path / "state")
    state, expected = stepped(state, THERE * 2)
    for like in (begun(), state):
        again, losses = stepped(training.TrainState.load(tmp_path / "state", like=like), THERE * 2)
        assert losses == expected
        for name, array in state.parameters.items():
            np.testing.assert_array_equal(to_numpy(again.parameters[name]), to_numpy(array), err_msg=name)
            assert on_gpu(again.parameters[name])


@pytest.mark.skipif(not IS_GPU, reason="needs two devices")
def test_a_state_of_the_gpu_goes_on_on_the_cpu_and_back(tmp_path: Path) -> None:
    state, _ = stepped(created("torch"), THERE[:3])
    state.save(tmp_path / "state")
    state, expected = stepped(state, THERE[3:])
    there = training.TrainState.load(tmp_path / "state", like=created("torch", classifier()))
    assert all(array.is_cpu for array in there.parameters.values())
    there.save(tmp_path / "again")
    _, losses = stepped(there, TENSORS[3:])
    np.testing.assert_allclose(losses, expected, rtol=1e-3)
    _, losses = stepped(training.TrainState.load(tmp_path / "again", like=created("torch")), THERE[3:])
    np.testing.assert_allclose(losses, expected, rtol=1e-6)


@needs_cuda
def test_random_numbers_go_on_from_the_seed_on_another_device(tmp_path: Path) -> None:
    state, _ = stepped(created("torch", classifier(0.5).to(DEVICE)), THERE[:1])
    state.save(tmp_path / "state")
    state = training.TrainState.load(tmp_path / "state", like=created("torch", classifier(0.5)))
    assert np.isfinite(stepped(state, TENSORS)[1]).all()


def test_dropout_is_that_of_torch() -> None:
    torch.manual_seed(11)
    state = created("torch", classifier(0.5).to(DEVICE))
    state, losses = stepped(state, THERE)
    assert np.isfinite(losses).all()
    before = torch.cuda.get_rng_state() if IS_GPU else torch.get_rng_state()
    stepped(state, THERE)
    after = torch.cuda.get_rng_state() if IS_GPU else torch.get_rng_state()
    # Training draws from a generator of its own.
    assert torch.equal(before, after)


@needs_cuda
@pytest.mark.parametrize("compiled", [False, True])
def test_memory_of_a_step(compiled: bool) -> None:
    torch.manual_seed(0)
    layers = [torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.GELU()) for _ in range(8)]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(1024, 4)).to(DEVICE)
    batch = torch.randn(2048, 1024, device=DEVICE), torch.randint(0, 4, (2048,), device=DEVICE)

    def peak(step: Any) -> int:
        for _ in range(3):
            step()
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        begun = torch.cuda.memory_allocated()
        step()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - begun

    other = copy.deepcopy(model)
    rule, called = torch.optim.AdamW(other.parameters(), lr=1e-3), torch.compile(other) if compiled else other

    def hand() -> None:
        rule.zero_grad()
        cross_entropy(called(batch[0]), batch[1]).backward()
        rule.step()

    graph = graph_compiler.compile(model, args=(batch[0][:4],), return_backend_compiled_fn=compiled)
    held = [
        training.TrainState.create(graph, training.optimizer("adamw", learning_rate=1e-3), loss=cross_entropy)
    ]

    def ours() -> None:
        held[0], _ = training.single_train_step(held[0], batch)

    found, expected = peak(ours), peak(hand)
    report("peak memory of a step", ours=found, by_hand=expected)
    assert found <= 1.1 * expected + (1 << 22)
