"""Nodes and the values that they make and use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..ops.collectives import DEPEND_ON_DEVICES
from ..ops.registry import ArraySpec
from ..sizes import Size
from ..trees import iterate_structure, leaf
from .record import CallRecord

if TYPE_CHECKING:
    from .block import Region


_NO_VIEWS: Mapping[int, Value] = {}


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a node comes from: the user's file and line, the module path, and the call that was made there.

    ``stored`` are the variables that the user's code stores the result of the expression in, ``instruction`` tells expressions of one line
    apart.
    """

    file: str = ""
    line: int = 0
    module: str = ""
    call: str = ""
    stored: tuple[str, ...] = field(default=(), compare=False)
    instruction: int = field(default=0, compare=False)

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file else "unknown place"
        return f"{self.call or 'call'} at {place}" + (f" (in {self.module})" if self.module else "")


@leaf
class Value:
    """One array of a graph: an input, a parameter, a constant, or an output of a node.

    ``spec.shape`` is symbolic in canonical graphs and as seen in recorded ones. ``name`` is the wish for a
    name in generated code; it need not be unique. Which node makes a value is a question to the graph or block (``maker``): graphs that
    passes derived from one another share values. So nothing assigns to ``name`` and ``spec`` but the code that makes the value, before the
    graph that it is in is handed on.
    """

    __slots__ = ("name", "spec")

    def __init__(self, name: str, spec: ArraySpec) -> None:
        self.name, self.spec = name, spec

    @property
    def shape(self) -> tuple[Any, ...]:
        """Sizes of the axes."""
        return self.spec.shape

    @property
    def dtype(self) -> str:
        """Name of the data type."""
        return self.spec.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.spec.shape)

    def __repr__(self) -> str:
        return f"%{self.name}: {self.spec}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Node:
    """One operation in a graph: an immutable value. A changed node is a new one, made with ``dataclasses.replace``, of the same outputs or
    others.

    ``record`` holds what a frontend noted of a recorded call; it is None in canonical graphs. ``regions`` are the blocks of an operation
    that runs blocks: the body of a loop, the branches of a ``cond``. A region reads nothing but its own inputs, so ``uses`` are the
    operands, and the sources of the sizes that its regions have in common with the outside.
    """

    op: str
    inputs: tuple[Any, ...]
    params: dict[str, Any]
    origin: Origin
    outputs: tuple[Value, ...] = ()
    record: CallRecord | None = None
    regions: tuple[Region, ...] = ()
    uses: tuple[Value, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "uses", tuple(dict.fromkeys(self.reads())))

    def reads(self) -> list[Value]:
        """The ``uses``, each as often as it is read."""
        return values_in((self.inputs, self.params, *(list(region.sizes.values()) for region in self.regions)))

    @property
    def key(self) -> str:
        """The bare name of a recorded call; an empty text in a canonical graph."""
        return self.record.key if self.record is not None else ""

    @property
    def result(self) -> Any:
        """The structure that a recorded call returned, with values in the place of arrays."""
        return self.record.result if self.record is not None else None

    @property
    def writes(self) -> tuple[Value, ...]:
        """The values whose memory it writes to."""
        return self.record.writes if self.record is not None else ()

    @property
    def views(self) -> Mapping[int, Value]:
        """Index of an output that shares memory with an operand -> the operand."""
        return self.record.views if self.record is not None else _NO_VIEWS

    @property
    def is_random(self) -> bool:
        """Whether a recorded call draws from a generator. Random operations of a canonical graph are functions of a key."""
        return self.record is not None and self.record.random

    @property
    def depends_on_devices(self) -> bool:
        """Whether the devices that the graph runs over decide what it gives, also of constants."""
        return (self.key or self.op) in DEPEND_ON_DEVICES

    @property
    def no_grad(self) -> bool:
        """Whether a recorded call was made with gradients switched off."""
        return self.record is not None and self.record.no_grad

    def __repr__(self) -> str:
        return f"{', '.join(f'%{value.name}' for value in self.outputs)} = {self.op}"


def every(nodes: Iterable[Node]) -> Iterator[Node]:
    """The nodes, each followed by those of its regions, at any depth."""
    for node in nodes:
        yield node
        for region in node.regions:
            yield from every(region.block.nodes)


def draws(nodes: Iterable[Node]) -> bool:
    """Whether a recorded call among the nodes, or in their regions, draws from a generator."""
    return any(node.is_random for node in every(nodes))


def distinct(nodes: Iterable[Node], seen: set[int] | None = None) -> Iterator[Node]:
    """As :func:`every`, with those of a region that several nodes have once: not of those whose identities were ``seen``."""
    seen = set() if seen is None else seen
    for node in nodes:
        yield node
        for region in node.regions:
            if id(region) not in seen:
                seen.add(id(region))
                yield from distinct(region.block.nodes, seen)


def count_all(nodes: Iterable[Node]) -> int:
    """How many nodes there are, those of a region once: however often a loop runs it, and however many calls it has."""
    return len(list(distinct(nodes)))


def values_in(structure: Any) -> list[Value]:
    """All values in nested arguments, those whose sizes are read included."""
    found: list[Value] = []
    for item in iterate_structure(structure):
        if type(item) is Value:  # as most that are no numbers
            found.append(item)
        elif isinstance(item, Size):
            found += [symbol.source for symbol in item.symbols()]
    return found
