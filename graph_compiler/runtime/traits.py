"""Properties of a graph that decide how its variant runs: numbers, writes and checks."""

from __future__ import annotations

import math
from typing import Any

from ..contracts import Target
from ..errors import GuardFailed
from ..ir.graph import GUARD, Aliases, Graph
from ..ir.node import Node, distinct
from ..sizes import Size


def numbers_of(graph: Graph) -> list[int]:
    """Return the indices of the outputs that are sizes computed from Python numbers or array elements."""
    sizes = ((place, item) for place, item in enumerate(graph.outputs) if isinstance(item, Size))
    return [
        place for place, size in sizes if any(symbol.kind in ("item", "number") for symbol in size.symbols())
    ]


def arrays_written(graph: Graph) -> tuple[tuple[str, Any], ...]:
    """Return the arrays that the generated function writes to, as pairs of a kind and a key.

    The kinds are ``"inputs"`` (key: index), ``"parameters"`` and ``"constants"`` (key: name).
    """
    written = Aliases(graph).written
    if not written:
        return ()
    kinds = [
        ("parameters", graph.parameters.items()),
        ("constants", ((name, value) for name, (value, _) in graph.constants.items())),
    ]
    found = [("inputs", index) for index, value in enumerate(graph.inputs) if value in written]
    return (*found, *((kind, name) for kind, held in kinds for name, value in held if value in written))


def write_argument(graph: Graph, target: Target, number: int, array: Any, value: Any) -> None:
    """Write the elements of ``value`` to ``array``, the argument with index ``number``.

    Raise ``GuardFailed`` if writes cannot reach ``array``.
    """
    try:
        target.write_back(array, value)
        # Where the graph has an effect for the argument, its new values are written after the call.
        if ("argument", number) not in ((effect.kind, effect.target) for effect in graph.effects):
            _check_shared(target, array, value)
    except GuardFailed as problem:
        writer = _writer(graph, number)
        raise GuardFailed(f"{writer.origin}: {problem}" if writer else str(problem)) from None


def _check_shared(target: Target, array: Any, value: Any) -> None:
    addresses = _address(array), _address(value)
    if None not in addresses and addresses[0] != addresses[1] and math.prod(array.shape):
        raise GuardFailed(
            f"the function writes to its argument, but this {type(array).__name__} (strides "
            f"{getattr(array, 'strides', None)}, dtype {array.dtype}) can only be copied for {target.name}; "
            "pass a contiguous copy of it in native byte order, numpy.array(x, order='C')"
        )


def _address(array: Any) -> int | None:
    if hasattr(array, "data_ptr"):
        return int(array.data_ptr())
    interface = getattr(array, "__array_interface__", None)
    return None if interface is None else int(interface["data"][0])


def _writer(graph: Graph, number: int) -> Node | None:
    aliases, base = Aliases(graph), graph.inputs[number]
    held = {effect.value for effect in graph.effects if (effect.kind, effect.target) == ("argument", number)}

    def writes(node: Node) -> bool:
        return base in map(aliases.base_of, node.writes) or not held.isdisjoint(node.outputs)

    return next(filter(writes, reversed(graph.nodes)), None)


def has_inner_checks(graph: Graph) -> bool:
    return bool(graph.inner_guards()) or any(node.op == GUARD for node in distinct(graph.nodes))


def plain_number(target: Target, result: Any) -> Any:
    """Convert a 0-d array to a Python number, unless the target traces or differentiates it."""
    # The class is compared exactly, because NumPy's float64 is a subclass of float and an array elsewhere.
    is_plain = type(result) in (bool, int, float, complex)
    return (
        result
        if is_plain or target.is_traced(result) or target.records_gradients_of((result,))
        else target.elements(result)
    )
