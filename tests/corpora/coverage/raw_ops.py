"""Corpus of TensorFlow's raw operations on numbers: all samples of each operation, at the recorded sizes and
at others.

An operation without a lifting row counts as refused.
"""

from __future__ import annotations

from typing import Any

from graph_compiler.errors import UnsupportedOperation


def samples_of() -> dict[str, list[str]]:
    """Map each operation to the names of its samples; an operation without a row has none."""
    from tests.frontends.tensorflow.numeric import WITHOUT_ROW
    from tests.frontends.tensorflow.test_samples import SAMPLES

    found: dict[str, list[str]] = {name: [] for name in WITHOUT_ROW}
    for name, sample in SAMPLES.items():
        found.setdefault(str(sample).partition("-")[0], []).append(name)
    return dict(sorted(found.items()))


def names() -> list[str]:
    return list(samples_of())


def judge(name: str, target: str) -> dict[str, Any]:
    """Assert that the samples of the operation give what TensorFlow gives.

    Raise ``UnsupportedOperation`` if the operation has no sample that the target supports.
    """
    from graph_compiler.frontends.tensorflow.lifting.driver import reason
    from tests.frontends.tensorflow.limits import UNSUPPORTED
    from tests.frontends.tensorflow.test_samples import SAMPLES, calls_of, check, recorded

    samples = [sample for sample in samples_of()[name] if (sample, target) not in UNSUPPORTED]
    if not samples:
        raise UnsupportedOperation(reason(name))
    variants = [
        check(recorded(SAMPLES[sample], target), target, calls_of(SAMPLES[sample])) for sample in samples
    ]
    return {"samples": len(samples), "variants": max(variants)}
