"""What torch cannot do as a target of canonical graphs."""

from __future__ import annotations

SAMPLES: dict[str, str] = {}
