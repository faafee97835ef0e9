"""A framework that a loaded graph was recorded in and that is not installed: what is canonical needs nothing of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import FrameworkNotInstalled, InvalidFile


class MissingFrontend:
    """In the place of a frontend: no array is one of this framework's, and no object of it can be read or written."""

    class Stamp:
        """Of no array: nothing that is loaded has a twin in another framework."""

        def __init__(self, array: Any) -> None:
            pass

        def fits(self, array: Any) -> bool:
            """Never."""
            return False

    saved = watching = None  # there is no original to compare with
    where_parameters_are = ""
    refuses_outside = False  # as far as is known: axes without elements stay as they are

    def __init__(self, name: str, problem: FrameworkNotInstalled) -> None:
        self.name, self._problem = name, problem
        self.array_access = self.files = self.reference = self

    def __getattr__(self, name: str) -> Any:
        raise FrameworkNotInstalled(f"this needs the framework that the graph was recorded in: {self._problem}")

    def is_own(self, item: Any) -> bool:
        """No."""
        return False

    def spell(self, item: Any) -> str | None:
        """None."""
        return None

    def read(self, text: str) -> Any:
        """Raises ``InvalidFile``."""
        raise InvalidFile(f"it holds {text!r:.80}, an object of {self.name}: {self._problem}")

    def row_key(self, op: str) -> str:
        """Raises ``InvalidFile``."""
        raise InvalidFile(f"it holds {op!r:.80}, a call of {self.name}: {self._problem}")

    @contextmanager
    def unrecorded(self) -> Iterator[None]:
        """Nothing is recorded."""
        yield
