"""Listeners of a recording, which hear what its own thread does: what other threads read meanwhile is no part of the function."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar


class Listener:
    """Something that notes what is read. It belongs to the thread that made it.

    >>> listener, heard = Listener(), []
    >>> def read(): heard.extend(of_this_thread([listener]))
    >>> other = threading.Thread(target=read)
    >>> other.start(); other.join(); heard
    []
    >>> read(); heard == [listener]
    True
    """

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def hears(self) -> bool:
        """Whether the caller runs in the thread of the recording."""
        return threading.get_ident() == self._thread


_Heard = TypeVar("_Heard", bound=Listener)


def of_this_thread(listeners: Iterable[_Heard]) -> Iterator[_Heard]:
    """Those of the thread that runs."""
    return (listener for listener in tuple(listeners) if listener.hears())
