"""Operation by target: each is written, or listed as unsupported with the reason; and each is exercised by a sample."""

from __future__ import annotations

import importlib
import runpy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from graph_compiler import ops
from graph_compiler.api import FRONTENDS
from graph_compiler.ir import Graph
from graph_compiler.passes import prune
from graph_compiler.tracing import Request, recording

from .limits import TARGETS
from .support.one_call import raise_call
from .support.samples import Sample, made
from .test_random import DRAWS
from .test_samples import SAMPLES

# Operations that no call of a source framework is raised to. Strict: one that a sample raises fails.
UNRAISED = {
    "copy": "of the pass that gives results memory of their own: a raised graph is pure, and needs none",
    "refuse_gradient": "of rules for gradients, which tests/test_gradient_rules.py has",
    "threefry": "of jax.random, which tests/jax_source has",
    "random_key": "of seeds that a whole function sets, which the programs of tests/programs/randomness.py do",
    "positive": "of the array API standard; torch.positive gives its argument itself",
}


# ---------------------------------------------------------------------------------------------- operation by target
def faults(rows: Any, unsupported: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with a target's tables: an operation that is missing, or is there and listed, or is listed without a reason."""
    for name in ops.all_ops():
        if name not in rows and name not in unsupported and ops.get_decomposition(name) is None:
            yield f"{name}: no row, no decomposition, and not in UNSUPPORTED"
    for name, reason in unsupported.items():
        if name not in ops.all_ops():
            yield f"{name}: in UNSUPPORTED, and no operation"
        if name in rows:
            yield f"{name}: in UNSUPPORTED, and has a row"
        if not reason.strip():
            yield f"{name}: in UNSUPPORTED without a reason"


@pytest.mark.parametrize("target", TARGETS)
def test_every_operation_is_accounted_for(target: str) -> None:
    pytest.importorskip(target)
    backend = importlib.import_module(f"graph_compiler.backends.{target}")
    assert not list(faults(backend.rows, backend.lowering.UNSUPPORTED))


def test_faults_are_found() -> None:
    every = set(ops.all_ops())
    assert not list(faults(every, {}))
    assert list(faults(every - {"matmul", "relu6"}, {})) == ["matmul: no row, no decomposition, and not in UNSUPPORTED"]
    assert not list(faults(every - {"matmul"}, {"matmul": "there is none"}))
    assert list(faults(every, {"matmul": "there is none"})) == ["matmul: in UNSUPPORTED, and has a row"]
    assert list(faults(every - {"matmul"}, {"matmul": " "})) == ["matmul: in UNSUPPORTED without a reason"]
    assert list(faults(every, {"matmult": "there is none"})) == ["matmult: in UNSUPPORTED, and no operation"]


def test_the_page_is_current(checkout: Path) -> None:
    support = runpy.run_path(str(checkout / "scripts" / "support.py"))
    for target in support["targets"]():
        pytest.importorskip(target)
    assert set(TARGETS) <= set(support["targets"]())
    assert support["page"]() == support["PAGE"].read_text("utf-8"), "run python scripts/support.py"


# ---------------------------------------------------------------------------------------------- operation by sample
def raised(sample: Sample) -> Graph:
    """The canonical graph of a sample's call."""
    frontend = importlib.import_module("graph_compiler.frontends.torch")
    with recording():
        recorded = frontend.record(Request(sample.function, made(sample.args), made(sample.kwargs, seed=1), "sample", same_framework=False))
    graph: Graph = frontend.raise_graph(prune(recorded.graph)[0])
    return graph


def test_every_operation_is_in_a_sample() -> None:
    assert {"torch"} <= set(FRONTENDS), (
        "an operation that another source framework alone raises to needs a sample here too, so far there is none"
    )
    graphs = [raised(case.values[1]) for case in SAMPLES]
    graphs += [raise_call(*draw) for draw in DRAWS]
    exercised = {node.op for graph in graphs for node in graph.nodes}
    missing = [name for name in ops.all_ops() if name not in exercised and name not in UNRAISED]
    assert not missing, f"no sample raises to {', '.join(missing)}"
    assert not exercised & UNRAISED.keys()
