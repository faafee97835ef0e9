"""A random program as data: lines of Python with indented lines, and the calls that it is run with."""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

HEADER = """import math

import torch
import torch.nn.functional as F
"""
_files = 0


@dataclass(frozen=True)
class Line:
    """A line of Python and the lines of its block."""

    text: str
    body: tuple[Line, ...] = ()

    def render(self, indent: str) -> Iterator[str]:
        yield indent + self.text
        for line in self.body:
            yield from line.render(indent + "    ")


@dataclass(frozen=True)
class Call:
    """Lines that create the arguments of a call, and the text between its parentheses."""

    lines: tuple[Line, ...]
    arguments: str


@dataclass(frozen=True)
class Program:
    """A function, or the ``forward`` of a module if it has ``buffers``.

    parameters: text of the parameter list.
    result: text of the returned expression.
    calls: calls in order; the first is recorded.
    buffers: (name, text of the array) of each buffer.
    """

    parameters: str
    lines: tuple[Line, ...]
    result: str
    calls: tuple[Call, ...]
    buffers: tuple[tuple[str, str], ...] = ()

    def source(self) -> str:
        """Return a Python module with ``make()``, which creates the function or module, and ``calls``."""
        parts = [HEADER, "\n", _text(self._definition(self.result)), "\n\n"]
        for number, call in enumerate(self.calls):
            parts += [
                _text([f"def call_{number}():", *_indented(call.lines), f"    return ({call.arguments})"]),
                "\n\n",
            ]
        return "".join(
            [*parts, f"calls = [{', '.join(f'call_{number}' for number in range(len(self.calls)))}]\n"]
        )

    def _definition(self, result: str) -> list[str]:
        lines = [*_indented(self.lines), f"    return {result}"]
        if not self.buffers:
            return [
                "def make():",
                f"    def program({self.parameters}):",
                *(f"    {line}" for line in lines),
                "    return program",
            ]
        return [
            "class Model(torch.nn.Module):",
            "    def __init__(self):",
            "        super().__init__()",
            *(f'        self.register_buffer("{name}", {text})' for name, text in self.buffers),
            "",
            f"    def forward(self, {self.parameters}):",
            *(f"    {line}" for line in lines),
            "",
            "",
            "def make():",
            "    return Model()",
        ]

    def load(self) -> dict[str, Any]:
        return load(self.source())


def load(source: str) -> dict[str, Any]:
    """Execute the text of a program and return its namespace.

    The text is registered in ``linecache``, so that tracebacks and error messages show its lines.
    """
    global _files
    _files += 1
    name = f"<random program {_files}>"
    linecache.checkcache()
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"__name__": "random_program"}
    exec(compile(source, name, "exec"), scope)
    return scope


def _indented(lines: Iterable[Line]) -> list[str]:
    return [text for line in lines for text in line.render("    ")]


def _text(lines: Iterable[str]) -> str:
    return "\n".join(line.rstrip() for line in lines) + "\n"
