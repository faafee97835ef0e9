"""Writer of the nodes of one block as lines: names, sizes, contexts, and ``del`` of large values.

The block of the graph is the outermost scope. The regions of an operation are written in inner scopes.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import accumulate
from itertools import count as counted
from typing import Any

from ..ir.graph import GUARD
from ..ir.node import Node, Origin, Region, Value
from ..naming import Namespace, legal
from ..ops.dtypes import ITEMSIZE
from ..ops.text import ExternalName, Text, factor, literal
from ..sizes import Size, Symbol, product
from ..trees import map_structure
from .block_lines import INDENT, BlockLines, Folding, ValueUses, names_in
from .layers import NO_WEIGHTS, LayerWeights, Stack
from .lines import break_line, remove_parentheses

# Placeholder for the name of a definition in its text, until the name is chosen.
OWN_NAME = "_the_name_of_this_definition_"


@dataclass
class Definitions:
    """Functions and classes at the top level of the generated module, dependencies first.

    named: name of each definition, by its text with ``OWN_NAME`` instead of the name.
    taken: names of the definitions, also with their suffixes.
    open: namespaces of definitions that are being written.
    origins: for each text, pairs of a line, counted from 0, and the origin of the node that wrote it.
    """

    named: dict[str, str] = field(default_factory=dict)
    taken: dict[str, None] = field(default_factory=dict)
    open: list[Namespace] = field(default_factory=list)
    origins: dict[str, list[tuple[int, Origin]]] = field(default_factory=dict)

    def add(self, wanted: str, text: str, suffixes: Sequence[str], names: Namespace) -> str:
        """Add the definition ``text``, which contains ``OWN_NAME`` instead of the name, and return its name.

        A text that was added before keeps its name.
        """
        if text not in self.named:
            free = (f"{legal(wanted)}_{count}" if count else legal(wanted) for count in itertools.count())
            # Functions that are still being written could name a variable like the definition, and hide it.
            everywhere = (names, *self.open)
            name = next(
                name
                for name in free
                if not any(f"{name}{suffix}" in space for suffix in ("", *suffixes) for space in everywhere)
            )
            self.taken.update(dict.fromkeys(f"{name}{suffix}" for suffix in ("", *suffixes)))
            for space in everywhere:
                space.reserve(*self.taken)
            self.named[text] = name
        return self.named[text]

    def texts(self) -> list[str]:
        return [text.replace(OWN_NAME, name) for text, name in self.named.items()]

    def origins_in(self, source: str) -> list[tuple[int, Origin]]:
        """Return pairs of a line of ``source``, counted from 1, and the origin of the node written there."""
        found = []
        for text, own in zip(self.texts(), self.named):
            first = source.count("\n", 0, source.find(text)) + 1
            found += [(first + line, origin) for line, origin in self.origins[own]]
        return found


def _symbols_of_shape(value: Value) -> Iterator[Symbol]:
    for dim in value.shape:
        yield from dim.symbols() if isinstance(dim, Size) else ()


def bytes_of(value: Value) -> int:
    return int(product(value.spec.hints)) * ITEMSIZE.get(value.dtype, 8)


_SYMBOL_NAMES = {"size": "dim", "stride": "stride"}
_SPELLED = (bool, int, float, complex, str, bytes, slice, type(Ellipsis))
# Large memory that is freed early is reused while it is still in the processor's caches.
_DELETED_FROM_BYTES = 1 << 16


@dataclass
class SharedState:
    """State that all scopes of one program share.

    dialect: object that writes nodes as expressions.
    structured: writers of operations with regions, by operation.
    names: names in use in the function.
    globals: objects that no text can express, by name.
    reserved: names that no function of the module may use for another purpose.
    definitions: functions and classes written before the function.
    indexed_weights: weights that functions of repeated layers read from dicts, by the ``id`` of a block.
    functions: names of the functions written for blocks, by ``id``.
    stacks: weights of layers that are read stacked, by the node that stacks them.
    """

    dialect: Any
    structured: Mapping[str, Callable[[Any, Node], None]]
    names: Namespace
    globals: dict[str, Any] = field(default_factory=dict)
    reserved: tuple[str, ...] = ()
    definitions: Definitions = field(default_factory=Definitions)
    indexed_weights: Mapping[int, LayerWeights] = field(default_factory=dict)
    functions: dict[int, str] = field(default_factory=dict)
    stacks: Mapping[Node, Stack] = field(default_factory=dict)

    def bound(self, item: Any, names: Namespace) -> str:
        """Return the name of a global for an object that no text can express, and bind it if it is new."""
        by_value = getattr(type(item), "is_bound_by_value", False)
        for name, known in self.globals.items():
            if known is item or by_value and type(known) is type(item) and known == item:
                return name
        # All functions of the module see the name, also those that are being written or are written later.
        spaces = (names, self.names, *self.definitions.open)
        base = legal(f"{type(item).__name__.lower()}_object")
        free = (f"{base}_{count}" if count else base for count in counted())
        name = next(
            name for name in free if name not in self.globals and not any(name in space for space in spaces)
        )
        for space in spaces:
            space.reserve(name)
        self.globals[name] = item
        return name


# Replacements of characters of a text in an f-string in double quotes.
_IN_F_STRING = str.maketrans({"\\": "/", '"': "'", "{": "{{", "}": "}}"})


def _for_f_string(text: str) -> str:
    # The names of values may contain texts of keys.
    return " ".join(text.split()).translate(_IN_F_STRING)


def _targets(node: Node, names: list[str], text: Mapping[Value, str]) -> str:
    if not names or node.result is None:
        return ", ".join(names)
    made = set(node.outputs)

    def name(part: Any) -> str:
        if isinstance(part, (tuple, list)):
            return f"({', '.join(map(name, part))}{',' if len(part) == 1 else ''})"
        return text[part] if isinstance(part, Value) and part in made else "_"

    found = name(node.result)
    return found[1:-1] if found.startswith("(") else found


class BlockWriter:
    """Writer of one block: its lines, and the names of its values and sizes.

    text: expression for each value, usually its name.
    symbols: names of the sizes and strides that were read.
    preferred_names: names for values, instead of their own.
    module: path of the module to which the last node belongs.
    context: context manager of the open ``with`` block, or an empty string.
    held: names in use that this block has taken.
    """

    def __init__(
        self,
        shared: SharedState,
        nodes: Sequence[Node],
        roots: Any,
        outer: BlockWriter | None = None,
        region: Region | None = None,
        assignable: Iterable[Value] = (),
    ) -> None:
        self.shared, self.dialect = shared, shared.dialect
        self.names: Namespace = shared.names if outer is None else outer.names
        self.nodes, self.outer, self.region = nodes, outer, region
        self.text: dict[Value, str] = {}
        self.symbols: dict[Symbol, str] = {}
        # The sizes of inputs of the graph are read before the first line.
        assigned = frozenset(assignable)
        self.uses = ValueUses(nodes, roots, assigned, assigned if outer is None else frozenset())
        self.lines = BlockLines()
        self.folding = Folding(self.lines, self.text, self.uses)
        # For names of several values, how many there are beside the first one. Only the last one frees it.
        self.shared_names: Counter[str] = Counter()
        # Values that are not needed after a node that is being written.
        self.released: dict[Node, list[Value]] = {}
        self.preferred_names: dict[Value, str] = {}
        self.module: str = outer.module if outer else ""
        self.context = ""
        self.held: dict[str, None] = {}

    # ------------------------------------------------------------------------------ text of arguments
    def literal(self, structure: Any) -> Any:
        return map_structure(self._spelled, structure)

    def symbol(self, symbol: Symbol) -> str:
        """Return the expression for a symbol. This may write a line that reads a size or stride."""
        if self.outer is not None and self.region is not None and symbol in self.region.sizes:
            return factor(repr(self.outer.literal(self.region.sizes[symbol])))
        if symbol.kind in ("item", "number"):
            return self.text[symbol.source]
        if symbol in self.symbols:
            return self.symbols[symbol]
        array = self.text[symbol.source]
        if symbol.source in self.uses.measured and symbol.kind == "size":
            # A name that was never in use, because the line that reads the size precedes all others.
            self.symbols[symbol] = self.names.lasting(f"{array}_dim{symbol.axis}")
        else:
            is_given = self.outer is None and symbol.source not in self.uses.made
            name = symbol.source.name if is_given or not array.isidentifier() else array
            self.symbols[symbol] = self.new(f"{name}_{_SYMBOL_NAMES[symbol.kind]}{symbol.axis}")
            self.lines.add(f"{self.symbols[symbol]} = {self.dialect.size(array, symbol)}")
        return self.symbols[symbol]

    def _spelled(self, item: Any) -> Any:
        if isinstance(item, Value):
            return (Text if item in self.uses.made else ExternalName)(self.text[item])
        if item is None or isinstance(item, (*_SPELLED, Size)):
            return literal(item, self.symbol)
        text = self.dialect.spell(item)
        return Text(text if text is not None else self.shared.bound(item, self.names))

    # ------------------------------------------------------------------------------ lines
    def line(self, text: str) -> None:
        self.lines.add(text)

    def blank(self) -> None:
        self.lines.blank()

    def indented(self, head: str) -> AbstractContextManager[None]:
        return self.lines.indented(head)

    def write(self, after: Callable[[Sequence[Value]], None] | None = None) -> None:
        for node in self.nodes:
            self._node(node, after)

    def _node(self, node: Node, after: Callable[[Sequence[Value]], None] | None) -> None:
        if node.origin.module != self.module:
            self.module = node.origin.module
            self.lines.add("")
            if self.module:
                self.lines.add(f"# {self.module}")
        if node.op == GUARD:
            self.context = ""
            self.guard(node.inputs[0], node.origin)
            self._release_after(node)
            return
        (self._structured if node.regions else self._plain)(node)
        before = len(self.lines.texts)
        if after is not None:
            after(node.outputs)
        # Lines that ``after`` wrote are outside of the ``with`` block, and end it.
        self.context = self.context if len(self.lines.texts) == before else ""

    def _plain(self, node: Node) -> None:
        before = len(self.lines.texts)
        stack = self.shared.stacks.get(node)
        expression = self.dialect.expression(node, self.literal) if stack is None else stack.text()
        # The expression may have needed a line that reads a size, which ends an open ``with`` block.
        context = self.dialect.context(node)
        if context and (context != self.context or len(self.lines.texts) != before):
            self.lines.add(f"with {context}:")
        self.context = context
        # Names are freed before the outputs get theirs, so that a result can take the name of an operand. The
        # assignment then frees the operand's memory.
        gone = self._release_after(node)
        targets = _targets(node, self.name(node), self.text)
        # An expression that is computed in a ``with`` block must not move into or out of it.
        if not self.context:
            expression = self.folding.into_node(node, expression)
        expression = remove_parentheses(expression)
        self.lines.origins.append((len(self.lines.texts), node.origin))
        self.lines.add(
            (INDENT if self.context else "") + (f"{targets} = {expression}" if targets else expression)
        )
        # The result is an array and no sequence of one array.
        gives_array = len(node.outputs) == 1 and targets == self.text[node.outputs[0]]
        if gives_array and not self.context:
            self.folding.note(node, expression)
        self._delete(node, gone)

    def _structured(self, node: Node) -> None:
        self.context = ""
        texts = self.lines.texts
        before = len(texts)
        self.shared.structured[node.op](self, node)
        written = [place for place in range(before, len(texts)) if texts[place]] or [before]
        self.lines.origins.append((written[0], node.origin))
        # Most targets call the functions of the regions in the last line.
        self.lines.inner_origins.append((written[-1], node.origin))
        gone = self.released.pop(node, None)
        self._delete(node, self._release_after(node) if gone is None else gone)
        name, _, expression = texts[-1].partition(" = ")
        # The last line may be in a statement, or the result unused.
        if len(node.outputs) == 1 and name == self.text[node.outputs[0]]:
            self.folding.note(node, expression)

    def release(self, node: Node) -> None:
        self.released[node] = self._release_after(node)

    def name(self, node: Node) -> list[str]:
        unused = self.uses.unused_outputs(node) if len(node.outputs) > 1 else ()
        names = []
        for value in node.outputs:
            self.text[value] = (
                "_" if value in unused else self.new(self.preferred_names.get(value, value.name))
            )
            names.append(self.text[value])
        return names

    def name_carry(self, node: Node, body: Region, is_statement: bool = True) -> list[str]:
        """Return names for the carry of a loop. An entry may get the name of its initial value."""
        names = []
        for place in range(node.params["carried"]):
            item, given = node.inputs[place], body.block.inputs[place]
            # In a Python statement, an entry that no iteration changes may share its name with other readers.
            is_unchanged = is_statement and body.block.outputs[place] is given
            if (
                isinstance(item, Value)
                and item.name == given.name
                and self.text[item].isidentifier()
                and self.text[item] not in names
                and (is_unchanged or self.uses.is_only_read_by(node, item))
            ):
                self.shared_names[self.text[item]] += 1
                names.append(self.text[item])
            else:
                names.append(self.new(given.name))
        return names

    def new(self, wanted: str) -> str:
        name = self.names.unique(wanted)
        self.held[name] = None
        return name

    def _release_after(self, node: Node) -> list[Value]:
        """Free names of this block's values that are not needed after ``node``, and return these values.

        A name that values share is freed with the last of them.
        """
        gone = []
        for value in self.uses.last_use.get(node, ()):
            if value in self.uses.own and value not in node.outputs:
                name = self.text[value]
                if name in self.shared_names:
                    self.shared_names -= Counter([name])
                else:
                    gone.append(value)
        self.free(map(self.text.__getitem__, gone))
        return gone

    def _delete(self, node: Node, gone: list[Value]) -> None:
        large = [
            self.text[value]
            for value in gone
            if value in self.uses.made
            and value not in self.folding.folded
            and bytes_of(value) >= _DELETED_FROM_BYTES
        ]
        if not large:
            return
        taken = {self.text[value] for value in node.outputs}
        if names := [name for name in large if name not in taken]:
            self.lines.add(f"del {', '.join(names)}")
            self.context = ""

    def guard(self, condition: Any, origin: Origin) -> None:
        text = repr(self.literal(condition))
        words = _for_f_string(f"{origin.portable()} was recorded for {condition!r}")
        # Two sizes may have the same text, because names of values need not be unique.
        sizes = dict.fromkeys((symbol, repr(self.literal(Size.of(symbol)))) for symbol in condition.symbols())
        shown = " and ".join(f"{_for_f_string(repr(symbol))} is {{{name}}}" for symbol, name in sizes)
        self.lines.inner_origins.append((len(self.lines.texts), origin))
        with self.lines.indented(f"if not ({text}):"):
            self.lines.add(f'raise GuardFailed(f"{words}, and {shown} for this call")')

    # ------------------------------------------------------------------------------ inner blocks
    def write_inner(
        self, region: Region, inputs: Sequence[str], captured: Sequence[Any], is_assigning: bool = False
    ) -> RegionText:
        """Write a region for a nested function or the body of a statement, and return its text.

        ``inputs`` are names for its first inputs, and ``captured`` are arguments for the others.
        """
        block = region.block
        assigned = [
            value
            for value in (block.inputs[: len(inputs)] if is_assigning else ())
            if all(symbol in region.sizes for symbol in _symbols_of_shape(value))
        ]
        scope = BlockWriter(self.shared, block.nodes, block.outputs, self, region, assigned)
        scope.text.update(
            zip(block.inputs, [*inputs, *(repr(self.literal(item)) for item in captured)], strict=True)
        )
        scope.write()
        outputs = scope.results(block.outputs)
        # The names of these inputs are those of this scope again.
        for name in map(scope.text.__getitem__, assigned):
            if not self.names.take_back(name):
                scope.held.pop(name, None)
        return RegionText(scope, outputs)

    def results(self, outputs: Sequence[Any]) -> list[str]:
        return self.folding.into_results([repr(self.literal(item)) for item in outputs], outputs)

    def write_separately(self, region: Region, inputs: Sequence[str]) -> RegionText:
        """Write a region for a separate function, with ``inputs`` as the texts of its inputs."""
        block = region.block
        scope = BlockWriter(self.shared, block.nodes, block.outputs, self)
        scope.text.update(zip(block.inputs, inputs, strict=True))
        scope.write()
        outputs = scope.results(block.outputs)
        # Some lines read sizes that nothing uses.
        for name in scope.symbols.values():
            scope.lines.drop_unread(name, outputs)
        return RegionText(scope, outputs)

    def drop(self, value: Value, reads: int = 1) -> None:
        if self.uses.counts[value] == reads and value not in self.uses.needed:
            self.lines.drop_unread(self.text[value], [])

    def define(
        self, wanted: str, write: Callable[[BlockWriter, str], None], suffixes: Sequence[str] = ()
    ) -> str:
        """Write a module-level function or class with ``write(scope, name)``, and return its name.

        ``write`` is called with a placeholder for the name.
        """
        definitions = self.shared.definitions
        names = Namespace([*self.shared.reserved, *definitions.taken, *self.shared.globals])
        definitions.open.append(names)
        scope = BlockWriter(self.shared, (), ())
        scope.names, scope.module = names, self.module
        write(scope, OWN_NAME)
        lines = [
            "\n".join(break_line(line.lstrip(), len(line) - len(line.lstrip()))) if line else ""
            for line in scope.lines.texts
        ]
        text = "\n".join(lines)
        name = definitions.add(wanted, text, suffixes, self.shared.names)
        begins = [0, *accumulate(line.count("\n") + 1 for line in lines)]
        definitions.origins[text] = [
            (begins[place], origin) for place, origin in (*scope.lines.origins, *scope.lines.inner_origins)
        ]
        definitions.open.pop()
        return name

    def define_region(self, region: Region, write: Callable[[BlockWriter, str], None]) -> str:
        known, block = self.shared.functions, id(region.block)
        known[block] = known.get(block) or self.define(region.name, write)
        return known[block]

    def indexed_weights(self, region: Region) -> LayerWeights:
        return self.shared.indexed_weights.get(id(region.block), NO_WEIGHTS)

    def take(self, inside: RegionText) -> None:
        self.lines.take(inside.scope.lines)

    def free(self, names: Iterable[str]) -> None:
        for name in names:
            self.held.pop(name, None)
            self.names.release(name)


@dataclass(frozen=True)
class RegionText:
    """Region written as lines and as the expressions of its outputs.

    scope: the inner scope, which has the lines.
    outputs: texts of the outputs.
    """

    scope: BlockWriter
    outputs: list[str]

    @property
    def is_empty(self) -> bool:
        return not any(self.scope.lines.texts)

    def reads(self, name: str) -> bool:
        return any(name in names_in(text) for text in (*self.scope.lines.texts, *self.outputs))

    def expression(self) -> str | None:
        return self.outputs[0] if self.is_empty and len(self.outputs) == 1 else None

    def free(self) -> None:
        self.scope.free(list(self.scope.held))
