"""Functions and classes of a module that stand in front of the function of a graph, and are called by it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..ir.node import Origin
from ..naming import Namespace, legal

OWN_NAME = "_the_name_of_this_definition_"  # in the text of a definition, until it has one


@dataclass
class Definitions:
    """Functions and classes of the module that operations call, inner ones first: text -> name; the same text is one definition."""

    named: dict[str, str] = field(default_factory=dict)
    taken: dict[str, None] = field(default_factory=dict)
    open: list[Namespace] = field(default_factory=list)  # of the functions that are being written
    origins: dict[str, list[tuple[int, Origin]]] = field(default_factory=dict)  # text -> the lines of its nodes, counted from 0

    def add(self, wanted: str, text: str, suffixes: Sequence[str], names: Namespace) -> str:
        """The name of a definition whose text has ``OWN_NAME`` in its place."""
        if text not in self.named:
            free = (f"{legal(wanted)}_{count}" if count else legal(wanted) for count in itertools.count())
            everywhere = (names, *self.open)
            name = next(name for name in free if not any(f"{name}{suffix}" in space for suffix in ("", *suffixes) for space in everywhere))
            self.taken.update(dict.fromkeys(f"{name}{suffix}" for suffix in ("", *suffixes)))
            for space in everywhere:
                space.reserve(*self.taken)
            self.named[text] = name
        return self.named[text]

    def texts(self) -> list[str]:
        """All of them, each before those that use it."""
        return [text.replace(OWN_NAME, name) for text, name in self.named.items()]

    def origins_in(self, source: str) -> list[tuple[int, Origin]]:
        """At which line of a module that has all of them the line of each node begins, and where the call was made."""
        found = []
        for text, own in zip(self.texts(), self.named):
            first = source.count("\n", 0, source.find(text)) + 1
            found += [(first + line, origin) for line, origin in self.origins[own]]
        return found
