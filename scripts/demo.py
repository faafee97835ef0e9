"""A sentence-embedding model with real weights, all-MiniLM-L6-v2, from torch to JAX: the same neighbours, the same numbers.

Recorded once, with two short sentences; everything below then runs at other sizes on that one recording. Exits with 1 where the
results differ. Run by ./scripts/demo.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # for the loader of the weights, which the tests share

import jax
import jax.numpy as jnp
import numpy as np
import torch
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

import graph_compiler as gc
from tests.models import minilm

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
ALLOWED = 1e-5  # between two embeddings of unit length
SOURCE_LINES = 30
STEADY_CALLS = 50
WIDTH = 120  # where the output is no terminal

Inputs = dict[str, torch.Tensor]


# ---------------------------------------------------------------------------------------------- the model, twice
@torch.no_grad()
def embed_in_torch(model: torch.nn.Module, inputs: Inputs) -> np.ndarray[Any, Any]:
    """The mean over the tokens, of unit length."""
    return minilm.embed(model(**inputs).last_hidden_state, inputs["attention_mask"]).numpy()


def embedder_in_jax(graph: Any) -> Callable[..., jax.Array]:
    """The same as a jitted function of (parameters, inputs)."""

    def embed(parameters: dict[str, jax.Array], inputs: dict[str, jax.Array]) -> jax.Array:
        hidden = graph.functional(parameters, **inputs).last_hidden_state
        weights = inputs["attention_mask"][..., None].astype(hidden.dtype)
        mean = (hidden * weights).sum(1) / weights.sum(1)
        return mean / jnp.linalg.norm(mean, axis=-1, keepdims=True)

    return jax.jit(embed)


def to_jax(inputs: Inputs) -> dict[str, jax.Array]:
    """The same token ids in JAX."""
    return {name: jnp.asarray(tensor.numpy()) for name, tensor in inputs.items()}


# ---------------------------------------------------------------------------------------------- time
def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What the call gives, and its seconds."""
    start = time.perf_counter()
    result = jax.block_until_ready(call())
    return result, time.perf_counter() - start


def medians(*calls: Callable[[], Any]) -> list[float]:
    """Seconds of a steady call of each, in turns."""
    samples = [[timed(call)[1] for call in calls] for _ in range(STEADY_CALLS)]
    return [float(np.median(column)) for column in zip(*samples, strict=True)]


# ---------------------------------------------------------------------------------------------- tables
def nearest(embeddings: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Of each sentence, its nearest other one and their cosine."""
    cosines = embeddings @ embeddings.T - 2 * np.eye(len(embeddings))
    return cosines.argmax(1), cosines.max(1)


def neighbour_table(in_torch: np.ndarray[Any, Any], in_jax: np.ndarray[Any, Any]) -> Table:
    """Both frameworks' nearest neighbours."""
    table = Table("sentence", "nearest in torch", "cosine", "nearest in JAX", "cosine", title="Nearest neighbours", title_justify="left")
    rows = zip(SENTENCES, *nearest(in_torch), *nearest(in_jax), strict=True)
    for sentence, torch_place, torch_cosine, jax_place, jax_cosine in rows:
        table.add_row(sentence, SENTENCES[torch_place], f"{torch_cosine:.6f}", SENTENCES[jax_place], f"{jax_cosine:.6f}")
    return table


def time_table(seconds: dict[str, float]) -> Table:
    """Milliseconds of each stage."""
    table = Table("stage", "milliseconds", title="Time", title_justify="left")
    table.columns[1].justify = "right"
    for stage, duration in seconds.items():
        table.add_row(stage, f"{duration * 1e3:,.1f}")
    return table


def show_source(source: str, console: Console) -> None:
    """The first lines of the generated function, which stands behind the helpers that it uses."""
    lines = source.splitlines()
    start = max(number for number, line in enumerate(lines) if line.startswith("def "))
    console.print(f"\nThe generated source (graph.source) has {len(lines)} lines; the function begins:\n")
    console.print(Syntax("\n".join(lines[start : start + SOURCE_LINES]), "python", background_color="default"))


# ---------------------------------------------------------------------------------------------- the demonstration
def record(model: torch.nn.Module) -> tuple[Any, dict[str, float]]:
    """The graph in JAX, and the seconds that each stage took."""
    inputs = minilm.tokenize(RECORDED_WITH)
    with torch.no_grad():
        model(**inputs)
    _, tracing = timed(lambda: gc.compile(model, kwargs=inputs))
    graph, converting = timed(lambda: gc.transpile(model, to="jax", kwargs=inputs))
    return graph, {"trace, torch to a flat torch function": tracing, "trace and convert, torch to JAX": converting}


def compare(model: torch.nn.Module, graph: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], dict[str, float]]:
    """The embeddings of both, and the seconds of the calls."""
    inputs = minilm.tokenize(SENTENCES)
    arrays, embed = to_jax(inputs), embedder_in_jax(graph)
    in_jax, first = timed(lambda: embed(graph.parameters, arrays))
    in_torch = embed_in_torch(model, inputs)
    steady_jax, steady_torch = medians(lambda: embed(graph.parameters, arrays), lambda: embed_in_torch(model, inputs))
    seconds = {"first call in JAX (jit: trace, compile, run)": first, "a call in JAX": steady_jax, "a call in torch, eager": steady_torch}
    return in_torch, np.asarray(in_jax), seconds


def agree(in_torch: np.ndarray[Any, Any], in_jax: np.ndarray[Any, Any], graph: Any, console: Console) -> bool:
    """Whether numbers and neighbours are the same; says so."""
    largest = float(np.abs(in_torch - in_jax).max())
    same = (nearest(in_torch)[0] == nearest(in_jax)[0]).all()
    console.print(f"\n{len(SENTENCES)} embeddings of {in_torch.shape[1]} numbers; largest difference {largest:.2g} (allowed: {ALLOWED:g})")
    console.print(f"neighbours {'are the same' if same else 'DIFFER'}; recorded {len(graph.variants)} time(s), at another size than this")
    return bool(same) and largest <= ALLOWED


def main() -> int:
    """Runs it; the exit status."""
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    model = minilm.load_model()
    graph, stages = record(model)
    in_torch, in_jax, calls = compare(model, graph)
    console.print(neighbour_table(in_torch, in_jax))
    console.print(time_table({**stages, **calls}))
    show_source(graph.source, console)
    same = agree(in_torch, in_jax, graph, console)
    console.print("[bold green]torch and JAX agree[/]" if same else "[bold red]torch and JAX differ[/]")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
