"""The parts of a ``custom_derivative`` as the ways to write it need them.

Functions with rules stand in the module, not in the function that calls them (``Scope.define``): regions are
isolated, so all that they read are arguments, sizes are read from these, ``torch.compile`` takes the class,
and what reads the same is one definition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ...ir.node import Node, Region, Value
from ...ops.control import has_derivative
from .structured import Inside, Scope


@dataclass(frozen=True)
class Derivative:
    """Regions of the node, and the inputs of its rule by what they are: ``given`` are tangents, or
    cotangents, ``has_given`` says which results have one.
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
        """The rule, written aside for a function of its own.

        Its names may be used again by other functions.
        """
        inputs = self.rule.block.inputs
        names = arguments(scope, inputs)
        inside = scope.apart(self.rule, names)
        inside.free()
        scope.free(names)
        return Rule(dict(zip(inputs, names)), inside)

    def of_operands(self, gradients: Sequence[str]) -> list[str]:
        known = dict(zip(self.differentiated, gradients, strict=True))
        return [known.get(place, "None") for place in range(len(self.operands))]


@dataclass(frozen=True)
class Rule:
    """A rule that was written aside, and the names of its inputs in it."""

    names: Mapping[Value, str]
    inside: Inside

    def used(self, *values: Sequence[Value]) -> list[Value]:
        return [value for part in values for value in part if self.inside.reads(self.names[value])]

    def named(self, *values: Sequence[Value]) -> list[str]:
        """The names of these inputs in it, and ``_`` for those that it does not use."""
        return [
            self.names[value] if self.inside.reads(self.names[value]) else "_"
            for part in values
            for value in part
        ]


def arguments(scope: Scope, values: Sequence[Value]) -> list[str]:
    return [scope.new(value.name) for value in values]


def tuple_of(texts: Sequence[str]) -> str:
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def bare(texts: Sequence[str]) -> str:
    return ", ".join(texts)


def lines_of(scope: Scope, region: Region, names: Sequence[str]) -> list[str]:
    """Writes a region in a function whose arguments have these names; gives the text of its outputs. Local
    names may be used again by other functions.
    """
    inside = scope.apart(region, names)
    scope.take(inside)
    inside.free()
    return inside.outputs


def called(scope: Scope, node: Node, function: str, wanted: int) -> None:
    operands = [repr(scope.literal(item)) for item in node.inputs]
    made: list[Any] = scope.name(node)
    scope.line(f"{bare([*made, *['_'] * (wanted - len(made))])} = {function}({', '.join(operands)})")


def chosen(texts: Sequence[str], has_given: Sequence[bool]) -> Iterator[str]:
    rest = iter(texts)
    return (next(rest) if has else "_" for has in has_given)
