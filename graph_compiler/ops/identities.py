"""When an operation changes nothing, so that no node is needed: one row an operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _is_written(x: Any, value: Any, key: Any) -> bool:
    """Whether ``x`` is what the same write has just made: ``y[key] += z`` is a write of its own, and assigned to ``y[key]``."""
    node = getattr(x, "node", None)
    return node is not None and node.op == "setitem" and node.inputs[1] is value and node.params["key"] == key


# op -> whether it gives back its first input as it is. Inputs are values or numbers.
_IDENTITIES: dict[str, Callable[..., bool]] = {
    "astype": lambda x, dtype: x.dtype == dtype,
    "reshape": lambda x, shape: x.shape == shape,
    "permute_dims": lambda x, axes: axes == tuple(range(x.ndim)),
    "broadcast_to": lambda x, shape: x.shape == shape,
    "concat": lambda *arrays, axis: len(arrays) == 1,
    "getitem": lambda x, key: all(item == (None, None, 1) for item in key),
    "setitem": _is_written,
    "flip": lambda x, axis: axis == (),
    "pad": lambda x, padding, **_: all(amount == 0 for pair in padding for amount in pair),
    "tile": lambda x, repetitions: len(repetitions) <= x.ndim and all(count == 1 for count in repetitions),
}


def identity_of(name: str, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The first input where the operation would give it back unchanged, otherwise None."""
    unchanged = _IDENTITIES.get(name)
    return inputs[0] if unchanged is not None and unchanged(*inputs, **params) else None
