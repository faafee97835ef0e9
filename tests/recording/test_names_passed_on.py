"""Tests of ``int(x)``, ``float(x)`` and ``len(x)`` in code that also passes these names as arguments:
``x.astype(int)``, ``dtype=float``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")
tf = pytest.importorskip("tensorflow")

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.errors import GuardFailed  # noqa: E402
from graph_compiler.recording.patches.builtin_names import only_called, with_aliases  # noqa: E402
from tests.support.tolerance import tolerance  # noqa: E402

MADE: dict[str, Callable[[Any], Any]] = {
    "torch": torch.tensor, "numpy": np.asarray, "jax": jnp.asarray, "tensorflow": tf.constant,
}  # fmt: skip
pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="instructions say from Python 3.11 on what is called"
)


def place_of_largest(x: Any) -> Any:
    return int(np.argmax(x))


def nested(x: Any) -> Any:
    counts = (x > 0).astype(int)
    weighted = [counts * int(np.argmin(row)) for row in (x, -x)]
    return np.stack(weighted) * float(x.max())


class Scaled:
    def __init__(self) -> None:
        self.kind = float

    def __call__(self, x: Any) -> Any:
        return x.astype(self.kind) * int(np.argmax(x)) + np.zeros(len(x), dtype=float)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "numpy, astype": lambda x: x.astype(int) * int(np.argmax(x)),
    "numpy, dtype": lambda x: np.zeros(6, dtype=int) + int(np.searchsorted(np.sort(x), 0.5)),
    "numpy, a function": lambda x: x * place_of_largest(x),
    "numpy, nested": nested,
    "numpy, an object": Scaled(),
    "numpy, a count": lambda x: x * len(np.nonzero(x > 0)[0]) + (len or x)("ab"),
    "numpy, a class": lambda x: x * (2 if isinstance(int(np.argmax(x)), int) else 3),
    "numpy, an index": lambda x: x[int(np.argmax(x))] * x.astype(float),
    "torch, to": lambda x: x.to(int) * int(torch.argmax(x)),
    "jax, astype": lambda x: x.astype(int) * int(jnp.argmax(x)),
    "tensorflow, a list": lambda x: x * int(tf.argmax(x)) * list(map(float, [1, 2]))[1],
}


@pytest.mark.parametrize("to", MADE)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_variant_computes_with_elements(name: str, to: str) -> None:
    function, source = FUNCTIONS[name], name.partition(",")[0]
    graph = graph_compiler.transpile(function, to=to, source=source)
    for seed in range(4):
        x = np.random.default_rng(seed).normal(size=6).astype(np.float32) * 3
        expected, found = np.asarray(function(MADE[source](x))), np.asarray(graph(MADE[to](x)))
        relative, absolute = tolerance("float32")
        np.testing.assert_allclose(found, expected, rtol=relative, atol=absolute)
    assert len(graph.variants) == 1, graph.explain()


def test_code_is_as_it_was_after_a_recording() -> None:
    before = place_of_largest.__code__
    graph_compiler.compile(place_of_largest, source="numpy", args=(np.ones(3),))
    assert place_of_largest.__code__ is before
    assert not any("(...)" in name for name in globals())


def test_rewritten_code_keeps_its_lines() -> None:
    code = nested.__code__
    found = with_aliases(code, ["int", "float"])
    assert list(found.co_lines()) == list(code.co_lines())
    assert {"int", "int(...)", "float(...)"} <= {*found.co_names} | {
        name for part in found.co_consts if hasattr(part, "co_names") for name in part.co_names
    }


@pytest.mark.parametrize("to", MADE)
def test_whole_numbers_beyond_32_bits_do_not_wrap_around(to: str) -> None:
    graph = graph_compiler.transpile(lambda x: x * int(x.max()), to=to, source="numpy")
    for largest in (2.5, 3e9, 7.5):
        x = np.array([1.0, largest], np.float32)
        if to == "jax" and largest > 2**31:
            with pytest.raises(GuardFailed, match="3000000000"):
                graph(MADE[to](x))
            continue
        np.testing.assert_allclose(np.asarray(graph(MADE[to](x))), x * int(x.max()), rtol=1e-6)


@pytest.mark.parametrize(("feature", "expected"), [("annotations", {"float"}), ("division", set())])
def test_annotations_of_inner_functions_are_evaluated_unless_they_stay_texts(
    feature: str, expected: set[str], tmp_path: Path
) -> None:
    file = tmp_path / "annotated.py"
    file.write_text(
        f"from __future__ import {feature}\n\n"
        "def outer(x):\n    def inner(y: float):\n        return float(y)\n\n    return inner(x)\n"
    )
    assert only_called(str(file), ("float",)) == expected
