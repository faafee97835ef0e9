"""Tests of messages about a call that fits no variant: they quote the user's expression."""

from __future__ import annotations

import copy
import dis
import importlib
import linecache
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import graph_compiler
from graph_compiler.errors import GuardFailed
from graph_compiler.ir import quotation
from graph_compiler.ir.node import Instruction, Origin
from tests.runtime import miss_samples
from tests.runtime.miss_samples import OUTSIDE, SAMPLES, OutsideSample, Sample

FILE = re.escape(miss_samples.__file__)
columns_are_known = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="Python 3.10 does not tell where in a line an instruction stands"
)


def array(source: str, elements: list[float]) -> Any:
    library = pytest.importorskip(source)
    if source == "jax":
        library = importlib.import_module("jax.numpy")
    if source == "tensorflow":
        return library.constant(elements, library.float32)
    return getattr(library, "tensor" if source == "torch" else "array")(elements, dtype=library.float32)


def reason(
    function: Any,
    source: str,
    recorded: list[float],
    other: list[float],
    change: Callable[[], Any] = lambda: None,
) -> str:
    graph = graph_compiler.compile(function, source=source, args=(array(source, recorded),), on_miss="error")
    change()
    with pytest.raises(GuardFailed) as problem:
        graph(array(source, other))
    head, foot = f"{graph.name}: this call fits no recorded variant: variant 0: ", ". Record one for it"
    text = str(problem.value)
    assert text.startswith(head) and foot in text
    return text[len(head) : text.index(foot)]


@columns_are_known
@pytest.mark.parametrize(
    ("sample", "source"),
    [(sample, source) for sample in SAMPLES for source in sample.sources],
    ids=lambda item: item.name if isinstance(item, Sample) else item,
)
def test_the_expression_and_its_values_are_shown(sample: Sample, source: str) -> None:
    found = reason(sample.function, source, sample.recorded, sample.other)
    assert re.sub(rf"{FILE}:\d+", "@", found) == sample.message


@pytest.mark.parametrize("sample", OUTSIDE, ids=lambda sample: sample.name)
def test_both_values_of_what_is_outside_the_arguments_are_shown(sample: OutsideSample) -> None:
    names = ("limit", "other", "offset", "settings", "recipe", "_halved_if_positive")
    before = {name: copy.copy(getattr(miss_samples, name)) for name in names}
    try:
        assert reason(sample.function, "numpy", [1.0], [1.0], sample.change) == sample.message
    finally:
        vars(miss_samples).update(before)


def place(source: str, file: str) -> str:
    """Return the place of the comparison in the function that ``source`` defines."""
    code = compile(source, file, "exec")
    function = next(item for item in code.co_consts if hasattr(item, "co_code"))
    found = next(step for step in dis.get_instructions(function) if step.opname == "COMPARE_OP")
    return quotation.place_of(
        Origin(file, 2, "net.0", "bool", instruction=Instruction(function, found.offset))
    )


SOURCE = "def f(x):\n    if x > 1: return x\n    return 0\n"


def test_without_the_source_the_recorded_call_is_shown() -> None:
    assert place(SOURCE, "<nowhere>") == "bool at <nowhere>:2 (in net.0)"


def test_without_an_instruction_the_recorded_call_is_shown() -> None:
    assert quotation.place_of(Origin(__file__, 1, call="bool")) == f"bool at {__file__}:1"


@columns_are_known
def test_the_source_may_be_known_to_python_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notebooks register the source of a cell in ``linecache``."""
    monkeypatch.setitem(linecache.cache, "<cell 1>", (len(SOURCE), None, SOURCE.splitlines(True), "<cell 1>"))
    assert place(SOURCE, "<cell 1>") == "`if x > 1` at <cell 1>:2 (in net.0)"


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("if x > 1: return x", "if x > 1"),
        ("while x > 1: x = x - 1", "while x > 1"),
        ("for i in range(x > 1): pass", "for i in range(x > 1)"),
        ("assert x > 1, f'{x} is not enough'", "assert x > 1"),
        ("return x > 1", "return x > 1"),
        ("with open(x > 1) as file: pass", "with open(x > 1) as file"),
    ],
)
def test_without_columns_the_statement_is_shown(
    statement: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quotation, "nodes_around", lambda code, offset: ())
    source, file = f"def f(x):\n    {statement}\n", tmp_path / "net.py"
    file.write_text(source)
    assert place(source, str(file)) == f"`{shown}` at {file}:2 (in net.0)"


@columns_are_known
def test_code_of_a_framework_is_not_shown() -> None:
    """JAX compares the sizes in its own code."""
    pytest.importorskip("jax")
    jnp = importlib.import_module("jax.numpy")
    found = reason(lambda x: jnp.add(x, jnp.ones(3)), "jax", [1.0], [1.0, 2.0, 3.0])
    assert re.match(rf"`jnp\.add\(x, jnp\.ones\(3\)\)` at {re.escape(__file__)}:\d+ was recorded for ", found)


def test_a_graph_from_a_file_shows_the_recorded_call(tmp_path: Path) -> None:
    """The file of the source may be another one when the graph is loaded."""
    (sample,) = (sample for sample in SAMPLES if sample.function is miss_samples.branch_on_an_element)
    graph = graph_compiler.compile(sample.function, source="numpy", args=(array("numpy", sample.recorded),))
    graph.save(tmp_path / "graph.zip")
    with pytest.raises(GuardFailed, match=rf"__gt__ at {FILE}:\d+ was True when recorded and is False"):
        graph_compiler.load(tmp_path / "graph.zip")(array("numpy", sample.other))


def test_no_source_is_read_before_a_message_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> Any:
        raise AssertionError("the source is read")

    monkeypatch.setattr(quotation, "nodes_around", refuse)
    monkeypatch.setattr(quotation, "statement_at", refuse)
    graph = graph_compiler.compile(miss_samples.branch_on_an_element, source="numpy")
    for first in (11, 1):
        graph.add_variant((array("numpy", [first, 2]),), {})
    for first in (11, 1, 12, 2):
        graph(array("numpy", [first, 2]))
    assert len(graph.variants) == 2
