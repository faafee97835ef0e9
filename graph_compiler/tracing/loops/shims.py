"""``range``, ``enumerate``, ``zip`` and ``reversed`` in the modules of the user's code: in a ``for`` whose steps can be marked, they count
in symbols."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

from ...forwarding import forward
from ..probes.builtin_names import ClassShim
from ..probes.replaced import Place
from ..source.code_names import names_read
from .steps import Steps, counted, numbered, side_by_side, turned
from .watching import Loops

Current = Callable[[], "Loops | None"]


def loop_shims(functions: Iterable[types.FunctionType], current: Current) -> list[Place]:
    """The places of the shims in the modules of functions: where these look up the names, and find Python's own."""
    spaces = {(id(one.__globals__), name): one.__globals__ for one in functions for name in _MAKE.keys() & names_read(one.__code__)}
    found = [(space, name) for (_, name), space in spaces.items() if space.get(name, _ORIGINAL[name]) is _ORIGINAL[name]]
    return [(space, name, ClassShim(_ORIGINAL[name], _shim(name, current))) for space, name in found]


def _shim(name: str, current: Current) -> Callable[..., Any]:
    original, make = _ORIGINAL[name], _MAKE[name]

    def called(*args: Any, **kwargs: Any) -> Any:
        loops = current()
        steps = make(loops, *args, **kwargs) if loops is not None else None
        if loops is not None and steps is not None and (found := loops.run(sys._getframe(2), steps)) is not None:
            return found
        return forward(original, *(item.plain() if isinstance(item, Steps) else item for item in args), **kwargs)

    return called


def _range(loops: Loops, *args: Any, **kwargs: Any) -> Steps | None:
    if kwargs or not 1 <= len(args) <= 3:
        return None
    return counted(*((0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]))


def _enumerate(loops: Loops, items: Any, start: Any = 0) -> Steps | None:
    steps = loops.steps_of(items)
    return None if steps is None else numbered(steps, start)


def _reversed(loops: Loops, items: Any) -> Steps | None:
    steps = loops.steps_of(items)
    return None if steps is None else turned(steps)


def _zip(loops: Loops, *items: Any, **kwargs: Any) -> Steps | None:
    parts = [steps for item in items if (steps := loops.steps_of(item)) is not None]
    is_known = parts and len(parts) == len(items) and loops.are_equal([part.length for part in parts])
    return side_by_side(tuple(parts)) if is_known else None


_ORIGINAL: dict[str, Any] = {"range": range, "enumerate": enumerate, "zip": zip, "reversed": reversed}
_MAKE: dict[str, Callable[..., Steps | None]] = {"range": _range, "enumerate": _enumerate, "zip": _zip, "reversed": _reversed}
