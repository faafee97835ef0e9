"""What TensorFlow cannot do as a target."""

from __future__ import annotations

SAMPLES: dict[str, str] = {}

DTYPES: dict[tuple[str, str], str] = {}
