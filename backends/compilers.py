"""What the compiler of a framework is told by its user."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from ..errors import InvalidOption, nearest


def check_compiler_options(name: str, compiler: Callable[..., Any], options: Iterable[str]) -> None:
    """``InvalidOption`` for the first option that a compiler does not take.

    >>> check_compiler_options("sorted", sorted, ["reversed"])
    Traceback (most recent call last):
    graph_compiler.errors.InvalidOption: compile_options= has 'reversed', which sorted does not take; did you mean 'reverse'? It takes key, reverse
    """
    _function, *known = inspect.signature(compiler).parameters
    for option in options:
        if option not in known:
            raise InvalidOption(
                f"compile_options= has {option!r}, which {name} does not take{nearest(option, known)} It takes {', '.join(known)}"
            )
