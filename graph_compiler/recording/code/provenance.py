"""Location in the user's code at which a call was made (``Locator``), taken from the running frames."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from ...ir.node import Instruction, Origin
from .error_texts import is_message
from .names import names_read, stored_names
from .ownership import owner_of, package_of
from .syntax import callee_of

# Modules of Python that call functions or copy arrays for their caller, whose line is the origin.
_PASSING = frozenset({"copy", "copyreg", "pickle", "functools", "contextlib"})


class Locator:
    """Search of the running frames for the user's line, and for the module object that is being called.

    module_call: code object of the framework's method that calls a module, whose ``self`` is the module;
        None if the framework has no modules.
    path_of: returns the path of a module in the model, or None for an unknown module.
    """

    def __init__(
        self, module_call: CodeType | None = None, path_of: Callable[[Any], str | None] = lambda module: None
    ) -> None:
        self._module_call, self._path_of = module_call, path_of
        # The keys are identities, because the hash of a code object covers all of it.
        self._is_internal: dict[int, tuple[bool, CodeType]] = {}
        self._stored: dict[tuple[int, int], tuple[tuple[str, ...], Instruction]] = {}

    def locate(self, call: str, depth: int = 2) -> Origin:
        """Return the origin of ``call``, taken from the running frames.

        The search begins ``depth`` calls outside of this method.
        """
        place: FrameType | None = None
        path: str | None = None
        frame: FrameType | None = sys._getframe(depth)
        module_call = self._module_call
        # The call of the module is mostly further out than the user's line, so the search goes on for it.
        while frame is not None and (place is None or path is None and module_call is not None):
            code = frame.f_code
            if code is module_call:
                path = self._path_of(frame.f_locals["self"]) if path is None else path
            elif place is None and not self._internal_frame(frame):
                place = frame
            frame = frame.f_back
        if place is None:
            return Origin(call=call, module=path or "")
        return Origin(
            place.f_code.co_filename,
            place.f_lineno,
            path or "",
            call,
            *self._instruction(place),
        )

    def _instruction(self, frame: FrameType) -> tuple[tuple[str, ...], Instruction]:
        code, offset = frame.f_code, frame.f_lasti
        key = id(code), offset
        if key not in self._stored:
            back = frame.f_back
            outer = None if back is None else Instruction(back.f_code, back.f_lasti)
            self._stored[key] = stored_names(code, offset, outer), Instruction(code, offset)
        return self._stored[key]

    def in_message(self) -> bool:
        return is_message(self._outer_frame())

    def current_callee(self) -> Any:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and owner_of(frame) == "own":
            frame = frame.f_back
        return None if frame is None or self._internal_frame(frame) else callee_of(frame)

    def names_read(self) -> frozenset[str]:
        frame = self._outer_frame()
        return frozenset() if frame is None else names_read(frame.f_code)

    def name_of(self, item: Any) -> str | None:
        """Return a name of ``item`` in the innermost running function that may be the user's, or None."""
        frame = self._outer_frame()
        if frame is None:
            return None
        # A module may hold the same object under a name that this function does not use.
        used = {name: frame.f_globals[name] for name in frame.f_code.co_names if name in frame.f_globals}
        spaces = (frame.f_locals, used, getattr(frame.f_locals.get("self"), "__dict__", {}))
        return next((name for space in spaces for name, held in space.items() if held is item), None)

    def _outer_frame(self) -> FrameType | None:
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and self._internal_frame(frame):
            frame = frame.f_back
        return frame

    def _internal_frame(self, frame: FrameType) -> bool:
        code = frame.f_code
        known = self._is_internal.get(id(code))
        if known is None:
            is_passing = package_of(frame.f_globals.get("__name__")) in _PASSING
            # The code is stored too, so that its id is not reused.
            known = self._is_internal[id(code)] = is_passing or owner_of(frame) in ("framework", "own"), code
        return known[0]
