"""Tests of models on the device ``meta``: they are recorded without weights, which ``load_weights`` sets
later, all or none.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import graph_compiler as gc  # noqa: E402
from graph_compiler.errors import InvalidFile, NotTraced, TracingError, WeightsMismatch, WeightsMissing  # noqa: E402
from graph_compiler.runtime.saving.pieces import safetensors_of  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402

TARGETS = ("torch", "jax", "numpy", "tensorflow")
EXAMPLE, OTHER = torch.ones(2, 3), torch.linspace(-2, 3, 15).reshape(5, 3)


class Net(torch.nn.Module):
    def __init__(self, factor: float = 2.0) -> None:
        super().__init__()
        self.first, self.norm, self.second = (
            torch.nn.Linear(3, 4),
            torch.nn.BatchNorm1d(4),
            torch.nn.Linear(4, 3),
        )
        self.third = torch.nn.Linear(4, 3)
        self.third.weight = self.second.weight
        self.register_buffer("scale", torch.full((3,), float(factor)), persistent=False)

    def forward(self, x: Any) -> Any:
        hidden = self.norm(self.first(x)).relu()
        return self.second(hidden) * self.scale + self.third(hidden)


class Branching(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = torch.nn.Parameter(torch.ones(3))

    def forward(self, x: Any) -> Any:
        return x * self.gate if self.gate.sum() > 0 else x - 100


class PlainAttribute(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.plain = torch.nn.Linear(3, 2), torch.ones(2)

    def forward(self, x: Any) -> Any:
        return self.layer(x) + self.plain


def trained(training: bool = False) -> Net:
    torch.manual_seed(3)
    model = Net().train(training)
    with torch.no_grad():
        model.norm.running_mean.normal_()
    return model


def on_meta(build: Callable[[], Any] = Net, training: bool = False) -> Any:
    with torch.device("meta"):
        return build().train(training)


def all_arrays(model: Any) -> dict[str, Any]:
    """Return all parameters and buffers, which a strict load needs."""
    return {name: tensor.detach() for name, tensor in (*model.named_parameters(), *model.named_buffers())}


def write_file(path: Path, arrays: dict[str, Any]) -> None:
    from graph_compiler.backends.torch import target

    path.write_bytes(b"".join(safetensors_of(arrays, target.to_bytes)))


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("training", [False, True])
def test_recorded_before_there_are_weights(to: str, device: str, training: bool) -> None:
    pytest.importorskip(to)
    model, real = on_meta(training=training), trained(training)
    graph = gc.transpile(model, to=to, args=(EXAMPLE.to(device),))
    assert all(tensor.is_meta for tensor in all_arrays(model).values())
    assert graph.load_weights(all_arrays(real)) is graph
    for x in (EXAMPLE, OTHER):
        assert_same(graph(x), real(x))
    # In training mode calls change the statistics.
    assert_same(model.norm.running_mean, real.norm.running_mean)
    assert len(graph.variants) == 1
    assert model.second.weight is model.third.weight and model.second.weight.requires_grad


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize(
    "use",
    [lambda g, path: g(OTHER), lambda g, path: g.save(path / "g.zip"), lambda g, path: g.verify(), lambda g, path: g.parameters,
     lambda g, path: g.as_module(), lambda g, path: g.to("numpy")(OTHER)],
    ids=["call", "save", "verify", "parameters", "as_module", "to"],
)  # fmt: skip
def test_before_there_are_weights(to: str, use: Callable[[Any, Path], Any], tmp_path: Path) -> None:
    pytest.importorskip(to)
    graph = gc.transpile(on_meta(), to=to, args=(EXAMPLE,))
    with pytest.raises(WeightsMissing, match=r"weights are missing: first\.weight.*load_weights"):
        use(graph, tmp_path)
    assert not list(tmp_path.iterdir())
    graph.load_weights(all_arrays(trained()))
    use(graph, tmp_path)


@pytest.mark.parametrize("option", ["freeze", "verify"])
def test_options_that_need_weights(option: str) -> None:
    with pytest.raises(WeightsMissing, match="load_weights"):
        gc.compile(on_meta(), args=(EXAMPLE,), **{option: True})


def test_a_first_call_records_and_says_what_is_missing() -> None:
    graph = gc.transpile(on_meta(), to="numpy")
    with pytest.raises(NotTraced, match="nothing is recorded yet"):
        graph.load_weights({})
    with pytest.raises(WeightsMissing):
        graph(EXAMPLE)
    assert_same(graph.load_weights(all_arrays(trained()))(OTHER), trained()(OTHER))
    assert len(graph.variants) == 1


def test_weights_from_files(tmp_path: Path) -> None:
    real = trained()
    arrays = list(all_arrays(real).items())
    write_file(tmp_path / "all.safetensors", dict(arrays))
    (tmp_path / "parts").mkdir()
    write_file(tmp_path / "parts" / "a.safetensors", dict(arrays[:3]))
    write_file(tmp_path / "parts" / "b.safetensors", dict(arrays[3:]))
    for source in (tmp_path / "all.safetensors", str(tmp_path / "parts")):
        assert_same(
            gc.transpile(on_meta(), to="numpy", args=(EXAMPLE,)).load_weights(source)(OTHER), real(OTHER)
        )


def test_files_that_are_none(tmp_path: Path) -> None:
    graph = gc.compile(on_meta(), args=(EXAMPLE,))
    (tmp_path / "w.bin").write_bytes(b"no weights at all")
    with pytest.raises(InvalidFile, match=r"torch\.load"):
        graph.load_weights(tmp_path / "w.bin")
    with pytest.raises(FileNotFoundError):
        graph.load_weights(tmp_path / "nowhere.safetensors")
    with pytest.raises(FileNotFoundError, match="in the folder"):
        graph.load_weights(tmp_path)


@pytest.mark.parametrize("framework", ["numpy", "jax", "tensorflow"])
def test_arrays_of_other_frameworks(framework: str) -> None:
    pytest.importorskip(framework)
    real = trained()
    arrays = {name: tensor.numpy() for name, tensor in all_arrays(real).items()}
    if framework == "jax":
        import jax.numpy as jnp

        # JAX has no int64 by default.
        arrays.pop("norm.num_batches_tracked")
        arrays = {name: jnp.asarray(array) for name, array in arrays.items()} | {
            "norm.num_batches_tracked": np.array(0)
        }
    if framework == "tensorflow":
        import tensorflow as tf

        arrays = {name: tf.constant(array) for name, array in arrays.items()}
    graph = gc.transpile(on_meta(), to="torch", args=(EXAMPLE,)).load_weights(arrays)
    assert_same(graph(OTHER), real(OTHER))


def test_bfloat16_in_files(tmp_path: Path) -> None:
    real = trained().to(torch.bfloat16)
    write_file(tmp_path / "w.safetensors", all_arrays(real))
    x = EXAMPLE.to(torch.bfloat16)
    graph = gc.compile(on_meta(lambda: Net().to(torch.bfloat16)), args=(x,)).load_weights(tmp_path)
    assert_same(graph(x), real(x))


def test_all_that_does_not_fit_is_named_at_once() -> None:
    model = on_meta()
    graph = gc.compile(model, args=(EXAMPLE,))
    arrays = all_arrays(trained())
    del arrays["first.bias"], arrays["scale"]
    arrays |= {
        "first.weight": np.ones((3, 3)),
        "second.bias": torch.ones(3, dtype=torch.float64),
        "more": torch.ones(1),
        "third.bias": 3,
    }
    with pytest.raises(WeightsMismatch) as caught:
        graph.load_weights(arrays)
    for text in (
        "missing: first.bias",
        "missing: scale, a non-persistent buffer",
        "unexpected: more",
        "first.weight is float64[3, 3], and the model has float32[4, 3]",
        "second.bias is float64[3], and",
        "third.bias is no array but of type int",
    ):
        assert text in str(caught.value)
    assert model.norm.weight.is_meta


def test_either_name_of_tied_weights() -> None:
    real, arrays = trained(), all_arrays(trained())
    arrays["third.weight"] = arrays.pop("second.weight")
    assert_same(gc.compile(on_meta(), args=(EXAMPLE,)).load_weights(arrays)(OTHER), real(OTHER))


def test_a_state_dict_where_the_buffers_are_there() -> None:
    model, real = on_meta(), trained()
    model.scale = torch.full((3,), 2.0)
    graph = gc.transpile(model, to="numpy", args=(EXAMPLE,)).load_weights(real.state_dict())
    assert_same(graph(OTHER), real(OTHER))
    with torch.no_grad():
        real.first.bias.add_(1)
    # The second load writes to the same tensors.
    assert_same(graph.load_weights(real.state_dict())(OTHER), real(OTHER))


@pytest.mark.parametrize("to", ["torch", "numpy"])
def test_what_is_given_stays_the_callers(to: str) -> None:
    arrays = all_arrays(trained())
    graph = gc.transpile(on_meta(), to=to, args=(EXAMPLE,)).load_weights(arrays)
    expected = trained()(OTHER)
    arrays["first.weight"].zero_()
    assert_same(graph(OTHER), expected)


@pytest.mark.parametrize("to", TARGETS)
def test_elements_of_weights_that_decide_are_guards(to: str) -> None:
    """The branch recorded with zeros is wrong for the loaded weights, so the call is recorded again."""
    pytest.importorskip(to)
    graph = gc.transpile(on_meta(Branching), to=to, args=(EXAMPLE,)).load_weights(
        {"gate": torch.full((3,), 2.0)}
    )
    assert_same(graph(OTHER), OTHER * 2)


def test_weights_that_come_by_another_way() -> None:
    model = on_meta(lambda: torch.nn.Linear(3, 2))
    graph = gc.transpile(model, to="numpy", args=(EXAMPLE,))
    model.load_state_dict({"weight": torch.ones(2, 3), "bias": torch.ones(2)}, assign=True)
    assert_same(graph(EXAMPLE), torch.full((2, 2), 4.0))


def test_as_a_pure_function_no_weights_are_needed() -> None:
    graph = gc.transpile(on_meta(lambda: torch.nn.Linear(3, 2)), to="numpy", args=(EXAMPLE,))
    given = {"weight": np.ones((2, 3), np.float32), "bias": np.ones(2, np.float32)}
    assert_same(graph.functional(given, EXAMPLE.numpy()), torch.full((2, 2), 4.0))


@pytest.mark.parametrize("to", ["torch", "numpy"])
def test_a_tensor_that_cannot_be_loaded(to: str) -> None:
    with pytest.raises(
        TracingError, match=r"test_meta_weights\.py:\d+: a tensor on the device meta.*Register it as a buffer"
    ):
        gc.transpile(on_meta(PlainAttribute), to=to, args=(EXAMPLE,))


@pytest.mark.parametrize("to", ["torch", "numpy"])
@pytest.mark.parametrize("use", [lambda g: g(EXAMPLE), lambda g: g.parameters], ids=["call", "parameters"])
def test_no_other_thread_sees_the_zeros(to: str, use: Callable[[Any], Any]) -> None:
    begun, seen = threading.Event(), []

    class Slow(torch.nn.Linear):
        waits = False

        def forward(self, x: Any) -> Any:
            if Slow.waits:
                begun.set()
                time.sleep(0.3)
            return super().forward(x)

    def called() -> None:
        begun.wait(10)
        try:
            seen.append(use(graph))
        except WeightsMissing as problem:
            seen.append(problem)

    graph = gc.transpile(on_meta(lambda: Slow(3, 2)), to=to, args=(EXAMPLE,))
    Slow.waits = True
    caller = threading.Thread(target=called)
    caller.start()
    with contextlib.suppress(TracingError):
        graph.add_variant((EXAMPLE.unsqueeze(0),), {})
    caller.join()
    assert len(seen) == 1 and isinstance(seen[0], WeightsMissing), seen


def test_other_sources_have_no_weights_to_load() -> None:
    graph = gc.compile(np.abs, source="numpy", args=(np.ones(2),))
    with pytest.raises(NotTraced, match="no model behind"):
        graph.load_weights({})


# ------------------------------------------------------------------------------------- non-persistent buffers
class Frequencies(torch.nn.Module):
    """A layer whose buffer can be recomputed, because it stores its constructor arguments."""

    def __init__(self, dim: int, base: float = 10000.0, *, device: Any = None) -> None:
        super().__init__()
        self.dim, self._base = dim, base
        self.register_buffer("inverse", base ** -(torch.arange(dim, device=device) / dim), persistent=False)

    def forward(self, x: Any) -> Any:
        return x * self.inverse


class Forgetful(torch.nn.Module):
    """A layer whose buffer cannot be recomputed, because it does not store ``base``."""

    def __init__(self, dim: int, base: float = 10000.0) -> None:
        super().__init__()
        self.dim = dim
        self.register_buffer("inverse", base ** -(torch.arange(dim) / dim), persistent=False)

    def forward(self, x: Any) -> Any:
        return x * self.inverse


class Resettable(Forgetful):
    """A layer whose ``reset_parameters`` computes its buffer and weight."""

    def __init__(self, dim: int, base: float = 10000.0) -> None:
        super().__init__(dim, base)
        self.rate, self.gain = base, torch.nn.Parameter(torch.ones(dim))

    def reset_parameters(self) -> None:
        torch.nn.init.ones_(self.gain)
        self.inverse.copy_(self.rate ** -(torch.arange(self.dim) / self.dim))

    def forward(self, x: Any) -> Any:
        return x * self.inverse * self.gain


class Doubled(Resettable):
    """A layer whose ``reset_parameters`` depends on elements that do not exist."""

    def reset_parameters(self) -> None:
        self.inverse.mul_(2)


class Random(torch.nn.Module):
    """A layer whose buffer is random, so that it cannot be recomputed."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("inverse", torch.rand(3), persistent=False)

    def forward(self, x: Any) -> Any:
        return x * self.inverse


class Above(torch.nn.Module):
    """A model that initialises its parts in ``_init_weights``."""

    def __init__(self, part: torch.nn.Module, base: float) -> None:
        super().__init__()
        self.part, self.base, self.linear = part, base, torch.nn.Linear(3, 3)

    def _init_weights(self, module: torch.nn.Module) -> None:
        if isinstance(module, Forgetful):
            module.inverse.copy_(self.base ** -(torch.arange(module.dim) / module.dim))

    def forward(self, x: Any) -> Any:
        return self.linear(self.part(x))


RECOMPUTED: dict[str, Callable[[], Any]] = {
    "constructor": lambda: Frequencies(3, 500.0),
    "NaN": lambda: Frequencies(3, float("nan")),
    "constructor of a part": lambda: torch.nn.Sequential(torch.nn.Linear(3, 3), Frequencies(3)),
    "own method": lambda: Resettable(3, 700.0),
    "method of a module above": lambda: torch.nn.Sequential(Above(Forgetful(3, 300.0), 300.0)),
    "halves": lambda: torch.nn.Sequential(Frequencies(3, 500.0), torch.nn.Linear(3, 3)).to(torch.float64),
}
UNKNOWN: dict[str, Callable[[], Any]] = {
    "an argument that is kept nowhere": lambda: Forgetful(3, 500.0),
    "random": Random,
    "from its own elements": lambda: Doubled(3, 500.0),
    "changed since": lambda: _scaled(Frequencies(3)),
}


def _scaled(module: Any) -> Any:
    module.inverse.mul_(3)
    return module


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", RECOMPUTED)
def test_buffers_that_no_checkpoint_holds_are_recomputed(
    name: str, to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(to)
    real = RECOMPUTED[name]()
    with torch.device("meta"):
        model = RECOMPUTED[name]()
    x = OTHER.double() if name == "halves" else OTHER
    graph = gc.compile(model, to=to, args=(x[:2],))
    state, seeds = torch.random.get_rng_state(), list[int]()
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeds.append)
    assert_same(graph.load_weights(real.state_dict())(x), real(x))
    assert torch.equal(torch.random.get_rng_state(), state) and not seeds


@pytest.mark.parametrize("name", UNKNOWN)
def test_buffers_that_nothing_determines_are_asked_for(name: str) -> None:
    with torch.device("meta"):
        model = UNKNOWN[name]()
    real = UNKNOWN[name]()
    graph = gc.compile(model, args=(EXAMPLE,))
    with pytest.raises(
        WeightsMismatch, match=r"missing: inverse, a non-persistent buffer, .*give it by its name"
    ):
        graph.load_weights(real.state_dict())
    assert model.inverse.is_meta
    assert_same(graph.load_weights({**real.state_dict(), "inverse": real.inverse})(OTHER), real(OTHER))


def test_everything_else_stays_strict() -> None:
    with torch.device("meta"):
        model = RECOMPUTED["constructor of a part"]()
    graph = gc.compile(model, args=(EXAMPLE,))
    with pytest.raises(WeightsMismatch, match=r"missing: 0\.bias") as caught:
        graph.load_weights({"0.weight": torch.ones(3, 3)})
    assert "inverse" not in str(caught.value) and model[1].inverse.is_meta


LANGUAGE_MODELS: dict[str, Callable[[Any], Any]] = {
    "bert": lambda t: t.BertModel(
        t.BertConfig(vocab_size=20, **_small(t), intermediate_size=8, max_position_embeddings=16)
    ),
    "llama": lambda t: t.LlamaForCausalLM(
        t.LlamaConfig(vocab_size=20, **_small(t), intermediate_size=8, max_position_embeddings=16)
    ),
    "gpt neox": lambda t: t.GPTNeoXModel(
        t.GPTNeoXConfig(vocab_size=20, **_small(t), intermediate_size=8, max_position_embeddings=16)
    ),
}


def _small(transformers: Any) -> dict[str, int]:
    return {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}


@pytest.mark.parametrize("name", LANGUAGE_MODELS)
def test_language_models_on_meta(name: str) -> None:
    transformers = pytest.importorskip("transformers")
    real = LANGUAGE_MODELS[name](transformers).eval()
    with torch.device("meta"):
        model = LANGUAGE_MODELS[name](transformers).eval()
    tokens = torch.arange(10).reshape(2, 5)
    graph = gc.compile(model, args=(tokens,))
    graph.load_weights(real.state_dict())
    more = torch.arange(12).reshape(2, 6)
    assert_same(graph(more)[0], real(more)[0])
