"""Record of the shapes that a function was compiled for: JAX and TensorFlow compile a program for each."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

_WARNED_AT = 3
# After this many shapes, a new shape is compiled when it occurs a second time.
_MOST_AT_ONCE = 16
_REMEDY = (
    "Keep the shapes of arguments the same: take a cache of a fixed length (a static cache), or pad to a few "
    "lengths. With "
    "return_backend_compiled_fn=False the graph runs operation by operation"
)

_NUMBERS = (bool, int, float, complex)

Key = tuple[Any, ...]


class NewShape(Exception):
    """Raised while tracing for a new shape that should run uncompiled, because many are compiled already."""


class CompiledShapes:
    """Shapes, and values of Python numbers, that ``function`` was compiled for.

    is_limited: beyond the first 16 shapes, compile a shape only when it occurs a second time. A new value
        of a number that is no size is compiled at its second occurrence, except in the first call.
    sizes: indices of arguments that are numbers used as sizes.
    message: a warning about too many shapes that was not given yet, or None.
    """

    def __init__(self, function: Callable[..., Any], is_limited: bool, sizes: Sequence[int] = ()) -> None:
        self._function, self._is_limited, self._sizes = function, is_limited, frozenset(sizes)
        self._compiled: dict[Key, None] = {}
        self._seen_once: set[Key] = set()
        self.message: str | None = None

    def note(self, args: Sequence[Any]) -> None:
        """Record a trace with the shapes of ``args``, or raise ``NewShape`` if these should run uncompiled.

        The third compilation sets ``message``, for :meth:`warn`.
        """
        # A dict holds weights, which keep their shapes.
        key = tuple(
            tuple(arg.shape) if hasattr(arg, "shape") else arg for arg in args if not isinstance(arg, dict)
        )
        if key in self._compiled:
            return
        # A number that is no size may differ at each call, and each value would be compiled.
        numbers = tuple(
            (place, arg)
            for place, arg in enumerate(args)
            if type(arg) in _NUMBERS and place not in self._sizes
        )
        is_late = len(self._compiled) >= _MOST_AT_ONCE or (numbers and self._compiled)
        if self._is_limited and is_late and key not in self._seen_once:
            self._seen_once.add(key)
            raise NewShape
        self._seen_once.discard(key)
        self._compiled[key] = None
        if len(self._compiled) == _WARNED_AT:
            self.message = self._describe_changes(args)

    def warn(self) -> None:
        # While tracing, the first frame outside of this package is one of the framework, so the warning waits
        # until the call has ended.
        message, self.message = self.message, None
        if message is not None:
            warnings.warn(message, RuntimeWarning, stacklevel=_level_of_user())

    def describe(self) -> str:
        count = len(self._compiled)
        return f"compiled for {count} shape{'' if count == 1 else 's'} of its arguments"

    def _describe_changes(self, args: Sequence[Any]) -> str:
        names = [
            name
            for name, arg in zip(inspect.signature(inspect.unwrap(self._function)).parameters, args)
            if not isinstance(arg, dict)
        ]
        changed = [
            f"{name} "
            + ", ".join(
                str(list(shape) if isinstance(shape, tuple) else shape) for shape in dict.fromkeys(shapes)
            )
            for name, *shapes in zip(names, *self._compiled)
            if len(set(shapes)) > 1
        ]
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        return (
            f"{self._function.__name__} was compiled {len(self._compiled)} times, once for each new shape of "
            "its arguments "
            f"({'; '.join(changed[:3])}{more}), which takes longer than a call. {_REMEDY}"
        )


def _level_of_user() -> int:
    """Return the ``stacklevel`` for a warning of the caller that names the first frame outside this package.

    Frames of generated code count as inside.
    """
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _is_internal(frame):
        frame, level = frame.f_back, level + 1
    return level


def _is_internal(frame: Any) -> bool:
    package = __name__.partition(".")[0]
    return frame.f_globals.get("__name__", "").partition(".")[
        0
    ] == package or frame.f_code.co_filename.startswith("<graph_compiler ")
