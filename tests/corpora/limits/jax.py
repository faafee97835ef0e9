"""What JAX as a target cannot do."""

from __future__ import annotations

SAMPLES: dict[str, str] = {}
