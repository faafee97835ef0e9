"""What a target cannot do, as data with reasons: one module a target.

``SAMPLES`` maps the id of a sample (as pytest prints it, without the target) to the reason. Strict: a sample that is listed and works fails
the build, and what is listed must end in an error that tells what is missing, never in another number.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping

TARGETS = ("jax", "numpy", "tensorflow", "torch")


def unsupported_samples(target: str) -> Mapping[str, str]:
    """Sample id -> reason."""
    found: Mapping[str, str] = importlib.import_module(f"{__name__}.{target}").SAMPLES
    return found
