"""Tests of graphs from torch on a GPU, recorded and called on the same device or on different ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from .device import DEVICE, IS_GPU, needs_cuda, needs_jax, places, report, wait

import torch  # isort: skip
import graph_compiler  # isort: skip
from graph_compiler.errors import GraphCompilerError  # isort: skip
from tests.support.compare import assert_same  # isort: skip
from tests.support.threads import several  # isort: skip

from .programs import PROGRAMS, RANDOM, example  # isort: skip

WAYS = {
    "there": (DEVICE, DEVICE),
    "recorded on the CPU": ("cpu", DEVICE),
    "called on the CPU": (DEVICE, "cpu"),
}


@pytest.fixture(autouse=True)
def _exact() -> Iterator[None]:
    """Disable TF32 in convolutions, so that they are as precise as products."""
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    yield
    torch.backends.cudnn.allow_tf32 = before


def outcome(function: Any, *args: Any) -> Any:
    try:
        return function(*args), None
    except Exception as problem:
        return None, problem


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_in_torch(name: str, way: str) -> None:
    recorded, called = WAYS[way]
    function = PROGRAMS[name]
    graph = graph_compiler.compile(function, args=(example(3, recorded),))
    for rows, seed in ((4, 1), (3, 2), (5, 3)):
        expected, problem = outcome(function, example(rows, called, seed))
        found, ours = outcome(graph, given := example(rows, called, seed))
        if problem is not None:
            assert ours is not None, f"torch raises {problem!r}, and the graph gives {found}"
            continue
        assert ours is None, f"{type(ours).__name__}: {ours}"
        assert_same(found, expected)
        wanted = torch.utils._pytree.tree_leaves(expected)
        for one, other in zip(torch.utils._pytree.tree_leaves(found), wanted):
            if isinstance(other, torch.Tensor):
                assert one.device == other.device
                assert one.stride() == other.stride()
        if name == "argument_written":
            assert_same(given, example(rows, called, seed) * 2)


@needs_jax
@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_in_jax(name: str, jitted: bool) -> None:
    function = PROGRAMS[name]
    graph = graph_compiler.transpile(
        function, to="jax", args=(example(3, DEVICE),), return_backend_compiled_fn=jitted
    )
    for rows, seed in ((4, 1), (3, 2)):
        assert_same(graph(example(rows, DEVICE, seed)), function(example(rows, DEVICE, seed)))
        # What the function reads of a device stays as it was recorded.
        assert_same(graph(example(rows, "cpu", seed)), function(example(rows, DEVICE, seed)))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", RANDOM)
def test_the_same_numbers_are_drawn(name: str, way: str) -> None:
    recorded, called = WAYS[way]
    function = RANDOM[name]
    torch.manual_seed(1)
    before = torch.cuda.get_rng_state() if IS_GPU else None
    graph = graph_compiler.compile(function, args=(example(3, recorded),))
    # A recording must not advance the generator.
    assert before is None or torch.equal(before, torch.cuda.get_rng_state())
    for rows in (4, 3):
        torch.manual_seed(5)
        expected = [function(example(rows, called)) for _ in range(2)], torch.rand(2, device=called)
        torch.manual_seed(5)
        assert_same(
            ([graph(example(rows, called)) for _ in range(2)], torch.rand(2, device=called)), expected
        )


@needs_jax
def test_dropout_in_jax_keeps_what_it_should() -> None:
    graph = graph_compiler.transpile(
        lambda x: torch.nn.functional.dropout(x, 0.3), to="jax", args=(torch.ones(3, 6, device=DEVICE),)
    )
    kept = float((graph(torch.ones(1000, 600)) != 0).mean())
    assert abs(kept - 0.7) < 0.005


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear, self.norm, self.conv = (
            torch.nn.Linear(6, 8),
            torch.nn.BatchNorm1d(8),
            torch.nn.Conv1d(1, 2, 3),
        )
        self.register_buffer("scale", torch.linspace(1, 2, 8))
        self.plain = torch.linspace(0, 1, 8)
        self.lstm = torch.nn.LSTM(8, 4, batch_first=True)

    def forward(self, x: Any) -> Any:
        found = self.norm(self.linear(x)) * self.scale + self.plain.to(x.device)
        return self.conv(found[:, None]), self.lstm(
            self.conv(found[:, None])[:, :, :8].repeat(1, 1, 2)[:, :, :8]
        )[0]


def net(device: str) -> Any:
    torch.manual_seed(0)
    return Net().to(device)


@pytest.mark.parametrize("training", [False, True])
def test_a_model_that_is_moved(training: bool) -> None:
    model, other = net("cpu").train(training), net("cpu").train(training)
    graph = graph_compiler.compile(model, args=(example(3, "cpu"),))
    for device in (DEVICE, "cpu", DEVICE):
        model.to(device), other.to(device)
        x = example(5, device, 4)
        found, expected = graph(x), other(x)
        assert_same(found, expected)
        assert places(found) == {torch.device(device).type}
        grads = [
            torch.autograd.grad(one[0].square().sum(), next(which.parameters()))
            for one, which in ((found, model), (expected, other))
        ]
        assert_same(*grads)
    assert_same(dict(model.named_buffers()), dict(other.named_buffers()))
    # The original refuses the call, so the graph must do so too.
    if IS_GPU:
        with pytest.raises((RuntimeError, GraphCompilerError)):
            graph(example(5, "cpu"))


def test_gradients_and_derivatives() -> None:
    model = net(DEVICE).eval()
    graph = graph_compiler.compile(model, args=(example(3, DEVICE),))
    for x in (example(4, DEVICE, 1), example(5, DEVICE, 2)):
        first, second = x.clone().requires_grad_(), x.clone().requires_grad_()
        assert_same(
            torch.autograd.grad(graph(first)[0].sum(), first),
            torch.autograd.grad(model(second)[0].sum(), second),
        )


def test_settings_of_products() -> None:
    x = torch.randn(256, 256, device=DEVICE)
    graph = graph_compiler.compile(lambda x: x @ x, args=(x[:8, :8],))
    for setting in ("highest", "high", "highest"):
        torch.set_float32_matmul_precision(setting)
        try:
            assert torch.equal(graph(x), x @ x), setting
        finally:
            torch.set_float32_matmul_precision("highest")


def test_channels_last_models() -> None:
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2)
    ).eval()
    model = model.to(DEVICE, memory_format=torch.channels_last)
    x = torch.randn(2, 3, 16, 16, device=DEVICE).contiguous(memory_format=torch.channels_last)
    graph = graph_compiler.compile(model, args=(x,))
    y = torch.randn(4, 3, 20, 24, device=DEVICE).contiguous(memory_format=torch.channels_last)
    assert graph(y).stride() == model(y).stride()
    assert_same(graph(y), model(y))
    assert graph(y.contiguous()).stride() == model(y.contiguous()).stride()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_models_of_other_types(dtype: str) -> None:
    model = net("cpu").eval().to(DEVICE, getattr(torch, dtype))
    model.plain = model.plain.to(getattr(torch, dtype))
    graph = graph_compiler.compile(model, args=(example(3, DEVICE).to(getattr(torch, dtype)),))
    x = example(5, DEVICE, 1).to(getattr(torch, dtype))
    assert_same(graph(x), model(x))


@needs_cuda
def test_the_call_runs_on_the_current_stream() -> None:
    x = torch.randn(2048, 2048, device=DEVICE)
    graph = graph_compiler.compile(lambda x: (x @ x).sum(), args=(x[:8, :8].contiguous(),))
    expected, stream = (x @ x).sum(), torch.cuda.Stream()
    wait()
    for _ in range(5):
        y = x.clone()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            held = y.mul(1)
            found = graph(held)
        stream.synchronize()
        assert_same(found, expected)


@needs_cuda
def test_verification_keeps_the_generator_of_the_gpu() -> None:
    x = torch.randn(9, device=DEVICE)
    graph = graph_compiler.compile(lambda x: torch.dropout(x, 0.5, True), args=(x,))
    state = torch.cuda.get_rng_state()
    assert graph.verify().numbers
    assert torch.equal(torch.cuda.get_rng_state(), state)


@needs_cuda
def test_cuda_graphs_capture_a_call() -> None:
    model = net(DEVICE).eval()
    model.lstm.flatten_parameters()
    x = example(5, DEVICE)
    graph = graph_compiler.compile(lambda x: model.norm(model.linear(x)), args=(example(3, DEVICE),))
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.no_grad(), torch.cuda.stream(stream):
        graph(x)
    torch.cuda.current_stream().wait_stream(stream)
    captured = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(captured):
        found = graph(x)
    x.copy_(example(5, DEVICE, 9))
    captured.replay()
    wait()
    assert_same(found, model.norm(model.linear(x)).detach())


@needs_cuda
def test_threads_on_streams_of_their_own() -> None:
    model = net(DEVICE).eval()
    graph = graph_compiler.compile(model, args=(example(3, DEVICE),))
    wait()

    def work(number: int) -> None:
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream), torch.no_grad():
            for step in range(30):
                x = example(3 + (number + step) % 3, DEVICE, step)
                assert_same(graph(x), model(x))

    several(work, 4)


@needs_cuda
@pytest.mark.parametrize("compiled", [False, True])
def test_memory(compiled: bool) -> None:
    """The peak is no higher than the model's, and nothing of the first call stays in memory."""
    torch.manual_seed(0)
    layers = [
        torch.nn.Sequential(
            torch.nn.LayerNorm(512), torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 512)
        )
        for _ in range(8)
    ]
    model = torch.nn.Sequential(*layers).to(DEVICE).eval()
    call = torch.compile(model) if compiled else model
    x = torch.randn(4096, 512, device=DEVICE)
    # The first call allocates workspaces of kernels, which stay.
    call(x).square().mean().backward()
    model.zero_grad()
    wait()
    before = torch.cuda.memory_allocated()
    graph = graph_compiler.compile(model, args=(x[:64].clone(),), return_backend_compiled_fn=compiled)
    assert torch.cuda.memory_allocated() - before < 1 << 16

    def peak(function: Any) -> int:
        with torch.no_grad():
            function(x)
            wait()
            torch.cuda.reset_peak_memory_stats()
            begun = torch.cuda.memory_allocated()
            function(x)
            wait()
            return torch.cuda.max_memory_allocated() - begun

    def peak_of_a_step(function: Any) -> int:
        function(x).square().mean().backward()
        model.zero_grad()
        wait()
        torch.cuda.reset_peak_memory_stats()
        begun = torch.cuda.memory_allocated()
        function(x).square().mean().backward()
        wait()
        found = torch.cuda.max_memory_allocated() - begun
        model.zero_grad()
        return found

    report(
        "peak memory",
        forward=peak(graph),
        of_model=peak(call),
        step=peak_of_a_step(graph),
        step_of_model=peak_of_a_step(call),
    )
    assert peak(graph) <= 1.02 * peak(call)
    assert peak_of_a_step(graph) <= 1.02 * peak_of_a_step(call)
    del graph
    assert torch.cuda.memory_allocated() - before < 1 << 16


@needs_cuda
def test_first_arrays_are_let_go() -> None:
    def converted(to: str) -> Any:
        return graph_compiler.transpile(
            lambda x: (x @ x.T).softmax(-1).sum(), to=to, args=(torch.randn(2000, 2000, device=DEVICE),)
        )

    for to in ("torch", "jax", "numpy"):
        before = torch.cuda.memory_allocated()
        graph = converted(to)
        assert torch.cuda.memory_allocated() - before < 1 << 16, to
        del graph


@needs_cuda
def test_compiled_graphs() -> None:
    model = net(DEVICE).eval()
    graph = graph_compiler.compile(model, args=(example(3, DEVICE),), return_backend_compiled_fn=True)
    with torch.no_grad():
        for rows in (3, 5, 4):
            assert_same(graph(example(rows, DEVICE, rows)), model(example(rows, DEVICE, rows)))


def test_verify_draws_where_the_model_is() -> None:
    model = net(DEVICE).eval()
    graph_compiler.compile(model, args=(example(3, DEVICE),)).verify()
    graph_compiler.compile(PROGRAMS["made_beside"], args=(example(3, DEVICE),)).verify()
