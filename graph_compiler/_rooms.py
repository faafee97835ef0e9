"""Import hook that lets a bare checkout import ``graph_compiler.backends`` and ``graph_compiler.frontends``.

In a checkout both folders are next to ``graph_compiler``. In a wheel they are inside it, and no hook is
installed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

_PACKAGE = Path(__file__).resolve().parent
_ROOMS = {
    f"{__package__}.{name}": _PACKAGE.parent / name
    for name in ("backends", "frontends")
    if not (_PACKAGE / name).exists() and (_PACKAGE.parent / name / "__init__.py").is_file()
}


class _SiblingRooms:
    """Finder of the packages in ``_ROOMS``, which are folders next to ``graph_compiler``."""

    @staticmethod
    def find_spec(
        fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        if fullname not in _ROOMS:
            return None
        room = _ROOMS[fullname]
        return spec_from_file_location(fullname, room / "__init__.py", submodule_search_locations=[str(room)])


if _ROOMS:
    # First, because another checkout may be installed as editable, with a finder of its own.
    sys.meta_path.insert(0, _SiblingRooms())
