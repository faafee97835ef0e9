"""Tests of the page of a graph: its data, its file, and its behaviour in a browser with 20,000 operations."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler.codegen import write
from graph_compiler.ir.builder import Builder
from graph_compiler.ir.graph import Graph as IRGraph
from graph_compiler.ir.node import Node, Origin, Value
from graph_compiler.ops.registry import ArraySpec
from graph_compiler.runtime import Graph
from graph_compiler.runtime.variant import Variant
from graph_compiler.trees import flatten
from graph_compiler.visualise import html
from graph_compiler.visualise import page as showing
from graph_compiler.visualise.page import MOST_CHILDREN, Group, grouped
from tests.support.chromium import CHROMIUM, Page

torch = pytest.importorskip("torch")

LARGE = 20_000
# Half a second on two idle cores; the machine may be busy.
SECONDS_TO_READY = 10
# A click, a search and a jump take 0.4 seconds on two idle cores.
SECONDS_TO_ANSWER = 10


def data_of(page: str) -> Any:
    """Return the data of a page as a browser reads it, up to the first end tag."""
    found = re.search(r'<script type="application/json" id="graph">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


class Counter(torch.nn.Module):  # type: ignore[misc,name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU())
        self.head, self.calls = torch.nn.Linear(4, 2), 0

    def forward(self, rows: Any) -> Any:
        self.calls += 1
        hidden = self.first(rows)
        if rows.sum() > 0:
            hidden = hidden + 1
        assert rows.shape[0] > 2
        return self.head(hidden)


@pytest.fixture(scope="module")
def counter() -> Any:
    torch.manual_seed(0)
    return graph_compiler.compile(Counter(), to="numpy", args=(torch.ones(4, 3) * 3,))


def large_graph() -> Any:
    """Return a graph of 20,000 additions in 40 layers of ten blocks, written by hand because a recording
    would take long.
    """
    spec = ArraySpec((2, 4), "float32")
    x = last = Value("x", spec)
    nodes = []
    for number in range(LARGE):
        origin = Origin(
            __file__, 1 + number % 40, f"layers.{number // 500}.blocks.{number % 500 // 50}", "add"
        )
        made = Value("add", spec)
        nodes.append(Node("add", (last, x), {}, origin, (made,)))
        last = made
    from graph_compiler.backends import numpy as backend

    graph = IRGraph(
        "large",
        "canonical",
        [x],
        flatten((("x",), {}), lambda item: item == "x")[1],
        nodes=nodes,
        outputs=[last],
    )
    made = Graph(SimpleNamespace(frontend=backend, target=backend, function=None), "large")  # type: ignore[arg-type]
    made._adopt(Variant(graph, write(graph, backend.dialect, "large"), backend.target, dict, {}))
    return made


# ----- the data


def test_a_page_says_what_the_graph_is(counter: Any, tmp_path: Path) -> None:
    file = counter.show(tmp_path / "page.html")
    assert file == (tmp_path / "page.html").resolve()
    data = data_of(file.read_text("utf-8"))
    variant = data["variants"][0]
    items, graph = variant["items"], counter.variants[0].graph
    assert (data["name"], data["from"], data["to"]) == ("Counter", "torch", "numpy")
    assert len(items["op"]) == len(graph.inputs) + len(graph.nodes) + 1
    head = next(
        number
        for number, op in enumerate(items["op"])
        if variant["ops"][op] == "linear" and variant["modules"][items["module"][number]] == "head"
    )
    assert [variant["arrays"][array][0] for array in items["held"][head]] == ["head.weight", "head.bias"]
    assert variant["specs"][items["specs"][head][0]][0] == "float32[4, 2]"
    assert "head.weight" in variant["source"].splitlines()[items["line"][head] - 1]
    place, line = variant["places"][items["place"][head]]
    assert "self.head(hidden)" in variant["files"][place]["lines"][str(line)]
    assert any("rows.shape[0] > 2" in text and items for text, items in variant["guards"])
    assert {text.partition(" ")[0] for text, _ in variant["state"]} == {"buffer", "kept"}
    assert str(Path(__file__).parent) not in json.dumps(variant["guards"])


@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow"])
def test_pages_of_all_targets_and_of_several_variants(to: str) -> None:
    pytest.importorskip(to)
    graph = graph_compiler.compile(
        lambda x: torch.sort(x)[0] if x.sum() > 0 else -x, to=to, source="torch", args=(torch.ones(3),)
    )
    graph(-torch.ones(3))
    variants = data_of(html(graph))["variants"]
    assert len(variants) == 2 and all("if x.sum() > 0" in one["guards"][0][0] for one in variants)
    assert "recorded again" not in variants[0]["why"] and "variant 0" in variants[1]["why"]


def test_a_loaded_graph_has_a_page(counter: Any, tmp_path: Path) -> None:
    graph = graph_compiler.compile(torch.nn.Linear(3, 2), to="numpy", args=(torch.ones(1, 3),))
    graph.save(tmp_path / "saved.zip")
    saved, loaded = (
        data_of(html(one))["variants"][0] for one in (graph, graph_compiler.load(tmp_path / "saved.zip"))
    )
    assert [saved[part] for part in ("items", "ops", "specs", "files")] == [
        loaded[part] for part in ("items", "ops", "specs", "files")
    ]


def test_a_page_of_a_function_with_a_derivative_of_strong_zeros() -> None:
    def wrapped(graph: IRGraph) -> tuple[IRGraph, bool]:
        scratch = IRGraph("scratch", "canonical")
        build = Builder(scratch, graph.nodes[0].origin)
        inner = Value("x", graph.inputs[0].spec)
        body = build.body("twice", [inner], lambda x: (build.sin(build.sin(x)),))
        outputs = build.run("call", graph.inputs, [body], strong_zero=True)
        return graph.derive(nodes=scratch.nodes, outputs=list(outputs)), True

    graph = graph_compiler.compile(torch.sin, args=(torch.ones(3),))
    data = data_of(html(graph.with_passes(wrapped)))
    assert data["variants"][0]["ops"].count("call") == 1


def test_a_graph_that_was_not_called_has_no_page() -> None:
    with pytest.raises(graph_compiler.errors.NotTraced, match="cannot be shown"):
        graph_compiler.compile(lambda x: x).show()


def test_no_text_of_the_users_ends_the_data() -> None:
    def function(x: Any) -> Any:
        return x + torch.tensor(1.0)  # </script><script>alert("seen")</script><!--

    function.__name__ = "</title><b>"
    page = html(graph_compiler.compile(function, args=(torch.ones(2),)))
    assert page.count("</script>") == 4 and page.count("</title>") == 1
    assert any(
        "</script>" in text
        for file in data_of(page)["variants"][0]["files"]
        for text in file["lines"].values()
    )


def test_the_value_of_a_cell_is_small(counter: Any) -> None:
    text = counter._repr_html_()
    assert (
        "Counter for numpy" in text and "<script" not in text and "<details>" in text and len(text) < 20_000
    )
    assert "not called yet" in graph_compiler.compile(lambda x: x)._repr_html_()


def test_it_opens_only_where_somebody_looks(
    counter: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(showing.webbrowser, "open", opened.append)
    monkeypatch.setattr(showing, "_somebody_looks", lambda: True)
    monkeypatch.setattr(showing.tempfile, "tempdir", str(tmp_path))
    counter.show(tmp_path / "page.html")
    assert opened == []
    made = counter.show()
    assert opened == [made.as_uri()] and made.name == "Counter.html" and made.is_relative_to(tmp_path)
    counter.show(tmp_path / "page.html", open=True)
    counter.show(open=False)
    assert len(opened) == 2


def test_in_a_notebook_it_stands_below_the_cell(
    counter: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    notebook, terminal = SimpleNamespace(kernel=object()), SimpleNamespace()
    display = SimpleNamespace(HTML=str, display=shown.append)
    monkeypatch.setattr(showing.webbrowser, "open", shown.append)
    monkeypatch.setattr(showing.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: notebook))
    counter.show()
    assert shown[0].startswith("<iframe srcdoc=") and "<script" not in shown[0] and "&lt;script" in shown[0]
    monkeypatch.setattr(showing, "_LARGEST_IN_NOTEBOOK", 1000)
    # The page is too large to be embedded in the notebook.
    assert counter.show().as_uri() == shown[1]
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: terminal))
    assert not showing._in_notebook()


def children_of(group: Group) -> list[int]:
    """Return the number of children of each group in a tree."""
    return [
        len(group.children),
        *(count for child in group.children if isinstance(child, Group) for count in children_of(child)),
    ]


@pytest.mark.parametrize(
    "paths",
    [
        [""] * 5000,
        [f"layers.{i}" for i in range(3000)],
        [f"a.{i % 2}" for i in range(3000)],
        ["a.b.c"] * 300,
        [],
    ],
)
def test_no_group_has_more_children_than_one_can_look_at(paths: list[str]) -> None:
    tree = grouped("net", paths)
    assert list(tree.items()) == list(range(len(paths)))
    assert max(children_of(tree)) <= MOST_CHILDREN


# ----- in a browser

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")


@needs_chromium
def test_a_large_graph_in_a_browser(tmp_path: Path) -> None:
    file = showing.show(large_graph(), tmp_path / "large.html", None)
    assert file.stat().st_size < 4 << 20
    with Page(file, tmp_path / "profile") as page:
        assert int(page.wait("document.documentElement.dataset.ready")) < SECONDS_TO_READY * 1000
        assert page.requests == [file.as_uri()] or all(
            url.startswith(("file:", "data:")) for url in page.requests
        )
        boxes = "Number(document.documentElement.dataset.boxes)"
        before = page.evaluate(boxes)
        # Only visible nodes may be drawn, not all 20,000.
        assert 30 < before < 200
        started = time.monotonic()
        page.click(".group.closed")
        page.wait(f"{boxes} === {before} + 10")
        page.click("#search")
        page.type("layers.39.blocks.9")
        page.wait("document.querySelectorAll('#found [data-found]').length === 50")
        page.press("Enter")
        page.wait("document.querySelector('.item.selected')")
        assert time.monotonic() - started < SECONDS_TO_ANSWER
        number = int(page.evaluate("document.querySelector('.item.selected').dataset.item"))
        details = page.evaluate("document.querySelector('#details').textContent")
        assert "layers.39.blocks.9" in details and "float32[2, 4]" in details
        assert f"{Path(__file__).name}:{1 + (number - 1) % 40}" in details
        rows = "[...document.querySelectorAll('#details pre.excerpt > *')]"
        assert page.evaluate(
            f"new Set({rows}.map(row => row.getBoundingClientRect().top)).size === {rows}.length"
        )
        page.click("[data-tab=source]")
        assert page.evaluate("document.querySelector('#text').textContent.length") > 100_000
        assert page.problems == []


@needs_chromium
def test_variants_guards_and_state_in_a_browser(counter: Any, tmp_path: Path) -> None:
    counter(torch.ones(4, 3) * -3)
    with Page(counter.show(tmp_path / "page.html"), tmp_path / "profile") as page:
        page.wait("document.documentElement.dataset.ready")
        assert (
            page.evaluate("document.querySelectorAll('.mark.guard').length")
            > 0
            < page.evaluate("document.querySelectorAll('.mark.state').length")
        )
        assert (
            page.evaluate(
                "[...document.querySelectorAll('.item > text:first-of-type')].map(t => t.textContent)"
            ).count("head: linear")
            == 1
        )
        page.click("[data-tab=guards]")
        page.click("#guards a")
        page.wait("document.querySelector('.item.selected')")
        shown = page.evaluate("document.querySelector('#text').textContent")
        page.evaluate(
            "(s => { s.value = '1'; s.dispatchEvent(new Event('change')); })(document.querySelector('#variant'))"
        )
        page.wait(f"document.querySelector('#text').textContent !== {json.dumps(shown)}")
        assert np.all(
            [
                f"variant {number}" in page.evaluate("document.querySelector('#variant').innerText")
                for number in (0, 1)
            ]
        )
        assert page.problems == []
