"""Progress display on stderr for slow operations, in a terminal or notebook.

``GRAPH_COMPILER_PROGRESS=0`` disables it.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from ..recording.lock import stage
from .variant import Variant

# Duration of a conversion after which it is displayed.
SECONDS = 2.0
_REDRAW_SECONDS = 0.2
# Only one thread draws at a time.
_drawing_lock = threading.Lock()


def is_watched() -> bool:
    if os.environ.get("GRAPH_COMPILER_PROGRESS") == "0" or sys.stderr is None:
        return False
    try:
        return sys.stderr.isatty() or "ipykernel" in sys.modules
    except ValueError:
        # ``isatty`` of a closed stream raises.
        return False


@contextmanager
def show_conversion(name: str, after: float = SECONDS) -> Iterator[None]:
    try:
        with show_progress(f"Converting {name}", stage.__str__, after):
            yield
    finally:
        stage.end()


def recording_message(name: str, source: str, known: int, most: int, variant: Variant, seconds: float) -> str:
    what = "recorded again" if known else f"recorded in {source} and written for {variant.target.name}"
    count = f"variant {known + 1} of at most {most}, {variant.source.count(chr(10)):,} lines, {seconds:.2f} s"
    return f"{name} {what} ({count}): {variant.why}"


class show_progress:
    """Context manager that displays ``title`` and ``doing()`` during slow work in a terminal or notebook."""

    def __init__(self, title: str, doing: Callable[[], str] = str, after: float = 1.0) -> None:
        self._title, self._doing, self._after = title, doing, after
        self._thread: threading.Thread | None = None
        self._is_drawing = False

    def __enter__(self) -> show_progress:
        if is_watched():
            self._ended = threading.Event()
            self._thread = threading.Thread(target=self._watch, name="graph_compiler progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is not None:
            self._ended.set()
            # The drawing must be removed before the next line is written.
            if self._is_drawing:
                self._thread.join()

    def _watch(self) -> None:
        # Nothing is drawn for quick work, or while another thread draws.
        if self._ended.wait(self._after) or not _drawing_lock.acquire(blocking=False):
            return
        self._is_drawing = True
        try:
            self._draw(time.monotonic() - self._after)
        finally:
            _drawing_lock.release()

    def _draw(self, started: float) -> None:
        with _rich_line() if _has_rich() else _plain_line() as show:
            while not self._ended.is_set():
                doing = self._doing()
                show(f"{self._title}{f': {doing}' if doing else ''}  {time.monotonic() - started:.0f} s")
                self._ended.wait(_REDRAW_SECONDS)


def _has_rich() -> bool:
    return importlib.util.find_spec("rich") is not None


@contextmanager
def _rich_line() -> Iterator[Callable[[str], Any]]:
    from rich.console import Console
    from rich.live import Live
    from rich.spinner import Spinner

    spinner = Spinner("dots")
    options: Any = {
        "auto_refresh": False,
        "transient": True,
        "redirect_stdout": False,
        "redirect_stderr": False,
    }
    with Live(spinner, console=Console(stderr=True), **options) as live:

        def show(text: str) -> None:
            spinner.update(text=text)
            live.refresh()

        yield show


@contextmanager
def _plain_line() -> Iterator[Callable[[str], Any]]:
    def show(text: str) -> None:
        sys.stderr.write(f"\r{text}\x1b[K")
        sys.stderr.flush()

    try:
        yield show
    finally:
        show("")
