"""The original function as a reference: its inputs, runs without side effects, and intermediate results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from ...forwarding import forward
from ...ir.graph import Graph
from ...ir.node import Value
from ...recording.lock import recording_lock
from ...trees import flatten, iterate_structure
from ..common import reference
from ..common.reference import Range, random_array
from .basics.arguments import is_array, opens, to_tensor
from .basics.names import name_of
from .basics.tensors import NUMBERS
from .memory import memory as counted
from .memory.saved_contents import SavedContents
from .state.parameters import TorchWeights
from .state.state import ReachableState
from .state.versions import restore_versions

COPY = "torch.Tensor.clone"
RANDOM_STATE = ("torch.get_rng_state", "torch.set_rng_state")


def is_followed(owner: Any) -> bool:
    return isinstance(owner, (torch.nn.Module, torch.Tensor))


def leaves(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    return list(map(to_tensor, flatten((args, kwargs), is_array, opens)[0]))


def saved(array: torch.Tensor) -> Callable[[], None]:
    return SavedContents(array).restore


def watching(graph: Graph) -> Callable[[Sequence[torch.Tensor]], Callable[[], bool]] | None:
    return counted.watching(graph)


class _RangeOnDevice(tuple[float, float]):
    """Smallest and largest element of a tensor.

    device: the device that the tensor was on.
    """

    device: torch.device


def ranges(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Range, ...]:
    return tuple(map(_range, leaves(args, kwargs)))


def _range(tensor: torch.Tensor) -> Range:
    tensor = tensor.detach()
    if tensor.numel() == 0 or tensor.dtype.is_complex or tensor.is_meta:
        return (0.0, 0.0)
    least, greatest = tensor.double().aminmax()
    seen = _RangeOnDevice((least.item(), greatest.item()))
    seen.device = tensor.device
    return seen


def fresh(shape: Sequence[int], dtype: str, seen: Range, seed: int) -> torch.Tensor:
    """Return a random tensor of this shape and dtype, on the device that `seen` names, or else on the CPU.

    Integers, and floats that were not all equal, are sampled from the range `seen`; floats that were all
    equal or huge, from [-2, 2], or from [0.5, 1.5] if they were positive. Complex numbers and booleans
    ignore the range.

    >>> fresh((2,), "int64", (3.0, 3.0), seed=0)
    tensor([3, 3])
    """
    made = torch.from_numpy(np.asarray(random_array(shape, dtype, seen, seed)))
    return made.to(getattr(seen, "device", None), getattr(torch, dtype))


def with_facts(array: torch.Tensor, facts: Mapping[str, Any]) -> torch.Tensor:
    """Set ``requires_grad`` of `array` in place if `facts` say that it is True, and return `array`.

    >>> with_facts(torch.zeros(2), {"requires_grad": True}).requires_grad
    True
    """
    return array.requires_grad_() if facts.get("requires_grad") is True else array


def copied(leaves: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [leaf.detach().clone().requires_grad_(leaf.requires_grad) for leaf in leaves]


@contextmanager
def random_kept() -> Iterator[None]:
    with recording_lock, torch.random.fork_rng(devices=[]):
        yield


@contextmanager
def undone(weights: TorchWeights, seed: int | None, state: ReachableState | None = None) -> Iterator[None]:
    """Restore the buffers of `weights`, torch's random state on the CPU, and `state` after the block.

    Seed torch's generator first unless `seed` is None. `state` is by default all that is reachable from
    the weights. No other thread records in the meantime.
    """
    state = state or ReachableState(weights)
    saved = [(tensor, tensor.detach().clone()) for tensor in weights.buffers()]
    with restore_versions(tensor for tensor, _ in saved):
        try:
            with random_kept():
                if seed is not None:
                    torch.manual_seed(seed)
                yield
        finally:
            state.restore()
            with torch.no_grad():
                for tensor, before in saved:
                    if not torch.equal(tensor, before):
                        tensor.copy_(before)


def to_numpy(array: Any) -> Any:
    plain = array.detach().cpu()
    # NumPy has no bfloat16, and torch does not export tensors with lazy conjugation or negation.
    return (plain.float() if plain.dtype == torch.bfloat16 else plain).resolve_conj().resolve_neg().numpy()


class _Observer(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, list[torch.Tensor]]] = []

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = forward(function, *args, **(kwargs or {}))
        tensors = [item for item in iterate_structure((result,)) if isinstance(item, torch.Tensor)]
        if tensors:
            self.seen.append((name_of(function), copied(tensors)))
        return result


def observe(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[tuple[str, list[torch.Tensor]]]:
    with _Observer() as observer:
        forward(function, *args, **kwargs)
    return observer.seen


def with_intermediates(graph: Graph) -> tuple[Graph, list[Value]]:
    return reference.with_intermediates(graph, COPY, lambda node: node.key not in NUMBERS)
