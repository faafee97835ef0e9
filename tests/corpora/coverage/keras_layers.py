"""The samples of Keras' layers, with TensorFlow below them: results, variables afterwards and gradients are
Keras' own.
"""

from __future__ import annotations

from typing import Any

from .outcome import Skipped


def names() -> list[str]:
    """Every sample."""
    from tests.frontends.keras.layers import SAMPLES

    return list(SAMPLES)


def group_of(name: str) -> str:
    """The layer."""
    return name.partition("(")[0]


def judge(name: str, target: str) -> dict[str, Any]:
    """A graph that is recorded with some sizes computes with others what Keras computes."""
    from tests.frontends.keras.judging import judge_layer
    from tests.frontends.keras.layers import SAMPLES

    try:
        layer = SAMPLES[name].made()
    except Exception as problem:
        raise Skipped(str(problem)) from problem
    return judge_layer(SAMPLES[name], layer, target)
