"""Writer of a graph as the source of a flat Python function (``write``), and its loader (``load``).

The *dialect* turns a node into the text of an expression. This package lays out the rest: header, imports,
helpers, names, sizes, guards, ``del`` after the last use of large values, and the result.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import linecache
import re
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any

from .. import errors
from ..contracts import Dialect
from ..errors import FrameworkNotInstalled
from ..ir.graph import Graph, Guard
from ..ir.node import Origin, Value, values_in
from ..naming import Namespace
from ..sizes import Size, Symbol
from ..trees import Leaf, making
from .layers import HELPER, Stack, indexed_weights_by_block, quoted, stacks_of
from .lines import break_line
from .results import MAKERS, ResultText, result_text
from .scope import BlockWriter, SharedState

_STRING = re.compile(r'"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'')
_IDENTIFIER = re.compile(r"(?<![\w.\"'])[A-Za-z_]\w*")
# Classes of errors that generated source defines for itself. Where a graph runs it, they are those of
# ``graph_compiler.errors``.
ERRORS = {
    "GuardFailed": """\
class GuardFailed(ValueError):
    \"""A condition that the recording relied on does not hold for this call.\"""\
""",
    "GradientRefused": """\
class GradientRefused(RuntimeError):
    \"""A gradient was taken of what has none.\"""\
""",
}


@dataclass(frozen=True)
class Program:
    """Source of a function, and the objects that must be bound for it to run.

    source: text of the module.
    name: name of the function.
    arguments: leading arguments that are not inputs of the user's function (``"parameters"``,
        ``"constants"``).
    input_names: names of the other arguments.
    globals: objects that the source refers to, by name.
    checks: guards on elements. The function returns the elements last.
    origins: pairs of a line of the source and the location of a recorded call that is written there.
    inner_origins: the same for nodes in regions, for guards, and for the last line of a node with regions.
    stacks: weights that the source reads stacked.
    """

    source: str
    name: str
    arguments: tuple[str, ...]
    input_names: tuple[str, ...]
    globals: dict[str, Any] = field(default_factory=dict)
    checks: tuple[Guard, ...] = ()
    origins: tuple[tuple[int, Origin], ...] = ()
    inner_origins: tuple[tuple[int, Origin], ...] = ()
    stacks: tuple[Stack, ...] = ()

    @property
    def whole(self) -> str | None:
        return None if self.globals else self.source


def write(graph: Graph, dialect: Dialect, header: str, target: Dialect | None = None) -> Program:
    """Return the program of ``graph`` in ``dialect``, with ``header`` as the docstring of its module.

    ``target`` writes operations with regions, and has the prelude if ``dialect`` only names helpers.
    """
    return _Writer(graph, dialect, target or dialect).program(header)


class _Writer:
    def __init__(self, graph: Graph, dialect: Dialect, target: Dialect) -> None:
        self.graph, self.dialect, self.imports = graph, dialect, dialect.imports
        prelude = dialect.prelude
        if isinstance(prelude, tuple):
            self.prelude, self.helpers = target.prelude, frozenset(prelude)
            self.imports = {**target.imports, **dialect.imports}
        else:
            self.prelude, self.helpers = prelude, _names_of(prelude)
        always = [*self.imports, "parameters", "constants", "math", *ERRORS, *MAKERS]
        # A helper of this name conflicts only if it is used, which is known later.
        self.own = Namespace(reserved=always).unique(graph.name)
        self.names = Namespace(reserved=[*always, *self.helpers, self.own])
        self.shared = SharedState(
            dialect, target.structured, self.names, reserved=(*always, *self.helpers, self.own)
        )
        self.shared.indexed_weights = (
            indexed_weights_by_block(graph) if graph.parameters or graph.constants else {}
        )
        # Only targets that loop over layers have the helper that reads stacked weights.
        self.shared.stacks = stacks_of(graph) if graph.parameters and HELPER in self.helpers else {}
        self.scope = BlockWriter(self.shared, graph.nodes, graph.block.outputs, assignable=graph.inputs)
        for effect in graph.effects:
            # The new value of a buffer gets the name of the buffer.
            if effect.kind == "buffer":
                self.scope.preferred_names[effect.value] = effect.target
        self.inner_guards: dict[Value, list[tuple[Guard, Size]]] = {}
        for guard, condition in graph.inner_guards():
            for source in dict.fromkeys(symbol.source for symbol in condition.symbols()):
                self.inner_guards.setdefault(source, []).append((guard, condition))

    def program(self, header: str) -> Program:
        graph, scope = self.graph, self.scope
        for value in graph.inputs:
            scope.text[value] = self.names.unique(value.name)
        if graph.parameters:
            self._name_held("parameters", graph.parameters)
        if graph.constants:
            self._name_held("constants", {name: value for name, (value, _) in graph.constants.items()})
        if self.inner_guards:
            self._guards_on(graph.sources())
        scope.write(self._guards_on if self.inner_guards else None)
        checks = tuple(guard for guard in graph.guards if isinstance(guard.condition, Value))
        is_array = isinstance(graph.output_tree, Leaf) and not checks and not graph.effects
        result = (
            ResultText(scope.results(graph.outputs)[0])
            if is_array
            else result_text(graph, scope.literal, self.names)
        )
        self._return(result, checks)
        leading = tuple(
            name for name, held in (("parameters", graph.parameters), ("constants", graph.constants)) if held
        )
        inputs = tuple(map(scope.text.__getitem__, graph.inputs))
        # Which sizes are read is known only now, because inlining and the writers of regions drop lines.
        reads = self._lines_of_sizes()
        own_lines = scope.lines.texts if reads or scope.lines.texts[0] else scope.lines.texts[1:]
        lines = list(map(_break_line, [*reads, *own_lines]))
        body = "\n".join(lines)
        definitions = self.shared.definitions.texts()
        helpers = _helpers(self.prelude, "\n".join([*definitions, body]), self.helpers)
        helpers += _helpers(making, "\n".join(maker.__name__ for maker in result.makers))
        name = (
            self.names.lasting(self.own) if self.own in {helper.__name__ for helper in helpers} else self.own
        )
        head = [
            *self.dialect.decorators(graph),
            *break_line(f"def {name}({', '.join([*leading, *inputs])}):"),
        ]
        source = self._module(header, [*definitions, "\n".join([*head, body, ""])], helpers, result)
        bound = {**scope.shared.globals, **result.globals}
        own = self._origins(source, lines, scope.lines.origins)
        inner = (
            *self.shared.definitions.origins_in(source),
            *self._origins(source, lines, scope.lines.inner_origins),
        )
        stacks = tuple(dict.fromkeys(self.shared.stacks.values()))
        return Program(source, name, leading, inputs, bound, checks, own, inner, stacks)

    def _origins(
        self, source: str, lines: list[str], origins: list[tuple[int, Origin]]
    ) -> tuple[tuple[int, Origin], ...]:
        # Lines are counted from the end of the source, because imports and helpers precede the function.
        after = [0, *itertools.accumulate(line.count("\n") + 1 for line in reversed(lines))]
        end, last = source.count("\n") + 1, len(self.scope.lines.texts)
        return tuple((end - after[min(last - place, len(lines))], origin) for place, origin in origins)

    # ------------------------------------------------------------------------------ names
    def _name_held(self, holder: str, held: Mapping[str, Value]) -> None:
        for name, value in held.items():
            self.scope.text[value] = f"{holder}[{quoted(name)}]"

    def _lines_of_sizes(self) -> list[str]:
        lines, scope = [], self.scope
        used = set(_identifiers("\n".join(scope.lines.texts)))
        for value in self.graph.inputs:
            read = {}
            for axis in range(value.ndim):
                symbol = Symbol(value, axis, 0)
                if scope.symbols.get(symbol) in used:
                    read[symbol] = scope.symbols[symbol]
            if len(read) == value.ndim > 1:
                lines.append(f"{', '.join(read.values())} = {self.dialect.sizes(scope.text[value])}")
                continue
            for symbol, name in read.items():
                lines.append(f"{name} = {self.dialect.size(scope.text[value], symbol)}")
        return lines

    # ------------------------------------------------------------------------------ guards and the result
    def _guards_on(self, made: Iterable[Value]) -> None:
        pending = [pair for value in made for pair in self.inner_guards.get(value, ())]
        for guard, condition in {id(pair[0]): pair for pair in pending}.values():
            if all(symbol.source in self.scope.text for symbol in condition.symbols()):
                self.scope.guard(guard.condition, guard.origin)

    def _return(self, result: ResultText, checks: tuple[Guard, ...]) -> None:
        scope, effects = self.scope, self.graph.effects
        # A comment right before says what the folded result computes.
        if scope.module and not scope.lines.texts[-1].lstrip().startswith("# "):
            scope.lines.add("")
        if not (effects or checks):
            scope.lines.add(f"return {result.text}")
            return
        for told in _return_comments(self.graph, checks):
            scope.lines.add(f"# {told}")
        parts = [result.text]
        checked = [guard.condition for guard in checks if isinstance(guard.condition, Value)]
        for values in ([effect.value for effect in effects], checked):
            extra = [scope.text[value] for value in values]
            parts.append(f"({', '.join(extra)}{',' if len(extra) == 1 else ''})")
        scope.lines.add(f"return {', '.join(parts)}")

    # ------------------------------------------------------------------------------ module text
    def _module(
        self, header: str, functions: list[str], helpers: list[FunctionType], result: ResultText
    ) -> str:
        used = {*_identifiers("\n".join(functions)), *itertools.chain.from_iterable(map(_used_by, helpers))}
        imports = [line for name, line in self.imports.items() if name in used]
        if "math" in used:
            imports.insert(0, "import math")
        imports = _merge_imports([*imports, *result.imports_for(used)])
        blocks = [
            f'"""{header.strip()}\n"""',
            "\n".join(imports),
            *(text for name, text in ERRORS.items() if name in used),
            *(_source_of(helper).strip("\n") for helper in helpers),
            *functions,
        ]
        return "\n\n\n".join(filter(None, blocks)).replace('"""\n\n\n', '"""\n\n', 1)


def _return_comments(graph: Graph, checks: tuple[Guard, ...]) -> list[str]:
    written = ", ".join(f"{effect.kind} {effect.target}" for effect in graph.effects)
    seen = "; ".join(
        f"{guard.condition.name} is {guard.expected!r:.40} ({guard.origin.portable()})"
        for guard in checks
        if isinstance(guard.condition, Value)
    )
    return [
        "the result, what is written back, and what is checked after the call",
        *([f"written back: {written}"] if written else []),
        *([f"checked: {seen}"[:160]] if seen else []),
    ]


def _merge_imports(imports: Iterable[str]) -> list[str]:
    """Merge imports from the same module, and sort them, with the standard library first.

    >>> _merge_imports(["from jax import nn", "import jax", "import math", "from jax import lax"])
    ['import math', '', 'import jax', 'from jax import lax, nn']
    """
    names: dict[str, dict[str, None]] = {}
    for line in imports:
        start, _, name = line.rpartition(" import ")
        names.setdefault(start or line, {}).update({name: None} if start else {})
    lines = sorted(
        f"{start} import {', '.join(sorted(found))}" if found else start for start, found in names.items()
    )
    # Those that begin with "import" come before those that begin with "from".
    lines.sort(key=lambda line: line.startswith("from"))
    standard = [line for line in lines if line.split()[1].partition(".")[0] in sys.stdlib_module_names]
    others = [line for line in lines if line not in standard]
    return [*standard, *([""] if standard and others else []), *others]


def _break_line(line: str) -> str:
    return "\n".join(break_line(line.lstrip(), 4 + len(line) - len(line.lstrip()))) if line else ""


def _identifiers(text: str) -> list[str]:
    return _IDENTIFIER.findall(_STRING.sub('""', text))


def _helpers(prelude: Any, function: str, known: frozenset[str] | None = None) -> list[FunctionType]:
    """Return the functions of ``prelude`` to copy for the text ``function``, dependencies first.

    ``known`` limits the functions that the text itself may use.
    """
    if prelude is None:
        return []
    found: dict[str, FunctionType] = {}
    packages = {prelude.__name__.partition(".")[0], __name__.partition(".")[0]}
    given = frozenset(getattr(prelude, "__all__", ()))

    def visit(names: Iterable[str]) -> None:
        for name in names:
            helper = getattr(prelude, name, None)
            if name not in found and isinstance(helper, FunctionType):
                if name not in given and helper.__module__.partition(".")[0] not in packages:
                    continue
                found[name] = helper
                visit(_used_by(helper))
                # The first entry keeps recursive helpers from being visited again. The second one moves the
                # helper behind those that it uses.
                del found[name]
                found[name] = helper

    used = dict.fromkeys(_identifiers(function))
    visit(used if known is None else filter(known.__contains__, used))
    return list(found.values())


@functools.cache
def _names_of(prelude: Any) -> frozenset[str]:
    return frozenset(name for name in vars(prelude) if name[:2] != "__") if prelude else frozenset()


@functools.cache
def _source_of(helper: FunctionType) -> str:
    spelled: dict[str, str] = vars(helper).get("spelled", {})
    return (
        re.sub(r"\b\w+\b", lambda word: spelled.get(word[0], word[0]), inspect.getsource(helper))
        if spelled
        else inspect.getsource(helper)
    )


@functools.cache
def _used_by(helper: FunctionType) -> tuple[str, ...]:
    """Return the words in a helper's source that may be names of globals."""
    codes = list(_codes_in(helper.__code__))
    # A variable of one function may have the name of a global or attribute in another.
    own = {name for code in codes for name in (*code.co_varnames, *code.co_cellvars)} - {
        name for code in codes for name in code.co_names
    }
    return tuple(name for name in dict.fromkeys(_identifiers(_source_of(helper))) if name not in own)


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes_in(constant)


__all__ = ["Dialect", "Program", "values_in", "write"]


# ---------------------------------------------------------------------------------------------------- loading
# Loading of generated source. Tracebacks show the generated lines.

# Number of the last file. This is no ``itertools.count``, because ``torch.compile`` would copy it, which
# fails in Python 3.14.
_last = [0]
# File names of functions that were collected. Their entries are removed later, because the garbage collector
# may run while linecache iterates over its entries.
_retired: list[str] = []


def load(program: Program, extra: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """Run the source of a program and return its function.

    Raise ``FrameworkNotInstalled`` if a module that the source imports is missing.
    """
    while _retired:
        linecache.cache.pop(_retired.pop(), None)
    _last[0] += 1
    filename = f"<graph_compiler {program.name} {_last[0]}>"
    # There is no ``__name__``, because torch's compiler would import a module of that name.
    scope: dict[str, Any] = {**program.globals, **(extra or {})}
    try:
        exec(compile(program.source, filename, "exec"), scope)
    except ModuleNotFoundError as problem:
        package = (problem.name or "").partition(".")[0]
        raise FrameworkNotInstalled(
            f"the source written for {program.name} needs {package}, which is not installed here; "
            f"install it with: pip install {package}"
        ) from None
    # The source defines these classes to stand alone, while callers in this process catch those of this
    # package.
    scope.update({name: getattr(errors, name) for name in ERRORS if name in scope})
    function: Callable[..., Any] = scope[program.name]
    # Tracebacks show the source while the function is alive.
    linecache.cache[filename] = (len(program.source), None, program.source.splitlines(True), filename)
    weakref.finalize(function, _retired.append, filename)
    return function
