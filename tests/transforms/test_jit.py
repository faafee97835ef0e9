"""Tests of ``graph_compiler.jit``, and of the compilers' caches between processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")
pytest.importorskip("tensorflow")

import jax
import jax.numpy as jnp
import tensorflow as tf
import torch

import graph_compiler
from graph_compiler import transforms
from graph_compiler.backends.common.compilers import cache_folder
from graph_compiler.errors import InvalidOption, NotCompilable


@pytest.mark.parametrize("array", [jnp.ones, tf.ones], ids=["jax", "tensorflow"])
def test_a_function_in_its_own_framework(array: Any) -> None:
    @graph_compiler.jit(static_argnames="times")
    def function(x: Any, times: int) -> Any:
        return x * times

    assert np.asarray(function(array((2, 3)), times=3)).tolist() == [[3, 3, 3]] * 2
    assert np.asarray(function(array((4,)), times=2)).tolist() == [2] * 4
    assert type(function(array((1,)), times=1)) is type(array((1,)))
    assert repr(function) == "<jit(function)>" and "x * " in function.source or "mul" in function.source


def test_devices() -> None:
    function = graph_compiler.jit(lambda x: x + 1, device="cpu:0")
    assert function(jnp.ones(2)).devices() == {jax.devices("cpu")[0]}
    with pytest.raises(InvalidOption, match="device= is 'cpu:99', which there is not"):
        graph_compiler.jit(lambda x: x + 1, device="cpu:99")(jnp.ones(2))
    with pytest.raises(InvalidOption, match="device= is 'nowhere'"):
        graph_compiler.jit(lambda x: x + 1, device="nowhere")(torch.ones(2))


@pytest.mark.parametrize(
    ("array", "name"), [(jnp.ones, "cpu:-1"), (tf.ones, "pu:0"), (tf.ones, "cpu:"), (tf.ones, "0")]
)
def test_devices_are_not_taken_for_others(array: Any, name: str) -> None:
    with pytest.raises(InvalidOption, match=f"device= is '{name}', which there is not"):
        graph_compiler.jit(lambda x: x + 1, device=name)(array((2,)))


@pytest.mark.parametrize("name", ["CPU", "cpu:0", "/device:CPU:0", "/cpu:0"])
def test_names_of_tensorflow_s_devices(name: str) -> None:
    assert graph_compiler.jit(lambda x: x + 1, device=name)(tf.ones(2)).device.endswith("CPU:0")


def test_a_device_for_arrays_in_a_subclass_of_dict() -> None:
    function = graph_compiler.jit(lambda batch: batch["x"] + 1, device="nowhere")
    with pytest.raises(InvalidOption, match="device= is 'nowhere'"):
        function(OrderedDict(x=jnp.ones(2)))


def test_devices_of_tensorflow() -> None:
    x, device = tf.ones(2), tf.config.list_logical_devices("CPU")[0]
    for one in (device, device.name, "cpu:0", x.device):
        assert graph_compiler.jit(lambda x: x + 1, device=one)(x).numpy().tolist() == [2, 2]
    for one in ("cpu:99", 3):
        with pytest.raises(InvalidOption, match=f"device= is {one!r}, which there is not"):
            graph_compiler.jit(lambda x: x + 1, device=one)(x)


def test_numpy_has_no_compiler() -> None:
    with pytest.raises(NotCompilable, match=r"jit of sin: numpy has no compiler; .*to='jax'"):
        graph_compiler.jit(np.sin)(np.ones(2))
    with pytest.raises(NotCompilable, match="a function or a model is needed"):
        graph_compiler.jit(3)


COMPILES = """
import sys, time, jax, torch, graph_compiler
from graph_compiler.backends.jax import compiled

compiled._LEAST_SECONDS = 0  # a program of any size is kept
torch.manual_seed(0)
layers = torch.nn.ModuleList([torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True) for _ in range(4)]).eval()
def run(x):
    for layer in layers:
        x = layer(x)
    return x
x = torch.ones(2, 8, 64)
graph = graph_compiler.transpile(run, source="torch", to="jax", args=(x,), return_backend_compiled_fn=True)
traced, inner = [], jax.numpy.inner
jax.numpy.inner = lambda *args: (traced.append(1), inner(*args))[1]
start = time.perf_counter()
print("result", float(graph(x)[0, 0, 0]))
print("first call", time.perf_counter() - start, file=sys.stderr)
print("traced", bool(traced))
print("left", jax.config.jax_compilation_cache_dir)
"""


def compiled(cache: Path | str, **variables: str) -> str:
    # Without optimisations XLA compiles the program in less than 0.1 s on a fast machine, and JAX stores only
    # what takes longer.
    environment = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("JAX_ENABLE", "GRAPH_COMPILER_VERIFY", "XLA_FLAGS"))
    }
    environment |= {"GRAPH_COMPILER_CACHE": str(cache), **variables}
    return subprocess.run(
        [sys.executable, "-c", COMPILES],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    ).stdout


def test_what_is_compiled_and_lowered_is_kept_in_our_folder(tmp_path: Path) -> None:
    def programs() -> set[str]:
        return {str(path) for path in tmp_path.glob("ours/*/*") if path.name.endswith(("-cache", ".json"))}

    first = compiled(tmp_path / "ours")
    assert "left None" in first and "traced True" in first
    held = programs()
    assert len(held) == 2
    assert compiled(tmp_path / "ours") == first.replace("traced True", "traced False") and programs() == held


def test_the_users_own_folder_is_used(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    assert f"left {theirs}" in compiled(tmp_path / "ours", JAX_COMPILATION_CACHE_DIR=str(theirs))
    assert not list((tmp_path / "ours").glob("xla/*-cache"))


def test_a_folder_that_is_named_needs_no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", home)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("GRAPH_COMPILER_CACHE", str(tmp_path))
    assert cache_folder("xla") == str(tmp_path / "xla")
    monkeypatch.delenv("GRAPH_COMPILER_CACHE")
    assert cache_folder("xla") is None


def test_derivatives_of_what_was_not_called_yet() -> None:
    cube = graph_compiler.jit(lambda x, power: (x**power).sum(), static_argnums=1)
    for x in (torch.rand(3), jnp.ones(3) * 0.5):
        for power in (3, 2):
            found = transforms.vmap(transforms.grad(cube), in_axes=(0, None))(x[:, None], power)
            np.testing.assert_allclose(
                np.asarray(found)[:, 0], power * np.asarray(x) ** (power - 1), rtol=1e-5
            )


@pytest.mark.parametrize(
    "transformed",
    [
        transforms.vmap(graph_compiler.jit(torch.sin)),
        transforms.vmap(transforms.vmap(graph_compiler.jit(torch.sin))),
        transforms.vmap(graph_compiler.compile(torch.sin, args=(torch.ones(2),))),
        transforms.grad(
            graph_compiler.compile(lambda x: torch.sin(x).sum(), args=(torch.ones(2),)), strong_zero=True
        ),
    ],
)
def test_source_of_what_is_transformed(transformed: Any) -> None:
    transformed(torch.ones(2, 2))
    name, _, source = transformed.source.partition("\n")
    assert name == f"# {transformed.__name__}" and "sin(" in source


def test_an_argument_named_self() -> None:
    def function(self: Any) -> Any:
        return (self**2).sum()

    assert float(graph_compiler.jit(function)(self=jnp.ones(2))) == 2
    slope = graph_compiler.transforms.grad(function, argnames="self")
    assert slope(self=jnp.ones(2)).tolist() == [2, 2]
