"""Tests of ``parallel`` on one GPU: ``nccl`` in one torch process, and one JAX device."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .device import DEVICE, IS_GPU, PLATFORM, needs_jax

import torch  # isort: skip

pytest.importorskip("optax")

import jax  # isort: skip
import numpy as np  # isort: skip
import torch.distributed as dist  # isort: skip

import graph_compiler  # isort: skip
from graph_compiler import parallel, training, transforms  # isort: skip
from tests.support.compare import to_numpy  # isort: skip
from tests.training.models import BATCHES, classifier, cross_entropy  # isort: skip


@pytest.fixture(scope="module")
def group(tmp_path_factory: Any) -> Iterator[None]:
    path: Path = tmp_path_factory.mktemp("group") / "store"
    store = dist.FileStore(str(path), 1)
    dist.init_process_group(
        "nccl" if IS_GPU else "gloo",
        store=store,
        rank=0,
        world_size=1,
        timeout=datetime.timedelta(seconds=30),
    )
    yield
    dist.destroy_process_group()


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(to_numpy(found), to_numpy(expected), rtol=1e-4, atol=1e-5)


def rows(device: str = DEVICE) -> Any:
    return torch.linspace(-1, 1, 32, device=device).reshape(8, 4)


def exchanged(x: Any) -> Any:
    mean = parallel.pmean(x.mean(0), "device")
    return (
        x - mean + parallel.psum(x.sum(), "device"),
        parallel.pmax(x, "device"),
        parallel.all_gather(x, "device", tiled=True),
    )


def alone(x: Any) -> Any:
    return x - x.mean(0) + x.sum(), x, x


def test_torch(group: None) -> None:
    model = classifier().to(DEVICE).eval()
    graph = graph_compiler.compile(model, args=(rows()[:3],))
    for spread in (graph, model):
        found = parallel.Parallel(spread)(rows())
        assert found.device.type == torch.device(DEVICE).type
        close(found, model(rows()))
        close(
            torch.autograd.grad(found.square().sum(), model.first.weight)[0],
            torch.autograd.grad(model(rows()).square().sum(), model.first.weight)[0],
        )
    for function in (exchanged, graph_compiler.compile(exchanged, args=(rows()[:3],))):
        for found, expected in zip(parallel.Parallel(function, reduce="none")(rows()), alone(rows())):
            close(found[0], expected)
    weight = parallel.replicate(torch.ones(4, 2, device=DEVICE))
    close(parallel.Parallel(lambda w, x: x @ w)(weight, rows()), rows() @ torch.ones(4, 2, device=DEVICE))


def test_training_in_torch(group: None) -> None:
    batches = [tuple(torch.from_numpy(part).to(DEVICE) for part in batch) for batch in BATCHES]
    losses: list[list[float]] = [[], []]
    for place, spread in enumerate((lambda state: state, parallel.replicate)):
        state = spread(
            training.TrainState.create(
                classifier().to(DEVICE), "adamw", loss=cross_entropy, args=(batches[0][0],)
            )
        )
        for batch in batches:
            state, metrics = training.single_train_step(state, batch)
            losses[place].append(float(metrics["loss"]))
    close(np.array(losses[1]), np.array(losses[0]))
    parallel.unreplicate(state).to_source()


def test_a_mesh_in_torch(group: None) -> None:
    from torch.distributed.device_mesh import init_device_mesh

    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 2)).to(DEVICE)
    graph = graph_compiler.compile(model, args=(rows()[:3],))
    mesh = init_device_mesh(torch.device(DEVICE).type, (1,), mesh_dim_names=("model",))
    sharded = parallel.shard(graph, mesh, {"0.weight": ("model", None), "2.weight": (None, "model")})
    close(sharded(rows()), model(rows()))
    state = training.TrainState.create(graph, "sgd", loss=torch.nn.MSELoss())
    state = parallel.shard(state, mesh, parallel.rules.fsdp("model")) if hasattr(parallel, "shard") else state
    state, metrics = training.single_train_step(state, (rows(), torch.zeros(8, 2, device=DEVICE)))
    close(metrics["loss"], torch.nn.functional.mse_loss(model(rows()), torch.zeros(8, 2, device=DEVICE)))


@needs_jax
def test_jax() -> None:
    model = classifier().to(DEVICE).eval()
    graph = graph_compiler.transpile(model, to="jax", args=(rows()[:3],))
    found = parallel.Parallel(graph)(rows())
    assert next(iter(found.devices())).platform == PLATFORM
    close(found, model(rows()))
    graph = graph_compiler.transpile(exchanged, to="jax", args=(rows()[:3],))
    for found, expected in zip(parallel.Parallel(graph, reduce="none")(rows()), alone(rows())):
        close(found[0], expected)
    loss = graph_compiler.transpile(
        lambda w, x: torch.tanh(x @ w).sum(), to="jax", args=(torch.ones(4, 2), rows("cpu")[:3])
    )
    spread = parallel.Parallel(loss, reduce="sum", replicated_argnums=0)
    weight = torch.full((4, 2), 0.3)
    close(
        transforms.grad(spread)(jax.numpy.asarray(weight.numpy()), rows()),
        torch.func.grad(lambda w: torch.tanh(rows("cpu") @ w).sum())(weight),
    )


@needs_jax
def test_a_mesh_in_jax_and_training() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 2))
    graph = graph_compiler.transpile(model, to="jax", args=(rows("cpu")[:3],))
    mesh = jax.make_mesh((1,), ("model",))
    sharded = parallel.shard(graph, mesh, {"0.weight": ("model", None), "2.weight": (None, "model")})
    close(sharded(rows("cpu")), model(rows("cpu")))
    losses: list[list[float]] = [[], []]
    for place, spread in enumerate((lambda state: state, parallel.replicate)):
        state = spread(
            training.TrainState.create(
                classifier().to(DEVICE), "adamw", loss=cross_entropy, to="jax", args=(rows()[:3],)
            )
        )
        for batch in BATCHES:
            state, metrics = training.single_train_step(state, batch)
            losses[place].append(float(metrics["loss"]))
    close(np.array(losses[1]), np.array(losses[0]))
