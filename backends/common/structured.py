"""What the ways to write operations that run blocks have in common: the scope that they write into, and the
parts of such a node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ...ir.node import Block, Node, Region, Value


class Inside(Protocol):
    """A region that was written aside."""

    outputs: list[str]  # text of its outputs
    is_empty: bool  # whether it has no lines

    def reads(self, name: str) -> bool:
        """Whether a name stands in it."""

    def expression(self) -> str | None:
        """All of it as one expression, where it is that short."""

    def free(self) -> None:
        """Its names may be used again."""


class Numbered(Protocol):
    """What the function of a region reads by itself (``codegen/layers.py``): by the place of its inputs, from
    these dicts.
    """

    weights: Mapping[int, Any]
    numbers: Mapping[Node, int]
    holders: list[str]


class Scope(Protocol):
    """Where the lines of a block are written (``codegen/scope.py``)."""

    nodes: Sequence[Node]  # of the block
    text: dict[Value, str]  # names of values
    dialect: Any

    def literal(self, structure: Any) -> Any:
        """Nested arguments as names and literals."""

    def line(self, text: str) -> None:
        """One more line."""

    def blank(self) -> None:
        """An empty line, where there is none yet."""

    def indented(self, head: str) -> AbstractContextManager[None]:
        """Lines below ``head``."""

    def new(self, wanted: str) -> str:
        """A name that nothing has at the moment."""

    def free(self, names: Iterable[str]) -> None:
        """Names that are needed no more."""

    def release(self, node: Node) -> None:
        """The names of operands that nothing needs after a node may be those of what it makes."""

    def name(self, node: Node) -> list[str]:
        """Names for the outputs of a node."""

    def inside(self, region: Region, inputs: Sequence[str], captured: Sequence[Any]) -> Inside:
        """A region written aside: its own inputs under these names."""

    def apart(self, region: Region, inputs: Sequence[str]) -> Inside:
        """A region written aside for a function of its own: all inputs have these names."""

    def define(self, wanted: str, write: Callable[[Any, str], None], suffixes: Sequence[str] = ()) -> str:
        """The name of a function or class of the module that ``write`` writes."""

    def define_region(self, region: Region, write: Callable[[Any, str], None]) -> str:
        """The name of the function of a region, which the module has once."""

    def numbered(self, region: Region) -> Numbered:
        """What the function of a region reads by the number of a layer."""

    def take(self, inside: Inside) -> None:
        """The lines of a region."""

    def drop(self, value: Value) -> None:
        """The line that makes a value, which nothing else uses."""


@dataclass(frozen=True)
class Loop:
    """The operands of a ``scan`` or ``while_loop`` by what they are for, as text; ``captured`` as they are."""

    state: list[str]
    sequences: list[str]
    captured: Sequence[Any]

    @classmethod
    def of(cls, scope: Scope, node: Node) -> Loop:
        carried = node.params["carried"]
        own = carried + node.params.get("sequences", 0)
        text = [repr(scope.literal(item)) for item in node.inputs[:own]]
        return cls(text[:carried], text[carried:], node.inputs[own:])


def names_of(scope: Scope, region: Region, count: int, first: int = 0) -> list[str]:
    return [scope.new(value.name) for value in region.block.inputs[first : first + count]]


def packed(texts: Sequence[str]) -> str:
    """One text as it is, none as ``None``, several as a tuple.

    >>> packed([]), packed(["x"]), packed(["x", "y"])
    ('None', 'x', '(x, y)')
    """
    return "None" if not texts else texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def tuple_text(texts: Sequence[str]) -> str:
    """A tuple, also of one.

    >>> tuple_text(["x"]), tuple_text(["x", "y"])
    ('(x,)', '(x, y)')
    """
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def function(scope: Scope, wanted: str, arguments: Sequence[str], inside: Inside, result: str) -> str:
    """The name of a nested function that gives ``result``."""
    name = scope.new(wanted)
    scope.blank()
    with scope.indented(f"def {name}({', '.join(arguments)}):"):
        scope.take(inside)
        scope.line(f"return {result}")
    scope.blank()
    return name


def call(scope: Scope, node: Node) -> None:
    """One line that calls the function of a block, which the module has once: calls of the same function read
    the same.
    """
    (region,) = node.regions
    own = scope.numbered(region)
    name = scope.define_region(region, lambda inner, name: _definition(inner, name, region, own))
    operands = [
        repr(scope.literal(item)) for place, item in enumerate(node.inputs) if place not in own.weights
    ]
    numbers = [str(own.numbers[node])] if own.numbers else []
    scope.release(node)
    scope.line(f"{', '.join(scope.name(node))} = {name}({', '.join([*own.holders, *numbers, *operands])})")


def _definition(scope: Scope, name: str, region: Region, own: Numbered) -> None:
    """The function of a block, which reads weights itself where their names tell which ones."""
    index = [scope.new("index")] if own.numbers else []
    texts = [
        own.weights[place].text(*index or ("",)) if place in own.weights else ""
        for place in range(len(region.block.inputs))
    ]
    texts = [text or scope.new(value.name) for text, value in zip(texts, region.block.inputs)]
    names = [*own.holders, *index, *(text for place, text in enumerate(texts) if place not in own.weights)]
    inside = scope.apart(region, texts)
    with scope.indented(f"def {name}({', '.join(names)}):"):
        scope.take(inside)
        scope.line(f"return {', '.join(inside.outputs)}")


def checkpointed(scope: Scope, node: Node, results: Callable[[Sequence[str]], str]) -> tuple[str, list[str]]:
    """A function of all operands of a node, and these: what computes it again for a gradient takes none from
    elsewhere.
    """
    region = node.regions[0]
    names = [scope.new(value.name) for value in region.block.inputs]
    inside = scope.apart(region, names)
    name = function(scope, region.name, names, inside, results(inside.outputs))
    inside.free()
    scope.free(names)
    return name, [repr(scope.literal(item)) for item in node.inputs]


def strongly_zero(scope: Scope, node: Node) -> None:
    """One line that calls the function of a block by the helper ``strong_zero``."""
    (region,) = node.regions
    name = scope.define(
        region.name, lambda inner, name: _definition(inner, name, region, scope.numbered(region))
    )
    operands = [repr(scope.literal(item)) for item in node.inputs]
    scope.line(f"{', '.join(scope.name(node))} = strong_zero({', '.join([name, *operands])})")


def step_called(node: Node) -> Node:
    """A ``scan`` whose step is a ``call`` that is computed again for a gradient, in the place of one that is
    so itself.
    """
    (step,) = node.regions
    inputs, outputs = (
        tuple(Value(item.name, item.spec) for item in side)
        for side in (step.block.inputs, step.block.outputs)
    )
    call = Node(
        "call", inputs, {"checkpoint": True, "strong_zero": False}, node.origin, outputs, regions=(step,)
    )
    region = Region(step.name, Block(inputs, (call,), outputs), step.sizes)
    return replace(node, params={**node.params, "checkpoint": False}, regions=(region,))


def associative_scan_by(helper: str) -> Callable[[Scope, Node], None]:
    """Writes a function that combines pairs, for a helper ``helper(combine, sequences, axis)``; all inputs
    and outputs of the function are flat.
    """

    def associative_scan(scope: Scope, node: Node) -> None:
        (combine,), count, params = node.regions, node.params["sequences"], node.params
        pairs = names_of(scope, combine, 2 * count)
        inside = scope.inside(combine, pairs, node.inputs[count:])
        name = function(scope, combine.name, pairs, inside, tuple_text(inside.outputs))
        inside.free()
        scope.free(pairs)
        sequences = tuple_text([repr(scope.literal(item)) for item in node.inputs[:count]])
        reverse = ", reverse=True" if params["reverse"] else ""
        made = scope.name(node)
        targets = ", ".join(made) if count > 1 else tuple_text(made)
        scope.line(f"{targets} = {helper}({name}, {sequences}, {params['axis']}{reverse})")
        scope.free([name])

    return associative_scan


def assigned(scope: Scope, targets: Sequence[str], values: Sequence[str]) -> None:
    pairs = [(target, value) for target, value in zip(targets, values, strict=True) if target != value]
    if pairs:
        scope.line(f"{', '.join(target for target, _ in pairs)} = {', '.join(value for _, value in pairs)}")
