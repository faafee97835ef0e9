"""Loading of generated source. Tracebacks show the generated lines."""

from __future__ import annotations

import linecache
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from .. import errors
from ..errors import FrameworkNotInstalled
from .source import Program
from .standing_alone import ERRORS

_last = [
    0
]  # number of a file. No itertools.count: torch.compile asks that for a copy, which Python 3.14 refuses
_retired: list[
    str
] = []  # of functions that are gone: dropped here, for the collector may run while linecache goes through its entries


def load(program: Program, extra: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """Return the function of a program. Its source stays in `linecache` while the function is alive.

    Raise `FrameworkNotInstalled` if a module that the source imports is missing. `extra` names further
    objects that the source refers to.
    """
    while _retired:
        linecache.cache.pop(_retired.pop(), None)
    _last[0] += 1
    filename = f"<graph_compiler {program.name} {_last[0]}>"
    scope: dict[str, Any] = {
        **program.globals,
        **(extra or {}),
    }  # without a __name__, by which torch's compiler would import it
    try:
        exec(compile(program.source, filename, "exec"), scope)
    except ModuleNotFoundError as problem:
        package = (problem.name or "").partition(".")[0]
        raise FrameworkNotInstalled(
            f"the source written for {program.name} needs {package}, which is not installed here; install it with: pip install {package}"
        ) from None
    scope.update({name: getattr(errors, name) for name in ERRORS if name in scope})
    function: Callable[..., Any] = scope[program.name]
    linecache.cache[filename] = (len(program.source), None, program.source.splitlines(True), filename)
    weakref.finalize(function, _retired.append, filename)
    return function
