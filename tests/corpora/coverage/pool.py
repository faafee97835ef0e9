"""Worker processes for the cases of a corpus, so that a case that hangs or crashes does not affect the
others.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.environment import variables

from .corpora import CORPORA
from .outcome import CRASHED, TIMEOUT

Record = dict[str, Any]
ROOT = Path(__file__).resolve().parents[3]
# Compiled programs and modules accumulate in a process.
CASES_A_PROCESS = 60


class Worker:
    """A process that judges cases one after the other.

    It is replaced after a time-out, a crash, or 60 cases.
    """

    def __init__(self, corpus: str, seconds: float | None = None) -> None:
        self.command = [sys.executable, "-m", "tests.corpora.coverage.worker", corpus]
        self.environment = {**os.environ, **variables(), **CORPORA[corpus].environment}
        self.seconds = CORPORA[corpus].seconds if seconds is None else seconds
        self.process: subprocess.Popen[str] | None = None
        self.done = 0

    def judge(self, name: str, target: str) -> Record:
        """Return the record of one case. If the process hangs or ends, the status says so."""
        process = self._running()
        lines: queue.Queue[str] = queue.Queue()
        assert process.stdin is not None and process.stdout is not None
        # The next read notices a dead process.
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(f"{json.dumps([name, target])}\n")
            process.stdin.flush()
        threading.Thread(target=lambda: lines.put(process.stdout.readline()), daemon=True).start()  # type: ignore[union-attr]
        try:
            line = lines.get(timeout=self.seconds)
        except queue.Empty:
            self.stop()
            return {
                "name": name,
                "status": TIMEOUT,
                "detail": f"more than {self.seconds:g} s",
                "facts": {},
                "seconds": self.seconds,
            }
        if not line:
            code = process.wait()
            self.stop()
            return {
                "name": name,
                "status": CRASHED,
                "detail": f"the process ended with {code}",
                "facts": {},
                "seconds": 0.0,
            }
        record: Record = json.loads(line)
        return record

    def _running(self) -> subprocess.Popen[str]:
        self.done += 1
        if self.process is not None and self.done % CASES_A_PROCESS == 0:
            self.stop()
        if self.process is None:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                cwd=ROOT,
                env=self.environment,
            )
            assert self.process.stdout is not None
            while (line := self.process.stdout.readline()) and line != "ready\n":
                pass
        return self.process

    def stop(self) -> None:
        """Kill the process and wait for it."""
        if self.process is not None:
            self.process.kill()
            with contextlib.suppress(BrokenPipeError), self.process:
                # Leaving the block closes the pipes and waits for the process.
                pass
            self.process = None


def run(
    corpus: str, cases: Mapping[str, Sequence[str]], workers: int, keep: Callable[[Record, str], None]
) -> None:
    """Judge all cases with ``workers`` processes, and call ``keep(record, target)`` for each result as it
    arrives.

    The targets of a case run one after another in the same process, because a corpus may share work
    between them.
    """
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    for name in cases:
        waiting.put(name)
    lock = threading.Lock()

    def work() -> None:
        worker = Worker(corpus)
        try:
            while not waiting.empty():
                name = waiting.get_nowait()
                for target in cases[name]:
                    record = worker.judge(name, target)
                    with lock:
                        keep(record, target)
        except queue.Empty:
            pass
        finally:
            worker.stop()

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
