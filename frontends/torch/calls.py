"""Source text of recorded torch calls, with operators and without arguments that equal their defaults."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from ...ir.node import Node
from ...ops.collectives import REDUCTIONS
from ...ops.text import factor, index_text
from ...sizes import Symbol
from ..common.lifter import RecordedCalls
from .basics.arguments import without_defaults
from .basics.names import row_key

_OPERATORS = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "div": "{} / {}", "__rsub__": "{1} - {0}",
    "__matmul__": "{} @ {}", "matmul": "{} @ {}", "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}",
    "le": "{} <= {}", "gt": "{} > {}", "ge": "{} >= {}", "__and__": "{} & {}", "__or__": "{} | {}",
    "__xor__": "{} ^ {}", "__pow__": "{} ** {}", "__rpow__": "{1} ** {0}", "__floordiv__": "{} // {}",
    "__rfloordiv__": "{1} // {0}", "__mod__": "{} % {}", "__rmod__": "{1} % {0}", "__rdiv__": "{1} / {0}",
    "__rtruediv__": "{1} / {0}", "__lshift__": "{} << {}", "__rshift__": "{} >> {}", "__neg__": "-{}",
    "neg": "-{}", "__invert__": "~{}", "__abs__": "abs({})", "__rmatmul__": "{1} @ {0}",
    "__rand__": "{1} & {0}", "__ror__": "{1} | {0}", "__eq__": "{} == {}", "__ne__": "{} != {}",
    "__lt__": "{} < {}", "__le__": "{} <= {}", "__gt__": "{} > {}", "__ge__": "{} >= {}",
    "__rxor__": "{1} ^ {0}", "__rlshift__": "{1} << {0}", "__rrshift__": "{1} >> {0}",
    "__rmul__": "{1} * {0}", "__radd__": "{1} + {0}",
}  # fmt: skip
_ARITY = {
    key: len(set(re.findall(r"\{(\d?)\}", template))) if "1" in template else template.count("{}")
    for key, template in _OPERATORS.items()
}
_METHOD = "torch.Tensor."
# A recording contains these operators for collectives. The written code calls the public functions, which
# look up their axis when they run, so that an axis of ``vmap`` works, too.
_COLLECTIVES = {
    "torch.ops.graph_compiler.axis_index": "parallel.axis_index({})",
    "torch.ops.graph_compiler.axis_indices": "torch.arange(parallel.axis_size({}), dtype=torch.int32)",
    **{
        f"torch.ops.graph_compiler.{name}": f"parallel.{name}({{}}, {{}})"
        for name in (*REDUCTIONS, "all_gather")
    },
    # Derivatives record the kernels of these operators.
    **{
        f"torch.ops.graph_compiler.{name}_kernel.default": f"parallel.{name}({{}}, {{}})"
        for name in (*REDUCTIONS, "all_gather")
    },
}


class TorchCalls(RecordedCalls):
    """Dialect that writes recorded torch graphs as torch code."""

    prelude = ("run_again",)
    imports: Mapping[str, str] = {
        "F": "import torch.nn.functional as F",
        "generic_associative_scan": (
            "from torch._higher_order_ops.associative_scan import generic_associative_scan"
        ),
        "parallel": "from graph_compiler import parallel",
        "torch": "import torch",
    }

    def expression(self, node: Node, text: Callable[[Any], Any]) -> str:
        given, named = without_defaults(node.op, tuple(node.inputs), node.params)
        inputs, params = [text(item) for item in given], {name: text(item) for name, item in named.items()}
        key = row_key(node.op)
        if node.op in _COLLECTIVES:
            return _COLLECTIVES[node.op].format(*map(repr, inputs))
        if key == "__getitem__":
            return f"{inputs[0]!r}[{index_text(inputs[1])}]"
        if key == "__setitem__":
            return f"{inputs[0]!r}[{index_text(inputs[1])}] = {inputs[2]!r}"
        if node.op.endswith(".__get__"):
            return f"{inputs[0]!r}.{key}"
        if node.op.startswith(_METHOD) and not params and _ARITY.get(key) == len(inputs):
            return _OPERATORS[key].format(*map(_factor, inputs))
        return self._call(node.op, inputs, params)

    def _call(self, name: str, inputs: list[Any], params: dict[str, Any]) -> str:
        keywords = [f"{key}={value!r}" for key, value in params.items()]
        if name.startswith(_METHOD) and inputs:
            given = ", ".join([*map(repr, inputs[1:]), *keywords])
            return f"{_factor(inputs[0])}.{name.removeprefix(_METHOD)}({given})"
        return f"{name.replace('torch.nn.functional.', 'F.')}({', '.join([*map(repr, inputs), *keywords])})"

    def size(self, array: str, symbol: Symbol) -> str:
        return f"{array}.shape[{symbol.axis}]" if symbol.kind == "size" else f"{array}.stride({symbol.axis})"

    def context(self, node: Node) -> str:
        return "torch.no_grad()" if node.no_grad else ""

    def spell(self, item: Any) -> str | None:
        if isinstance(item, (torch.dtype, torch.layout, torch.memory_format)):
            return repr(item)
        if isinstance(item, torch.device):
            return f'torch.device("{item}")'
        if isinstance(item, np.generic):
            return repr(item.item())
        return None


def _factor(item: Any) -> str:
    return factor(repr(item))
