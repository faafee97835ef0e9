"""Functions that give something else each time, and that nothing can ask beforehand: they are refused while the user's code is recorded."""

from __future__ import annotations

import functools
import os
import secrets
import sys
import uuid
from typing import Any

from ..errors import TracingError
from ..tracing import active
from .askers import user_of

_ROWS: dict[Any, tuple[str, ...]] = {
    os: ("urandom",),
    uuid: ("uuid1", "uuid4"),
    secrets: ("token_bytes", "token_hex", "token_urlsafe", "randbelow", "randbits", "choice"),
}


def _refusing(owner: Any, name: str) -> Any:
    original = vars(owner)[name]

    @functools.wraps(original)
    def refused(*args: Any, **kwargs: Any) -> Any:
        frame = user_of(sys._getframe(1)) if active.recording else None
        if frame is None:
            return original(*args, **kwargs)
        raise TracingError(
            f"{owner.__name__}.{name} at {frame.f_code.co_filename}:{frame.f_lineno} gives something else at each call, and would become a constant. "
            "Pass what it gives as an argument"
        )

    return refused


FLEETING = tuple((owner, name, _refusing(owner, name)) for owner, names in _ROWS.items() for name in names)
