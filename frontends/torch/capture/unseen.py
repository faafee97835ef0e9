"""What happens below torch's public functions while recording: nothing may pass unseen.

A ``TorchDispatchMode`` is on during the whole recording. While a public call runs, the tensors that its kernels make are only
remembered as *hidden*: to meet one later, outside of that call, means that a value escaped the recording. Kernels that run outside of any
public call (inside of ``torch.vmap`` and ``torch.func`` transforms, in a backward pass) are recorded themselves, as ATen calls.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ....forwarding import forward
from ....trees import iterate_structure
from ..basics.refusals import refuse_operator
from ..basics.tensors import storage
from ..compat import HigherOrderOperator, TorchDispatchMode, current_transform, no_torch_function
from .running import Running


class Unseen(TorchDispatchMode):
    """The lower half of a capture."""

    supports_higher_order_operators = True  # to refuse them

    def __init__(self, capture: Running) -> None:
        super().__init__()
        self.capture = capture
        self.inside_call = False
        self._hidden: dict[int, tuple[Any, str]] = {}
        self._memory: dict[int, Callable[[], bool]] = {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Torch wraps ``__torch_dispatch__`` otherwise, for its compiler, and loads that at the first kernel; nothing is compiled while
        recording."""
        return False

    def maker_of(self, tensor: torch.Tensor) -> str | None:
        """The public call inside of which a kernel made this tensor, where the call did not give it back."""
        entry = self._hidden.get(id(tensor))
        return entry[1] if entry is not None and entry[0]() is tensor else None

    def note(self, tensor: torch.Tensor) -> None:
        """The memory of this tensor belongs to the recording. What lived before has another address for as long as it lives, and so has
        what is made outside of torch; once it is let go, anybody may have that address."""
        place, is_gone = _kept(tensor)
        self._memory[place] = is_gone

    def made(self, tensor: torch.Tensor) -> bool:
        """Whether the tensor's memory belongs to the recording: it is that of an input, or was filled during it."""
        is_gone = self._memory.get(storage(tensor))
        return is_gone is not None and not is_gone()

    def _computes(self, function: Any, args: Any) -> Any:
        if function is torch.ops.aten.detach.default:  # of tensors that are no part of the recording too, wherever torch keeps one aside
            return self.capture.recorder.find(args[0]) is not None
        return function.namespace != "prim"

    def _known(self) -> tuple[Any, ...]:
        """What knows where sizes in kernels come from."""
        return self.capture.vmapped, self.capture.backward_sizes, self.capture.opened

    def _ties(self, function: Any, args: Any, kwargs: dict[str, Any]) -> bool:
        """Whether sizes that nobody has seen may have gone into the kernel. ``torch.FloatTensor([...])`` has decided those among its
        numbers as it read them."""
        if function is torch.ops.aten.lift_fresh.default and current_transform() is None:
            return False
        return not any(known.explains(function, args, kwargs) for known in self._known())

    def __torch_dispatch__(self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        if isinstance(function, HigherOrderOperator):
            refuse_operator(function, self.capture.here)
        if not self.inside_call and self._computes(function, args):
            told = next(filter(None, (known.told(function, args) for known in self._known())), None)
            if told is None:
                return self.capture.record_kernel(function, args, kwargs, self._ties(function, args, kwargs))
            with no_torch_function():  # the call itself would come to the mode above once more, without the sizes
                return self.capture.record_kernel(function, told, kwargs, sized=False)
        result = forward(function, *args, **kwargs)
        for item in (result,) if isinstance(result, torch.Tensor) else iterate_structure(result):
            if isinstance(item, torch.Tensor):
                self._hide(item, args, kwargs)
        return result

    def _hide(self, made: torch.Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A kernel has made a tensor of its arguments, in memory of the recording or of theirs."""
        self._hidden[id(made)] = (weakref.ref(made), self.capture.call)
        place, operands = storage(made), (item for item in iterate_structure((args, kwargs)) if isinstance(item, torch.Tensor))
        if not self.made(made) and place not in map(storage, operands):
            self.note(made)


def _kept(tensor: torch.Tensor) -> tuple[int, Callable[[], bool]]:
    """The identity of a tensor's memory, and what tells whether that is gone; of one without a single memory whether the tensor is."""
    try:
        with no_torch_function():
            held = tensor.untyped_storage()
        return held._cdata, StorageWeakRef(held).expired
    except (NotImplementedError, RuntimeError):  # sparse tensors
        reference = weakref.ref(tensor)
        return storage(tensor), lambda: reference() is None
