"""A traced graph that notes where in the user's code each of its operations is made."""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Any

from tensorflow.python.framework.func_graph import FuncGraph
from tensorflow.python.util import tf_stack

from ...forwarding import forwards
from .folders import is_users

_WRITTEN_ANEW = "__autograph_generated_file"  # TensorFlow knows which lines of the user's these stand for
Line = tuple[str, int]


class NotingGraph(FuncGraph):
    """A traced graph whose operations have one stack of calls, that of the trace: to take the stack of each, and to look through it
    afterwards, is a tenth of a conversion. What the errors of a recording tell is the user's line, which is noted instead.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.lines: dict[int, Line] = {}  # of the user's, by the identity of the operation that was made there
        self._stack = tf_stack.extract_stack()
        self._noting = 0  # the thread that makes an operation whose line is noted

    # TensorFlow takes its own frames out of the traceback of what it raises here for a call of the user's code.
    @forwards
    def _create_op_internal(self, *args: Any, **kwargs: Any) -> Any:
        line = _users_line()
        if line is None:
            return super()._create_op_internal(*args, **kwargs)
        before, self._noting = self._noting, threading.get_ident()
        try:
            operation = super()._create_op_internal(*args, **kwargs)
        finally:
            self._noting = before
        self.lines[id(operation)] = line
        return operation

    def place(self) -> tuple[Any, str, Any]:
        """What stands for TensorFlow's own look at the stack while this graph is made."""
        before = tf_stack.extract_stack

        def extract_stack(stacklevel: int = 1) -> Any:
            return self._stack if self._noting == threading.get_ident() else before(stacklevel + 1)

        return tf_stack, "extract_stack", extract_stack


def _users_line() -> Line | None:
    """The innermost line of the user's that runs; None where there is none, or it was written anew by AutoGraph."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return None if frame is None or _WRITTEN_ANEW in frame.f_code.co_filename else (frame.f_code.co_filename, frame.f_lineno)
