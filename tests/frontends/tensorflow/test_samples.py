"""Tests of every sample of a raw operation in each target: it gives what TensorFlow gives, at the recorded
arguments and at others.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import graph_compiler
from graph_compiler.frontends.tensorflow.lifting.driver import NO_REASON, reason, rows
from graph_compiler.trees import map_structure
from tests.support.canonical import lifted
from tests.support.compare import assert_same, to_numpy
from tests.support.kernels import run
from tests.support.samples import ErrorSample, Sample, made
from tests.support.selection import pairs

from . import samples
from .limits import RECORDED_AGAIN, UNSUPPORTED
from .numeric import WITHOUT_ROW
from .refused import ERRORS

TARGETS = ("tensorflow", "torch", "jax", "numpy")
MODULES = [
    importlib.import_module(f"{samples.__name__}.{module.name}")
    for module in pkgutil.iter_modules(samples.__path__)
    if module.name != "table"
]
NAMED = [
    (f"{module.__name__.rpartition('.')[2]}-{sample}", sample)
    for module in MODULES
    for sample in module.SAMPLES
]
SAMPLES = dict(NAMED)


def as_tensorflow(structure: Any) -> Any:
    """Return the sample's arrays as tensors of TensorFlow."""
    return map_structure(
        lambda item: tf.constant(to_numpy(item)) if hasattr(item, "dtype") else item, structure
    )


def plain(structure: Any, to: str) -> Any:
    """Return the arguments as NumPy arrays, or unchanged for the target TensorFlow."""
    if to == "tensorflow":
        return structure
    return map_structure(lambda item: np.array(item) if isinstance(item, tf.Tensor) else item, structure)


def recorded(sample: Sample, to: str) -> Any:
    return graph_compiler.compile(
        sample.function,
        to=to,
        source="tensorflow",
        args=as_tensorflow(made(sample.args)),
        kwargs=sample.kwargs,
    )


def calls_of(sample: Sample) -> list[tuple[Any, Any]]:
    """Return (arguments, TensorFlow's result) of the recorded call and, if there is one, of the other call."""
    given = [as_tensorflow(made(sample.args))] + (
        [] if sample.other is None else [as_tensorflow(made(sample.other, seed=2))]
    )
    return [(args, run(sample.function, *args, **sample.kwargs)) for args in given]


def check(graph: Any, to: str, calls: list[tuple[Any, Any]]) -> int:
    """Assert that the graph gives the expected results, and return the number of its variants."""
    for args, expected in calls:
        assert_same(graph(*plain(args, to)), expected)
    return len(graph.variants)


@pytest.mark.parametrize(
    ("name", "to"), [case for case in pairs(SAMPLES, TARGETS) if case not in UNSUPPORTED]
)
def test_sample(name: str, to: str) -> None:
    sample = SAMPLES[name]
    variants = check(recorded(sample, to), to, calls_of(sample))
    assert variants == 1 or name in RECORDED_AGAIN, f"recorded {variants} times"


def test_through_canonical_operations() -> None:
    """Only TensorFlow's own calls produce Philox numbers, and graphs for TensorFlow normally repeat these
    unlifted.
    """
    sample = SAMPLES["random-StatelessRandomUniformV2"]
    graph = lifted(graph_compiler.compile(sample.function, to="tensorflow", source="tensorflow"))
    assert check(graph, "tensorflow", calls_of(sample)) == 1


def test_a_prevented_gradient_is_refused() -> None:
    torch = pytest.importorskip("torch")
    graph = graph_compiler.compile(
        lambda x: tf.raw_ops.PreventGradient(input=x, message="not this one") * 2,
        to="torch",
        source="tensorflow",
    )
    with pytest.raises(Exception, match="not this one"):
        graph(torch.ones(3, requires_grad=True)).sum().backward()


@pytest.mark.parametrize(("name", "to"), UNSUPPORTED)
def test_limit(name: str, to: str) -> None:
    with pytest.raises(UNSUPPORTED[name, to][0], match=UNSUPPORTED[name, to][1]):
        check(recorded(SAMPLES[name], to), to, calls_of(SAMPLES[name]))


@pytest.mark.parametrize("sample", ERRORS, ids=lambda sample: sample.function.__name__)
def test_refused(sample: ErrorSample) -> None:
    with pytest.raises(sample.exception, match=sample.message):
        graph_compiler.compile(
            sample.function,
            to="numpy",
            source="tensorflow",
            args=as_tensorflow(made(sample.args)),
            kwargs=sample.kwargs,
        )


def test_every_row_has_a_sample() -> None:
    sampled = {str(sample).partition("-")[0] for sample in SAMPLES.values()} | {
        "StatelessRandomGetKeyCounter"
    }
    assert set(rows.names()) <= sampled


def test_every_operation_has_a_row_or_a_reason() -> None:
    operations = {name for name in dir(tf.raw_ops) if name[0].isupper()}
    assert {name for name in operations - set(rows.names()) if reason(name) == NO_REASON} == set()
    assert not [name for name in rows.names() if reason(name) != NO_REASON and name in operations]


def test_numeric_operations_without_a_row_have_a_reason() -> None:
    assert not WITHOUT_ROW & set(rows.names())
    assert not [name for name in WITHOUT_ROW if reason(name) == NO_REASON or not hasattr(tf.raw_ops, name)]


def test_names_are_unique() -> None:
    assert len(NAMED) == len(SAMPLES) > 700


def test_limits_name_samples() -> None:
    assert {*RECORDED_AGAIN, *(name for name, _ in UNSUPPORTED)} <= SAMPLES.keys()
