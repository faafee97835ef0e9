"""Reduction of a failing random program: remove lines, calls and returned values as long as it still fails."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from .program import Line, Program


def reduced(program: Program, fails: Callable[[Program], bool]) -> Program:
    """Return a program that ``fails``, but not without any one of its lines, calls or returned values."""
    smaller = next((candidate for candidate in _candidates(program) if fails(candidate)), None)
    return program if smaller is None else reduced(smaller, fails)


def _candidates(program: Program) -> Iterator[Program]:
    for number in range(len(program.calls) - 1, -1, -1):
        if len(program.calls) > 1:
            yield replace(program, calls=program.calls[:number] + program.calls[number + 1 :])
    for lines in _without_one(program.lines):
        yield replace(program, lines=lines)
    yield from (replace(program, result=name) for name in _names(program) if name != program.result)
    yield from _with_another_name(program)
    if program.buffers:
        yield replace(program, buffers=())


def _without_one(lines: tuple[Line, ...]) -> Iterator[tuple[Line, ...]]:
    """Yield the lines without one of them, with a block replaced by its body, and with a smaller body."""
    for i in range(len(lines) - 1, -1, -1):
        before, line, after = lines[:i], lines[i], lines[i + 1 :]
        yield before + after
        if line.body:
            yield before + line.body + after
            yield from (
                before + (replace(line, body=body),) + after for body in _without_one(line.body) if body
            )


def _with_another_name(program: Program) -> Iterator[Program]:
    """Yield programs without one assignment, whose name is replaced by one that was assigned before."""
    parameters = [text.partition("=")[0].strip() for text in program.parameters.split(",")]
    for i in range(len(program.lines) - 1, -1, -1):
        name = program.lines[i].text.partition(" = ")[0]
        if name.isidentifier() and not program.lines[i].body:
            for other in dict.fromkeys([*parameters, *_assigned(program.lines[:i])]):
                after = [_renamed(line, name, other) for line in program.lines[i + 1 :]]
                yield replace(
                    program,
                    lines=(*program.lines[:i], *after),
                    result=re.sub(rf"\b{name}\b", other, program.result),
                )


def _renamed(line: Line, name: str, other: str) -> Line:
    return Line(
        re.sub(rf"\b{name}\b", other, line.text), tuple(_renamed(inner, name, other) for inner in line.body)
    )


def _assigned(lines: tuple[Line, ...]) -> list[str]:
    names = [line.text.partition(" = ")[0] for line in lines if " = " in line.text and not line.body]
    return [name for name in names if name.isidentifier()]


def _names(program: Program) -> list[str]:
    """Return the names that could be returned alone, the simplest first."""
    return (
        ["None", *dict.fromkeys(_assigned(program.lines)[::-1])]
        if len(program.result) > 1 and program.result != "None"
        else []
    )
