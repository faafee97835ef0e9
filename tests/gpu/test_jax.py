"""Tests of JAX on a GPU: precision of products, devices of arrays, and exchange of arrays with torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .device import DEVICE, IS_GPU, PLATFORM, needs_cuda, needs_jax, report

import jax  # isort: skip
import jax.numpy as jnp  # isort: skip
import numpy as np  # isort: skip
import torch  # isort: skip

import graph_compiler  # isort: skip
from graph_compiler import transforms  # isort: skip
from tests.support.compare import assert_same, to_numpy  # isort: skip
from tests.support.contexts import wide_types  # isort: skip

from .products import IN_NUMPY, IN_TORCH, array  # isort: skip

pytestmark = needs_jax
# Relative to the norm of the result; the error of TF32 is about 3e-4.
EXACT = 2e-5


def off(found: Any, exact: Any) -> float:
    """Return the relative error in the Euclidean norm."""
    found, exact = np.asarray(to_numpy(found), np.float64), np.asarray(to_numpy(exact), np.float64)
    return float(np.linalg.norm(found - exact) / np.linalg.norm(exact))


def in_jax(array: Any) -> str:
    return next(iter(array.devices())).platform


@pytest.mark.parametrize("name", IN_TORCH)
def test_products_of_torch(name: str) -> None:
    function, x = IN_TORCH[name], torch.from_numpy(array("float32"))
    exact = function(x.double())
    weight = torch.from_numpy(np.random.default_rng(1).normal(size=exact.shape))

    def loss(x: Any) -> Any:
        return (function(x) * weight.to(x)).sum()

    leaf = x.double().requires_grad_()
    (slope,) = torch.autograd.grad(loss(leaf), leaf)
    there = x.to(DEVICE)
    found = {}
    for jitted in (False, True):
        graph = graph_compiler.transpile(
            function, to="jax", args=(there[:16],), return_backend_compiled_fn=jitted
        )
        result = graph(there)
        assert in_jax(result) == PLATFORM
        found[f"jitted={jitted}"] = off(result, exact)
    graph = graph_compiler.transpile(loss, to="jax", args=(there,))
    found["gradient"] = off(transforms.grad(graph)(there), slope)
    found["jax.grad of functional"] = off(
        jax.jit(jax.grad(graph.functional, argnums=1))(graph.parameters, jnp.asarray(x.numpy())), slope
    )
    found["forward mode"] = off(transforms.jvp(graph, (there,), (there,))[1], (slope * x.double()).sum())
    found["torch"] = off(function(there), exact)
    report(f"torch {name}", **found)
    assert max(found[key] for key in found if key != "torch") < EXACT, found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", IN_NUMPY)
def test_products_of_numpy(name: str, dtype: str) -> None:
    function, x = IN_NUMPY[name], array(dtype)
    exact = function(x.astype("float64"))
    with wide_types():
        graph = graph_compiler.transpile(function, to="jax", args=(x[:16],))
        result = graph(x)
        jitted = jax.jit(graph.functional)(graph.parameters, x)
    found = {"called": off(result, exact), "jitted": off(jitted, exact)}
    in_torch = graph_compiler.transpile(function, to="torch", args=(x[:16],))
    found["torch"] = off(in_torch(torch.from_numpy(x).to(DEVICE)), exact)
    report(f"numpy {name} {dtype}", **found)
    assert in_jax(result) == PLATFORM and result.dtype == function(x).dtype
    assert max(found.values()) < (EXACT if dtype == "float32" else 1e-12), found


def test_a_function_of_jax_is_as_precise_as_jax() -> None:
    x = array("float32")
    exact = x.astype("float64") @ x.T.astype("float64")
    function = jax.jit(lambda x: x @ x.T)
    found = {
        "jax": off(function(x), exact),
        "graph": off(graph_compiler.transpile(lambda x: x @ x.T, to="jax", args=(jnp.asarray(x),))(x), exact),
        "torch": off(
            graph_compiler.transpile(lambda x: x @ x.T, to="torch", args=(jnp.asarray(x),))(
                torch.from_numpy(x).to(DEVICE)
            ),
            exact,
        ),
        "highest": off(
            graph_compiler.transpile(
                lambda x: jnp.matmul(x, x.T, precision="highest"), to="jax", args=(jnp.asarray(x),)
            )(x),
            exact,
        ),
    }
    report("a function of jax", **found)
    assert found["torch"] < EXACT and found["highest"] < EXACT


def test_a_saved_graph_is_as_precise(tmp_path: Path) -> None:
    x = torch.from_numpy(array("float32")).to(DEVICE)
    graph_compiler.transpile(lambda x: x @ x.T, to="jax", args=(x,)).save(tmp_path / "graph.zip")
    assert off(graph_compiler.load(tmp_path / "graph.zip")(x), x.double() @ x.double().T) < EXACT


def model() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(512, 64), torch.nn.BatchNorm1d(64), torch.nn.GELU(), torch.nn.Linear(64, 3)
    ).eval()


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("where", ["cpu", DEVICE])
def test_weights_lie_where_jax_computes(where: str, jitted: bool) -> None:
    held = model().to(where)
    graph = graph_compiler.transpile(
        held, to="jax", args=(torch.ones(2, 512, device=where),), return_backend_compiled_fn=jitted
    )
    x = torch.from_numpy(array("float32"))
    for given in (x, x.to(where), x.numpy(), jnp.asarray(x.numpy())):
        result = graph(given)
        assert in_jax(result) == PLATFORM
        assert_same(result, held(x.to(where)).detach())
    assert {in_jax(leaf) for leaf in graph.parameters.values()} == {PLATFORM}
    with torch.no_grad():
        held[3].bias.add_(1)
    assert_same(graph(x), held(x.to(where)).detach())


def test_constants_lie_where_jax_computes() -> None:
    table = torch.arange(512.0)
    graph = graph_compiler.transpile(
        lambda x: x * table.to(x.device) + torch.arange(512, device=x.device),
        to="jax",
        args=(torch.ones(2, 512),),
    )
    assert in_jax(graph(np.ones((2, 512), "float32"))) == PLATFORM
    assert in_jax(graph(torch.ones(2, 512, device=DEVICE))) == PLATFORM


@needs_cuda
def test_tensors_of_a_gpu_are_not_brought_to_the_host() -> None:
    """They are passed by DLPack and copied on the GPU, so that the caller may write to the originals."""
    x = torch.randn(64, 512, device=DEVICE)
    graph = graph_compiler.transpile(lambda x: x.exp(), to="jax", args=(x,))
    graph(x)
    with jax.transfer_guard("disallow_explicit"):
        before = x.clone()
        found = graph(x)
        x.zero_()
        torch.cuda.synchronize()
    assert_same(found, before.exp())
    # XLA does not accept arrays at this address.
    graph(torch.zeros(600, device=DEVICE)[1:513].reshape(1, 512))
    held = model().to(DEVICE)
    graph = graph_compiler.transpile(held, to="jax", args=(x,))
    graph(x)
    weight = graph.parameters["0.weight"]
    # Both share memory.
    assert weight.unsafe_buffer_pointer() == held[0].weight.data_ptr()


@needs_cuda
def test_tensors_written_right_before_the_call() -> None:
    """JAX must wait for torch's stream, and torch for JAX's."""
    graph = graph_compiler.transpile(
        lambda x: (x @ x).sum(), to="jax", args=(torch.ones(8, 8, device=DEVICE),)
    )
    back = graph_compiler.transpile(lambda x: (x @ x).sum(), to="torch", args=(jnp.ones((8, 8)),))
    stream = torch.cuda.Stream()
    for size in (2048, 3000):
        graph(torch.ones(size, size, device=DEVICE))
        for place in (torch.cuda.current_stream(), stream):
            with torch.cuda.stream(place):
                x = torch.ones(size, size, device=DEVICE)
                for _ in range(20):
                    x = (x @ x) / size
                found = graph(x)
                x.zero_()
            assert abs(float(found) / size**3 - 1) < 1e-5
        y = jnp.ones((size, size))
        for _ in range(20):
            y = (y @ y) / size
        assert abs(float(back(y)) / size**3 - 1) < 1e-3


def from_jax(x: Any) -> Any:
    rows = jnp.arange(x.shape[0])
    return jax.nn.softmax(jnp.where(rows[:, None] >= rows, x @ x.T, -jnp.inf)), x.at[0].set(
        jnp.linspace(0, 1, x.shape[1])
    )


def test_functions_of_jax_in_torch() -> None:
    x = array("float32", 8)
    graph = graph_compiler.transpile(from_jax, to="torch", args=(jnp.asarray(x[:4]),))
    with jax.default_matmul_precision("highest"):
        expected = from_jax(jnp.asarray(x))
    for given in (torch.from_numpy(x).to(DEVICE), jnp.asarray(x)):
        found = graph(given)
        assert all(item.device.type == torch.device(DEVICE).type for item in found)
        assert_same(found, expected)
    slope = transforms.grad(lambda x: graph(x)[0].square().sum())(torch.from_numpy(x).to(DEVICE))
    with jax.default_matmul_precision("highest"):
        assert_same(slope, jax.grad(lambda x: jnp.square(from_jax(x)[0]).sum())(jnp.asarray(x)))


def test_round_trip() -> None:
    held = model().to(DEVICE)
    x = torch.from_numpy(array("float32")).to(DEVICE)
    graph = graph_compiler.transpile(held, to="jax", args=(x,))
    module = graph.as_module()
    assert_same(module(jnp.asarray(x.cpu().numpy())), held(x).detach())
    assert_same(graph.to("torch")(x), held(x))


SUMMED = {
    "square": lambda x: (x * x).sum(),
    "product": lambda x: (
        torch.tanh(x @ x.T / 10).sum() if isinstance(x, torch.Tensor) else jnp.tanh(x @ x.T / 10).sum()
    ),
}


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_transforms(to: str) -> None:
    x = torch.from_numpy(array("float32", 6)[:, :5].copy()).to(DEVICE)
    for name, function in SUMMED.items():
        graph = (
            graph_compiler.transpile(function, to=to, args=(x[:3],))
            if to == "jax"
            else graph_compiler.compile(function, args=(x[:3],))
        )
        func = torch.func
        pairs = {
            "grad": (transforms.grad(graph)(x), func.grad(function)(x)),
            "jvp": (transforms.jvp(graph, (x,), (x,)), func.jvp(function, (x,), (x,))),
            "vjp": (
                transforms.vjp(graph, x)[1](torch.tensor(2.0, device=DEVICE)),
                func.vjp(function, x)[1](torch.tensor(2.0, device=DEVICE)),
            ),
            "hessian": (transforms.hessian(graph)(x), func.hessian(function)(x)),
            "jacrev": (transforms.jacrev(graph)(x), func.jacrev(function)(x)),
            "jacfwd": (transforms.jacfwd(graph)(x), func.jacfwd(function)(x)),
            "hvp": (
                transforms.hvp(graph, (x,), (x,)),
                torch.einsum("abcd,cd->ab", func.hessian(function)(x), x),
            ),
            "vmap": (transforms.vmap(graph)(x[:, None, :]), func.vmap(function)(x[:, None, :])),
            "per example": (
                transforms.vmap(transforms.grad(graph))(x[:, None, :]),
                func.vmap(func.grad(function))(x[:, None, :]),
            ),
            "checkpoint": (transforms.grad(transforms.checkpoint(graph))(x), func.grad(function)(x)),
            "strong_zero": (transforms.grad(graph, strong_zero=True)(x), func.grad(function)(x)),
            "jit": (graph_compiler.jit(function)(x), function(x)),
        }
        for which, (found, expected) in pairs.items():
            found = found[0] if which == "vjp" and isinstance(found, tuple) else found
            expected = expected[0] if which == "vjp" else expected
            for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected)):
                np.testing.assert_allclose(
                    to_numpy(one), to_numpy(other), rtol=2e-4, atol=2e-5, err_msg=f"{name} {which}"
                )
                if isinstance(one, torch.Tensor):
                    assert one.device.type == torch.device(DEVICE).type, (name, which)
                elif which != "jit":
                    assert in_jax(one) == PLATFORM, (name, which)


ELSEWHERE = """
import json, sys, torch, numpy as np
import graph_compiler
graph = graph_compiler.load(sys.argv[1])
x = np.load(sys.argv[2])
result = graph(torch.from_numpy(x)) if sys.argv[4] == "torch" else graph(x)
result = result.detach().numpy() if hasattr(result, "detach") else np.asarray(result)
np.save(sys.argv[3], result)
print(json.dumps({"cuda": torch.cuda.is_available()}))
"""


@pytest.mark.parametrize("to", ["torch", "jax", "numpy"])
def test_saved_here_and_loaded_without_a_gpu(to: str, tmp_path: Path) -> None:
    held = model().to(DEVICE)
    table = torch.arange(3.0, device=DEVICE)

    def function(x: Any) -> Any:
        return held(x) + table * torch.ones(3, device=x.device) + torch.arange(3, device=DEVICE)

    x = torch.from_numpy(array("float32")).to(DEVICE)
    graph = (
        graph_compiler.transpile(function, to=to, args=(x[:4],))
        if to != "torch"
        else graph_compiler.compile(function, args=(x[:4],))
    )
    graph.save(tmp_path / "graph.zip")
    np.save(tmp_path / "x.npy", x.cpu().numpy())
    script = tmp_path / "elsewhere.py"
    script.write_text(ELSEWHERE)
    files = [str(tmp_path / name) for name in ("graph.zip", "x.npy", "found.npy")]
    environment = {
        **os.environ,
        "CUDA_VISIBLE_DEVICES": "",
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": str(Path.cwd()),
    }
    done = subprocess.run(
        [sys.executable, str(script), *files, to],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    # The recorded calls name the GPU, which the target does not have.
    if to == "torch" and IS_GPU:
        assert done.returncode == 0 or "graph_compiler.errors" in done.stderr
        return
    assert done.returncode == 0, done.stderr[-2000:]
    assert_same(np.load(files[2]), to_numpy(function(x)))


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_saved_on_the_cpu_and_loaded_here(to: str, tmp_path: Path) -> None:
    held = model()
    x = torch.from_numpy(array("float32"))
    graph = (
        graph_compiler.transpile(held, to=to, args=(x[:4],))
        if to == "jax"
        else graph_compiler.compile(held, args=(x[:4],))
    )
    graph.save(tmp_path / "graph.zip")
    loaded = graph_compiler.load(tmp_path / "graph.zip")
    assert_same(loaded(x), held(x).detach())
    if to == "torch":
        module = loaded.as_module().to(DEVICE)
        assert_same(module(x.to(DEVICE)).detach(), held(x).detach())
    else:
        assert in_jax(loaded(x)) == PLATFORM
        assert_same(loaded(x.to(DEVICE)), held(x).detach())


def test_numpy_functions_take_arrays_of_the_gpu() -> None:
    def function(x: Any) -> Any:
        found = np.zeros_like(x)
        for row in range(x.shape[0]):
            found[row] = x[row] * row
        return found @ np.eye(x.shape[1], dtype=x.dtype)

    x = array("float32", 5)
    for to, given in (
        ("jax", jnp.asarray(x)),
        ("torch", torch.from_numpy(x).to(DEVICE)),
        ("jax", torch.from_numpy(x).to(DEVICE)),
    ):
        found = graph_compiler.transpile(function, to=to, args=(x[:3],))(given)
        np.testing.assert_allclose(to_numpy(found), function(x), rtol=1e-5)
