"""Linear layers of torch."""

from __future__ import annotations

from typing import Any

from ..table import TorchBuilder, rows


def optional(*arrays: Any) -> tuple[Any, ...]:
    """The arrays without trailing Nones."""
    given = list(arrays)
    while given and given[-1] is None:
        given.pop()
    return tuple(given)


@rows.row("linear")
def linear(b: TorchBuilder, input: Any, weight: Any, bias: Any = None) -> Any:
    """torch.nn.functional.linear: ``input @ weight.T + bias``."""
    return b.linear(*optional(input, weight, bias))


@rows.row("bilinear")
def bilinear(b: TorchBuilder, input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """torch.nn.functional.bilinear."""
    return b.bilinear(*optional(input1, input2, weight, bias))
