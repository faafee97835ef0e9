"""Gives recorded values the names of the variables that the user's code stores them in."""

from __future__ import annotations

from collections.abc import Iterable

from ...ir.node import Node, Origin


def name_by_variables(nodes: Iterable[Node]) -> None:
    """Names the outputs of the last call of each expression that is stored in variables.

    Calls that one expression makes (those inside of a function of a library, say) follow each other, and the last of them gives its result.
    """
    before: Node | None = None
    for node in (*nodes, None):
        if before is not None and before.origin.stored and (node is None or _expression(node.origin) != _expression(before.origin)):
            _name(before)
        before = node


def _expression(origin: Origin) -> tuple[str, int, int]:
    return origin.file, origin.line, origin.instruction


def _name(node: Node) -> None:
    names = node.origin.stored
    if len(names) == len(node.outputs):
        for value, name in zip(node.outputs, names):
            value.name = name
