"""Writes a graph as the text of one flat Python function.

What the operations look like is the *dialect's* business: it turns a node into the text of an expression. This module
lays out the rest: header, imports, helpers, names, sizes, guards, ``del`` after the last use of large values, and the result.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType, FunctionType, ModuleType
from typing import Any, Protocol

from ..ir.graph import Graph, Guard
from ..ir.node import Node, Origin, Value, values_in
from ..naming import Namespace
from ..ops.dtypes import ITEMSIZE
from ..ops.text import Given, Text, literal
from ..sizes import Size, Symbol, product
from ..trees import iterate_structure, map_structure
from .lines import broken
from .results import ResultText, result_text
from .standing_alone import GUARD_FAILED, portable

_SYMBOL_NAMES = {"size": "dim", "stride": "stride"}
_SPELLED = (bool, int, float, complex, str, bytes, slice, type(Ellipsis))
_DELETED_FROM_BYTES = 1 << 16  # memory that is free is taken again while the processor's caches hold it
_STRING = re.compile(r'"""[\s\S]*?"""|"[^"\n]*"|\'[^\'\n]*\'')
_IDENTIFIER = re.compile(r"(?<![\w.\"'])[A-Za-z_]\w*")


class Dialect(Protocol):
    """How the nodes of a graph are written: by a backend's lowering rows, or as the calls that were recorded."""

    imports: Mapping[str, str]  # name in the source -> import line
    prelude: ModuleType | None  # helpers; those that are used are copied into the source

    def decorators(self, graph: Graph) -> tuple[str, ...]:
        """Lines that stand above the function."""

    def expression(self, node: Node, text: Callable[[Any], Any]) -> str:
        """The expression for a node; ``text`` turns nested arguments into literals and names."""

    def size(self, array: str, symbol: Symbol) -> str:
        """The expression that reads a size of ``array``."""

    def sizes(self, array: str) -> str:
        """The expression that reads all sizes of ``array``."""

    def context(self, node: Node) -> str:
        """The ``with`` context that a node's line must stand in, or an empty text."""

    def spell(self, item: Any) -> str | None:
        """Text for an object that has no literal, or None where it has to be bound to a name."""


@dataclass(frozen=True)
class Program:
    """Source text of a function, and what must be bound for it to run.

    ``origins`` tell, in order, at which line of the text the line of a recorded call begins, and where the call was made.
    ``arguments`` are the leading arguments that are no user inputs (``"parameters"``, ``"constants"``), ``globals`` objects
    that the text refers to but cannot spell, ``checks`` the guards whose values the function returns beside its result.
    """

    source: str
    name: str
    arguments: tuple[str, ...]
    input_names: tuple[str, ...]
    globals: dict[str, Any] = field(default_factory=dict)
    checks: tuple[Guard, ...] = ()
    origins: tuple[tuple[int, Origin], ...] = ()


def write(graph: Graph, dialect: Dialect, header: str) -> Program:
    """The program text of ``graph``."""
    return _Writer(graph, dialect).program(header)


class _Writer:
    def __init__(self, graph: Graph, dialect: Dialect) -> None:
        self.graph, self.dialect = graph, dialect
        helpers = [name for name in vars(dialect.prelude) if not name.startswith("__")] if dialect.prelude else []
        always = [*dialect.imports, "parameters", "constants", "math", "GuardFailed"]
        self.own = Namespace(reserved=always).unique(graph.name)  # a helper of this name is in the way only where it is used
        self.names = Namespace(reserved=[*always, *helpers, self.own])
        self.text: dict[Value, str] = {}
        self.symbols: dict[Symbol, str] = {}
        self.lines: list[str] = []
        self.globals: dict[str, Any] = {}
        self.last_use = _last_uses(graph)
        self.wishes = {effect.value: effect.target for effect in graph.effects if effect.kind == "buffer"}  # state is called as its buffer
        self.inner_guards: dict[Value, list[tuple[Guard, Size]]] = {}
        for guard, condition in graph.inner_guards():
            for symbol in condition.symbols():
                self.inner_guards.setdefault(symbol.source, []).append((guard, condition))
        self.module = ""
        self.context = ""
        self.origins: list[tuple[int, Origin]] = []  # by the place in ``lines``

    def program(self, header: str) -> Program:
        graph = self.graph
        for value in graph.inputs:
            self.text[value] = self.names.unique(value.name)
        self._name_held("parameters", graph.parameters)
        self._name_held("constants", {name: value for name, (value, _) in graph.constants.items()})
        self._read_input_sizes()
        reads = len(self.lines)
        self._guards_on(graph.sources())
        for node in graph.nodes:
            self._node(node)
        result = result_text(graph, self._literal, self.names)
        checks = tuple(guard for guard in graph.guards if isinstance(guard.condition, Value))
        self._return(result, checks)
        leading = tuple(name for name, held in (("parameters", graph.parameters), ("constants", graph.constants)) if held)
        inputs = tuple(self.text[value] for value in graph.inputs)
        lines = [_laid_out(line) for line in _needed(self.lines[:reads], self.lines[reads:])]
        body = "\n".join(lines)
        helpers = _helpers(self.dialect.prelude, body)
        name = self.names.lasting(self.own) if self.own in {helper.__name__ for helper in helpers} else self.own
        head = [*self.dialect.decorators(graph), *broken(f"def {name}({', '.join([*leading, *inputs])}):")]
        source = self._module(header, "\n".join([*head, body, ""]), helpers, result)
        return Program(source, name, leading, inputs, {**self.globals, **result.globals}, checks, self._origins(source, lines))

    def _origins(self, source: str, lines: list[str]) -> tuple[tuple[int, Origin], ...]:
        """Counted from the end, where the function ends: of its first lines some were left out of ``lines``."""
        after = [0, *itertools.accumulate(line.count("\n") + 1 for line in reversed(lines))]
        end, last = source.count("\n") + 1, len(self.lines)
        return tuple((end - after[last - place], origin) for place, origin in self.origins)

    # ------------------------------------------------------------------------------ names
    def _name_held(self, holder: str, held: Mapping[str, Value]) -> None:
        for name, value in held.items():
            self.text[value] = f"{holder}[{_quoted(name)}]"

    def _read_input_sizes(self) -> None:
        inputs = set(self.graph.inputs)
        wanted: dict[Value, dict[int, Symbol]] = {}
        for symbol in _symbols(self.graph):
            if symbol.source in inputs and symbol.kind == "size":
                wanted.setdefault(symbol.source, {})[symbol.axis] = symbol
        for value, axes in wanted.items():
            for axis in sorted(axes):
                self.symbols[axes[axis]] = self.names.unique(f"{self.text[value]}_dim{axis}")
            if len(axes) == value.ndim:
                names = ", ".join(self.symbols[axes[axis]] for axis in sorted(axes))
                self.lines.append(f"{names}{',' if value.ndim == 1 else ''} = {self.dialect.sizes(self.text[value])}")
            else:
                self.lines += [f"{self.symbols[axes[a]]} = {self.dialect.size(self.text[value], axes[a])}" for a in sorted(axes)]

    def _symbol(self, symbol: Symbol) -> str:
        if symbol.kind in ("item", "number"):
            return self.text[symbol.source]
        if symbol not in self.symbols:
            array = self.text[symbol.source]
            self.symbols[symbol] = self.names.unique(
                f"{symbol.source.name if self.graph.maker(symbol.source) is None else array}_{_SYMBOL_NAMES[symbol.kind]}{symbol.axis}"
            )
            self.lines.append(f"{self.symbols[symbol]} = {self.dialect.size(array, symbol)}")
        return self.symbols[symbol]

    def _literal(self, structure: Any) -> Any:
        return literal(map_structure(self._spelled, structure), self._symbol)

    def _spelled(self, item: Any) -> Any:
        if isinstance(item, Value):
            return (Given if self.graph.maker(item) is None else Text)(self.text[item])
        if item is None or isinstance(item, (*_SPELLED, Size)):
            return item
        text = self.dialect.spell(item)
        return Text(text if text is not None else self._bound(item))

    def _bound(self, item: Any) -> str:
        """A name for an object that no text can spell."""
        for name, known in self.globals.items():
            if known is item:
                return name
        name = self.names.lasting(f"{type(item).__name__.lower()}_object")
        self.globals[name] = item
        return name

    # ------------------------------------------------------------------------------ lines
    def _node(self, node: Node) -> None:
        if node.origin.module != self.module:
            self.module = node.origin.module
            self.lines += ["", f"# {self.module}"] if self.module else [""]
        before = len(self.lines)
        expression = self.dialect.expression(node, self._literal)
        self._open(self.dialect.context(node), continues=len(self.lines) == before)
        gone = self._release_after(node)
        unused = {value for value in self.last_use.get(node, ()) if value in node.outputs} if len(node.outputs) > 1 else ()
        for value in node.outputs:
            self.text[value] = "_" if value in unused else self.names.unique(self.wishes.get(value, value.name))
        targets = self._targets(node)
        self.origins.append((len(self.lines), node.origin))
        self.lines.append(("    " if self.context else "") + (f"{targets} = {expression}" if targets else expression))
        before = len(self.lines)
        self._guards_on(node.outputs)
        self._delete(node, gone)
        if len(self.lines) != before:
            self.context = ""

    def _open(self, context: str, continues: bool) -> None:
        """Opens the ``with`` block of the next line, unless that line continues the open one."""
        if context and not (continues and context == self.context):
            self.lines.append(f"with {context}:")
        self.context = context

    def _targets(self, node: Node) -> str:
        """What a node's result is assigned to: a name, or names in the structure that the call returns."""
        if not node.outputs or node.result is None:
            return ", ".join(self.text[value] for value in node.outputs)
        made = set(node.outputs)

        def name(part: Any) -> str:
            if isinstance(part, (tuple, list)):
                return f"({', '.join(map(name, part))}{',' if len(part) == 1 else ''})"
            return self.text[part] if isinstance(part, Value) and part in made else "_"

        text = name(node.result)
        return text[1:-1] if text.startswith("(") else text

    def _guards_on(self, made: Iterable[Value]) -> None:
        """Checks the guards that the values just made are the last part of."""
        pending = [pair for value in made for pair in self.inner_guards.get(value, ())]
        for guard, condition in {id(pair): pair for pair in pending}.values():
            if all(symbol.source in self.text for symbol in condition.symbols()):
                self.lines.append(f"if not ({self._literal(guard.condition)!r}):")
                self.lines.append(f'    raise GuardFailed("{self._plain(guard)}")')

    def _plain(self, guard: Guard) -> str:
        return f"{self._literal(guard.condition)!r}, assumed by {portable(guard.origin)}".replace("\\", "/").replace('"', "'")

    def _release_after(self, node: Node) -> list[Value]:
        """The values that nothing needs after this node. Their names may be used again, which frees their memory."""
        gone = [value for value in self.last_use.get(node, ()) if self.graph.maker(value) is not None and value not in node.outputs]
        for value in gone:
            self.names.release(self.text[value])
        return gone

    def _delete(self, node: Node, gone: list[Value]) -> None:
        """``del`` for large values that are needed no more and whose names the node's outputs did not take."""
        taken = {self.text[value] for value in node.outputs}
        large = [self.text[value] for value in gone if _bytes(value) >= _DELETED_FROM_BYTES]
        if names := [name for name in large if name not in taken]:
            self.lines.append(f"del {', '.join(names)}")

    def _return(self, result: ResultText, checks: tuple[Guard, ...]) -> None:
        effects = [self.text[effect.value] for effect in self.graph.effects]
        parts = [result.text]
        for extra in (effects, [self.text[guard.condition] for guard in checks if isinstance(guard.condition, Value)]):
            if effects or checks:
                parts.append(f"({', '.join(extra)}{',' if len(extra) == 1 else ''})")
        if self.module:
            self.lines.append("")
        self.lines.append(f"return {', '.join(parts)}")

    # ------------------------------------------------------------------------------ the whole text
    def _module(self, header: str, function: str, helpers: list[FunctionType], result: ResultText) -> str:
        used = {*_identifiers(function), *(name for helper in helpers for name in _used_by(helper))}
        imports = [line for name, line in self.dialect.imports.items() if name in used]
        if "math" in used:
            imports.insert(0, "import math")
        imports = _merged([*imports, *result.imports])
        blocks = [
            f'"""{header.strip()}\n"""',
            "\n".join(imports),
            GUARD_FAILED if "GuardFailed" in used else "",
            *(_source_of(helper).strip("\n") for helper in helpers),
            function,
        ]
        return "\n\n\n".join(block for block in blocks if block).replace('"""\n\n\n', '"""\n\n', 1)


def _merged(imports: Iterable[str]) -> list[str]:
    """Import lines, with one line for all that comes from a module.

    >>> _merged(["import math", "from jax import lax", "from jax import nn", "from jax import lax"])
    ['import math', 'from jax import lax, nn']
    """
    names: dict[str, dict[str, None]] = {}
    for line in imports:
        start, _, name = line.rpartition(" import ")
        names.setdefault(start or line, {}).update({name: None} if start else {})
    return [f"{start} import {', '.join(found)}" if found else start for start, found in names.items()]


def _needed(reads: list[str], lines: list[str]) -> list[str]:
    """The lines, with those before them that read sizes which they use after all."""
    used = set(_identifiers("\n".join(lines)))
    kept = [line for line in reads if used.intersection(_identifiers(line.partition(" = ")[0]))]
    return [*kept, *lines] if kept or lines[0] else lines[1:]


def _laid_out(line: str) -> str:
    """A line as it stands in a function, as several where it is too long."""
    return "\n".join(broken(line.lstrip(), 4 + len(line) - len(line.lstrip()))) if line else ""


def _quoted(name: str) -> str:
    """In double quotes, where that takes nothing but these."""
    plain = repr(name)
    return f'"{name}"' if plain == f"'{name}'" and '"' not in name else plain


def _identifiers(text: str) -> list[str]:
    """The names that a piece of source uses, those in its strings left out."""
    return _IDENTIFIER.findall(_STRING.sub('""', text))


def _helpers(prelude: ModuleType | None, function: str) -> list[FunctionType]:
    """The prelude's functions that the text uses, those that they use first."""
    if prelude is None:
        return []
    found: dict[str, FunctionType] = {}
    rooms = prelude.__name__.rsplit(".", 2)[0]  # helpers that several preludes share stand beside the backends

    def visit(names: Iterable[str]) -> None:
        for name in names:
            helper = getattr(prelude, name, None)
            if name not in found and isinstance(helper, FunctionType) and helper.__module__.startswith(rooms):
                found[name] = helper
                visit(_used_by(helper))
                del found[name]
                found[name] = helper

    visit(dict.fromkeys(_identifiers(function)))
    return list(found.values())


@functools.cache  # of the functions of preludes, which are few
def _source_of(helper: FunctionType) -> str:
    return inspect.getsource(helper)


@functools.cache
def _used_by(helper: FunctionType) -> tuple[str, ...]:
    """The names that the source of a helper uses, each once: not those of its own arguments and variables."""
    codes = list(_codes_in(helper.__code__))
    own = {name for code in codes for name in (*code.co_varnames, *code.co_cellvars)} - {name for code in codes for name in code.co_names}
    return tuple(name for name in dict.fromkeys(_identifiers(_source_of(helper))) if name not in own)


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes_in(constant)


def _symbols(graph: Graph) -> Iterable[Symbol]:
    structures: list[Any] = [graph.outputs, *((node.inputs, node.params) for node in graph.nodes)]
    structures += [condition for _, condition in graph.inner_guards()]
    for item in iterate_structure(structures):
        if isinstance(item, Size):
            yield from item.symbols()


def _last_uses(graph: Graph) -> dict[Node, list[Value]]:
    """node -> the values that nothing needs after it."""
    needed = set(graph.roots())
    last: dict[Value, Node] = {}
    for node in graph.nodes:
        last.update((value, node) for value in (*node.outputs, *node.uses))
    found: dict[Node, list[Value]] = {}
    for value, node in last.items():
        if value not in needed:
            found.setdefault(node, []).append(value)
    return found


def _bytes(value: Value) -> int:
    return int(product(value.spec.hints)) * ITEMSIZE.get(value.dtype, 8)


__all__ = ["Dialect", "Program", "values_in", "write"]
