"""Portability of generated source: its own error classes, and paths without folders of this machine."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

from ..ir.node import Origin

# Classes of errors that generated source defines for itself. Where a graph runs it, they are those of
# ``graph_compiler.errors``.
ERRORS = {
    "GuardFailed": """\
class GuardFailed(ValueError):
    \"""A condition that the recording relied on does not hold for this call.\"""\
""",
    "GradientRefused": """\
class GradientRefused(RuntimeError):
    \"""A gradient was taken of what has none.\"""\
""",
}
_INSTALLED = ("site-packages/", "dist-packages/")


def portable(origin: Origin) -> Origin:
    return replace(origin, file=portable_path(origin.file))


@functools.lru_cache(maxsize=1024)
def portable_path(file: str) -> str:
    """Return the path of a file below ``site-packages``, or else from its outermost package on.

    Return only the file name if the file is in no package. Names such as ``<stdin>`` are returned unchanged.

    >>> portable_path("/usr/lib/python3/site-packages/timm/layers/mlp.py")
    'timm/layers/mlp.py'
    >>> portable_path("/home/me/model.py"), portable_path("<stdin>")
    ('model.py', '<stdin>')
    """
    text = file.replace("\\", "/")
    for folder in _INSTALLED:
        if folder in text:
            return text.rpartition(folder)[2]
    if text.startswith("<"):
        return text
    path = Path(file)
    top = path.parent
    while (top / "__init__.py").is_file() and top != top.parent:
        top = top.parent
    return path.relative_to(top).as_posix()
