"""Data of the page of one variant, as JSON.

Items are the inputs, operations and outputs in program order, stored in columns. Strings are stored once.
A graph of 20,000 operations takes two to three megabytes.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ..ir.graph import Graph, Guard
from ..ir.guard import GUARD
from ..ir.node import Node, Value, values_in
from ..ops.registry import ArraySpec
from ..passes import without_checks
from ..runtime.variant import Variant
from ..sizes import Size
from ..trees import iterate_structure, paths
from .excerpts import excerpts, short_name
from .groups import grouped
from .kinds import kind_of
from .membership import modules_of

_LONGEST = 200  # characters of a shape in symbols


Entry = TypeVar("Entry", bound=Hashable)


class Table(Generic[Entry]):
    """Distinct entries, numbered in the order of their first occurrence."""

    def __init__(self) -> None:
        self.entries: dict[Entry, int] = {}

    def number(self, entry: Entry) -> int:
        """Return the number of an entry, which is added if it is new."""
        return self.entries.setdefault(entry, len(self.entries))

    def to_json(self) -> list[Entry]:
        """Return the entries in order."""
        return list(self.entries)


@dataclass
class Items:
    """Columns of all items. Entries of most columns are numbers into tables.

    place: location in the user's code.
    line: line of the generated source.
    specs: dtypes and shapes of the results.
    data: items whose arrays the item reads.
    held: parameters and constants that it reads.
    sized: items of which it reads only sizes.
    """

    op: list[int] = field(default_factory=list)
    name: list[int] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)
    place: list[int] = field(default_factory=list)
    line: list[int] = field(default_factory=list)
    specs: list[list[int]] = field(default_factory=list)
    data: list[list[int]] = field(default_factory=list)
    held: list[list[int]] = field(default_factory=list)
    sized: list[list[int]] = field(default_factory=list)
    module: list[int] = field(default_factory=list)


class Description:
    """Builder of the description of one variant."""

    def __init__(self, variant: Variant) -> None:
        self.variant, self.graph = variant, without_checks(variant.graph)
        self.items = Items()
        self.ops, self.names, self.kinds, self.modules = Table[str](), Table[str](), Table[str](), Table[str]()
        self.specs, self.places = Table[tuple[str, str]](), Table[tuple[str, int]]()
        self.maker: dict[Value, int] = {}
        self.held: dict[Value, int] = {}
        self.arrays: list[list[Any]] = []  # of the user's model: parameters and constants

    def to_json(self) -> dict[str, Any]:
        """Return the description."""
        self._held()
        self._inputs()
        for node, module, line in zip(self.graph.nodes, modules_of(self.graph), self._lines(), strict=True):
            self._node(node, module, line)
        self._output()
        places = [(file, line) for file, line in self.places.entries if file]
        texts, modules = excerpts(places), self.modules.to_json()
        files = list(dict.fromkeys(file for file, _ in places))
        return {
            "inputs": [f"{value.name} {value.dtype}{list(value.spec.hints)}" for value in self.graph.inputs],
            "why": self.variant.why,
            "root": grouped(self.graph.name, [modules[number] for number in self.items.module]).to_json(),
            "items": vars(self.items),
            "modules": modules,
            "ops": self.ops.to_json(),
            "names": self.names.to_json(),
            "kinds": self.kinds.to_json(),
            "specs": self.specs.to_json(),
            "places": [[files.index(file) if file else -1, line] for file, line in self.places.entries],
            "files": [{"name": short_name(file), "lines": texts.get(file, {})} for file in files],
            "arrays": self.arrays,
            "source": self.variant.source,
            "guards": [self._guard(guard) for guard in self.graph.guards],
            "state": list(self._state()),
        }

    def _lines(self) -> Iterator[int]:
        """Yield the line of the source for each node. Nodes of a called function have the line of the call."""
        for node, (line, _) in zip(self.variant.graph.nodes, self.variant.program.origins):
            is_called = node.op == "call" and not node.params["checkpoint"]
            count = sum(inner.op != GUARD for inner in node.regions[0].block.nodes) if is_called else 1
            yield from itertools.repeat(line, count)

    # ------------------------------------------------------------------------------ items
    def _held(self) -> None:
        groups = [("parameter", self.graph.parameters.items()), ("constant", ((n, v) for n, (v, _) in self.graph.constants.items()))]
        for kind, held in groups:
            for name, value in held:
                self.held[value] = len(self.arrays)
                self.arrays.append([name, kind, self._spec(value.spec)])

    def _inputs(self) -> None:
        given = len(list(paths(self.graph.input_tree)))
        for number, value in enumerate(self.graph.inputs):
            is_key = value is self.graph.randomness.key
            kind = "input" if number < given else "key" if is_key else "state"
            self._item((value,), kind, value.name, kind, "", ("", 0), 0, ())

    def _node(self, node: Node, module: str, line: int) -> None:
        origin = node.origin
        name = node.outputs[0].name if node.outputs else ""
        place = (origin.file, origin.line) if origin.file else ("", 0)
        self._item(node.outputs, node.op, name, kind_of(node.op), module, place, line, (node.inputs, node.params))

    def _output(self) -> None:
        self._item((), "output", "output", "output", "", ("", 0), self.variant.source.count("\n"), self.graph.outputs)

    def _item(
        self, made: Iterable[Value], op: str, name: str, kind: str, module: str, place: tuple[str, int], line: int, arguments: Any
    ) -> None:
        items, number = self.items, len(self.items.op)
        for column, entry in (
            (items.op, self.ops.number(op)),
            (items.name, self.names.number(name)),
            (items.kind, self.kinds.number(kind)),
            (items.place, self.places.number(place)),
            (items.line, line),
            (items.module, self.modules.number(module)),
        ):
            column.append(entry)
        data, sized = _uses(arguments)
        items.data.append(self._makers(data))
        items.held.append([self.held[value] for value in data if value in self.held])
        items.sized.append(self._makers(value for value in sized if value not in data))
        items.specs.append([self._spec(value.spec) for value in made])
        self.maker.update((value, number) for value in made)

    def _makers(self, values: Iterable[Value]) -> list[int]:
        return list(dict.fromkeys(self.maker[value] for value in values if value in self.maker))

    def _spec(self, spec: ArraySpec) -> int:
        """Return the number of the entry for a spec: the recorded shape and, if it adds information, the
        symbolic one.
        """
        seen, symbols = f"{spec.dtype}{list(spec.hints)}", repr(spec)
        return self.specs.number((seen, "" if symbols == seen or len(symbols) > _LONGEST else symbols))

    # ------------------------------------------------------------------------------ guards and state
    def _guard(self, guard: Guard) -> list[Any]:
        used = values_in((guard.condition,))
        return [str(guard).replace(guard.origin.file, short_name(guard.origin.file)) if guard.origin.file else str(guard),
                self._makers(used)]  # fmt: skip

    def _state(self) -> Iterator[list[Any]]:
        for effect in self.graph.effects:
            target = self.graph.inputs[effect.target].name if isinstance(effect.target, int) else effect.target
            yield [f"{effect.kind} {target}", self._makers((effect.value,))]
        told = {effect.target for effect in self.graph.effects}
        yield from ([f"buffer {name}", []] for name in sorted(self.variant.written_buffers() - told))
        named = {value.name: number for value, number in self.maker.items() if number < len(self.graph.inputs)}
        for place in self.variant.state.kept() if self.variant.state else ():
            yield [f"kept in {place.name}", [named[place.name]] if place.name in named else []]


def _uses(arguments: Any) -> tuple[dict[Value, None], dict[Value, None]]:
    """Return the values whose arrays are read, and those of which sizes or numbers are read."""
    data: dict[Value, None] = {}
    sized: dict[Value, None] = {}
    for item in iterate_structure(arguments):
        if isinstance(item, Value):
            data[item] = None
        elif isinstance(item, Size):
            sized.update((symbol.source, None) for symbol in item.symbols())
    return data, sized


def describe(variant: Variant) -> dict[str, Any]:
    """Return the data of the page for a variant."""
    return Description(variant).to_json()


__all__ = ["Graph", "describe"]
