"""Excerpts of the user's code around recorded calls, and file names without paths of the machine."""

from __future__ import annotations

import linecache
from collections.abc import Iterable
from pathlib import Path

AROUND = 4  # lines before and after


def excerpts(places: Iterable[tuple[str, int]]) -> dict[str, dict[int, str]]:
    """Return, for each file, the text by line number of the given lines and four lines around each. Missing
    files are left out.
    """
    wanted: dict[str, set[int]] = {}
    for file, line in set(places):
        wanted.setdefault(file, set()).update(range(max(1, line - AROUND), line + AROUND + 1))
    found = {}
    for file, numbers in wanted.items():
        lines = _lines(file)
        if texts := {number: lines[number - 1].rstrip() for number in sorted(numbers) if number <= len(lines)}:
            found[file] = texts
    return found


def _lines(file: str) -> list[str]:
    try:
        return linecache.getlines(file)
    except (OSError, ValueError, UnicodeError):
        return []


def short_name(file: str) -> str:
    """Return a path relative to `site-packages` or the current folder, or only the name of the file.

    >>> short_name("/opt/env/lib/python3.12/site-packages/transformers/models/bert/modeling_bert.py")
    'transformers/models/bert/modeling_bert.py'
    """
    _, found, inside = file.replace("\\", "/").rpartition("/site-packages/")
    if found:
        return inside
    try:
        return Path(file).relative_to(Path.cwd()).as_posix()
    except (ValueError, OSError):
        return Path(file).name if Path(file).is_absolute() else file
