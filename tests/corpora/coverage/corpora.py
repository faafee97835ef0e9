"""The corpora by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from . import dtypes, functions, keras_layers, keras_models, numpy_calls, operators, raw_ops, zoo


@dataclass(frozen=True)
class Corpus:
    """A set of cases written in one framework.

    source: the framework that the cases are written in.
    what: a short description for the documentation.
    names: returns the names of the cases.
    judge: ``judge(name, target)`` returns measured facts if the case is right in the target, and raises
        otherwise (see :func:`outcome.outcome_of`).
    seconds: time limit for a case.
    group: returns the group of a case; a part of the corpus contains the same part of each group.
    environment: environment variables of the worker processes that differ from those of the tests.
    """

    source: str
    what: str
    names: Callable[[], list[str]]
    judge: Callable[[str, str], dict[str, Any]]
    seconds: float
    group: Callable[[str], str] = lambda name: ""
    environment: Mapping[str, str] = field(default_factory=dict)

    def part(self, every: int, start: int) -> list[str]:
        """Return every ``every``-th case of each group, from number ``start`` on."""
        groups: dict[str, list[str]] = {}
        for name in self.names():
            groups.setdefault(self.group(name), []).append(name)
        return [name for names in groups.values() for name in names[start::every]]


def _harness_names() -> list[str]:
    from . import harnesses

    return harnesses.names()


def _judge_harness(name: str, target: str) -> dict[str, Any]:
    from . import harnesses

    return harnesses.judge(name, target)


def _harness_group(name: str) -> str:
    from . import harnesses

    return harnesses.group_of(name)


CORPORA: dict[str, Corpus] = {
    "operators": Corpus(
        "torch", "public operators, with torch's own samples", operators.names, operators.judge, 90
    ),
    "dtypes": Corpus("torch", "operators in other data types", dtypes.names, dtypes.judge, 90),
    "errors": Corpus(
        "torch", "calls that torch refuses are refused", operators.error_names, operators.judge_errors, 90
    ),
    "harnesses": Corpus(
        "jax", "JAX's own cases for each primitive", _harness_names, _judge_harness, 90, _harness_group
    ),
    "raw-ops": Corpus(
        "tensorflow", "raw operations with a numeric meaning", raw_ops.names, raw_ops.judge, 120
    ),
    "tf-functions": Corpus(
        "tensorflow",
        "public functions, three calls each",
        partial(functions.names, of_keras=False),
        functions.judge,
        120,
        functions.group_of,
    ),
    "keras-ops": Corpus(
        "tensorflow",
        "functions of `keras.ops`",
        partial(functions.names, of_keras=True),
        functions.judge,
        120,
        functions.group_of,
    ),
    "keras-layers": Corpus(
        "tensorflow",
        "Keras layers and their options",
        keras_layers.names,
        keras_layers.judge,
        120,
        keras_layers.group_of,
    ),
    "keras-models": Corpus(
        "tensorflow",
        "models of `keras.applications`, and trained",
        keras_models.names,
        keras_models.judge,
        1800,
        keras_models.group_of,
        {
            "XLA_FLAGS": ""
        },  # convolutions in float64 are loops of XLA's own: unoptimised they take thrice the time
    ),
    "numpy-calls": Corpus("numpy", "calls of NumPy functions", numpy_calls.names, numpy_calls.judge, 90),
    "transformers": Corpus(
        "torch", "tiny models of transformers", partial(zoo.names, "zoo.jsonl"), zoo.judge, 300
    ),
    "vision": Corpus(
        "torch", "tiny models of timm and torchvision", partial(zoo.names, "vision.jsonl"), zoo.judge, 300
    ),
}
