"""Exit codes and error messages of commands."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from enum import IntEnum
from typing import Any, TypeVar

import typer

from .. import errors
from ..recording.code.ownership import owner_of_file
from ..runtime.boundary import as_internal_error
from ..runtime.saving.pieces import discard_partial

Command = TypeVar("Command", bound=Callable[..., Any])


class Exit(IntEnum):
    """Exit codes of the commands."""

    DONE = 0
    # The user's program raised an exception, or this one has a bug.
    FAILED = 1
    # An option, source, file or input is invalid.
    WRONG_INPUT = 2
    # Another error of this package: for example, the program cannot be converted, or a call matches no
    # recorded variant.
    REFUSED = 3
    # The results of the graph and of the original differ.
    DIFFERS = 4
    # A package is not installed or does not work.
    MISSING = 5
    INTERRUPTED = 130


CODES = """Exit codes: 0 done; 1 the program that was given raised an exception; 2 wrong input;
3 cannot be converted, or fits no recorded variant; 4 the graph gives other numbers than the original;
5 a package is missing or does not work; 130 interrupted."""

# The first class that fits decides.
_CODES: tuple[tuple[type[BaseException], Exit], ...] = (
    (errors.InternalError, Exit.FAILED),
    (errors.VerificationFailed, Exit.DIFFERS),
    (errors.FrameworkNotInstalled, Exit.MISSING),
    (errors.InvalidFile, Exit.WRONG_INPUT),
    (errors.InvalidOption, Exit.WRONG_INPUT),
    (errors.UnknownFramework, Exit.WRONG_INPUT),
    (errors.SourceNotFound, Exit.WRONG_INPUT),
    (errors.NotCompilable, Exit.WRONG_INPUT),
    (errors.CallMismatch, Exit.WRONG_INPUT),
    (errors.GraphCompilerError, Exit.REFUSED),
    (KeyboardInterrupt, Exit.INTERRUPTED),
    (BaseException, Exit.FAILED),
)


class WrongInput(errors.GraphCompilerError):
    """Error for an invalid option, source, file or input of a command."""


def code_of(problem: BaseException) -> Exit:
    if isinstance(problem, WrongInput):
        return Exit.WRONG_INPUT
    return next(code for kind, code in _CODES if isinstance(problem, kind))


def line_of(problem: BaseException) -> str:
    if isinstance(problem, KeyboardInterrupt):
        return "interrupted"
    if isinstance(problem, errors.GraphCompilerError):
        return str(problem)
    place = _place_of(problem)
    text = next(iter(str(problem).strip().splitlines()), "")
    return f"{place}{type(problem).__name__}{f': {text}' if text else ''}"


def _place_of(problem: BaseException) -> str:
    frames = [
        frame
        for frame in traceback.extract_tb(problem.__traceback__)
        if owner_of_file(frame.filename) == "user"
    ]
    frames = [frame for frame in frames if not frame.filename.startswith("<")]
    return f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""


def ending(command: Command) -> Command:
    """Decorate a command: print its result with ``--json``, report errors, and end with an exit code.

    A nonzero ``"exit"`` in a dict that the command returns is the exit code.
    """

    @functools.wraps(command)
    def ended(*args: Any, json_output: bool = False, debug: bool = False, **options: Any) -> None:
        out = sys.stdout
        try:
            # The user's code may print, which would corrupt the JSON.
            with contextlib.redirect_stdout(sys.stderr) if json_output else contextlib.nullcontext():
                found = command(*args, json_output=json_output, debug=debug, **options)
        except (typer.Exit, typer.Abort):
            raise
        # Whatever else ends a command is reported and determines the exit code, except for the two below.
        except BaseException as problem:
            if isinstance(problem, (SystemExit, GeneratorExit)):
                raise
            if debug:
                traceback.print_exc()
            if isinstance(problem, Exception):
                problem = as_internal_error(problem, command.__name__)
            raise typer.Exit(_report(problem, json_output, out)) from None
        if json_output:
            out.write(f"{json.dumps(found, indent=2)}\n")
        code = found.get("exit", 0) if isinstance(found, dict) else 0
        if code:
            raise typer.Exit(code)

    return ended  # type: ignore[return-value]


def _report(problem: BaseException, json_output: bool, out: Any) -> int:
    code, line = code_of(problem), line_of(problem)
    if json_output:
        found = {
            "error": type(problem).__name__,
            "message": line,
            "problems": list(getattr(problem, "problems", ())),
            "exit": int(code),
        }
        out.write(f"{json.dumps(found, indent=2)}\n")
    else:
        sys.stderr.write(f"graph-compiler: {line}\n")
    return int(code)


# Time for the main thread to end by itself.
SECONDS = 1.0


def end_when_interrupted() -> None:
    """Start a thread that ends the process after an interrupt.

    Do nothing outside of the main thread, and if SIGINT has another handler than Python's default one.
    """
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        # A program that calls this one, or a shell that runs it in the background, handles signals itself.
        return
    # Python raises ``KeyboardInterrupt`` only in the main thread, and only between two bytecode
    # instructions. A framework that compiles in C++ delays it, and a callback, a finaliser or a bare
    # ``except`` of any library drops it.
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    # The C part of Python's signal handler writes to this socket at once, even while no Python code can run.
    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    threading.Thread(
        target=_watch, args=(reader, writer), name="graph_compiler interrupts", daemon=True
    ).start()


def exit_interrupted() -> None:
    """End the process with exit code 130, after removing unfinished files of saved graphs.

    Python's cleanup is skipped, because it may need seconds to release objects of the frameworks.
    """
    discard_partial()
    for stream in (sys.stdout, sys.stderr):
        # The stream may be None, closed, or a pipe without a reader.
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.flush()
    os._exit(Exit.INTERRUPTED)


def _watch(reader: socket.socket, writer: socket.socket) -> None:
    while signal.SIGINT not in reader.recv(64):
        pass
    # Nothing ends this wait early: the main thread ends the process, and so this thread.
    threading.Event().wait(SECONDS)
    with contextlib.suppress(AttributeError, ValueError, OSError):
        sys.stderr.write("graph-compiler: interrupted\n")
    exit_interrupted()
