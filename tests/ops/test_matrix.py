"""Tests of the table of operations by target: each is written or listed as unsupported with a reason, and
each occurs in a sample.
"""

from __future__ import annotations

import importlib
import runpy
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("jax")

from graph_compiler import ops
from graph_compiler.ir import Graph, Node
from graph_compiler.ops.collectives import COLLECTIVES
from graph_compiler.passes import dce
from graph_compiler.recording import Request, recording
from tests.corpora.control_flow.programs import PROGRAMS
from tests.corpora.control_flow.running import as_jax
from tests.corpora.limits import TARGETS
from tests.corpora.test_random import DRAWS
from tests.corpora.test_samples import SAMPLES
from tests.frontends.jax import test_samples as test_jax_samples
from tests.frontends.numpy import test_samples as test_numpy_samples
from tests.frontends.numpy.arrays import made as array_made
from tests.support.one_call import lift_call
from tests.support.samples import made
from tests.support.selection import bucket

# Operations that no call of a source framework is lifted to. Strict: one that a sample lifts to fails.
UNRAISED = {
    "conv_channels_last": "of the pass kernel_layout, which takes a weight as a target wants it",
    "copy": "of the pass that gives results memory of their own: a lifted graph is pure, and needs none",
    "masked_gradient": "of the pass masked_scatter_to_where, which tests/corpora/kernels has",
    "refuse_gradient": "of rules for gradients, which tests/frontends/torch/test_gradient_rules.py has",
    "strong_product": "of the pass strong_zero, which tests/transforms/test_strong_zero.py has",
    **dict.fromkeys((*COLLECTIVES, "sharding_hint"), "of graph_compiler.parallel, which tests/parallel has"),
    "threefry": "of jax.random, which tests/frontends/jax has",
    "philox": "of tf.random, which tests/frontends/tensorflow has",
    "random_key": "of seeds that a whole function sets, which the programs of tests/corpora/programs/randomness.py do",
    "positive": "of the array API standard; torch.positive gives its argument itself",
}


# ---------------------------------------------------------------------------------------- operation by target
def faults(rows: Any, unsupported: Mapping[str, str]) -> Iterator[str]:
    """Yield the faults of a target's tables: operations that are missing, and listed names that are unknown,
    have a row, or give no reason.
    """
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
    assert list(faults(every - {"matmul", "relu6"}, {})) == [
        "matmul: no row, no decomposition, and not in UNSUPPORTED"
    ]
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
    assert support["readme"]() == support["README"].read_text("utf-8"), "run python scripts/support.py"
    assert support["SHARES"].search(support["readme"]())


# ---------------------------------------------------------------------------------------- operation by sample
# Programs of the control-flow corpus.
NESTED = {
    "branch, scan and while_loop": PROGRAMS["deep"],
    "associative_scan": PROGRAMS["products of matrices"],
    "call": PROGRAMS["checkpoint of functions"],
}

# A call: (framework, function, args, kwargs).
Call = tuple[str, Callable[..., Any], Any, dict[str, Any]]


def lifted(framework: str, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Graph:
    """Return the canonical graph of a sample's call."""
    frontend = importlib.import_module(f"graph_compiler.frontends.{framework}")
    with recording():
        recorded = frontend.record(Request(function, tuple(args), kwargs, "sample", same_framework=False))
    graph: Graph = dce(recorded.graph)[0]
    return graph if graph.dialect == "canonical" else frontend.lift_graph(graph)


def operations(nodes: Iterable[Node]) -> set[str]:
    """Return the operations of nodes and of their regions."""
    inside = (operations(region.block.nodes) for node in nodes for region in node.regions)
    return {node.op for node in nodes}.union(*inside)


# Operations that have another name in the samples.
NAMES = {
    "bitwise_invert": "invert",
    "gather_nd": "getitem",
    "boolean_mask": "getitem",
    "solve_triangular": "triangular",
    "bessel_k0e": "scaled_modified_bessel_k0",
    "custom_derivative": "i0",
}


def samples() -> Iterator[tuple[str, Callable[[], Call]]]:
    """Yield (name, function that returns the call) of every sample."""
    jax, numpy = test_jax_samples, test_numpy_samples
    yield from (
        (name, lambda one=one: ("jax", one.function, as_jax(one.calls[0]), {}))
        for name, one in NESTED.items()
    )
    yield from ((name, lambda one=sample: of_torch(one)) for name, sample in SAMPLES)
    yield from (
        (name, lambda one=one: ("jax", one.function, jax.as_jax(made(one.args)), one.kwargs))
        for name, one in jax.NAMED
    )
    yield from (
        (name, lambda one=one: ("numpy", one.function, array_made(one.arrays, 0), {}))
        for name, one in numpy.SAMPLES.items()
    )


def of_torch(sample: Any) -> Call:
    return "torch", sample.function, made(sample.args), made(sample.kwargs, seed=1)


def is_named(name: str, sample: str) -> bool:
    """Return True if the name of the sample contains the name of the operation."""
    return NAMES.get(name, name).replace("_", "") in sample.replace("_", "").lower()


def search(missing: set[str]) -> None:
    """Remove from ``missing`` the operations that occur in a sample; samples with an operation in their name
    come first.
    """
    for name in (*sorted(missing), ""):
        for sample, call in samples():
            if not (name in missing if name else missing):
                break
            if is_named(name, sample):
                missing -= operations(lifted(*call()).nodes)


def test_every_operation_is_in_a_sample() -> None:
    """A fixed quarter of torch's samples is recorded, and then samples until every operation is found."""
    graphs = [lifted(*of_torch(sample)) for name, sample in SAMPLES if bucket(name, 4) == 0]
    graphs += [lift_call(*draw) for draw in DRAWS]
    exercised = set().union(*(operations(graph.nodes) for graph in graphs))
    missing = {name for name in ops.all_ops() if name not in exercised and name not in UNRAISED}
    search(missing)
    assert not missing, f"no sample lifts to {', '.join(sorted(missing))}"
    assert not exercised & UNRAISED.keys()
