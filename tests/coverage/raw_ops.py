"""The samples of TensorFlow's raw operations: what each gives in a target is what it gives in TensorFlow, at the recorded sizes and at
others."""

from __future__ import annotations

from typing import Any


def names() -> list[str]:
    """Every sample."""
    from ..tensorflow_source.test_tensorflow_samples import SAMPLES

    return list(SAMPLES)


def group_of(name: str) -> str:
    """The file that a sample stands in."""
    return name.partition("-")[0]


def judge(name: str, target: str) -> dict[str, Any]:
    """A graph that is recorded with some elements and sizes gives with others what TensorFlow gives."""
    from ..tensorflow_source.test_tensorflow_samples import SAMPLES, calls_of, check, recorded

    sample = SAMPLES[name]
    calls = calls_of(sample)
    return {"variants": check(recorded(sample, target), target, calls)}
