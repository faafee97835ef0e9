"""All programs of the control-flow corpus, by name."""

from __future__ import annotations

from . import associative, branches, carries, edges, nesting, transforms, uses
from .table import Program

_ALL = [
    (name, program)
    for room in (carries, nesting, branches, transforms, uses, edges, associative)
    for name, program in room.PROGRAMS.items()
]
PROGRAMS: dict[str, Program] = dict(_ALL)
assert len(PROGRAMS) == len(_ALL)
