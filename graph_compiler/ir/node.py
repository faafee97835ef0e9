"""Nodes, and the values that they read and produce."""

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
    """Source location of a node.

    file, line: position in the user's code.
    module: path of the module that was running, such as `encoder.layers.0`; empty outside of modules.
    call: name of the framework function that was called.
    stored: variables to which the user's code assigns the result.
    instruction: offset of the bytecode instruction, which separates expressions on one line.
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
    """Array in a graph: an input, a parameter, a constant, or an output of a node.

    `name` is a preference for the name in generated code and need not be unique. Derived graphs share
    values, so `name` and `spec` are assigned only by the code that creates the value. The node that
    produces a value depends on the graph: see `Graph.maker`.
    """

    __slots__ = ("name", "spec")

    def __init__(self, name: str, spec: ArraySpec) -> None:
        self.name, self.spec = name, spec

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.spec.shape

    @property
    def dtype(self) -> str:
        return self.spec.dtype

    @property
    def ndim(self) -> int:
        return len(self.spec.shape)

    def __repr__(self) -> str:
        return f"%{self.name}: {self.spec}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Node:
    """Operation in a graph. Immutable: use `dataclasses.replace` to change one.

    op: name of the operation.
    inputs, params: operands and static parameters; in recorded graphs both may nest containers of values
        and sizes.
    origin: location in the user's code.
    outputs: values that the node produces.
    record: properties of the recorded call; None in canonical graphs.
    regions: blocks that the operation runs, such as the body of a loop.
    uses: values that the node reads, each once, including the sources of the sizes that its regions share
        with the enclosing scope.
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
        """Return the values that the node reads, once per use."""
        return values_in((self.inputs, self.params, *(list(region.sizes.values()) for region in self.regions)))

    @property
    def key(self) -> str:
        """Name of a recorded call without its module; empty in canonical graphs."""
        return self.record.key if self.record is not None else ""

    @property
    def result(self) -> Any:
        """Structure that a recorded call returned, with values instead of arrays."""
        return self.record.result if self.record is not None else None

    @property
    def writes(self) -> tuple[Value, ...]:
        """Values whose memory a recorded call writes to."""
        return self.record.writes if self.record is not None else ()

    @property
    def views(self) -> Mapping[int, Value]:
        """Operand that an output aliases, by the index of the output."""
        return self.record.views if self.record is not None else _NO_VIEWS

    @property
    def is_random(self) -> bool:
        """True if a recorded call advances a random generator. Random operations of canonical graphs are
        functions of a key.
        """
        return self.record is not None and self.record.random

    @property
    def depends_on_devices(self) -> bool:
        """True for collectives and the like, whose result depends on the devices that the graph runs on, even
        for constant operands.
        """
        return (self.key or self.op) in DEPEND_ON_DEVICES

    @property
    def no_grad(self) -> bool:
        """True if a recorded call ran with gradients disabled."""
        return self.record is not None and self.record.no_grad

    def __repr__(self) -> str:
        return f"{', '.join(f'%{value.name}' for value in self.outputs)} = {self.op}"


def every(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield the nodes in program order, each followed by the nodes of its regions at any depth."""
    for node in nodes:
        yield node
        for region in node.regions:
            yield from every(region.block.nodes)


def draws(nodes: Iterable[Node]) -> bool:
    """Return True if a recorded call among the nodes, or inside their regions, advances a random generator."""
    return any(node.is_random for node in every(nodes))


def distinct(nodes: Iterable[Node], seen: set[int] | None = None) -> Iterator[Node]:
    """Yield the nodes as :func:`every` does, but those of a region shared by several nodes only once.

    Regions whose `id` is in `seen` are skipped; regions that are visited are added to it.
    """
    seen = set() if seen is None else seen
    for node in nodes:
        yield node
        for region in node.regions:
            if id(region) not in seen:
                seen.add(id(region))
                yield from distinct(region.block.nodes, seen)


def count_all(nodes: Iterable[Node]) -> int:
    """Return the number of nodes, regions included. A region shared by several nodes counts once."""
    return len(list(distinct(nodes)))


def values_in(structure: Any) -> list[Value]:
    """Return all values in nested arguments, including the sources of the sizes in them."""
    found: list[Value] = []
    for item in iterate_structure(structure):
        if type(item) is Value:  # as most that are no numbers
            found.append(item)
        elif isinstance(item, Size):
            found += [symbol.source for symbol in item.symbols()]
    return found
