"""The smallest program that still fails: lines, calls and arguments are left out, one after the other, as long as the failure stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from .program import Line, Program


def reduced(program: Program, fails: Callable[[Program], bool]) -> Program:
    """A program of which no line, call or returned value can be left out; ``fails`` tells whether the failure is still there."""
    smaller = next((candidate for candidate in _candidates(program) if fails(candidate)), None)
    return program if smaller is None else reduced(smaller, fails)


def _candidates(program: Program) -> Iterator[Program]:
    for number in range(len(program.calls) - 1, -1, -1):
        if len(program.calls) > 1:
            yield replace(program, calls=program.calls[:number] + program.calls[number + 1 :])
    for lines in _without_one(program.lines):
        yield replace(program, lines=lines)
    yield from (replace(program, result=name) for name in _names(program) if name != program.result)
    if program.buffers:
        yield replace(program, buffers=())


def _without_one(lines: tuple[Line, ...]) -> Iterator[tuple[Line, ...]]:
    """The lines without one of them, or with a block replaced by its body, or with a shorter body."""
    for i in range(len(lines) - 1, -1, -1):
        before, line, after = lines[:i], lines[i], lines[i + 1 :]
        yield before + after
        if line.body:
            yield before + line.body + after
            yield from (before + (replace(line, body=body),) + after for body in _without_one(line.body) if body)


def _names(program: Program) -> list[str]:
    """What could be returned alone, the simplest first."""
    assigned = [line.text.partition(" = ")[0] for line in program.lines if " = " in line.text]
    simple = [name for name in assigned if name.isidentifier()]
    return ["None", *dict.fromkeys(simple[::-1])] if len(program.result) > 1 and program.result != "None" else []
