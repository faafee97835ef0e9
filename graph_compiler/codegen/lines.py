"""Text operations on the lines of generated source: inlining of expressions and line breaks."""

from __future__ import annotations

import itertools
import re

from ..ops.text import factor

# Limits in characters of an expression that is inlined, and of the result.
LONGEST_INNER, LONGEST = 60, 96
_STRING = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'')
# Names of values, without attributes and keywords.
_WORD = re.compile(r"(?<![\w.])\w+(?!\w)(?!\s*=(?!=))")
_STRING_OR_NEGATIVE = re.compile(
    rf"{_STRING.pattern}|(?<=[(,\[] )\((-[\w.]+)\)(?=[,)\]])|(?<=[(\[])\((-[\w.]+)\)(?=[,)\]])"
)


def inline_expression(expression: str, name: str, inner: str) -> str | None:
    """Return ``expression`` with ``inner`` in place of ``name``, or None if it is not inlined.

    >>> inline_expression("jnp.sum(mul, axis=1)", "mul", "x * 2.0")
    'jnp.sum(x * 2.0, axis=1)'
    >>> inline_expression("mul + 1.0", "mul", "x * 2.0")
    'x * 2.0 + 1.0'
    >>> inline_expression("mul * mul", "mul", "x + y")
    >>> inline_expression("1.0 / add", "add", "1.0 + lax.exp(x - y)")
    '1.0 / (1.0 + lax.exp(x - y))'
    >>> inline_expression("x - add", "add", "y + z")
    'x - (y + z)'
    >>> inline_expression("mul < 2", "mul", "x * y")
    'x * y < 2'
    >>> inline_expression("inverse.astype(int)", "inverse", "~mask")
    '(~mask).astype(int)'
    >>> inline_expression("f(x, -mul)", "mul", "y * z")
    'f(x, -(y * z))'
    >>> inline_expression("x[0] = add", "add", "y + z")
    'x[0] = y + z'
    """
    if len(inner) > LONGEST_INNER or len(expression) + len(inner) - len(name) > LONGEST:
        return None
    # Words and brackets in strings must not count, and positions must stay.
    masked = _STRING.sub(lambda text: "_" * len(text[0]), expression)
    found = [word for word in _WORD.finditer(masked) if word[0] == name]
    if len(found) != 1:
        return None
    start, end = found[0].span()
    bare = _stands_alone(masked, start, end) or _binds_more(inner, masked[:start], masked[end:])
    return expression[:start] + (inner if bare else factor(inner)) + expression[end:]


def _stands_alone(masked: str, start: int, end: int) -> bool:
    before, after = masked[:start].rstrip(), masked[end:].lstrip()
    is_keyword = before.endswith("=") and before[-2:] not in ("==", "<=", ">=", "!=") and "(" in before
    opens = before.endswith(("(", "[", ",")) or is_keyword
    is_assigned = masked[:start].endswith(" = ") and not after
    return (opens and after.startswith((")", "]", ","))) or is_assigned or not (before or after)


def _binds_more(inner: str, before: str, after: str) -> bool:
    own = _lowest_precedence(inner)
    sides = [
        _BINDS.get(side, 0) for side in (_operator_at_end(before), _operator_at_start(after.lstrip())) if side
    ]
    # Operators of equal precedence need the parentheses: ``x - (y + z)`` is not ``x - y + z``.
    return own > 0 and all(0 < side < own for side in sides)


def _lowest_precedence(expression: str) -> int:
    depth, found = 0, []
    for word in _STRING.sub("_", expression).split(" "):
        if depth == 0 and word in _WORDS:
            return 0
        if depth == 0 and not word[:1].isalnum() and not word.startswith(("(", "[", "_", '"', "'")):
            found.append(_BINDS.get(word, 0))
        depth += sum(map(word.count, "([{")) - sum(map(word.count, ")]}"))
    return min(found, default=0)


def _operator_at_end(text: str) -> str:
    before = text.rstrip()
    if not before or before.endswith(("(", "[", ",")):
        return ""
    return before.rpartition(" ")[2] if " " in before and text.endswith(" ") else "unary"


def _operator_at_start(text: str) -> str:
    return "" if not text or text.startswith((")", "]", ",")) else text.partition(" ")[0]


_WORDS = frozenset({"and", "or", "not", "if", "else", "in", "is", "lambda"})
_BINDS = {**dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), 1), "+": 5, "-": 5, "*": 6, "/": 6, "@": 6}


def remove_parentheses(expression: str) -> str:
    """Remove some needless parentheses around negative numbers and names.

    >>> remove_parentheses("jnp.where(mask, (-1e9), x)")
    'jnp.where(mask, -1e9, x)'
    >>> remove_parentheses('parameters["[(-1)]"]')
    'parameters["[(-1)]"]'
    """
    if "(-" not in expression:
        return expression
    # Strings are matched as well, and kept, so that nothing inside of them is.
    return _STRING_OR_NEGATIVE.sub(lambda match: match[1] or match[2] or match[0], expression)


WIDTH = 120
# The part of a statement before its expression, with strings masked as words.
_START = re.compile(r"(?:return |[\w.,: ()\[\]]* = |\w+: |\w+=(?!=))?")
_OPERATOR = re.compile(r" (?=(?:[-+*/@%&|^<>]|//|\*\*|<<|>>|[<>=!]=) )")
# Breaking these statements would not make them more readable.
_UNBROKEN = ("#", "raise ", "if ", "with ", "del ")


def break_line(line: str, indent: int = 0, end: str = "") -> list[str]:
    r"""Return the lines of a statement or a part of one, which may be broken if it exceeds 120 columns.

    The first and last lines are indented by ``indent`` spaces, and ``end`` follows the last line.

    >>> break_line("y = f(x, 1)")
    ['y = f(x, 1)']
    >>> lines = break_line(f"y = f({'a' * 50}, b=2) + g({'c' * 70}, [{'d' * 60}])")
    >>> print(*lines, sep="\n")  # doctest: +NORMALIZE_WHITESPACE
    y = (
        f(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, b=2)
        + g(
            cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc,
            [dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd],
        )
    )
    """
    blanks = " " * indent
    if indent + len(line) + len(end) <= WIDTH or line.startswith(_UNBROKEN):
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
    inner = [one for part in parts for one in break_line(part, indent + 4, separator)]
    return [blanks + line[:left] + opening, *inner, blanks + closing + end]


def _inside(masked: str) -> tuple[int, int] | None:
    started = _START.match(masked)
    start = started.end() if started else 0
    commas, operators, brackets, has_slice = _outside_of_brackets(masked, start, len(masked))
    if (commas or operators) and not has_slice:
        return start, len(masked)
    if (
        commas
        or operators
        or not brackets
        or brackets[-1][1] != len(masked) - 1
        or brackets[-1][1] == brackets[-1][0] + 1
    ):
        return None
    return brackets[-1][0] + 1, brackets[-1][1]


def _parts(line: str, masked: str, left: int, right: int) -> tuple[list[str], str]:
    commas, operators, *_ = _outside_of_brackets(masked, left, right)
    edges = [left, *(commas or operators), right]
    parts = [line[a:b].lstrip(",").strip() for a, b in itertools.pairwise(edges)]
    return [part for part in parts if part], "," if commas else ""


def _outside_of_brackets(
    masked: str, left: int, right: int
) -> tuple[list[int], list[int], list[tuple[int, int]], bool]:
    """Return the positions of commas, operators and pairs of brackets that are not in brackets.

    The last result is True if a colon is there, too.
    """
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
