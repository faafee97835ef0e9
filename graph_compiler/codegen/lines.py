"""Line breaking of generated source."""

from __future__ import annotations

import itertools
import re

WIDTH = 120
_STRING = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'')
_START = re.compile(r"(?:return |[\w.,: ()\[\]]* = |\w+: |\w+=(?!=))?")  # what stands before an expression, with strings as words
_OPERATOR = re.compile(r" (?=(?:[-+*/@%&|^<>]|//|\*\*|<<|>>|[<>=!]=) )")
_KEPT = ("#", "raise ", "if ", "with ", "del ")  # more lines would not help to read these


def broken(line: str, indent: int = 0, end: str = "") -> list[str]:
    r"""Return a statement, or a part of one, indented by `indent` spaces, as one or more lines of at most 120
    columns. `end` follows the last one.

    The content of the brackets at the end of the line, or the whole expression in new parentheses, moves
    to lines of its own: to one line if it fits, otherwise one per part.

    >>> broken("y = f(x, 1)")
    ['y = f(x, 1)']
    >>> print(*broken(f"y = f({'a' * 50}, b=2) + g({'c' * 70}, [{'d' * 60}])"), sep="\n")  # doctest: +NORMALIZE_WHITESPACE
    y = (
        f(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, b=2)
        + g(
            cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc,
            [dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd],
        )
    )
    """
    blanks = " " * indent
    if indent + len(line) + len(end) <= WIDTH or line.startswith(_KEPT):
        return [blanks + line + end]
    masked = _STRING.sub(lambda text: "_" * len(text[0]), line)
    found = _inside(masked)
    if found is None:
        return [blanks + line + end]
    left, right = found
    opening, closing = ("(", ")") if right == len(line) else ("", line[right])
    parts, separator = _parts(line, masked, left, right)
    if indent + 4 + right - left <= WIDTH:
        parts, separator = [line[left:right]], ""
    inner = [one for part in parts for one in broken(part, indent + 4, separator)]
    return [blanks + line[:left] + opening, *inner, blanks + closing + end]


def _inside(masked: str) -> tuple[int, int] | None:
    """Return start and end of the part that can be broken: the expression, or the content of its last
    brackets. Return None if a break would change the meaning.
    """
    started = _START.match(masked)
    start = started.end() if started else 0
    commas, operators, brackets, has_slice = _outside_of_brackets(masked, start, len(masked))
    if (commas or operators) and not has_slice:
        return start, len(masked)
    if commas or operators or not brackets or brackets[-1][1] != len(masked) - 1 or brackets[-1][1] == brackets[-1][0] + 1:
        return None
    return brackets[-1][0] + 1, brackets[-1][1]


def _parts(line: str, masked: str, left: int, right: int) -> tuple[list[str], str]:
    """Return the parts between commas, or before operators, and the separator that follows each part."""
    commas, operators, *_ = _outside_of_brackets(masked, left, right)
    edges = [left, *(commas or operators), right]
    parts = [line[a:b].lstrip(",").strip() for a, b in itertools.pairwise(edges)]
    return [part for part in parts if part], "," if commas else ""


def _outside_of_brackets(masked: str, left: int, right: int) -> tuple[list[int], list[int], list[tuple[int, int]], bool]:
    """Return the positions of commas, operators and outermost bracket pairs, and whether a colon occurs."""
    depth, opened, has_slice = 0, 0, False
    commas: list[int] = []
    operators: list[int] = []
    brackets: list[tuple[int, int]] = []
    for place in range(left, right):
        character = masked[place]
        if character in "([{":
            depth, opened = depth + 1, opened if depth else place
        elif character in ")]}":
            depth -= 1
            brackets += [(opened, place)] if not depth else []
        elif not depth:
            has_slice = has_slice or character == ":"
            commas += [place] if character == "," else []
            operators += [place] if _OPERATOR.match(masked, place) else []
    return commas, operators, brackets, has_slice
