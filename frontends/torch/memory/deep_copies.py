"""``copy.deepcopy`` of tensors: a copy of each, made once for all that it copies together."""

from __future__ import annotations

from typing import Any

from ....assumptions.overlap import overlap
from ....errors import TracingError
from ..basics.tensors import storage
from ..trace import Trace

_COPIED = "graph_compiler"  # the place in a memo of the tensors that were copied; torch keeps its storages at "torch"


def deep_copy(capture: Trace, function: Any, args: Any, kwargs: Any) -> Any:
    """``torch.Tensor.__deepcopy__(tensor, memo)``, recorded without the memo, whose keys are identities of objects of this one call.

    ``TracingError`` for tensors that share memory, whose copies share it as well: the recorded copies would not.
    """
    tensor, memo = args
    if id(tensor) in memo:
        return memo[id(tensor)]
    before = memo.setdefault(_COPIED, [])
    if any(storage(other) == storage(tensor) and overlap([other, tensor], [0]) for other in before):
        raise TracingError(
            f"{capture.here()}: copy.deepcopy copies tensors that are views of one memory, and its copies share memory again, which cannot "
            "be recorded; copy the tensor that they are views of (clone), and take the views of the copy"
        )
    before.append(tensor)
    memo[id(tensor)] = made = capture.record_call(function, capture.call, "__deepcopy__", (tensor, {}), kwargs)
    return made
