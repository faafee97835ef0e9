"""The contents of a tensor before a write: its elements and its autograd history."""

from __future__ import annotations

import torch

from ..basics.tensors import restore_elements, version, without_repeats
from ..compat import set_versions


class SavedContents:
    """Contents of a tensor, to be restored after calls have written to it.

    A write becomes part of the autograd history of the tensor, or of the base of a view. No call removes
    it, but the tensor can be detached and be made a copy of a tensor that has the old history. The base of
    a view, which cannot be detached, becomes a copy of an array that nobody else has, where its gradients
    end.

    tensor: the tensor.
    elements: copy of its elements, without repeated ones.
    owner: the base of a view, or the tensor itself.
    grad_fn: autograd node of `owner`.
    version: version of the tensor.
    copy: copy of `owner` with its history, or None for a tensor without history that is no view.
    """

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor, self.elements = tensor, without_repeats(tensor.detach()).clone()
        base = tensor._base if tensor._is_view() else None
        self.owner = tensor if base is None else base
        self.grad_fn, self.version = self.owner.grad_fn, version(tensor)
        with torch.enable_grad():
            self.copy = None if self.grad_fn is None and base is None else self.owner.clone()

    def restore(self) -> None:
        self._put_back()
        if not self.tensor.is_inference():
            set_versions((self.tensor,), (self.version,))

    def _put_back(self) -> None:
        with torch.no_grad():
            restore_elements(self.tensor, self.elements)
        if self.owner.grad_fn is self.grad_fn:
            return
        self.owner.detach_()
        if self.copy is not None:
            with torch.enable_grad():
                self.owner.copy_(self.copy if self.copy.requires_grad else self.copy.requires_grad_())
