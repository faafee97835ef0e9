"""Protocols and helpers for the writers of operations with regions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol

from ...ir.node import Block, Node, Region, Value
from ...ops.control import has_derivative


class WrittenRegion(Protocol):
    """Region whose lines are written, but not yet inserted.

    outputs: texts of its outputs.
    is_empty: True if the region has no lines.
    """

    outputs: list[str]
    is_empty: bool

    def reads(self, name: str) -> bool:
        """Return True if the lines or outputs contain ``name``."""

    def expression(self) -> str | None:
        """Return the text of the output if there is only one and the region has no lines, else None."""

    def free(self) -> None:
        """Make the local names of the region available again."""


class IndexedWeights(Protocol):
    """Weights that the function of a region reads from containers instead of taking them as arguments.

    weights: accessor of each weight, by the index of the input that it replaces.
    layer_indices: layer index that each call passes.
    holders: names of the containers, which are the first arguments.
    """

    weights: Mapping[int, Any]
    layer_indices: Mapping[Node, int]
    holders: list[str]


class Scope(Protocol):
    """Lines of one block while they are written.

    text: expression for each value, usually its name.
    dialect: writer of single nodes.
    """

    nodes: Sequence[Node]
    text: dict[Value, str]
    dialect: Any

    def literal(self, structure: Any) -> Any:
        """Return ``structure`` with leaves whose ``repr`` is their source text."""

    def line(self, text: str) -> None: ...

    def blank(self) -> None:
        """Write an empty line, unless it would be the first line or follow an empty one."""

    def indented(self, head: str) -> AbstractContextManager[None]:
        """Write ``head``, and indent the lines that are written in the context."""

    def new(self, wanted: str) -> str:
        """Reserve an unused name that is similar to ``wanted``, and return it."""

    def free(self, names: Iterable[str]) -> None: ...

    def release(self, node: Node) -> None:
        """Free the names that nothing needs after ``node``, so that its outputs may reuse them."""

    def name(self, node: Node) -> list[str]:
        """Name the outputs of ``node``, and return the names, with ``_`` for unused outputs among several."""

    def name_carry(self, node: Node, body: Region, is_statement: bool = True) -> list[str]:
        """Return names for the carry of a loop, before and after each iteration of ``body``.

        ``is_statement`` is False if ``body`` becomes a nested function.
        """

    def write_inner(
        self, region: Region, inputs: Sequence[str], captured: Sequence[Any], is_assigning: bool = False
    ) -> WrittenRegion:
        """Write ``region`` without inserting its lines.

        Its first inputs get the names ``inputs``, and the others the texts of ``captured``. With
        ``is_assigning``, its lines may assign the names ``inputs`` again.
        """

    def write_separately(self, region: Region, inputs: Sequence[str]) -> WrittenRegion:
        """Write ``region``, whose inputs get the texts ``inputs``, for a separate function."""

    def define(self, wanted: str, write: Callable[[Any, str], None], suffixes: Sequence[str] = ()) -> str:
        """Let ``write(scope, name)`` write a function or class at module level, and return its name.

        ``write`` may define further names, which are ``name`` followed by one of ``suffixes``.
        """

    def define_region(self, region: Region, write: Callable[[Any, str], None]) -> str:
        """Return the name of the function of ``region`` at module level, after writing it if it is new."""

    def indexed_weights(self, region: Region) -> IndexedWeights: ...

    def take(self, inside: WrittenRegion) -> None:
        """Append the lines of ``inside`` at the current indentation."""

    def drop(self, value: Value, reads: int = 1) -> None:
        """Remove the line that computes ``value`` if its only uses are ``reads`` reads by nodes."""


@dataclass(frozen=True)
class Loop:
    """Operands of a ``scan`` or ``while_loop``.

    state: texts of the initial carry.
    sequences: texts of the arrays or ranges that are iterated over.
    captured: inputs that the regions read from the enclosing scope.
    """

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
    """Return the source of ``texts`` as one object: None without texts, a single text itself, else a tuple.

    >>> packed([]), packed(["x"]), packed(["x", "y"])
    ('None', 'x', '(x, y)')
    """
    return "None" if not texts else texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def tuple_text(texts: Sequence[str]) -> str:
    """Return the source of a tuple, with the comma that a single item needs.

    >>> tuple_text(["x"]), tuple_text(["x", "y"])
    ('(x,)', '(x, y)')
    """
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def function(scope: Scope, wanted: str, arguments: Sequence[str], inside: WrittenRegion, result: str) -> str:
    name = scope.new(wanted)
    scope.blank()
    with scope.indented(f"def {name}({', '.join(arguments)}):"):
        scope.take(inside)
        scope.line(f"return {result}")
    scope.blank()
    return name


def call(scope: Scope, node: Node) -> None:
    (region,) = node.regions
    own = scope.indexed_weights(region)
    name = scope.define_region(region, lambda inner, name: _definition(inner, name, region, own))
    operands = [
        repr(scope.literal(item)) for place, item in enumerate(node.inputs) if place not in own.weights
    ]
    numbers = [str(own.layer_indices[node])] if own.layer_indices else []
    # Results may take the names of operands that nothing reads later.
    scope.release(node)
    scope.line(f"{', '.join(scope.name(node))} = {name}({', '.join([*own.holders, *numbers, *operands])})")


def _definition(scope: Scope, name: str, region: Region, own: IndexedWeights) -> None:
    # Equal layers share the function, which gets the number of the layer.
    index = [scope.new("index")] if own.layer_indices else []
    texts = [
        own.weights[place].text(*index or ("",)) if place in own.weights else ""
        for place in range(len(region.block.inputs))
    ]
    texts = [text or scope.new(value.name) for text, value in zip(texts, region.block.inputs)]
    names = [*own.holders, *index, *(text for place, text in enumerate(texts) if place not in own.weights)]
    inside = scope.write_separately(region, texts)
    with scope.indented(f"def {name}({', '.join(names)}):"):
        scope.take(inside)
        scope.line(f"return {', '.join(inside.outputs)}")


def checkpointed(scope: Scope, node: Node, results: Callable[[Sequence[str]], str]) -> tuple[str, list[str]]:
    """Write the region of ``node`` as a nested function, and return its name and the texts of the operands.

    ``results`` makes the returned expression from the texts of the region's outputs.
    """
    region = node.regions[0]
    # The function is recomputed for the gradient, so it captures no variables.
    names = [scope.new(value.name) for value in region.block.inputs]
    inside = scope.write_separately(region, names)
    name = function(scope, region.name, names, inside, results(inside.outputs))
    inside.free()
    scope.free(names)
    return name, [repr(scope.literal(item)) for item in node.inputs]


def write_strong_zero(scope: Scope, node: Node) -> None:
    (region,) = node.regions
    name = scope.define(
        region.name, lambda inner, name: _definition(inner, name, region, scope.indexed_weights(region))
    )
    operands = [repr(scope.literal(item)) for item in node.inputs]
    scope.line(f"{', '.join(scope.name(node))} = strong_zero({', '.join([name, *operands])})")


def with_checkpointed_step(node: Node) -> Node:
    """Return the ``scan`` node ``node`` with a body that is one checkpointed ``call`` of the old body."""
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
    """Return a writer of ``associative_scan`` nodes as calls of ``helper``."""

    def associative_scan(scope: Scope, node: Node) -> None:
        (combine,), count, params = node.regions, node.params["sequences"], node.params
        pairs = names_of(scope, combine, 2 * count)
        inside = scope.write_inner(combine, pairs, node.inputs[count:])
        name = function(scope, combine.name, pairs, inside, tuple_text(inside.outputs))
        inside.free()
        scope.free(pairs)
        sequences = tuple_text([repr(scope.literal(item)) for item in node.inputs[:count]])
        reverse = ", reverse=True" if params["reverse"] else ""
        made = scope.name(node)
        # The helper returns a tuple, also for a single array.
        targets = ", ".join(made) if count > 1 else tuple_text(made)
        scope.line(f"{targets} = {helper}({name}, {sequences}, {params['axis']}{reverse})")
        scope.free([name])

    return associative_scan


def assigned(scope: Scope, targets: Sequence[str], values: Sequence[str]) -> None:
    # All are assigned at once, because a value may be the old value of another target.
    pairs = [(target, value) for target, value in zip(targets, values, strict=True) if target != value]
    if pairs:
        scope.line(f"{', '.join(target for target, _ in pairs)} = {', '.join(value for _, value in pairs)}")


# ------------------------------------------------------------------------------------------------ derivatives
# Parts of a ``custom_derivative`` node, for the writers of the backends.
#
# Functions with rules are defined at module level (``Scope.define``), not in the function that calls them.
# Regions are isolated, so everything they read is an argument; ``torch.compile`` accepts such classes; and
# equal functions share one definition.


@dataclass(frozen=True)
class Derivative:
    """Regions of a ``custom_derivative`` node, and the inputs of its rule by purpose.

    forward: the function that also returns residuals; None if the node has only two regions.
    results: the inputs of the rule that are results of the function (VJP only).
    residuals: the inputs of the rule that are residuals of ``forward``.
    given: tangents of a JVP rule, or cotangents of a VJP rule.
    operands: the inputs of the rule that are operands of the node.
    has_given: for each result, True if it has a tangent or cotangent.
    differentiated: indices of the differentiated operands.
    """

    function: Region
    forward: Region | None
    rule: Region
    results: Sequence[Value]
    residuals: Sequence[Value]
    given: Sequence[Value]
    operands: Sequence[Value]
    has_given: tuple[bool, ...]
    differentiated: tuple[int, ...]

    @classmethod
    def of(cls, node: Node) -> Derivative:
        function, *others, rule = node.regions
        specs, places = function.specs_outside(), node.params["differentiated"]
        is_jvp, has_given = node.params["kind"] == "jvp", tuple(map(has_derivative, specs))
        inputs = iter(rule.block.inputs)
        results = [] if is_jvp else list(islice(inputs, len(specs)))
        residuals = list(islice(inputs, node.params["residuals"]))
        given = list(islice(inputs, len(places) if is_jvp else sum(has_given)))
        return cls(
            function,
            others[0] if others else None,
            rule,
            results,
            residuals,
            given,
            list(inputs),
            has_given,
            places,
        )

    def written_rule(self, scope: Scope) -> Rule:
        inputs = self.rule.block.inputs
        names = arguments(scope, inputs)
        inside = scope.write_separately(self.rule, names)
        inside.free()
        scope.free(names)
        return Rule(dict(zip(inputs, names)), inside)

    def of_operands(self, gradients: Sequence[str]) -> list[str]:
        known = dict(zip(self.differentiated, gradients, strict=True))
        # Operands without a derivative have None as their gradient.
        return [known.get(place, "None") for place in range(len(self.operands))]


@dataclass(frozen=True)
class Rule:
    """Derivative rule that is written, but not yet inserted."""

    names: Mapping[Value, str]
    inside: WrittenRegion

    def used(self, *values: Sequence[Value]) -> list[Value]:
        return [value for part in values for value in part if self.inside.reads(self.names[value])]

    def named(self, *values: Sequence[Value]) -> list[str]:
        return [
            self.names[value] if self.inside.reads(self.names[value]) else "_"
            for part in values
            for value in part
        ]


def arguments(scope: Scope, values: Sequence[Value]) -> list[str]:
    return [scope.new(value.name) for value in values]


def bare(texts: Sequence[str]) -> str:
    return ", ".join(texts)


def insert_region(scope: Scope, region: Region, names: Sequence[str]) -> list[str]:
    inside = scope.write_separately(region, names)
    scope.take(inside)
    inside.free()
    return inside.outputs


def write_call_to(scope: Scope, node: Node, function: str, wanted: int) -> None:
    operands = [repr(scope.literal(item)) for item in node.inputs]
    made: list[Any] = scope.name(node)
    scope.line(f"{bare([*made, *['_'] * (wanted - len(made))])} = {function}({', '.join(operands)})")


def with_placeholders(texts: Sequence[str], has_given: Sequence[bool]) -> Iterator[str]:
    rest = iter(texts)
    return (next(rest) if has else "_" for has in has_given)
