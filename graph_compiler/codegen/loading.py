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

# Number of the last file. This is no ``itertools.count``, because ``torch.compile`` would copy it, which
# fails in Python 3.14.
_last = [0]
# File names of functions that were collected. Their entries are removed later, because the garbage collector
# may run while linecache iterates over its entries.
_retired: list[str] = []


def load(program: Program, extra: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """Return the function of a program. Its source stays in `linecache` while the function is alive.

    Raise `FrameworkNotInstalled` if a module that the source imports is missing. `extra` names further
    objects that the source refers to.
    """
    while _retired:
        linecache.cache.pop(_retired.pop(), None)
    _last[0] += 1
    filename = f"<graph_compiler {program.name} {_last[0]}>"
    # There is no ``__name__``, because torch's compiler would import a module of that name.
    scope: dict[str, Any] = {**program.globals, **(extra or {})}
    try:
        exec(compile(program.source, filename, "exec"), scope)
    except ModuleNotFoundError as problem:
        package = (problem.name or "").partition(".")[0]
        raise FrameworkNotInstalled(
            f"the source written for {program.name} needs {package}, which is not installed here; "
            f"install it with: pip install {package}"
        ) from None
    # The source defines these classes to stand alone, while callers in this process catch those of this
    # package.
    scope.update({name: getattr(errors, name) for name in ERRORS if name in scope})
    function: Callable[..., Any] = scope[program.name]
    linecache.cache[filename] = (len(program.source), None, program.source.splitlines(True), filename)
    weakref.finalize(function, _retired.append, filename)
    return function
