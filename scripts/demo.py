"""Convert the sentence-embedding model all-MiniLM-L6-v2 from torch to JAX, TensorFlow and NumPy.

The model has its real weights, and is recorded once, with two short sentences. All calls after that run at
other sizes on that one recording. Then a Keras model is trained in torch. The exit status is 1 if results
differ. Run by ./scripts/demo.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# The frameworks and the hub read these variables when they are imported.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# The loader of the weights is in tests/corpora/models, because the tests use it too.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jax
import keras
import numpy as np

# This is imported here so that its import does not count as time of the conversion.
import tensorflow  # noqa: F401
import torch
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

import graph_compiler as gc
from tests.corpora.models import minilm

TARGETS = {"jax": "JAX, jitted", "tensorflow": "TensorFlow, tf.function", "numpy": "NumPy"}
RECORDED_WITH = ("Two sentences,", "recorded once.")
SENTENCES = (
    "A cat sits on the mat.",
    "The kitten is asleep on the rug by the fire.",
    "Stock markets fell sharply on Tuesday.",
    "Investors sold their shares after the announcement.",
    "Compilers turn programs into other programs.",
    "The interpreter executes the source code line by line.",
    "It will rain in Lisbon tomorrow, with strong wind from the Atlantic.",
    "The forecast for the coast is storms.",
)
# Embeddings have unit length, so this absolute difference is a relative one too.
ALLOWED = 1e-5
SOURCE_LINES = 30
STEADY_CALLS = 20
# The width of the tables if the output is no terminal, of which rich would assume 80 columns.
WIDTH = 120

Arrays = dict[str, np.ndarray[Any, Any]]


# ---------------------------------------------------------------------------------------------- the model
class Embedder(torch.nn.Module):
    """Model for sentence embeddings: the mean of the token vectors, scaled to unit length."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, **inputs: torch.Tensor) -> torch.Tensor:
        """Return the embeddings ``[sentences, features]`` for the output of a tokenizer."""
        return minilm.embed(self.model(**inputs).last_hidden_state, inputs["attention_mask"])


# ---------------------------------------------------------------------------------------------- time
def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    # JAX returns before the result is computed, so the time would be that of starting the computation.
    result = jax.block_until_ready(call())
    return result, time.perf_counter() - start


def medians(*calls: Callable[[], Any]) -> list[float]:
    """Return the median time in seconds of each call, where the calls take turns."""
    # The calls take turns, so that a slow phase of the machine affects all of them alike.
    samples = [[timed(call)[1] for call in calls] for _ in range(STEADY_CALLS)]
    return [float(np.median(column)) for column in zip(*samples, strict=True)]


# ---------------------------------------------------------------------------------------------- tables
def nearest(embeddings: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return, for each embedding, the index of the nearest other one and their cosine."""
    # A cosine is at least -1, so subtracting 2 from the diagonal excludes each sentence itself.
    cosines = embeddings @ embeddings.T - 2 * np.eye(len(embeddings))
    return cosines.argmax(1), cosines.max(1)


def neighbour_table(embeddings: Arrays) -> Table:
    table = Table(
        "sentence",
        "nearest",
        *(f"cosine, {name}" for name in embeddings),
        title="Nearest neighbours",
        title_justify="left",
    )
    places, _ = nearest(embeddings["torch"])
    cosines = [nearest(array)[1] for array in embeddings.values()]
    for sentence, place, *row in zip(SENTENCES, places, *cosines, strict=True):
        table.add_row(sentence, SENTENCES[place], *(f"{cosine:.6f}" for cosine in row))
    return table


def time_table(seconds: dict[str, float]) -> Table:
    table = Table("stage", "milliseconds", title="Time", title_justify="left")
    table.columns[1].justify = "right"
    for stage, duration in seconds.items():
        table.add_row(stage, f"{duration * 1e3:,.1f}")
    return table


def show_source(source: str, console: Console) -> None:
    """Print the first lines of the generated function, which comes after the helpers that it uses."""
    lines = source.splitlines()
    start = max(number for number, line in enumerate(lines) if line.startswith("def "))
    console.print(f"\nThe generated source (graph.source) has {len(lines)} lines; the function begins:\n")
    console.print(
        Syntax("\n".join(lines[start : start + SOURCE_LINES]), "python", background_color="default")
    )


# ------------------------------------------------------------------------------------------ the demonstration
def record(embedder: torch.nn.Module) -> tuple[dict[str, Any], dict[str, float]]:
    """Return the graph for each target, and the time in seconds that each stage took."""
    inputs = minilm.tokenize(RECORDED_WITH)
    with torch.no_grad():
        # The first call in torch prepares kernels, which must not count as time of the recording.
        embedder(**inputs)
    graphs: dict[str, Any] = {}
    _, tracing = timed(lambda: gc.compile(embedder, kwargs=inputs))
    seconds = {"trace, torch to a flat torch function": tracing}
    for target in TARGETS:
        convert = lambda target=target: gc.transpile(  # noqa: E731
            embedder, to=target, kwargs=inputs, return_backend_compiled_fn=True
        )
        graphs[target], seconds[f"trace and convert to {target}"] = timed(convert)
    return graphs, seconds


def run(embedder: torch.nn.Module, graphs: dict[str, Any]) -> tuple[Arrays, dict[str, float]]:
    """Return the embeddings in torch and by each graph, and the time in seconds of the calls."""
    inputs = minilm.tokenize(SENTENCES)
    seconds, embeddings, steady = {}, {}, []

    @torch.no_grad()
    def in_torch() -> np.ndarray[Any, Any]:
        return embedder(**inputs).numpy()

    embeddings["torch"] = in_torch()
    for target, graph in graphs.items():
        call = lambda graph=graph: graph(**inputs)  # noqa: E731
        result, seconds[f"first call, {TARGETS[target]}"] = timed(call)
        embeddings[target] = np.asarray(result)
        steady.append(call)
    names = [f"a call, {name}" for name in ("torch, eager", *TARGETS.values())]
    return embeddings, {**seconds, **dict(zip(names, medians(in_torch, *steady)))}


def agree(embeddings: Arrays, graphs: dict[str, Any], console: Console) -> bool:
    """Print how far the graphs agree with torch; return True if numbers and neighbours do."""
    expected = embeddings["torch"]
    console.print(
        f"\n{len(SENTENCES)} embeddings of {expected.shape[1]} numbers; largest difference from torch (allowed: {ALLOWED:g}):"
    )
    right = []
    for target, graph in graphs.items():
        largest = float(np.abs(expected - embeddings[target]).max())
        same = bool((nearest(expected)[0] == nearest(embeddings[target])[0]).all())
        neighbours = "the same neighbours" if same else "OTHER NEIGHBOURS"
        console.print(
            f"  {target:<11} {largest:.2g}, {neighbours}; recorded {len(graph.variants)} time(s), at another size than this"
        )
        right.append(same and largest <= ALLOWED)
    return all(right)


def keras_network() -> Any:
    layers = keras.layers
    keras.utils.set_random_seed(0)
    return keras.Sequential(
        [
            keras.Input((16, 16, 3)),
            layers.Conv2D(8, 3, padding="same", use_bias=False, name="conv1"),
            layers.BatchNormalization(name="norm1"),
            layers.ReLU(),
            layers.GlobalAveragePooling2D(),
            layers.Dense(4, name="head"),
        ],
        name="network",
    )


def train_keras_in_torch(console: Console) -> bool:
    """Train a Keras model for three steps as a torch module, and copy its weights back to Keras.

    Return True if both then give the same results.
    """
    model, random = keras_network(), np.random.default_rng(0)
    images, labels = random.standard_normal((16, 16, 16, 3)).astype("float32"), torch.arange(16) % 4
    graph = gc.transpile(model, to="torch", args=(images[:2],))
    module = graph.as_module().train()
    console.print(
        f"\nThe second half: a Keras model in torch, with {', '.join(name for name, _ in module.named_parameters())}"
    )
    optimizer = torch.optim.Adam(module.parameters(), 0.05)
    for step in range(3):
        loss = torch.nn.functional.cross_entropy(module(torch.from_numpy(images)), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        console.print(f"  step {step + 1} in torch: loss {loss.item():.4f}")
    graph.to_source(module.eval())
    difference = float(
        np.abs(np.asarray(model(images)) - module(torch.from_numpy(images)).detach().numpy()).max()
    )
    console.print(f"  the weights given back to Keras: largest difference {difference:.2g}")
    return difference <= ALLOWED


def main() -> int:
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    embedder = Embedder(minilm.load_model()).eval()
    graphs, stages = record(embedder)
    embeddings, calls = run(embedder, graphs)
    console.print(neighbour_table(embeddings))
    console.print(time_table({**stages, **calls}))
    show_source(graphs["jax"].source, console)
    same = agree(embeddings, graphs, console) and train_keras_in_torch(console)
    console.print("[bold green]all frameworks agree[/]" if same else "[bold red]the frameworks differ[/]")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
