"""A random program as data: lines of Python with what is indented below them, and the calls it is run with."""

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
    """One line of Python, with the lines indented below it."""

    text: str
    body: tuple[Line, ...] = ()

    def render(self, indent: str) -> Iterator[str]:
        """The line and what is below it as text."""
        yield indent + self.text
        for line in self.body:
            yield from line.render(indent + "    ")


@dataclass(frozen=True)
class Call:
    """Lines that make the arguments, and the text between the parentheses of the call."""

    lines: tuple[Line, ...]
    arguments: str


@dataclass(frozen=True)
class Program:
    """A function, or the ``forward`` of a module where it has ``buffers``.

    ``parameters`` is the text of the signature, ``buffers`` are (name, text of the array), ``result`` the
    text of what is returned, and ``calls`` are made one after the other; the first is recorded.
    """

    parameters: str
    lines: tuple[Line, ...]
    result: str
    calls: tuple[Call, ...]
    buffers: tuple[tuple[str, str], ...] = ()

    def source(self) -> str:
        """The whole program as a Python module with ``make()`` and ``calls``."""
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
        """The names that the module defines; its lines show in tracebacks and in the messages of errors."""
        return load(self.source())


def load(source: str) -> dict[str, Any]:
    """Runs the text of a program as a module of its own."""
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
