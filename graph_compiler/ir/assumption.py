"""What a graph relies on, beyond the structure, data types and ranks of its inputs: the form that all kinds of such assumptions have.

The kinds themselves are one class and one file each: :class:`~graph_compiler.ir.guard.Guard` here, for its conditions are part of the
program, and the others, which are about the arguments of a call, in the room ``assumptions``. Matching, ``explain``, files and lifting only
loop over them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from ..errors import InvalidFile
from ..sizes import Symbol
from .node import Origin, Value

Replaced = Callable[[Any], Any]  # a size, number or value -> what stands for it in another graph


class Assumption(Protocol):
    """An immutable statement that must hold for a call, or the graph is not right for it."""

    kind: ClassVar[str]  # in files

    def lines(self, names: Names) -> list[str]:
        """Lines of the code that matches a call, which leave the variant where this does not hold."""

    def broken_by(self, call: Call) -> str | None:
        """In words why it does not hold for a call whose structure, data types and ranks are as recorded; None where it holds."""

    def mapped(self, replaced: Replaced) -> Assumption | None:
        """The same about another graph with the same inputs, whose values and sizes ``replaced`` gives; None where it always holds
        there."""

    def to_json(self, write: Writer) -> Any:
        """What a file says of it, beside the kind."""

    @classmethod
    def from_json(cls, data: Any, read: Reader) -> Assumption:
        """Reads what ``to_json`` gave. Files are not trusted: ``InvalidFile`` for anything that could not have been written, as code in the
        place of a name."""


class Names(Protocol):
    """What code that matches a call calls the parts of the call. Inputs are told by their number."""

    def given(self, number: int) -> str:
        """The argument that was given for an input."""

    def on_host(self, number: int) -> str:
        """An expression: the elements of an input as a numpy array, None where they would have to be waited for."""

    def knows(self, symbol: Symbol) -> bool:
        """Whether a size or number is one of the call's."""

    def size(self, symbol: Symbol) -> str:
        """A size or number of the call."""

    def bind(self, **items: Any) -> None:
        """Makes these objects known to the code under these names."""

    def require(self, condition: str) -> str:
        """The line that leaves the variant where a condition does not hold."""

    def require_of_sizes(self, condition: str, words: str) -> list[str]:
        """The same for a condition on sizes, which may be unknown while the target traces a function: it is then told in these words."""


class Call(Protocol):
    """A call of which it is asked why it does not fit. ``leaves`` are what was given for the ``inputs`` of the graph, as far as the call
    tells."""

    @property
    def inputs(self) -> Sequence[Value]:
        """The inputs of the graph."""

    @property
    def leaves(self) -> Sequence[Any]:
        """What was given for them."""

    @property
    def kwargs(self) -> Mapping[str, Any]:
        """The keyword arguments."""

    @property
    def undecided(self) -> tuple[type[Exception], ...]:
        """What comparisons of sizes raise that are unknown yet."""

    def size(self, symbol: Symbol) -> Any:
        """The size or number in this call; None where it is unknown yet."""

    def on_host(self, number: int) -> Any:
        """The elements of an input as a numpy array; None where they would have to be waited for."""


class Writer(Protocol):
    """Writes parts of a graph as JSON."""

    def item(self, item: Any) -> Any:
        """Values, sizes, numbers and texts, nested or not."""

    def origin(self, origin: Origin) -> Any:
        """Where something comes from."""


class Reader(Protocol):
    """Reads what a :class:`Writer` wrote."""

    @property
    def inputs(self) -> Sequence[Value]:
        """The inputs of the graph."""

    def item(self, data: Any) -> Any:
        """Values, sizes, numbers and texts, nested or not."""

    def origin(self, data: Any) -> Origin:
        """Where something comes from."""


def row(data: Any, count: int) -> list[Any]:
    """A list of so many parts; ``InvalidFile`` for anything else."""
    if type(data) is not list or len(data) != count:
        raise InvalidFile(f"{data!r:.80} is no list of {count}")
    return data


def input_number(item: Any, read: Reader) -> int:
    """The number of an input; ``InvalidFile`` for anything else."""
    if type(item) is not int or not 0 <= item < len(read.inputs):
        raise InvalidFile(f"{item!r:.80} is no input")
    return item
