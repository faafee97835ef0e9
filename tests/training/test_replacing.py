"""Tests of two networks that train each other, as in a GAN: each state replaces the weights of the other
network.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("optax")
pytest.importorskip("keras")

import torch.nn.functional as F  # noqa: E402

from graph_compiler import training  # noqa: E402
from graph_compiler.errors import CallMismatch  # noqa: E402

from .models import TARGETS  # noqa: E402

RNG = np.random.default_rng(0)
BATCHES = [
    (RNG.normal(size=(6, 4)).astype("float32"), RNG.normal(size=(6, 3)).astype("float32")) for _ in range(4)
]
RULE = training.optimizer("adam", learning_rate=1e-2, betas=(0.5, 0.999))


class Pair(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.G = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Tanh())
        self.D = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.LeakyReLU(0.2), torch.nn.Linear(5, 1))

    def forward(self, noise: Any) -> Any:
        fake = self.G(noise)
        return self.D(fake), fake


class Judging(torch.nn.Module):
    """The discriminator applied to real and generated examples."""

    def __init__(self, judge: Any) -> None:
        super().__init__()
        self.D = judge

    def forward(self, real: Any, fake: Any) -> Any:
        return self.D(real), self.D(fake)


def taken_for_real(outputs: Any, target: Any) -> Any:
    return F.softplus(-outputs[0]).mean()


def told_apart(outputs: Any, target: Any) -> Any:
    return F.softplus(-outputs[0]).mean() + F.softplus(outputs[1]).mean()


def by_hand() -> list[float]:
    pair, losses = Pair(), []
    rules = [torch.optim.Adam(part.parameters(), lr=1e-2, betas=(0.5, 0.999)) for part in (pair.D, pair.G)]
    for real, noise in BATCHES:
        _, fake = pair(torch.from_numpy(noise))
        for rule, loss in zip(
            rules,
            (
                lambda: told_apart((pair.D(torch.from_numpy(real)), pair.D(fake.detach())), None),  # noqa: B023
                lambda: taken_for_real((pair.D(fake),), None),  # noqa: B023
            ),
        ):
            rule.zero_grad()
            found = loss()
            found.backward()
            rule.step()
            losses.append(found.item())
    return losses


@pytest.mark.parametrize("to", TARGETS)
def test_a_pair_trains_as_in_torch(to: str) -> None:
    pair, losses = Pair(), []
    generating = training.TrainState.create(
        pair, RULE, loss=taken_for_real, to=to, args=(torch.ones(5, 3),), freeze=["D.*"]
    )
    judging = training.TrainState.create(
        Judging(pair.D), RULE, loss=told_apart, to=to, args=(torch.ones(5, 4), torch.ones(5, 4))
    )
    for real, noise in BATCHES:
        (_, fake), _ = generating.graph.train().functional(generating.parameters, noise)
        judging, metrics = training.single_train_step(judging, ((real, fake), None))
        losses.append(float(metrics["loss"]))
        generating = generating.with_parameters(judging.parameters)
        generating, metrics = training.single_train_step(generating, (noise, None))
        losses.append(float(metrics["loss"]))
    np.testing.assert_allclose(losses, by_hand(), rtol=1e-5)


@pytest.mark.parametrize("to", TARGETS)
def test_trained_parameters_keep_their_optimizer(to: str) -> None:
    """Parameters that are replaced and then restored must keep their optimizer state, so that training
    continues unchanged.
    """
    found = []
    for swaps in (False, True):
        state = training.TrainState.create(
            Judging(Pair().D), RULE, loss=told_apart, to=to, args=(torch.ones(5, 4), torch.ones(5, 4))
        )
        for real, _ in BATCHES[:2]:
            state, metrics = training.single_train_step(state, ((real, -real), None))
            if swaps:
                before = state.parameters
                state = state.with_parameters({name: array * 0 for name, array in before.items()})
                assert not np.asarray(state.parameters["D.0.bias"]).any()
                state = state.with_parameters({name: np.asarray(array) for name, array in before.items()})
        found.append(float(metrics["loss"]))
    assert found[0] == found[1]


def test_wrong_arrays() -> None:
    state = training.TrainState.create(
        torch.nn.Linear(2, 1), RULE, loss=torch.nn.MSELoss(), args=(torch.ones(1, 2),)
    )
    for given, message in (
        ({"wieght": torch.ones(1, 2)}, "'wieght' is none of its parameters.*weight"),
        ({"weight": torch.ones(2, 2)}, r"weight is float32\[2, 2\], and its parameter float32\[1, 2\]"),
        (
            {"bias": torch.ones(1, dtype=torch.float64)},
            r"bias is float64\[1\], and its parameter float32\[1\]",
        ),
        ({"bias": 1}, "bias is no array"),
    ):
        with pytest.raises(CallMismatch, match=message):
            state.with_parameters(given)
    state.with_parameters({})
    with pytest.raises(CallMismatch, match="was used up"):
        state.with_parameters({})
