"""What the functions of a file do with the names of Python's classes, from its syntax."""

from __future__ import annotations

import ast
import builtins
import functools
import linecache
from collections.abc import Iterator
from typing import Any, NamedTuple

_NAMES = frozenset(vars(builtins))
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_ASK = frozenset({"isinstance", "issubclass"})
_BY_KEY = frozenset({"max", "min", "sorted"})


class _Use(NamedTuple):
    """Where a file has one of the names: ``inside`` are the first lines of the functions around it whose bodies it stands in."""

    name: str
    inside: tuple[int, ...]
    is_called: bool = False
    is_harmless: bool = False
    is_argument: bool = False


def only_called(file: str, names: tuple[str, ...]) -> frozenset[str]:
    """Which of the names the functions of a file call, and use in no other way but to ask (``isinstance(x, int)``), to map or to sort by;
    none where it cannot be read."""
    uses = [use for use in _uses(file) if use.name in names]
    return frozenset({use.name for use in uses if use.is_called} - {use.name for use in uses if use.inside and not use.is_harmless})


def handed_on(file: str, name: str) -> frozenset[int]:
    """The first lines of the functions of a file that do with this name something else than to call it and to ask ``isinstance``."""
    uses = (use for use in _uses(file) if use.name == name and not use.is_harmless and not use.is_argument)
    return frozenset(line for use in uses for line in use.inside)


@functools.lru_cache(maxsize=256)
def _uses(file: str) -> tuple[_Use, ...]:
    """Those of Python's own names; nothing where there is no text. That of the cell of a notebook is kept by ``linecache``."""
    try:
        return tuple(_uses_in(ast.parse("".join(linecache.getlines(file)))))
    except (SyntaxError, ValueError):
        return ()


def _uses_in(tree: ast.Module) -> Iterator[_Use]:
    texts = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)  # annotations stay texts
    called: set[int] = set()
    harmless: set[int] = set()
    to_see: list[tuple[Any, tuple[int, ...]]] = [(tree, ())]
    while to_see:
        node, inside = to_see.pop()
        if isinstance(node, ast.Name) and node.id in _NAMES:
            yield _Use(node.id, inside, id(node) in called, id(node) in harmless)
        elif isinstance(node, ast.Call):
            called.add(id(node.func))
            harmless.update(map(id, _of_call(node)))
        else:
            harmless.update(map(id, _annotated(node, texts)))
        if isinstance(node, _FUNCTIONS):
            within = (*inside, _first_line(node))
            yield from (_Use(name, within, is_argument=True) for name in _arguments(node.args) if name in _NAMES)
            to_see += [(part, within) for part in (node.body if isinstance(node.body, list) else [node.body])]
            to_see += [(part, inside) for part in (node.args, *getattr(node, "decorator_list", ()), getattr(node, "returns", None)) if part]
        else:
            to_see += [(part, inside) for part in ast.iter_child_nodes(node)]


def _first_line(function: Any) -> int:
    """As code objects have it."""
    first: int = min([function.lineno, *(one.lineno for one in getattr(function, "decorator_list", ()))])
    return first


def _arguments(arguments: ast.arguments) -> Iterator[str]:
    several = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    yield from (one.arg for one in several if one)


def _annotated(node: Any, texts: bool) -> Iterator[ast.AST]:
    """Where something else may stand for the class, for it is never evaluated: the annotation of a variable of a function; where
    annotations are ``texts``, those of arguments and results, too."""
    kinds = (ast.AnnAssign, ast.arg, ast.FunctionDef, ast.AsyncFunctionDef) if texts else (ast.AnnAssign,)
    annotation = (node.returns if isinstance(node, _FUNCTIONS) else node.annotation) if isinstance(node, kinds) else None
    if annotation is not None:
        yield from ast.walk(annotation)


def _of_call(call: ast.Call) -> Iterator[ast.AST]:
    """Where something else that can be called may stand for the class."""
    yield call.func
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    if name == "map":
        yield from call.args[:1]
    if name in _BY_KEY:
        yield from (keyword.value for keyword in call.keywords if keyword.arg == "key")
    if name in _ASK:
        yield from _classes(call.args[-1]) if call.args else ()


def _classes(node: ast.AST) -> Iterator[ast.AST]:
    """The classes of ``isinstance(x, (int, float))`` and ``isinstance(x, int | float)``."""
    yield node
    for part in node.elts if isinstance(node, ast.Tuple) else (node.left, node.right) if isinstance(node, ast.BinOp) else ():
        yield from _classes(part)
