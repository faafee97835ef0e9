"""One training step of a converted BERT classifier against the same step written by hand.

In JAX the step by hand uses optax on ``graph.functional``, in torch the model itself, eager and compiled.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F

from ..measure import Call, interleave, ratio
from ..results import Results
from ..settings import Settings

BATCH, TOKENS, CLASSES, RATE = 8, 64, 4, 1e-4
CASE = f"BERT, 6 layers, {BATCH} x {TOKENS}"


def classifier(quick: bool) -> torch.nn.Module:
    transformers = importlib.import_module("transformers")
    size = {"hidden_size": 256, "intermediate_size": 1024, "num_attention_heads": 4} if quick else {}
    torch.manual_seed(0)
    config = transformers.BertConfig(num_hidden_layers=6, num_labels=CLASSES, **size)
    made: torch.nn.Module = transformers.BertForSequenceClassification(config).train()
    return made


def a_batch() -> tuple[dict[str, Any], torch.Tensor]:
    tokens = torch.randint(0, 30000, (BATCH, TOKENS))
    return {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}, torch.randint(
        0, CLASSES, (BATCH,)
    )


def _loss_in_jax(outputs: Any, target: Any) -> Any:
    import optax

    return optax.softmax_cross_entropy_with_integer_labels(outputs.logits, target).mean()


def _loss_in_torch(outputs: Any, target: Any) -> Any:
    return F.cross_entropy(outputs.logits, target)


def _ours(graph: Any, loss: Callable[..., Any], batch: Any) -> Call:
    """Return a call that makes one training step of a graph and returns the loss. The state is updated."""
    training = importlib.import_module("graph_compiler.training")
    held = [training.TrainState.create(graph, training.optimizer("adamw", learning_rate=RATE), loss=loss)]

    def step() -> float:
        held[0], metrics = training.single_train_step(held[0], batch)
        # Reading the loss waits until the step has been computed.
        return float(metrics["loss"])

    return step


def _by_hand_in_jax(graph: Any, batch: Any) -> Call:
    import jax
    import jax.numpy as jnp
    import optax

    # This is torch's default, which our optimizer has, too.
    rule = optax.adamw(RATE, weight_decay=1e-2)
    arrays = {name: jnp.copy(array) for name, array in graph.parameters.items()}
    trained = {name: array for name, array in arrays.items() if name in graph.trained}
    rest = {name: array for name, array in arrays.items() if name not in trained}

    # Our step donates its state, too.
    @partial(jax.jit, donate_argnums=(0, 1))
    def step(trained: Any, state: Any, key: Any, inputs: Any, target: Any) -> Any:
        def loss(trained: Any) -> Any:
            return _loss_in_jax(graph.functional({**rest, **trained}, **inputs, rng=key), target)

        value, gradients = jax.value_and_grad(loss)(trained)
        updates, state = rule.update(gradients, state, trained)
        return optax.apply_updates(trained, updates), state, value

    held = [trained, rule.init(trained), jax.random.PRNGKey(0)]

    def run() -> float:
        # Our step splits its key, too.
        held[2], key = jax.random.split(held[2])
        held[0], held[1], value = step(held[0], held[1], key, *batch)
        return float(value)

    return run


def _by_hand_in_torch(model: torch.nn.Module, batch: Any, compiled: bool) -> Call:
    called: Any = torch.compile(model) if compiled else model
    rule = torch.optim.AdamW(model.parameters(), lr=RATE)

    def run() -> float:
        rule.zero_grad()
        value = _loss_in_torch(called(**batch[0]), batch[1])
        value.backward()
        rule.step()
        return value.item()

    return run


def run(settings: Settings) -> Results:
    results = Results("training")
    compare(results, CASE, classifier(settings.quick), a_batch(), settings)
    return results


def compare(results: Results, case: str, model: torch.nn.Module, batch: Any, settings: Settings) -> None:
    """Measure training steps of ``model``, and add them to ``results``.

    In torch they run on the device of the model and of ``batch``.
    """
    compiler = importlib.import_module("graph_compiler")
    jax = importlib.import_module("jax")
    rounds = 2 * settings.few_rounds
    # JAX may run on a CPU although the model is on a GPU.
    native = jax.tree.map(lambda tensor: jax.numpy.asarray(tensor.cpu().numpy()), batch)
    with results.surviving(case, "jax"):
        # Each contender trains weights of its own.
        graph = compiler.transpile(copy.deepcopy(model), to="jax", kwargs=batch[0])
        calls = {
            "by hand, optax": _by_hand_in_jax(graph, native),
            "ours, jax": _ours(graph, _loss_in_jax, native),
        }
        samples = interleave(calls, rounds=rounds, batch=settings.batch)
        results.add_samples(case, "training step", samples)
        results.add_figure(
            case, "step against optax by hand", ratio(samples, "ours, jax", "by hand, optax"), "x"
        )
    for compiled, name, figure in (
        (False, "eager", "step against an eager loop"),
        (True, "compiled", "step against a compiled loop"),
    ):
        with results.surviving(case, name):
            graph = compiler.compile(
                copy.deepcopy(model), kwargs=batch[0], return_backend_compiled_fn=compiled
            )
            calls = {
                f"by hand, {name}": _by_hand_in_torch(copy.deepcopy(model), batch, compiled),
                f"ours, {name}": _ours(graph, _loss_in_torch, batch),
            }
            samples = interleave(calls, rounds=rounds, batch=settings.batch)
            results.add_samples(case, "training step", samples)
            results.add_figure(case, figure, ratio(samples, f"ours, {name}", f"by hand, {name}"), "x")
