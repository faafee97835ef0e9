"""Functions and classes that precede the main function in generated source and are called by it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..ir.node import Origin
from ..naming import Namespace, legal

OWN_NAME = "_the_name_of_this_definition_"  # in the text of a definition, until it has one


@dataclass
class Definitions:
    """Definitions of a module, dependencies first. Equal texts are one definition.

    named: name for each text.
    taken: names in use.
    open: namespaces of functions that are being written.
    origins: for each text, the lines where its nodes begin, counted from 0.
    """

    named: dict[str, str] = field(default_factory=dict)
    taken: dict[str, None] = field(default_factory=dict)
    open: list[Namespace] = field(default_factory=list)  # of the functions that are being written
    origins: dict[str, list[tuple[int, Origin]]] = field(default_factory=dict)  # text -> the lines of its nodes, counted from 0

    def add(self, wanted: str, text: str, suffixes: Sequence[str], names: Namespace) -> str:
        """Return the name for a definition, which stands in `text` as `OWN_NAME`. `wanted` is the preferred
        name; names with these suffixes are reserved too.
        """
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
        """Return all definitions, each after those that it uses."""
        return [text.replace(OWN_NAME, name) for text, name in self.named.items()]

    def origins_in(self, source: str) -> list[tuple[int, Origin]]:
        """Return the lines in `source` where nodes of the definitions begin, and the locations of the
        recorded calls.
        """
        found = []
        for text, own in zip(self.texts(), self.named):
            first = source.count("\n", 0, source.find(text)) + 1
            found += [(first + line, origin) for line, origin in self.origins[own]]
        return found
