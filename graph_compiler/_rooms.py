"""Import hook that lets a bare checkout import ``graph_compiler.backends`` and ``.frontends``.

There they are sibling folders of ``graph_compiler``.

In an installed package both folders are inside ``graph_compiler``, and nothing happens here.
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
    """Finder for the names in ``_ROOMS``; other names are left to the other finders."""

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
