"""Lets a bare checkout import ``graph_compiler.backends`` and ``.frontends`` from the sibling folders.

In an installed package both stand beside this file, and nothing happens here.
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
    """A finder for the names in ``_ROOMS``; all other names are left to the finders that were there before."""

    @staticmethod
    def find_spec(
        fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        if fullname not in _ROOMS:
            return None
        room = _ROOMS[fullname]
        return spec_from_file_location(fullname, room / "__init__.py", submodule_search_locations=[str(room)])


if _ROOMS:
    sys.meta_path.insert(
        0, _SiblingRooms()
    )  # before a finder of another checkout that is installed as editable
