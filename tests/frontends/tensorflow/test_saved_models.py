"""Tests of functions of SavedModels and Keras files in every target: results and variables are those of
TensorFlow.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

import keras  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.errors import NotCompilable, UnsupportedOperation  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402

from .saved_models import SAVED, load  # noqa: E402
from .traps.table import state_of  # noqa: E402

TARGETS = ("torch", "jax", "numpy")


def _loaded(path: Path) -> Any:
    # Some layers draw random numbers.
    keras.utils.set_random_seed(1)
    return load(path)


def _called(function: Any, call: Any) -> Any:
    return function(**call) if isinstance(call, dict) else function(*call)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SAVED)
def test_saved_model(name: str, tmp_path: Path) -> None:
    saved = SAVED[name]
    path = saved.save(tmp_path / "saved")
    for to in TARGETS:
        theirs, ours = (_loaded(path) for _ in range(2))
        graph = graph_compiler.compile(saved.get(ours), to=to, source="tensorflow")
        if saved.error:
            with pytest.raises(UnsupportedOperation, match=saved.error):
                _called(graph, saved.calls[0])
            continue
        for call in saved.calls:
            assert_same(_called(graph, call), _called(saved.get(theirs), call))
        for one, other in zip(state_of(ours), state_of(theirs), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
        assert len(graph.variants) == saved.variants


def test_the_functions_of_a_saved_model_without_one_of_its_own_are_named(tmp_path: Path) -> None:
    module = tf.Module()
    module.double = tf.function(lambda x: x * 2, input_signature=[tf.TensorSpec((None,))])
    tf.saved_model.save(module, str(tmp_path))
    with pytest.raises(NotCompilable, match="as it has in double"):
        graph_compiler.transpile(tf.saved_model.load(str(tmp_path)), to="torch", args=(tf.ones(2),))
