"""Corpus of the samples of Keras layers on TensorFlow: results, variables after the call, and gradients."""

from __future__ import annotations

from typing import Any

from .outcome import Skipped


def names() -> list[str]:
    from tests.frontends.keras.layers import SAMPLES

    return list(SAMPLES)


def group_of(name: str) -> str:
    return name.partition("(")[0]


def judge(name: str, target: str) -> dict[str, Any]:
    """Assert that a graph computes what the Keras layer does, at the recorded sizes and at others."""
    from tests.frontends.keras.judging import judge_layer
    from tests.frontends.keras.layers import SAMPLES

    try:
        layer = SAMPLES[name].made()
    except Exception as problem:
        raise Skipped(str(problem)) from problem
    return judge_layer(SAMPLES[name], layer, target)
