"""Record of what a run exercises: lowering rows, lifting rules, passes that changed a graph, kinds of guards.

The tables and passes are wrapped before the first test, so that the names come from what runs. A run of
the whole selection fails if something that exists was not exercised.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

TARGETS = ("torch", "jax", "tensorflow", "numpy")
# Return annotations of passes over graphs, and of functions that make passes.
_TUPLE, _PASS = (
    "tuple[Graph, bool]",
    "GraphPass",
)

# Rules for what only newer versions of a framework have: name -> (module, attribute that these have).
SINCE = {
    "lift jax log2_p": ("jax.lax", "log2_p"),
    "lift jax one_minus_square_p": ("jax.lax", "one_minus_square_p"),
}

found: set[str] = set()
"""The names of what was exercised in this process."""


def install() -> None:
    """Wrap the tables and passes of the package, so that ``found`` collects the names of what runs."""
    _note_lowering()
    _note_lifting()
    _note_passes()
    _note_guards()


def everything() -> set[str]:
    """Return the names of everything that a run of the selection has to exercise."""
    return {*_lowering_rows(), *_lifting_rules(), *(f"pass {name}" for name in _passes()), *_guard_kinds()}


# ---------------------------------------------------------------------------------------------- lowering
def _note_lowering() -> None:
    table = importlib.import_module("graph_compiler.backends.common.rows").Rows
    expression, structure = table.expression, table.structure

    @functools.wraps(expression)
    def noted(self: Any, name: str, *args: Any) -> str:
        found.add(f"lower {self.framework} {name}")
        return expression(self, name, *args)

    @functools.wraps(structure)
    def structured(self: Any, writers: Any) -> None:
        structure(
            self,
            {name: _noting(f"lower {self.framework} {name}", writer) for name, writer in writers.items()},
        )

    table.expression, table.structure = noted, structured


def _lowering_rows() -> Iterator[str]:
    for target in TARGETS:
        rows = importlib.import_module(f"graph_compiler.backends.{target}").rows
        yield from (f"lower {target} {name}" for name in rows.names())


# ---------------------------------------------------------------------------------------------- lifting
def _note_lifting() -> None:
    table = importlib.import_module("graph_compiler.frontends.common.lifter").LiftingTable
    get = table.get

    @functools.wraps(get)
    def noted(self: Any, name: str) -> Any:
        row = get(self, name)
        if row is not None:
            found.add(f"lift {self.framework} {_rule(self, row)}")
        return row

    table.get = noted


def _rule(table: Any, row: Any) -> str:
    """Return the first of the names under which a lifting rule is registered."""
    names: dict[int, str] = table.__dict__.setdefault("_first_names", {})
    if len(names) == 0 or id(row) not in names:
        names.update((id(each), name) for name, each in reversed(table._rows.items()))
    return names[id(row)]


def _lifting_rules() -> Iterator[str]:
    for framework in TARGETS:
        # The import fills the table.
        importlib.import_module(f"graph_compiler.frontends.{framework}.lifting.driver")
        rows = importlib.import_module(f"graph_compiler.frontends.{framework}.lifting.table").rows
        names = {f"lift {framework} {_rule(rows, row)}" for row in rows._rows.values()}
        yield from {name for name in names if name not in SINCE or _has(*SINCE[name])}


def _has(module: str, name: str) -> bool:
    return hasattr(importlib.import_module(module), name)


# ---------------------------------------------------------------------------------------------- passes
def _passes() -> dict[str, Any]:
    """Return the passes in ``graph_compiler.passes`` by name, including functions that create passes."""
    package = importlib.import_module("graph_compiler.passes")
    return {name: item for name, item in vars(package).items() if _is_pass(package, item)}


def _is_pass(package: Any, item: Any) -> bool:
    if isinstance(item, types.FunctionType):
        return item.__annotations__.get("return") in (_TUPLE, _PASS)
    return isinstance(item, package.Pass)


def _note_passes() -> None:
    package = importlib.import_module("graph_compiler.passes")
    run = package.Pass.on
    names = {id(item): name for name, item in _passes().items()}

    @functools.wraps(run)
    def noted(self: Any, block: Any) -> Any:
        made = run(self, block)
        if made is not block:
            found.add(f"pass {names.get(id(self), self.name)}")
        return made

    package.Pass.on = noted
    for name, item in _passes().items():
        if isinstance(item, types.FunctionType):
            _replace(item, _changing(name, item))


def _changing(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a pass, or a function that creates passes, so that ``found`` gets ``name`` whenever a graph is
    changed.
    """
    makes_a_pass = function.__annotations__["return"] == _PASS

    @functools.wraps(function)
    def noted(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if makes_a_pass:
            return _of_made(name, result)
        if result[1]:
            found.add(f"pass {name}")
        return result

    return noted


def _of_made(name: str, made: Any) -> Any:
    if not isinstance(made, types.FunctionType):
        return made

    @functools.wraps(made)
    def noted(graph: Any) -> Any:
        result = made(graph)
        if result[1]:
            found.add(f"pass {name}")
        return result

    return noted


def _replace(old: Any, new: Any) -> None:
    """Replace ``old`` by ``new`` in every module of the package that has imported it."""
    for module in [
        module for name, module in sys.modules.items() if name.partition(".")[0] == "graph_compiler"
    ]:
        for name, item in list(vars(module).items()):
            if item is old:
                setattr(module, name, new)


# ---------------------------------------------------------------------------------------------- guards
def _kinds() -> dict[str, type]:
    kinds: dict[str, type] = importlib.import_module("graph_compiler.assumptions").KINDS
    return kinds


def _guard_kinds() -> Iterator[str]:
    yield from (f"guard {name}" for name in _kinds())


def _note_guards() -> None:
    for name, kind in _kinds().items():
        kind.lines = _noting(f"guard {name}", inspect.getattr_static(kind, "lines"))  # type: ignore[attr-defined]


def _noting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def noted(*args: Any, **kwargs: Any) -> Any:
        found.add(name)
        return function(*args, **kwargs)

    return noted
