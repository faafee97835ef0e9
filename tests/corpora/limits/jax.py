"""What JAX cannot do as a target."""

from __future__ import annotations

SAMPLES: dict[str, str] = {}
