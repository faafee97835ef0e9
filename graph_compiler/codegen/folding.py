"""Inlining of expressions that are used once: ``y = jnp.sum(x * 2.0)`` instead of two lines."""

from __future__ import annotations

import re

from ..ops.text import factor

LONGEST_INNER, LONGEST = 60, 96  # characters of an expression that is put into another one, and of what results
_STRING = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'')
_WORD = re.compile(r"(?<![\w.])\w+(?!\w)(?!\s*=(?!=))")  # where it stands for a value, and is no name of a keyword
_NEGATIVE = re.compile(r"(?<=[(,\[] )\((-[\w.]+)\)(?=[,)\]])|(?<=[(\[])\((-[\w.]+)\)(?=[,)\]])")


def folded(expression: str, name: str, inner: str) -> str | None:
    """Return `expression` with `inner` substituted for `name`, or None if `name` occurs more than once or the
    result is too long.

    >>> folded("jnp.sum(mul, axis=1)", "mul", "x * 2.0"), folded("mul + 1.0", "mul", "x * 2.0"), folded("mul * mul", "mul", "x + y")
    ('jnp.sum(x * 2.0, axis=1)', 'x * 2.0 + 1.0', None)
    >>> folded("1.0 / add", "add", "1.0 + lax.exp(x - y)"), folded("x - add", "add", "y + z"), folded("mul < 2", "mul", "x * y")
    ('1.0 / (1.0 + lax.exp(x - y))', 'x - (y + z)', 'x * y < 2')
    >>> folded("inverse.astype(int)", "inverse", "~mask"), folded("f(x, -mul)", "mul", "y * z"), folded("x[0] = add", "add", "y + z")
    ('(~mask).astype(int)', 'f(x, -(y * z))', 'x[0] = y + z')
    """
    if len(inner) > LONGEST_INNER or len(expression) + len(inner) - len(name) > LONGEST:
        return None
    masked = _STRING.sub(lambda text: "_" * len(text[0]), expression)
    found = [word for word in _WORD.finditer(masked) if word[0] == name]
    if len(found) != 1:
        return None
    start, end = found[0].span()
    bare = _stands_alone(masked, start, end) or _binds_more(inner, masked[:start], masked[end:])
    return expression[:start] + (inner if bare else factor(inner)) + expression[end:]


def _stands_alone(masked: str, start: int, end: int) -> bool:
    """Return True if the name is a whole argument, item or right-hand side, so no parentheses are needed."""
    before, after = masked[:start].rstrip(), masked[end:].lstrip()
    is_keyword = before.endswith("=") and before[-2:] not in ("==", "<=", ">=", "!=") and "(" in before
    opens = before.endswith(("(", "[", ",")) or is_keyword
    is_assigned = masked[:start].endswith(" = ") and not after
    return (opens and after.startswith((")", "]", ","))) or is_assigned or not (before or after)


def _binds_more(inner: str, before: str, after: str) -> bool:
    """Return True if `inner` binds more tightly than the operators on both sides."""
    own = _weakest(inner)
    sides = [_BINDS.get(side, 0) for side in (_operator_at_end(before), _operator_at_start(after.lstrip())) if side]
    return own > 0 and all(0 < side < own for side in sides)


def _weakest(expression: str) -> int:
    """Return the precedence of the weakest operator outside of brackets, or 0 if it is unknown."""
    depth, found = 0, []
    for word in _STRING.sub("_", expression).split(" "):
        if depth == 0 and word in _WORDS:
            return 0
        if depth == 0 and not word[:1].isalnum() and not word.startswith(("(", "[", "_", '"', "'")):
            found.append(_BINDS.get(word, 0))
        depth += sum(map(word.count, "([{")) - sum(map(word.count, ")]}"))
    return min(found, default=0)


def _operator_at_end(text: str) -> str:
    """Return the binary operator before an operand, `"unary"` for a sign, or an empty string."""
    before = text.rstrip()
    if not before or before.endswith(("(", "[", ",")):
        return ""
    return before.rpartition(" ")[2] if " " in before and text.endswith(" ") else "unary"


def _operator_at_start(text: str) -> str:
    return "" if not text or text.startswith((")", "]", ",")) else text.partition(" ")[0]


_WORDS = frozenset({"and", "or", "not", "if", "else", "in", "is", "lambda"})
_BINDS = {**dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), 1), "+": 5, "-": 5, "*": 6, "/": 6, "@": 6}


def tidied(expression: str) -> str:
    """Return the expression without parentheses around negative numbers that are whole arguments.

    >>> tidied("jnp.where(mask, (-1e9), x)")
    'jnp.where(mask, -1e9, x)'
    """
    return _NEGATIVE.sub(lambda match: match[1] or match[2], expression) if "(-" in expression else expression
