"""What each target has in the place of a name: ``xp``, the module of its arrays, ``Array``, their class, and
helpers of its own prelude.

``hand_out`` of ``backends/common/preludes.py`` puts them there; until then a name is only its text.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return name
