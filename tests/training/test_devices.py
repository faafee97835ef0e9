"""Tests of batches copied to a device by a thread, which ends with the loop."""

from __future__ import annotations

import gc
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")
tf = pytest.importorskip("tensorflow")

import numpy as np  # noqa: E402

from graph_compiler import training  # noqa: E402
from graph_compiler.errors import GraphCompilerError, InvalidOption  # noqa: E402

X, Y = np.arange(24, dtype="float32").reshape(8, 3), np.arange(8)
LOADERS: dict[str, Any] = {
    "list": lambda: [(X[i : i + 2], Y[i : i + 2]) for i in range(0, 8, 2)],
    "torch": lambda: torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.from_numpy(X), torch.from_numpy(Y)), batch_size=2
    ),
    "tf.data": lambda: tf.data.Dataset.from_tensor_slices((X, Y)).batch(2),
    "generator": lambda: ((jax.numpy.asarray(X[i : i + 2]), Y[i : i + 2]) for i in range(0, 8, 2)),
}
PLACES: dict[str, tuple[Any, type]] = {
    "torch": (torch.device("cpu"), torch.Tensor),
    "jax": (jax.devices("cpu")[0], jax.Array),
    "tensorflow": ("/CPU:0", tf.Tensor),
}


def threads() -> list[Any]:
    return [thread for thread in threading.enumerate() if thread.name == "DeviceIterator"]


def no_thread_is_left() -> bool:
    until = time.monotonic() + 5
    while threads() and time.monotonic() < until:
        gc.collect()
        time.sleep(0.01)
    return not threads()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("loader", LOADERS)
def test_arrays_of_the_target_come_out(loader: str, place: str) -> None:
    where, cls = PLACES[place]
    found = list(training.DeviceIterator(LOADERS[loader](), where))
    assert [type(batch) for batch in found] == [type(batch) for batch in LOADERS[loader]()]
    assert all(isinstance(array, cls) for batch in found for array in batch)
    np.testing.assert_array_equal(np.concatenate([np.asarray(x) for x, _ in found]), X)
    np.testing.assert_array_equal(np.concatenate([np.asarray(y) for _, y in found]), Y)
    assert no_thread_is_left()


@pytest.mark.parametrize("place", PLACES)
def test_a_subclass_of_dict_is_kept(place: str) -> None:
    where, cls = PLACES[place]
    batch = OrderedDict(x=X, more=[Y], name="first")
    (found,) = training.DeviceIterator([batch], where)
    assert type(found) is OrderedDict and list(found) == ["x", "more", "name"] and found["name"] == "first"
    assert isinstance(found["x"], cls) and isinstance(found["more"][0], cls)
    np.testing.assert_array_equal(np.asarray(found["x"]), X)


def test_a_sharding_a_name_and_a_state() -> None:
    sharding = jax.sharding.NamedSharding(jax.make_mesh((1,), ("data",)), jax.sharding.PartitionSpec("data"))
    x, _ = next(training.DeviceIterator(LOADERS["list"](), sharding))
    assert x.sharding == sharding
    state = training.TrainState.create(
        torch.nn.Linear(3, 1), "sgd", loss=lambda y, target: y.mean(), args=(torch.ones(1, 3),)
    )
    for where in ("torch", "pytorch", "cpu", state):
        batches = training.DeviceIterator(LOADERS["list"](), where)
        assert isinstance(next(batches)[0], torch.Tensor)
        batches.close()
    state, _ = training.fit(
        state, training.DeviceIterator(LOADERS["torch"](), state), epochs=2, progress=False
    )
    assert state.step == 8 and no_thread_is_left()


def test_batches_go_where_the_state_is() -> None:
    state = training.TrainState.create(
        torch.nn.Linear(3, 1), "sgd", loss=lambda y, target: y.mean(), args=(torch.ones(1, 3),)
    )
    engine = state.plan.engine
    # On the CPU arrays need no copy, so None stands for it.
    assert engine.device_of(state.held) is None
    # ``meta`` stands for a GPU.
    elsewhere = replace(state.held, trained={"weight": torch.ones(1, 3, device="meta")})
    assert engine.device_of(elsewhere) == torch.device("meta")
    state.held = elsewhere
    assert next(training.DeviceIterator(LOADERS["list"](), state))[0].is_meta


def test_each_loop_is_a_new_one_and_next_has_its_own() -> None:
    batches = training.DeviceIterator(LOADERS["list"](), "torch", prefetch=1)
    assert len(batches) == 4
    assert float(next(batches)[0][0, 0]) == 0 and float(next(batches)[0][0, 0]) == 6
    assert len(list(batches)) == len(list(batches)) == 4
    batches.close()
    assert no_thread_is_left()


def test_what_the_loader_raises_is_raised_in_the_loop() -> None:
    def failing() -> Iterator[Any]:
        yield X, Y
        raise OSError("the disk is gone")

    batches = iter(training.DeviceIterator(failing(), "torch"))
    next(batches)
    with pytest.raises(OSError, match="the disk is gone"):
        next(batches)
    with pytest.raises(StopIteration):
        next(batches)
    assert no_thread_is_left()


def test_the_thread_ends_where_the_loop_is_left() -> None:
    begun = []

    def endless() -> Iterator[Any]:
        while True:
            begun.append(1)
            yield X, Y

    for _ in training.DeviceIterator(endless(), "torch", prefetch=3):
        break
    assert no_thread_is_left()
    # The number of batches fetched ahead is limited.
    assert len(begun) <= 6


def test_batches_are_fetched_while_the_step_is_computed() -> None:
    begun = [threading.Event() for _ in range(5)]

    def batches() -> Iterator[Any]:
        for event in begun:
            event.set()
            yield X

    for number, _ in enumerate(training.DeviceIterator(batches(), "torch")):
        assert all(event.wait(60) for event in begun[: number + 2])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([], "torhc"), "'torhc' is no device: give a device of a framework"),
        (([], 3), "3 is no device"),
        (([], "torch", 0), "prefetch= is 0"),
        ((3, "torch"), "the loader is a int, which cannot be looped over"),
    ],
)
def test_wrong_uses(arguments: Any, words: str) -> None:
    with pytest.raises(InvalidOption, match=words):
        training.DeviceIterator(*arguments)


@pytest.mark.parametrize(
    ("batch", "place", "words"),
    [
        (np.ones((2, 3)), "meta:7x", "'meta:7x' is no device"),
        (np.ones((2, 3)), "/GPU:77", "'/GPU:77' is no device"),
        pytest.param(
            np.ones((2, 3), "float32"),
            "cuda:7",
            r"an array float32\[2, 3\] of a batch cannot be put on cuda:7: .*; give a device of this machine",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="for machines without GPUs"),
        ),
        (np.array([None]), "torch", r"an array object\[1\] of a batch cannot be put on a device: .*cannot become one of torch"),
    ],
)  # fmt: skip
def test_what_cannot_be_placed(batch: Any, place: str, words: str) -> None:
    with pytest.raises(GraphCompilerError, match=words):
        next(training.DeviceIterator([batch], place))
