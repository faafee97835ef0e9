"""What TensorFlow as a target cannot do."""

from __future__ import annotations

SAMPLES: dict[str, str] = {}

DTYPES: dict[tuple[str, str], str] = {}
