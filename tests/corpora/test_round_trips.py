"""Tests of round trips: a program written for another framework is recorded there and written for the first
one again.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")
tf = pytest.importorskip("tensorflow")

import keras  # noqa: E402

import graph_compiler  # noqa: E402
from tests.support.compare import to_numpy  # noqa: E402

ROUTES = (("tensorflow", "torch"), ("torch", "jax"), ("jax", "torch"), ("numpy", "tensorflow"))
FUNCTIONS: dict[str, dict[str, Callable[..., Any]]] = {
    "numpy": {
        "standardised": lambda x: (x - x.mean(0)) / (x.std(0) + 1e-3),
        "softmax": lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True),
        "product": lambda x: x @ x.T + np.eye(x.shape[0], dtype="float32"),
        "where": lambda x: np.where(x > 0, np.sqrt(abs(x)), -x),
        "sorted": lambda x: np.sort(x, axis=-1)[:, ::-1],
        "cumulated": lambda x: np.cumsum(x, axis=1),
        "stacked": lambda x: np.concatenate([x, x[:1] * 2], axis=0),
        "einsum": lambda x: np.einsum("ij,kj->ik", x, x),
        "shape": lambda x: x.reshape(-1, 2) * x.shape[0],
        "clipped": lambda x: np.clip(np.tanh(x), -0.5, 0.5),
    },
    "torch": {
        "standardised": lambda x: (x - x.mean(0)) / (x.std(0) + 1e-3),
        "softmax": lambda x: torch.softmax(x, -1),
        "product": lambda x: x @ x.T + torch.eye(x.shape[0]),
        "where": lambda x: torch.where(x > 0, x.abs().sqrt(), -x),
        "sorted": lambda x: torch.sort(x, dim=-1, descending=True).values,
        "gelu": torch.nn.functional.gelu,
        "stacked": lambda x: torch.cat([x, x[:1] * 2]),
        "einsum": lambda x: torch.einsum("ij,kj->ik", x, x),
        "shape": lambda x: x.view(-1, 2) * x.shape[0],
        "attention": lambda x: torch.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None]),
    },
    "jax": {
        "standardised": lambda x: (x - x.mean(0)) / (x.std(0) + 1e-3),
        "softmax": lambda x: jax.nn.softmax(x, -1),
        "product": lambda x: x @ x.T + jax.numpy.eye(x.shape[0]),
        "where": lambda x: jax.numpy.where(x > 0, jax.numpy.sqrt(abs(x)), -x),
        "sorted": lambda x: jax.numpy.sort(x, axis=-1)[:, ::-1],
        "scan": lambda x: jax.lax.scan(lambda state, row: (state * 0.5 + row, state), x[0], x)[1],
        "stacked": lambda x: jax.numpy.concatenate([x, x[:1] * 2]),
        "einsum": lambda x: jax.numpy.einsum("ij,kj->ik", x, x),
        "shape": lambda x: x.reshape(-1, 2) * x.shape[0],
        "layer_norm": lambda x: jax.nn.standardize(x, axis=-1),
    },
    "tensorflow": {
        "standardised": lambda x: (x - tf.reduce_mean(x, 0)) / (tf.math.reduce_std(x, 0) + 1e-3),
        "softmax": tf.nn.softmax,
        "product": lambda x: tf.matmul(x, x, transpose_b=True) + tf.eye(tf.shape(x)[0]),
        "where": lambda x: tf.where(x > 0, tf.sqrt(abs(x)), -x),
        "sorted": lambda x: tf.math.top_k(x, 3).values,
        "cumulated": lambda x: tf.cumsum(x, 1),
        "stacked": lambda x: tf.concat([x, x[:1] * 2], 0),
        "einsum": lambda x: tf.einsum("ij,kj->ik", x, x),
        "shape": lambda x: tf.reshape(x, (-1, 2)) * x.shape[0],
        "gelu": keras.activations.gelu,
    },
}  # fmt: skip
_NATIVE: dict[str, Callable[[Any], Any]] = {
    "torch": torch.from_numpy,
    "jax": jax.numpy.asarray,
    "numpy": np.asarray,
    "tensorflow": tf.constant,
}


def rows(count: int) -> Any:
    return np.random.default_rng(count).standard_normal((count, 4)).astype("float32")


@pytest.mark.filterwarnings("ignore:the module of .* has no parameters:UserWarning")
@pytest.mark.parametrize(
    ("source", "through", "name"),
    [(source, through, name) for source, through in ROUTES for name in FUNCTIONS[source]],
)
def test_function(source: str, through: str, name: str) -> None:
    function, native = FUNCTIONS[source][name], _NATIVE[source]
    there = graph_compiler.compile(function, source=source, to=through, args=(native(rows(4)),))
    back = graph_compiler.compile(
        there.as_module(), source=through, to=source, args=(_NATIVE[through](rows(4)),)
    )
    for count in (4, 6):
        np.testing.assert_allclose(
            to_numpy(back(native(rows(count)))), to_numpy(function(native(rows(count)))), rtol=2e-5, atol=2e-6
        )


def of_keras() -> tuple[Any, Any]:
    L = keras.layers
    return keras.Sequential(
        [keras.Input((4,)), L.Dense(6, activation="relu", name="hidden"), L.LayerNormalization(), L.Dense(2)]
    ), tf.constant


def of_torch() -> tuple[Any, Any]:
    return torch.nn.Sequential(
        torch.nn.Linear(4, 6), torch.nn.BatchNorm1d(6), torch.nn.GELU(), torch.nn.Linear(6, 2)
    ).eval(), torch.from_numpy


def of_nnx() -> tuple[Any, Any]:
    nnx = pytest.importorskip("flax.nnx")
    rngs = nnx.Rngs(0)
    return nnx.Sequential(
        nnx.Linear(4, 6, rngs=rngs), nnx.relu, nnx.LayerNorm(6, rngs=rngs), nnx.Linear(6, 2, rngs=rngs)
    ), jax.numpy.asarray


class Scaled:
    def __init__(self) -> None:
        random = np.random.default_rng(0)
        self.first, self.second = (
            random.standard_normal(shape).astype("float32") for shape in ((4, 6), (6, 2))
        )

    def __call__(self, x: Any) -> Any:
        return np.tanh(x @ self.first) @ self.second


MODELS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "tensorflow": of_keras,
    "torch": of_torch,
    "jax": of_nnx,
    "numpy": lambda: (Scaled(), np.asarray),
}


@pytest.mark.parametrize(
    ("source", "through"),
    [
        (source, through)
        for source in MODELS
        for through in ("torch", "jax", "tensorflow")
        if source != through
    ],
)
def test_model_keeps_its_names(source: str, through: str) -> None:
    model, native = MODELS[source]()
    right = [to_numpy(model(native(rows(count)))) for count in (3, 5)]
    there = graph_compiler.compile(model, to=through, args=(native(rows(3)),))
    back = graph_compiler.compile(there.as_module(), to=source, args=(_NATIVE[through](rows(3)),))
    assert set(back.parameters) == set(there.parameters)
    for count, wanted in zip((3, 5), right):
        np.testing.assert_allclose(to_numpy(back(native(rows(count)))), wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    ("source", "through"),
    [
        ("torch", "jax"),
        ("jax", "torch"),
        ("tensorflow", "torch"),
        ("torch", "tensorflow"),
        ("numpy", "tensorflow"),
    ],
)
def test_parameters_go_all_the_way_back(source: str, through: str) -> None:
    """Values given to the second graph arrive in the original model under the same names."""
    model, native = MODELS[source]()
    there = graph_compiler.compile(model, to=through, args=(native(rows(3)),))
    module = there.as_module()
    back = graph_compiler.compile(module, to=source, args=(_NATIVE[through](rows(3)),))
    before = to_numpy(model(native(rows(5))))
    back.to_source({name: to_numpy(array) * 2 for name, array in back.parameters.items()})
    there.to_source(module)
    after = to_numpy(model(native(rows(5))))
    assert abs(after - before).max() > 0.1
    for graph, of in ((there, through), (back, source)):
        np.testing.assert_allclose(to_numpy(graph(_NATIVE[of](rows(5)))), after, rtol=2e-5, atol=2e-6)


_ALONE = """
import sys, numpy as np, tensorflow as tf
loaded = tf.saved_model.load(sys.argv[1])
result = loaded.serve(tf.constant(np.load(sys.argv[2])))
np.save(sys.argv[3], result.numpy())
assert "graph_compiler" not in sys.modules
"""
ARCHITECTURES = ("bert", "distilbert", "roberta", "electra", "albert", "gpt2")


def huggingface(name: str) -> Any:
    transformers = pytest.importorskip("transformers")
    small = {
        "vocab_size": 50,
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "max_position_embeddings": 40,
    }
    other = {
        "distilbert": {
            "vocab_size": 50,
            "dim": 16,
            "n_layers": 2,
            "n_heads": 2,
            "hidden_dim": 24,
            "max_position_embeddings": 40,
        },
        "gpt2": {
            "vocab_size": 50,
            "n_embd": 16,
            "n_layer": 2,
            "n_head": 2,
            "n_positions": 40,
            "use_cache": False,
        },
        "albert": {**small, "embedding_size": 8},
        "electra": {**small, "embedding_size": 8},
    }
    torch.manual_seed(0)
    return transformers.AutoModel.from_config(
        transformers.AutoConfig.for_model(name, **other.get(name, small))
    ).eval()


@pytest.mark.slow
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_model_of_transformers_as_a_saved_model_and_back(name: str, tmp_path: Path) -> None:
    model, tokens = huggingface(name), np.random.default_rng(0).integers(3, 50, (3, 7))
    with torch.no_grad():
        right = model(torch.from_numpy(tokens)).last_hidden_state.numpy()
    graph = graph_compiler.transpile(model, to="tensorflow", args=(torch.from_numpy(tokens[:2, :5]),))
    module = graph.as_module()
    holder = tf.Module()
    holder.model = module
    holder.serve = tf.function(
        lambda tokens: module(tokens).last_hidden_state,
        input_signature=[tf.TensorSpec([None, None], tf.int64)],
    )
    tf.saved_model.save(holder, str(tmp_path / "saved"))
    np.save(tmp_path / "tokens.npy", tokens)
    command = [
        sys.executable,
        "-c",
        _ALONE,
        str(tmp_path / "saved"),
        str(tmp_path / "tokens.npy"),
        str(tmp_path / "result.npy"),
    ]
    subprocess.run(command, check=True, timeout=300, cwd=tmp_path)
    np.testing.assert_allclose(np.load(tmp_path / "result.npy"), right, rtol=1e-4, atol=1e-5)
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    back = graph_compiler.transpile(loaded.serve, to="torch", args=(tf.constant(tokens[:2, :5]),))
    np.testing.assert_allclose(to_numpy(back(torch.from_numpy(tokens))), right, rtol=1e-4, atol=1e-5)
    # The excluded names are not part of this result.
    assert set(back.parameters) == {name for name in graph.parameters if not name.startswith("pooler.")}
