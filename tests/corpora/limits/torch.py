"""What torch as a target of canonical graphs cannot do."""

from __future__ import annotations

SAMPLES: dict[str, str] = {}
