"""Pieces of source text that print as themselves, also inside tuples, lists and f-strings with ``!r``."""

from __future__ import annotations

import ast
import functools
import math
import struct
from collections.abc import Callable
from typing import Any

from ..sizes import Size, Symbol


class Text(str):
    """Source text whose ``repr`` is the text itself.

    >>> f"x.reshape({(Text('n'), 4)})"
    'x.reshape((n, 4))'
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExternalName(Text):
    """Name of an array that the block being written does not compute, such as an argument."""

    __slots__ = ()


_COMPOUND = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda)


@functools.lru_cache(maxsize=4096)
def factor(text: str) -> str:
    """Return the expression ``text``, in parentheses if it has an operator outside of brackets.

    Binary operators must be surrounded by spaces.

    >>> factor("(n + 1) // 2 + m"), factor("(n + 1)"), factor("-2"), factor("f(n, 1)")
    ('((n + 1) // 2 + m)', '(n + 1)', '(-2)', 'f(n, 1)')
    >>> factor("~mask.astype(bool)")
    '(~mask.astype(bool))'
    """
    # Generated operators are surrounded by spaces, so other texts need no parentheses.
    if " " not in text and not text.startswith(("-", "~", "+")):
        return text
    body = ast.parse(text, mode="eval").body
    return f"({text})" if isinstance(body, _COMPOUND) and body.col_offset == 0 else text


def literal(item: Any, symbol_text: Callable[[Symbol], str]) -> Any:
    """Convert a size, or a non-finite ``float`` or ``complex``, to :class:`Text`; return others unchanged.

    ``symbol_text`` returns the text of a symbol of a size.

    >>> literal(-math.inf, str), literal(1, str)
    (-math.inf, 1)
    """
    if isinstance(item, Size):
        return Text(item.text(symbol_text))
    # ``repr`` of such a number, such as ``inf``, is no Python literal.
    if isinstance(item, float) and not math.isfinite(item):
        return Text("math.nan" if math.isnan(item) else "math.inf" if item > 0 else "-math.inf")
    if isinstance(item, complex) and not (math.isfinite(item.real) and math.isfinite(item.imag)):
        return Text(f"complex({literal(item.real, symbol_text)!r}, {literal(item.imag, symbol_text)!r})")
    return item


# The largest finite value of float32.
_LARGEST = float.fromhex("0x1.fffffep+127")


def shortest_in_float32(number: float) -> float:
    """Round ``number`` to the fewest significant digits, at most 9, that float32 rounds back to ``number``.

    Return ``number`` itself if there are none, for example because float32 does not have it.

    >>> shortest_in_float32(9.999999747378752e-06), shortest_in_float32(0.1)
    (1e-05, 0.1)
    """
    texts = (float(f"{number:.{digits}g}") for digits in range(1, 10))
    # torch refuses numbers beyond the largest one, even if they are rounded to it.
    return next((text for text in texts if abs(text) <= _LARGEST and _in_float32(text) == number), number)


def _in_float32(number: float) -> float:
    return float(struct.unpack("f", struct.pack("f", number))[0])


def index_text(index: Any) -> str:
    """Return the source text of a recorded index, as between the brackets of ``x[...]``.

    >>> index_text((slice(None, 3), Ellipsis)), index_text((0,))
    (':3, ...', '0,')
    """
    if isinstance(index, tuple) and index:
        return ", ".join(map(_part, index)) + ("," if len(index) == 1 else "")
    return _part(index)


def _part(part: Any) -> str:
    if isinstance(part, slice):
        start, stop, step = (
            "" if item is None else repr(item) for item in (part.start, part.stop, part.step)
        )
        return f"{start}:{stop}" + (f":{step}" if step else "")
    return "..." if part is Ellipsis else repr(part)
