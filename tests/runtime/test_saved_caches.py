"""Tests of saved graphs that change containers in their arguments, like the caches of language models, and of
classes named in files.
"""

from __future__ import annotations

import dataclasses
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402
from graph_compiler.errors import InvalidFile  # noqa: E402
from graph_compiler.runtime.saving.decode import graphs_of  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402
from tests.support.logs import logged  # noqa: E402

TARGETS = ["torch", "jax", "tensorflow", "numpy"]


class Cache:
    def __init__(self) -> None:
        self.rows: Any = None
        self.sums: dict[str, Any] = {}
        self.layers: list[Any] = []
        self.kind: type = dict


@dataclasses.dataclass
class Step:
    rows: Any
    count: int = 1


def decoded(x: Any, cache: Cache) -> Any:
    cache.rows = x if cache.rows is None else torch.cat([cache.rows, x])
    cache.sums["last"] = x.sum()
    cache.layers.append(cache.rows * 2)
    return cache.rows.mean(0), cache, Step(x)


def run(function: Callable[..., Any], steps: int) -> list[Any]:
    """Return the results of successive calls with one cache, and the contents of the cache after each."""
    cache, found = Cache(), []
    for step in range(steps):
        mean, returned, made = function(torch.full((1, 3), float(step + 1)), cache)
        assert type(returned) is Cache and type(made) is Step and returned.kind is dict
        found.append((mean, cache.rows, dict(cache.sums), list(cache.layers), made.rows, made.count))
    return found


@pytest.mark.parametrize("to", TARGETS)
def test_a_graph_that_fills_a_cache_is_saved(to: str, tmp_path: Path) -> None:
    pytest.importorskip(to)
    graph = graph_compiler.compile(decoded, to=to)
    assert_same(run(graph, 3), run(decoded, 3))
    graph.save(tmp_path / "graph.zip")
    again = graph_compiler.load(tmp_path / "graph.zip")
    assert_same(run(again, 3), run(decoded, 3))
    again.save(tmp_path / "again.zip")
    assert_same(run(graph_compiler.load(tmp_path / "again.zip"), 3), run(decoded, 3))


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_a_language_model_keeps_decoding(to: str, tmp_path: Path) -> None:
    pytest.importorskip(to)
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=20,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=16,
    )
    model = transformers.LlamaForCausalLM(config).eval()

    def decode(function: Callable[..., Any], count: int) -> list[Any]:
        output = function(torch.arange(5)[None], use_cache=True)
        found = [output.logits]
        for token in range(count):
            assert type(output.past_key_values) is transformers.DynamicCache
            output = function(torch.tensor([[token]]), past_key_values=output.past_key_values, use_cache=True)
            found.append(output.logits)
        return found

    graph = graph_compiler.compile(model, to=to)
    with torch.no_grad():
        decode(graph, 2)
        graph.save(tmp_path / "graph.zip")
        assert_same(
            decode(graph_compiler.load(tmp_path / "graph.zip"), 5),
            [item.detach() for item in decode(model, 5)],
        )


def test_one_notice_for_a_class_that_is_nowhere(tmp_path: Path) -> None:
    @dataclasses.dataclass
    class Local:
        value: Any

    graph = graph_compiler.compile(lambda x: [Local(x), Local(x + 1)], args=(torch.ones(2),))
    graph.add_variant((torch.ones(2, 2),), {})
    graph.save(tmp_path / "graph.zip")
    with logged() as messages:
        result = graph_compiler.load(tmp_path / "graph.zip")(torch.ones(2))
    assert result[0].keys() == {"value"}
    assert sum("Local" in message and "not known here" in message for message in messages) == 1


class Ending:
    """A class with ``__del__``, of which loading a file must not create objects."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __del__(self) -> None:
        pass


def test_an_object_that_does_something_where_it_ends_comes_back_as_a_dict(tmp_path: Path) -> None:
    graph = graph_compiler.compile(lambda x: Ending(x + 1), args=(torch.ones(2),))
    graph.save(tmp_path / "graph.zip")
    assert type(graph_compiler.load(tmp_path / "graph.zip")(torch.ones(2))) is dict


def _first(change: Callable[[list[Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    return lambda body: change(body["updates"][0])


HOSTILE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a dunder": _first(lambda update: update[1][0].__setitem__(0, {"field": "__class__"})),
    "no name": _first(lambda update: update[1][0].__setitem__(0, {"field": "a; b"})),
    "no argument": _first(lambda update: update.__setitem__(0, [{"key": 2}, {"key": 0}])),
    "no new object": _first(lambda update: update[1][0].__setitem__(1, ["new", 99])),
    "nothing new": lambda body: body.__setitem__("output_tree", "*"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_updates_that_no_graph_makes_are_refused(name: str, tmp_path: Path) -> None:
    graph = graph_compiler.compile(decoded, args=(torch.ones(1, 3), Cache()))
    graph.save(tmp_path / "graph.zip")
    with zipfile.ZipFile(tmp_path / "graph.zip") as archive:
        data = json.loads(archive.read("graph.json"))
    HOSTILE[name](data["variants"][0])
    with pytest.raises(InvalidFile):
        graphs_of(data, {}, graph._pipeline.frontend, graph._pipeline.target)
