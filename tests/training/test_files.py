"""Tests of saved training state: training continues bit by bit, files are complete or absent, wrong ones are
refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("optax")
pytest.importorskip("keras")

import numpy as np  # noqa: E402

from graph_compiler import training  # noqa: E402
from graph_compiler.errors import InvalidFile, InvalidOption, NotSerialisable  # noqa: E402

from .models import BATCHES, TARGETS, classifier, cross_entropy, flax, optax_loss  # noqa: E402
from .test_steps import elements, graph, trained  # noqa: E402

OPTIONS: dict[str, Any] = {
    "accumulate": 2,
    "ema": 0.9,
    "clip_norm": 1.0,
    "precision": "f16",
    "freeze": ["first.bias"],
}


def create(to: str, **options: Any) -> Any:
    schedule = training.schedule("cosine", 0.1, steps=9)
    return training.TrainState.create(
        graph(to, 0.5), "adamw", loss=cross_entropy, schedule=schedule, **{**OPTIONS, **options}
    )


@pytest.mark.parametrize("to", TARGETS)
def test_training_goes_on_bit_by_bit(to: str, tmp_path: Path) -> None:
    """The state is saved during an accumulation, with dropout, running means and a scaled loss, and loaded
    into a new and a used one.
    """
    path = tmp_path / "state.safetensors"
    state, _ = trained(create(to), BATCHES[:3])
    state.save(path)
    state, expected = trained(state, BATCHES * 2)
    for like in (create(to), state):
        again = training.TrainState.load(path, like=like)
        assert again.step == 3
        again, losses = trained(again, BATCHES * 2)
        assert losses == expected
        for arrays, others in ((state.parameters, again.parameters), (state.ema, again.ema)):
            found = elements(again, others)
            for name, array in elements(state, arrays).items():
                np.testing.assert_array_equal(found[name], array, err_msg=name)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_keys_of_random_numbers_go_with_it(tmp_path: Path) -> None:
    pytest.importorskip("flax")
    state = training.TrainState.create(flax(), "sgd", loss=optax_loss, args=(BATCHES[0][0],), to="jax")
    state, _ = trained(state, BATCHES[:1])
    state.save(tmp_path / "state")
    again = training.TrainState.load(tmp_path / "state", like=state)
    assert trained(state)[1] == trained(again)[1]


def test_other_programs_can_read_it(tmp_path: Path) -> None:
    from safetensors import safe_open

    state = create("torch")
    state.save(tmp_path / "state.safetensors")
    with safe_open(tmp_path / "state.safetensors", "pt") as file:
        assert torch.equal(file.get_tensor("trained/last.weight"), state.parameters["last.weight"])
        assert json.loads(file.metadata()["graph_compiler"])["step"] == 0


def damaged(path: Path, how: Any) -> Path:
    data = bytearray(path.read_bytes())
    path.write_bytes(bytes(how(data)))
    return path


def flipped(data: bytearray) -> bytearray:
    data[-3] ^= 1
    return data


def _with_header(data: bytearray, change: Any) -> bytes:
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    about = json.loads(header["__metadata__"]["graph_compiler"])
    text = change(header, about)
    header["__metadata__"]["graph_compiler"] = json.dumps(about) if text is None else text
    changed = json.dumps(header).encode()
    return len(changed).to_bytes(8, "little") + changed + bytes(data[8 + length :])


def _without_random_state(data: bytearray) -> bytes:
    def change(header: dict[str, Any], about: dict[str, Any]) -> None:
        begin, end = header.pop("rng/generator")["data_offsets"]
        assert end == len(data) - 8 - int.from_bytes(data[:8], "little")
        del about["arrays"]["rng/generator"], data[begin - end :]
        about["sha256"] = hashlib.sha256(data[-begin:]).hexdigest()

    return _with_header(data, change)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (lambda data: _with_header(data, lambda _, about: about.update(arrays=[])), "AttributeError"),
        (
            lambda data: _with_header(
                data, lambda _, about: about["arrays"].update({"trained/last.weight": []})
            ),
            "is no saved state, or a damaged one",
        ),
        (lambda data: _with_header(data, lambda *_: "[" * 100_000), "RecursionError"),
        (_without_random_state, "state of no random generator"),
        (lambda data: data[:-4], "ends too early"),
        (flipped, "was altered or damaged"),
        (lambda data: b"", "is no saved state, or a damaged one"),
        (lambda data: b"\xff" * 64, "it has no header"),
        (lambda data: data.replace(b'\\"version\\": 1', b'\\"version\\": 7'), "version 7"),
    ],
)
def test_damaged_files(how: Any, words: str, tmp_path: Path) -> None:
    state = create("torch")
    state.save(tmp_path / "state")
    with pytest.raises(InvalidFile, match=words):
        training.TrainState.load(damaged(tmp_path / "state", how), like=state)


def test_another_training_is_refused(tmp_path: Path) -> None:
    state = create("torch")
    state.save(tmp_path / "state")
    others = {
        "its target is torch, and that of the state jax": create("jax"),
        "its optimizer is adamw, and that of the state sgd": training.TrainState.create(
            graph("torch"), "sgd", loss=cross_entropy
        ),
        "unexpected: ema/last.weight": create("torch", ema=None),
        "missing: trained/first.bias": create("torch", freeze=[]),
    }
    for words, like in others.items():
        with pytest.raises(InvalidFile, match=words):
            training.TrainState.load(tmp_path / "state", like=like)
    wider = training.TrainState.create(
        torch.nn.Linear(7, 3), "adamw", loss=cross_entropy, args=(torch.ones(1, 7),)
    )
    slim = training.TrainState.create(
        torch.nn.Linear(4, 3), "adamw", loss=cross_entropy, args=(torch.ones(1, 4),)
    )
    slim.save(tmp_path / "slim")
    with pytest.raises(
        InvalidFile, match=r"trained/weight is float32\[3, 4\], and that of the state float32\[3, 7\]"
    ):
        training.TrainState.load(tmp_path / "slim", like=wider)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        training.TrainState.load(tmp_path / "none", like=state)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        state.save(tmp_path / "none" / "state")
    calls: list[Any] = [state.save, lambda path: training.TrainState.load(path, like=state)]
    for call in calls:
        with pytest.raises(InvalidOption, match="path is 3, and has to be the name of a file"):
            call(3)
    with pytest.raises(InvalidOption, match="like= is a Classifier"):
        training.TrainState.load(tmp_path / "state", like=classifier())


SAVING = """
import sys, torch
from graph_compiler import training
model = torch.nn.Linear(2000, 500)
state = training.TrainState.create(model, "sgd", loss=lambda y, target: y.mean(), args=(torch.ones(1, 2000),))
state.save(sys.argv[1])
print("saved", flush=True)
while True:
    state.save(sys.argv[1])
"""


def test_a_process_that_is_killed_leaves_the_old_file(tmp_path: Path) -> None:
    path, like = tmp_path / "state", None
    model = torch.nn.Linear(2000, 500)
    like = training.TrainState.create(
        model, "sgd", loss=lambda y, target: y.mean(), args=(torch.ones(1, 2000),)
    )
    with subprocess.Popen(
        [sys.executable, "-c", SAVING, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "saved\n"
        until = time.monotonic() + 20
        while not list(tmp_path.glob(".state.*")) and time.monotonic() < until:
            pass
        process.send_signal(signal.SIGKILL)
    assert training.TrainState.load(path, like=like).step == 0


def test_a_save_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = create("torch")
    state.save(tmp_path / "state")
    before = (tmp_path / "state").read_bytes()
    state, _ = trained(state)

    def full(handle: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        state.save(tmp_path / "state")
    assert (tmp_path / "state").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["state"]


def test_a_generator_of_another_device_goes_on_from_its_seed() -> None:
    """The state of a GPU's generator has sixteen bytes: seed and offset."""
    engine = training.TrainState.create(
        classifier(), "sgd", loss=cross_entropy, args=(torch.ones(5, 4),)
    ).plan.engine
    words = torch.tensor([11, 400], dtype=torch.int64).view(torch.uint8)
    assert engine.with_rng_arrays({"generator": words}, torch.ones(1)).initial_seed() == 11


def test_an_array_of_a_dtype_that_files_lack_is_named(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 1))
    model.register_buffer("scale", torch.ones(1).to(torch.float8_e4m3fn))
    model.forward = lambda x: model[0](x) * model.scale.float()
    state = training.TrainState.create(model, "adam", loss=torch.nn.MSELoss(), args=(torch.ones(1, 2),))
    with pytest.raises(
        NotSerialisable, match=r"fixed/scale cannot be written: files have no dtype float8_e4m3fn"
    ):
        state.save(tmp_path / "state.safetensors")
    assert list(tmp_path.iterdir()) == []
