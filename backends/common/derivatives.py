"""Parts of a ``custom_derivative`` node, for the writers of the backends.

Functions with rules are defined at module level (``Scope.define``), not in the function that calls them.
Regions are isolated, so everything they read is an argument; ``torch.compile`` accepts such classes; and
equal functions share one definition.
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
    """Regions of a ``custom_derivative`` node, and the inputs of its rule by purpose.

    function: the function itself.
    forward: the function that also returns residuals; None if the node has none.
    rule: the derivative rule.
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
        """Write the rule for a separate function, and return it.

        Other functions may reuse its local names.
        """
        inputs = self.rule.block.inputs
        names = arguments(scope, inputs)
        inside = scope.apart(self.rule, names)
        inside.free()
        scope.free(names)
        return Rule(dict(zip(inputs, names)), inside)

    def of_operands(self, gradients: Sequence[str]) -> list[str]:
        known = dict(zip(self.differentiated, gradients, strict=True))
        # Operands without a derivative have None as their gradient.
        return [known.get(place, "None") for place in range(len(self.operands))]


@dataclass(frozen=True)
class Rule:
    """Derivative rule that is written, but not yet inserted.

    names: the name of each input.
    inside: the lines.
    """

    names: Mapping[Value, str]
    inside: Inside

    def used(self, *values: Sequence[Value]) -> list[Value]:
        return [value for part in values for value in part if self.inside.reads(self.names[value])]

    def named(self, *values: Sequence[Value]) -> list[str]:
        """Return the names of the inputs ``values``, with ``_`` for inputs that the rule does not read."""
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
    """Write ``region`` into the function of ``scope`` that has the arguments ``names``.

    Return the texts of its outputs. Other functions may reuse its local names.
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
