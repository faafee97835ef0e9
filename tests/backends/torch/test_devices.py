"""Tests of devices of new arrays in torch graphs from other frameworks: those of the arguments.

The device ``meta`` stands for a GPU.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("jax")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.assumptions import InputFact  # noqa: E402
from graph_compiler.errors import GuardFailed  # noqa: E402

TABLE = jnp.arange(12.0).reshape(4, 3)


def causal(x: Any) -> Any:
    rows = jnp.arange(x.shape[0])
    return jnp.where(rows[:, None] >= rows, x @ x.T, -jnp.inf)


def with_a_constant(x: Any) -> Any:
    return x[:, :3] * TABLE[1] + jnp.ones(3)


def in_a_loop(x: Any) -> Any:
    return jax.lax.scan(lambda carry, row: (carry + row, carry * jnp.arange(3.0)), jnp.zeros(3), x)


def of_numbers(x: Any) -> Any:
    return jnp.nan_to_num(x, nan=1.0), x.at[jnp.array([0, 9])].set(2.0, mode="drop")


def of_numpy(x: Any) -> Any:
    made = np.zeros_like(x)
    for place in range(x.shape[0]):
        made[place] = x[place] * place
    return made @ np.eye(x.shape[1], dtype=np.float32) + np.arange(x.shape[1], dtype=np.float32)


def frequencies(x: Any) -> Any:
    return x[:, 0] * np.fft.fftfreq(x.shape[0])


FUNCTIONS = {
    "positions": (causal, jnp),
    "constant": (with_a_constant, jnp),
    "loop": (in_a_loop, jnp),
    "numbers": (of_numbers, jnp),
    "numpy": (of_numpy, np),
    "frequencies": (frequencies, np),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_new_arrays_are_where_the_arguments_are(name: str) -> None:
    function, framework = FUNCTIONS[name]
    graph = graph_compiler.transpile(function, to="torch", args=(framework.ones((4, 3), dtype="float32"),))
    found = graph(torch.ones(5, 3, device="meta"))
    assert {item.device.type for item in (found if isinstance(found, tuple) else (found,))} == {"meta"}
    assert len(graph.variants) == 1 and all(item.is_cpu for item in jax.tree.leaves(graph(torch.ones(5, 3))))


def test_a_module_takes_its_constants_along() -> None:
    def apply(weights: Any, x: Any) -> Any:
        return with_a_constant(x @ weights["kernel"])

    given = ({"kernel": jnp.ones((3, 3))}, jnp.ones((2, 3)))
    module = graph_compiler.transpile(apply, to="torch", args=given, parameters="weights").as_module()
    assert module.to("meta")(torch.ones(5, 3, device="meta")).device.type == "meta"


def test_the_first_weight_that_is_on_a_gpu_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    from graph_compiler.backends.torch import native

    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    weights = {"first": torch.ones(2), "second": torch.ones(2, device="meta")}
    assert native._accelerator_of([weights, torch.ones(2)]) == torch.device("meta")


def test_what_makes_no_array_is_called_as_it_is() -> None:
    graph = graph_compiler.transpile(jnp.tanh, to="torch", args=(jnp.ones(3),))
    assert graph.variants[0].executable.flat.__code__.co_name == graph.variants[0].program.name


# ----------------------------------------------------------------- functions of torch that ask where they are
def by_device(x: Any) -> Any:
    made = x + torch.ones(3, device=x.device)
    return made * 2 if made.is_cpu else made.double()


def test_what_a_function_asks_of_a_device_is_a_guard(tmp_path: Path) -> None:
    graph = graph_compiler.compile(by_device, args=(torch.ones(2, 3),))
    assert torch.equal(graph(torch.ones(4, 3)), by_device(torch.ones(4, 3)))
    graph.save(tmp_path / "graph")
    elsewhere = torch.ones(4, 3, device="meta")
    assert graph(elsewhere).dtype == torch.float64 and len(graph.variants) == 2
    assert "x is on another device than while recording" in graph.explain()
    loaded = graph_compiler.load(tmp_path / "graph")
    assert torch.equal(loaded(np.ones((5, 3), "float32")), by_device(torch.ones(5, 3)))
    with pytest.raises(GuardFailed, match="another device"):
        loaded(elsewhere)


def test_where_a_weight_is_is_a_guard() -> None:
    layer = torch.nn.Linear(3, 2)
    graph = graph_compiler.compile(
        lambda x: layer(x) + torch.ones(2, device=layer.weight.device), args=(torch.ones(2, 3),)
    )
    assert graph.variants[0].environment.holds()
    layer.to("meta")
    assert graph.variants[0].environment.reason() == "device of a captured tensor changed since"


def test_under_autocast_the_device_is_a_guard() -> None:
    def cast(x: Any) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            return x @ x.T

    graph = graph_compiler.compile(cast, args=(torch.ones(2, 3),))
    assert InputFact("device", ("cpu",)) in graph.variants[0].graph.assumptions


def test_other_frameworks_are_not_asked_for_the_device() -> None:
    graph = graph_compiler.transpile(lambda x: x * 2 if x.is_cpu else x * 3, to="jax", args=(torch.ones(3),))
    assert "device" not in graph.explain()
    assert graph(torch.ones(5)).tolist() == graph(jnp.ones(5)).tolist() == [2.0] * 5


def test_calls_under_autocast_put_all_generators_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The generator of a GPU is restored too; another object stands for it here."""
    from graph_compiler.frontends.torch import settings as autocasting

    other = torch.Generator().manual_seed(3)
    monkeypatch.setattr(autocasting, "default_generators", lambda: (torch.default_generator, other))
    rewind, first = autocasting._random_state_restorer(), (torch.rand(2), torch.rand(2, generator=other))
    rewind()
    assert all(map(torch.equal, first, (torch.rand(2), torch.rand(2, generator=other))))


def test_the_autocast_of_a_gpu_comes_before_that_of_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    from graph_compiler.frontends.torch import settings as autocasting

    kinds = ["cuda"]
    monkeypatch.setattr(autocasting, "is_any_autocast_enabled", lambda: True)
    monkeypatch.setattr(torch, "is_autocast_enabled", kinds.__contains__)
    operands: Any = [SimpleNamespace(device=torch.device(kind)) for kind in ("cpu", "cuda")]
    capture: Any = SimpleNamespace(guard_fact_if_varying=lambda fact, operand: None)
    for _ in range(2):
        assert autocasting.device_under_autocast(capture, operands) == "cuda"
        assert autocasting.device_under_autocast(capture, operands[::-1]) == "cuda"
        kinds.append("cpu")
    assert autocasting.device_under_autocast(capture, operands[:1]) == "cpu"


def exactly(x: Any) -> Any:
    with torch.autocast("cpu", enabled=False):
        return x @ x.T


def test_autocast_around_a_call_casts_what_it_cast_in_the_original() -> None:
    """Nothing is cast where the function disables autocast, and the dtype is that of the call."""
    graph = graph_compiler.compile(lambda x: (exactly(x), x @ x.T), args=(torch.ones(2, 3),))
    x = torch.linspace(0, 1, 12).reshape(4, 3)
    for dtype in (torch.bfloat16, torch.float16, torch.bfloat16):
        with torch.autocast("cpu", dtype):
            found, cast = graph(x)
            assert torch.equal(found, exactly(x)) and torch.equal(cast, x @ x.T)
    assert graph(x)[1].dtype == torch.float32 and len(graph.variants) == 3
