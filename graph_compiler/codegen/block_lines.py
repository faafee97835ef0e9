"""Lines of one block while they are written, and the expressions among them that may be inlined."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, dropwhile
from typing import Any

from ..ir.node import Node, Origin, Value, values_in
from ..sizes import Size
from ..trees import iterate_structure
from .lines import LONGEST, inline_expression

INDENT = "    "
_NAME = re.compile(r"\w+")


def names_in(text: str) -> list[str]:
    return _NAME.findall(text)


@dataclass
class BlockLines:
    """Lines of one block, with the origins of their nodes.

    texts: the lines written so far.
    origins: pairs of an index in ``texts`` and the origin of a node that is written there.
    inner_origins: the same for nodes in regions, for guards, and for the last line of a node with regions.
    depth: number of indents of the next line.
    """

    texts: list[str] = field(default_factory=list)
    origins: list[tuple[int, Origin]] = field(default_factory=list)
    inner_origins: list[tuple[int, Origin]] = field(default_factory=list)
    depth: int = 0

    def add(self, text: str) -> None:
        self.texts.append(INDENT * self.depth + text if text else "")

    def blank(self) -> None:
        if self.texts and self.texts[-1]:
            self.add("")

    @contextmanager
    def indented(self, head: str) -> Iterator[None]:
        self.add(head)
        self.depth += 1
        yield
        self.depth -= 1

    def drop_last(self) -> None:
        """Remove the last line; the next line that is added gets its ``origins``."""
        self.texts.pop()
        origins, place, last = self.origins, len(self.texts), len(self.origins)
        while last and origins[last - 1][0] >= place:
            last -= 1
            origins[last] = place, origins[last][1]

    def drop_unread(self, name: str, outputs: Sequence[str]) -> None:
        """Remove the first line ``name = ...`` unless another line or an output contains ``name``."""
        place = next(
            (place for place, text in enumerate(self.texts) if text.lstrip().startswith(f"{name} = ")), None
        )
        if place is not None and not any(
            name in names_in(text) for text in (*self.texts[:place], *self.texts[place + 1 :], *outputs)
        ):
            del self.texts[place]
            for origins in (self.origins, self.inner_origins):
                origins[:] = [(line - (line > place), origin) for line, origin in origins]

    def take(self, inner: BlockLines) -> None:
        # Leading blank lines are left out.
        texts = list(dropwhile(lambda text: not text, inner.texts))
        first = len(self.texts) - (len(inner.texts) - len(texts))
        self.inner_origins += [
            (first + place, origin) for place, origin in (*inner.origins, *inner.inner_origins)
        ]
        for text in texts:
            self.add(text)


@dataclass
class Folding:
    """Expressions of the last lines that may be inlined, into the next line or into the result of the block.

    text: expression for each value.
    folded: values that were inlined into another line.
    operands: expressions that may be inlined into the next line, as (number of lines up to and including that
        of the expression, node, expression).
    ends: the same for expressions that may be inlined into the result of the block.
    """

    lines: BlockLines
    text: dict[Value, str]
    uses: ValueUses
    folded: set[Value] = field(default_factory=set)
    operands: list[tuple[int, Node, str]] = field(default_factory=list)
    ends: list[tuple[int, Node, str]] = field(default_factory=list)

    def note(self, node: Node, expression: str) -> None:
        """Record the last line, which assigns ``expression``, if it is a candidate for inlining."""
        (value,) = node.outputs
        uses, last = self.uses.counts[value], (len(self.lines.texts), node, expression)
        if not uses:
            self.ends.append(last)
        elif (
            uses == 1
            and value not in self.uses.needed
            and value.name not in node.origin.stored
            and not (node.writes or node.is_random or node.regions)
        ):
            self.operands.append(last)

    def into_node(self, node: Node, expression: str) -> str:
        """Return ``expression`` with inlinable expressions of the last lines in it, and drop these lines."""
        while self.operands and self.operands[-1][0] == len(self.lines.texts):
            _, before, inner = self.operands[-1]
            (value,) = before.outputs
            same_line = (before.origin.file, before.origin.line) == (node.origin.file, node.origin.line)
            found = (
                inline_expression(expression, self.text[value], inner)
                if same_line and value in node.uses
                else None
            )
            if found is None:
                break
            expression = found
            self.folded.add(value)
            self.operands.pop()
            self.lines.drop_last()
        return expression

    def into_results(self, text: Sequence[str], outputs: Sequence[Any]) -> list[str]:
        """Return ``text`` with inlinable expressions of the last lines in it, and drop these lines."""
        found, first, has_effect = list(text), len(text), False
        while self.ends and self.ends[-1][0] == len(self.lines.texts):
            _, node, expression = self.ends.pop()
            places = [place for place, item in enumerate(outputs) if item is node.outputs[0]]
            has_effect |= bool(node.writes or node.is_random or node.regions)
            if (
                len(places) != 1
                or sum(map(len, found)) + len(expression) > LONGEST
                or (has_effect and places[0] > first)
            ):
                break
            found[places[0]] = expression
            first = min(first, places[0])
            self.lines.drop_last()
        return found


# --------------------------------------------------------------------------------------------- uses of values
def arrays_in(structure: Any) -> set[Value]:
    found = set()
    for item in iterate_structure(structure):
        if isinstance(item, Value):
            found.add(item)
        elif isinstance(item, Size):
            found.update(symbol.source for symbol in item.symbols() if symbol.kind != "size")
    return found


class ValueUses:
    """Uses of the values of one block.

    made: values that its nodes compute.
    own: the values in ``made``, and the inputs whose names the block may assign again after their last use.
    measured: inputs whose sizes are read, if at all, before the first line.
    needed: values that are read after the last node.
    last_use: by node, the values that it is the last to use or compute and that are not ``needed``.
    counts: how often the nodes of the block read each value.
    """

    def __init__(
        self, nodes: Sequence[Node], roots: Any, assignable: Set[Value], measured: Set[Value]
    ) -> None:
        self.made = {value for node in nodes for value in node.outputs}
        self.own = self.made | assignable
        self.measured = measured
        self.needed = set(values_in(roots))
        if not measured.isdisjoint(self.needed):
            self.needed -= measured - arrays_in(roots)
        last: dict[Value, Node] = {}
        for node in nodes:
            last.update(dict.fromkeys(node.outputs, node))
            for value in node.uses:
                # Most values are operands themselves.
                if (
                    value not in measured
                    or id(value) in map(id, node.inputs)
                    or value in arrays_in((node.inputs, node.params))
                ):
                    last[value] = node
        self.last_use: dict[Node, list[Value]] = {}
        for value, node in last.items():
            if value not in self.needed:
                self.last_use.setdefault(node, []).append(value)
        self.counts = Counter(chain.from_iterable(map(Node.reads, nodes)))

    def unused_outputs(self, node: Node) -> set[Value]:
        return self.made.intersection(self.last_use.get(node, ())).intersection(node.outputs)

    def is_only_read_by(self, node: Node, item: Value) -> bool:
        return (
            item in self.own
            and item in self.last_use.get(node, ())
            and sum(each is item for each in iterate_structure(node.inputs)) == 1
        )
