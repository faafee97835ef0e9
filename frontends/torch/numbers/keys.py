"""Sizes that the user's code takes as keys: of a dictionary, of a cache. What is stored under them outlives the recording, so symbols must not."""

from __future__ import annotations

from ....ir.graph import Graph, Value
from ....sizes import Size, Symbol


class UnhashableSize(TypeError):
    """A size of an input was asked for its hash. Code that does without (einops) goes on; elsewhere the function is recorded anew, with this size fixed."""


class KeySizes:
    """The sizes of inputs, by (input, axis), that were keys in earlier attempts at one recording (``fixed``: plain ints in this one), and in this one."""

    def __init__(self) -> None:
        self.fixed: frozenset[tuple[int, int]] = frozenset()
        self.asked: set[tuple[int, int]] = set()

    def next_attempt(self) -> bool:
        """From here on those asked for are fixed. Whether there are any that were not."""
        new = not self.asked <= self.fixed
        self.fixed |= self.asked
        return new

    def give_up(self) -> None:
        """Those that were asked for were not needed."""
        self.asked = set(self.fixed)

    def of(self, graph: Graph, value: Value) -> list[Size]:
        """The sizes to be fixed of a value that has just become an input."""
        position = graph.inputs.index(value)
        return [Size.of(Symbol(value, axis, size)) for axis, size in enumerate(value.spec.shape) if (position, axis) in self.fixed]

    def refuse(self, graph: Graph, size: Size) -> None:
        """``UnhashableSize`` for a size that can be fixed before the next attempt: one computed from sizes of inputs alone."""
        symbols = list(size.symbols())
        if all(symbol.kind == "size" and symbol.source in graph.inputs for symbol in symbols):
            self.asked.update((graph.inputs.index(symbol.source), symbol.axis) for symbol in symbols)
            raise UnhashableSize(f"{size} is known only when the function runs, and has no hash while it is recorded")
