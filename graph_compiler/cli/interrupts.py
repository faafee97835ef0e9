"""Termination of the process within a second of Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading

from ..runtime.piecewise import discard_partial
from .exits import Exit

SECONDS = 1.0  # that the main thread has to end by itself


def end_when_interrupted() -> None:
    """Start a thread that ends the process if the main thread has not done so within ``SECONDS`` of an interrupt.

    Python raises ``KeyboardInterrupt`` in the main thread, and only between two of its own instructions. A framework that compiles in C++
    delays it, and a callback, a finaliser or a bare ``except`` of any library drops it.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return  # A program that calls this one, or the shell that has put it in the background, decides about signals.
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reader, writer), name="graph_compiler interrupts", daemon=True).start()


def exit_interrupted() -> None:
    """End the process immediately, without the seconds that Python needs to release the objects of
    frameworks.
    """
    discard_partial()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError, OSError):  # None, closed, or a pipe that nobody reads
            stream.flush()
    os._exit(Exit.INTERRUPTED)


def _watch(reader: socket.socket, writer: socket.socket) -> None:
    """Wait for SIGINT on `reader`, then end the process after `SECONDS`. `writer` is only kept open."""
    while signal.SIGINT not in reader.recv(64):
        pass
    # Nothing ends this wait: the main thread ends the process, and so this thread.
    threading.Event().wait(SECONDS)
    with contextlib.suppress(AttributeError, ValueError, OSError):
        sys.stderr.write("graph-compiler: interrupted\n")
    exit_interrupted()
