"""A page in headless Chromium, controlled through the pipe of the DevTools protocol, without a package or a
port.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

CHROMIUM = next(
    filter(
        None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"))
    ),
    None,
)
_OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--window-size=1400,900", "--remote-debugging-pipe")  # fmt: skip
_SECONDS = 60
# Chromium reads commands from file descriptor 3 and answers on 4.
_LAUNCH = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execvp(sys.argv[3], sys.argv[3:])"


class Page:
    """Context manager that opens ``file`` in Chromium with the profile directory ``folder`` and kills
    Chromium at the end.

    problems: errors that the page has logged or not caught.
    requests: addresses that the page has requested.
    """

    def __init__(self, file: Path, folder: Path) -> None:
        assert CHROMIUM is not None
        commands, answers = os.pipe(), os.pipe()
        self._write, self._read = os.fdopen(commands[1], "wb", 0), os.fdopen(answers[0], "rb", 0)
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                _LAUNCH,
                *map(str, (commands[0], answers[1])),
                CHROMIUM,
                *_OPTIONS,
                f"--user-data-dir={folder}",
                "about:blank",
            ],
            pass_fds=(commands[0], answers[1]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands[0])
        os.close(answers[1])
        self._left, self._number, self._session = b"", 0, ""
        self.problems: list[str] = []
        self.requests: list[str] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.ask("Page.navigate", url=file.as_uri())

    def __enter__(self) -> Page:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._write.close()
        self._read.close()

    def ask(self, method: str, **params: Any) -> Any:
        """Send a command and return its result. Events that arrive first are recorded.

        Raise ``AssertionError`` if Chromium answers with an error or exits.
        """
        self._number += 1
        session = {"sessionId": self._session} if self._session else {}
        self._write.write(
            json.dumps({"id": self._number, "method": method, "params": params, **session}).encode() + b"\0"
        )
        while (message := self._message()).get("id") != self._number:
            self._note(message)
        assert "error" not in message, message["error"]
        return message["result"]

    def evaluate(self, expression: str) -> Any:
        """Return the JSON value of a JavaScript expression, or raise ``AssertionError`` if it throws."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, expression: str) -> Any:
        """Return the value of a JavaScript expression once it is truthy.

        Exceptions count as false, since the page may be loading. Raise ``AssertionError`` after 60
        seconds.
        """
        end = time.monotonic() + _SECONDS
        # The page may be loading.
        attempt = f"(() => {{ try {{ return {expression}; }} catch {{ return null; }} }})()"
        while not (found := self.evaluate(attempt)):
            assert time.monotonic() < end, f"{expression} did not come true; {self.problems}"
            time.sleep(0.02)
        return found

    def click(self, selector: str) -> None:
        """Press and release the left mouse button on the first element that matches ``selector``."""
        box = self.evaluate(
            "(r => [r.x + Math.min(r.width, 60) / 2, r.y + Math.min(r.height, 20) / "
            f"2])(document.querySelector({selector!r}).getBoundingClientRect())"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def type(self, text: str) -> None:
        """Insert ``text`` at the focus."""
        self.ask("Input.insertText", text=text)

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.ask(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode={"Enter": 13}.get(key, 0),
            )

    def _message(self) -> Any:
        while b"\0" not in self._left:
            got = self._read.read(1 << 20)
            assert got, "Chromium ended"
            self._left += got
        message, self._left = self._left.split(b"\0", 1)
        return json.loads(message)

    def _note(self, event: Any) -> None:
        params = event.get("params", {})
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        if (
            event.get("method") == "Runtime.exceptionThrown"
            or params.get("entry", {}).get("level") == "error"
        ):
            self.problems.append(json.dumps(params)[:2000])
