"""Check of the functions that a loaded torch graph calls, and text of the torch objects in it."""

from __future__ import annotations

import functools
import json
import re
from typing import Any

import torch

from ...errors import InvalidFile, UnsupportedOperation
from ...ir.graph import GUARD, Graph
from ...ir.node import Node, every
from ...ops.control import has_regions
from ...sizes import Size
from .basics import tensors as reads
from .basics.names import name_of, resolve, row_key
from .calls import TorchCalls
from .compat import OpOverload
from .gradient_rules import REFUSE_GRADIENT
from .lifting.table import rows

# Files are untrusted, so only names of this form are looked up in torch.
_NAME = re.compile(
    r"torch(\.(nn\.functional|linalg|fft|special|Tensor|_C\._nn|_VF|ops\.aten))?(\.\w+){1,2}", re.ASCII
)
_OBJECT = re.compile(r"torch\.(\w+)")
_DEVICE = re.compile(r'torch\.device\("(cpu|cuda|mps|meta)(:\d+)?"\)')
_CREATES = frozenset({
    "arange", "zeros", "ones", "full", "empty", "eye", "linspace", "logspace", "rand", "randn", "randint",
    "randperm", "tensor", "as_tensor",
    "tril_indices", "triu_indices", "scalar_tensor", "complex", "polar", "normal", "hann_window",
    "hamming_window", "bartlett_window", "blackman_window", "kaiser_window", "one_hot", "broadcast_shapes",
    "meshgrid",
})  # fmt: skip
# These reach beyond the graph, for example to memory, other files or the random state of the process.
_REFUSED = reads.EXPORTING | {
    "set_",
    "register_hook",
    "backward",
    "share_memory_",
    "from_file",
    "__reduce_ex__",
    "__setstate__",
    "manual_seed",
    "Generator",
    "get_rng_state",
    "set_rng_state",
}


def read(text: str) -> Any:
    """Return the dtype, layout, memory format, device, or JSON number or bool that ``text`` spells.

    Raise ``InvalidFile`` for a text that a saved graph may not contain.

    >>> read("torch.float32")
    torch.float32
    """
    device, named = _DEVICE.fullmatch(text), _OBJECT.fullmatch(text)
    if device:
        return torch.device(device[1] + (device[2] or ""))
    found = getattr(torch, named[1], None) if named else None
    if isinstance(found, (torch.dtype, torch.layout, torch.memory_format)):
        return found
    try:
        number = json.loads(text)
    # Deeply nested lists exceed the recursion limit.
    except (ValueError, RecursionError):
        number = None
    if type(number) not in (int, float, bool):
        raise InvalidFile(f"{text!r:.80} is no object that a saved torch graph may hold")
    return number


def check(graph: Graph) -> None:
    for node in every(graph.nodes):
        if has_regions(node.op):
            continue
        if node.op == GUARD:
            _check_guard(node)
            continue
        if not _is_recordable(node.op):
            raise InvalidFile(f"a saved torch graph may not call {node.op!r:.80}")
        _check_form(node)


def _check_guard(node: Node) -> None:
    if (
        len(node.inputs) != 1
        or not isinstance(node.inputs[0], Size)
        or node.params
        or node.outputs
        or node.regions
    ):
        raise InvalidFile("a guard of a saved block is one condition on sizes")


def _check_form(node: Node) -> None:
    key = row_key(node.op)
    # Code that writes these calls reads that many operands by position.
    least = {"__getitem__": 2, "__setitem__": 3}.get(key, 1 if node.op.startswith("torch.Tensor.") else 0)
    if len(node.inputs) < least:
        raise InvalidFile(f"{node.op} is called with {len(node.inputs)} arguments")


@functools.cache
def _is_recordable(op: str) -> bool:
    key = row_key(op)
    if op == REFUSE_GRADIENT:
        return True
    if not _NAME.fullmatch(op.removesuffix(".__get__")) or key in _REFUSED:
        return False
    try:
        function = resolve(op)
    except AttributeError:
        return False
    overridable = torch.overrides.get_testing_overrides()
    has_row = not key.startswith("__") and rows.get(key) is not None
    if op.startswith("torch.ops."):
        return isinstance(function, OpOverload) and (
            has_row or key in {getattr(known, "__name__", "") for known in overridable}
        )
    if function in overridable or (has_row and callable(function)):
        # Modes see calls of this function, or a row can lift it.
        return True
    return key in _CREATES and not op.startswith("torch.Tensor.") and name_of(function) == op


def spell(item: Any) -> str | None:
    try:
        return TorchCalls().spell(item)
    except UnsupportedOperation:
        return None
