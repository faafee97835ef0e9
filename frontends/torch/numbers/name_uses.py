"""What the functions of a file do with the names of Python's classes, from its syntax."""

from __future__ import annotations

import ast
import functools
import tokenize
from collections.abc import Iterator
from typing import Any

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_ASK = frozenset({"isinstance", "issubclass"})
_BY_KEY = frozenset({"max", "min", "sorted"})


@functools.lru_cache(maxsize=256)
def only_called(file: str, names: tuple[str, ...]) -> frozenset[str]:
    """Which of the names the functions of a file call, and use in no other way but to ask (``isinstance(x, int)``), to map or to sort by; none where it cannot be read."""
    tree = _parsed(file, tuple(f"{name}(" for name in names))
    harmless = {id(node) for node in _harmless(tree)}
    used = [node for function in ast.walk(tree) if isinstance(function, _FUNCTIONS) for node in _names_in(function)]
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    return frozenset(called & {*names} - {name for name, node in used if id(node) not in harmless})


@functools.lru_cache(maxsize=256)
def handed_on(file: str, name: str) -> frozenset[int]:
    """The first lines of the functions of a file that do with this name something else than to call it and to ask ``isinstance``."""
    tree = _parsed(file, (name,))
    harmless = {id(node) for node in _harmless(tree)}
    return frozenset(
        min([function.lineno, *(one.lineno for one in getattr(function, "decorator_list", ()))])
        for function in ast.walk(tree)
        if isinstance(function, _FUNCTIONS)
        and any(used == name and isinstance(node, ast.Name) and id(node) not in harmless for used, node in _names_in(function))
    )


def _parsed(file: str, texts: tuple[str, ...]) -> ast.Module:
    """The syntax of a file; nothing where it cannot be read, or has none of these texts and need not be."""
    try:
        with tokenize.open(file) as source:
            text = source.read()
        return ast.parse(text) if any(one in text for one in texts) else ast.Module([], [])
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])


def _names_in(function: Any) -> Iterator[tuple[str, ast.AST]]:
    """The names in the body of a function, which runs when it is called, and where they stand."""
    for part in function.body if isinstance(function.body, list) else [function.body]:
        for node in ast.walk(part):
            if isinstance(node, ast.Name):
                yield node.id, node
            elif isinstance(node, _FUNCTIONS):
                yield from ((argument.arg, argument) for argument in ast.walk(node.args) if isinstance(argument, ast.arg))
    yield from ((argument.arg, argument) for argument in ast.walk(function.args) if isinstance(argument, ast.arg))


def _harmless(tree: ast.Module) -> Iterator[ast.AST]:
    """Where something else may stand for the class: what calls it, and what is never evaluated."""
    texts = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)  # annotations stay texts
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _of_call(node)
        else:
            yield from _annotated(node, texts)


def _annotated(node: Any, texts: bool) -> Iterator[ast.AST]:
    """The annotation of a variable of a function; where annotations are ``texts``, those of arguments and results, too."""
    kinds = (ast.AnnAssign, ast.arg, ast.FunctionDef, ast.AsyncFunctionDef) if texts else (ast.AnnAssign,)
    annotation = (node.returns if isinstance(node, _FUNCTIONS) else node.annotation) if isinstance(node, kinds) else None
    if annotation is not None:
        yield from ast.walk(annotation)


def _of_call(call: ast.Call) -> Iterator[ast.AST]:
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
