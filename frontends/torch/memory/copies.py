"""Copies of tensors: ``copy.deepcopy``, snapshots, and ``out=torch.empty(0)``.

torch resizes such an empty ``out=`` to the shape of the result, so the call is recorded without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ....assumptions import overlap
from ....errors import TracingError
from ....forwarding import forward
from ....trees import iterate_structure
from ..basics.tensors import storage
from ..compat import no_modes, no_torch_function
from ..trace import Trace
from .memory import MemoryTrace

# The key in the memo for the tensors that were copied. torch keeps its storages at "torch".
_COPIED = "graph_compiler"


def deep_copy(capture: Trace, function: Any, args: Any, kwargs: Any) -> Any:
    tensor, memo = args
    if id(tensor) in memo:
        return memo[id(tensor)]
    before = memo.setdefault(_COPIED, [])
    # Copies of tensors that share memory share memory as well, but recorded copies would not.
    if any(storage(other) == storage(tensor) and overlap([other, tensor], [0]) for other in before):
        raise TracingError(
            f"{capture.here()}: copy.deepcopy copies tensors that are views of one memory, and its copies "
            "share memory again, which cannot be recorded; copy the tensor that they are views of (clone), "
            "and take the views of the copy"
        )
    before.append(tensor)
    # The keys of a memo are identities of objects of this call, so the recorded memo is empty.
    memo[id(tensor)] = made = capture.record_call(
        function, capture.call, "__deepcopy__", (tensor, {}), kwargs
    )
    return made


# Integer dtypes by bytes of an element. They are compared instead of floats, because NaN equals no float.
_INTS = {
    1: torch.uint8,
    2: torch.int16,
    4: torch.int32,
    8: torch.int64,
}


class Snapshot:
    """Bitwise copy of a tensor's elements at one moment, to compare it with later contents.

    >>> weight = torch.tensor([1.0, float("nan")])
    >>> now = Snapshot(weight)
    >>> now.is_of(weight), now.is_of(weight + 1)
    (True, False)
    """

    def __init__(self, tensor: torch.Tensor) -> None:
        with _unseen():
            self._bits = _bits(tensor).clone()

    def is_of(self, tensor: torch.Tensor) -> bool:
        with _unseen():
            return torch.equal(_bits(tensor), self._bits)


def elements_of(tensor: torch.Tensor) -> bytes:
    with _unseen():
        plain = _physical(tensor).contiguous()
        # NumPy would make the storage non-resizable, so a copy is exported.
        if plain.untyped_storage().resizable():
            plain = plain.clone()
        return plain.view(-1).view(torch.uint8).cpu().numpy().tobytes() if plain.numel() else b""


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    plain = _physical(tensor)
    return (torch.view_as_real(plain) if plain.is_complex() else plain).view(
        _INTS[plain.itemsize // (2 if plain.is_complex() else 1)]
    )


def _physical(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().resolve_conj().resolve_neg()


@contextmanager
def _unseen() -> Iterator[None]:
    with no_torch_function(), no_modes():
        yield


def is_empty_out(capture: MemoryTrace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return True if a call is to be recorded without its ``out=``, because torch resizes empty tensors."""
    # torch refuses ``out=`` if an operand or output requires a gradient.
    if (
        kwargs.get("out") is None
        or torch.is_grad_enabled()
        and any(tensor.requires_grad for tensor in _tensors((args, kwargs)))
    ):
        return False
    tensors = _tensors(kwargs["out"])
    apart = len({storage(tensor) for tensor in tensors}) == len(tensors)
    return (
        bool(tensors)
        and apart
        and all(tensor.numel() == 0 and _is_own(capture, tensor) for tensor in tensors)
    )


def filled(capture: MemoryTrace, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = kwargs["out"]
    for operand in _tensors((args, kwargs)):
        capture.guard_fact_if_varying("requires_grad", operand)
    with capture:
        result = forward(function, *args, **{name: item for name, item in kwargs.items() if name != "out"})
    for out, computed in zip(_tensors(given), _tensors(result)):
        if out.dtype != computed.dtype:
            raise TracingError(
                f"{capture.here()}: the array passed as out= has no elements and the type {out.dtype}, and "
                f"the result has {computed.dtype}, which cannot be recorded; pass an array of the type of "
                "the result, or none"
            )
        # The user's arrays must contain the results while the function runs, although the graph returns
        # others.
        capture.run(_fill, (out, computed), {})
        capture.recorder.track(out, capture.value(computed))
        capture.memory.note(out, capture.value(computed))
    return given if isinstance(given, torch.Tensor) else type(result)(given)


def _fill(out: torch.Tensor, computed: torch.Tensor) -> None:
    with torch.no_grad():
        out.resize_(computed.shape).copy_(computed)


def _is_own(capture: MemoryTrace, tensor: torch.Tensor) -> bool:
    value = capture.value(tensor)
    sizes = (capture.size(value, axis) for axis in range(value.ndim))
    is_made = capture.recorder.maker(value) is not None and capture.recorder.base_of(value) is value
    return is_made and any(type(size) is int and size == 0 for size in sizes)


def _tensors(out: Any) -> list[torch.Tensor]:
    return [item for item in iterate_structure(out) if isinstance(item, torch.Tensor)]
