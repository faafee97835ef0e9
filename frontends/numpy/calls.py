"""Recorded numpy calls as source text, just as a person would write them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...ir.node import Node
from ...ops.text import factor
from ...sizes import Symbol
from ..index_text import index_text
from ..recorded_calls import RecordedCalls
from .draws import METHOD as GENERATOR
from .names import METHOD

_OPERATORS = {
    "__add__": "{} + {}", "__sub__": "{} - {}", "__mul__": "{} * {}", "__truediv__": "{} / {}", "__floordiv__": "{} // {}",
    "__mod__": "{} % {}", "__pow__": "{} ** {}", "__matmul__": "{} @ {}", "__and__": "{} & {}", "__or__": "{} | {}", "__xor__": "{} ^ {}",
    "__lshift__": "{} << {}", "__rshift__": "{} >> {}", "__eq__": "{} == {}", "__ne__": "{} != {}", "__lt__": "{} < {}",
    "__le__": "{} <= {}", "__gt__": "{} > {}", "__ge__": "{} >= {}", "__neg__": "-{}", "__pos__": "+{}", "__abs__": "abs({})",
    "__invert__": "~{}",
}  # fmt: skip


class NumpyCalls(RecordedCalls):
    """The dialect of recorded numpy graphs."""

    imports: Mapping[str, str] = {
        "cmath": "import cmath",
        "np": "import numpy as np",
        "parallel": "from graph_compiler import parallel",
        "special": "from scipy import special",
        "stride_tricks": "from numpy.lib import stride_tricks",
    }

    def expression(self, node: Node, text: Callable[[Any], Any]) -> str:
        """The call of a node."""
        inputs = [text(item) for item in node.inputs]
        params = {key: text(item) for key, item in node.params.items()}
        if node.op.startswith(GENERATOR):
            return _call(f"{inputs[0]!r}.{node.op.removeprefix(GENERATOR)}", inputs[1:], params)
        if not node.op.startswith(METHOD):
            name = re.sub(r"^numpy\.lib\.stride_tricks\.", "stride_tricks.", node.op)
            return _call(re.sub(r"^(scipy|graph_compiler|builtins)\.", "", re.sub(r"^numpy\.", "np.", name)), inputs, params)
        name = node.op.removeprefix(METHOD)
        if name == "__getitem__":
            return f"{factor(repr(inputs[0]))}[{index_text(inputs[1])}]"
        if name == "__setitem__":
            return f"{inputs[0]!r}[{index_text(inputs[1])}] = {inputs[2]!r}"
        if name.endswith(".__get__"):
            return f"{factor(repr(inputs[0]))}.{name.removesuffix('.__get__')}"
        if name in _OPERATORS:
            return _OPERATORS[name].format(*(factor(repr(item)) for item in inputs))
        return _call(f"{factor(repr(inputs[0]))}.{name}", inputs[1:], params)

    def size(self, array: str, symbol: Symbol) -> str:
        """How a size or stride is read."""
        return f"{array}.shape[{symbol.axis}]" if symbol.kind == "size" else f"{array}.strides[{symbol.axis}] // {array}.itemsize"

    def context(self, node: Node) -> str:
        """Calls keep the treatment of floating-point errors that the user has chosen for them."""
        changed = ", ".join(f'{kind}="{how}"' for kind, how in (node.record.errstate if node.record is not None else ()))
        return f"np.errstate({changed})" if changed else ""

    def spell(self, item: Any) -> str | None:
        """Text for an object of numpy that has no literal, or None."""
        if isinstance(item, np.dtype):
            return f'np.dtype("{item.name}")'
        if isinstance(item, type) and issubclass(item, np.generic):
            return f"np.{np.dtype(item).name}" if item is not np.bool_ else "np.bool_"
        return item.__name__ if item in (bool, int, float, complex) else None


def _call(name: str, inputs: list[Any], params: dict[str, Any]) -> str:
    return f"{name}({', '.join([*map(repr, inputs), *(f'{key}={value!r}' for key, value in params.items())])})"
