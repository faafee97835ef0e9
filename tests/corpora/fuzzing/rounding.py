"""Test whether a difference is due to rounding alone: the original runs again with larger rounding errors.

An exact result (integers, comparisons, sums of small multiples of 1/4) stays unchanged; a rounded one is
changed by some units in the last place of the narrowest dtype in which a target may compute. If the
outcome changes, a right program may differ as well, and nothing can be concluded. The same run detects
numbers that do not fit into 32 bits and undefined conversions of floats to integers, for which targets may
differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map

UNITS = 64
_PLACES = frozenset(
    {"__setitem__", "index_put_", "index_put", "scatter", "scatter_", "index_copy", "index_copy_", "put_"}
)
_NARROWEST = {torch.float64: torch.float32, torch.complex128: torch.complex64}


class Jitter(TorchFunctionMode):
    """Mode that adds noise to every rounded result.

    beyond: what makes the program's results undefined in a target with 32 bits; an empty string if nothing
        does.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.generator = torch.Generator().manual_seed(seed)
        self.beyond = ""

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        random_state = torch.get_rng_state()
        before = tree_map(_copied, (args, kwargs))
        if getattr(function, "__name__", "") in _PLACES and any(map(_repeats, tree_leaves((args, kwargs)))):
            self.beyond = "several writes to one place"
        result = function(*args, **kwargs)
        after = torch.get_rng_state()
        if torch.equal(random_state, after):
            with torch.no_grad():
                for tensor, exact in self._results(function, before, result):
                    self._note(before, tensor)
                    if tensor.is_floating_point() and not (exact is not None and _is_exact(tensor, exact)):
                        self._move(tensor)
            torch.set_rng_state(after)
        return result

    def _results(self, function: Any, before: Any, result: Any) -> list[tuple[torch.Tensor, Any]]:
        tensors = [item for item in tree_leaves(result) if isinstance(item, torch.Tensor)]
        try:
            wide_args, wide_kwargs = tree_map(_widened, before)
            wide = [
                item
                for item in tree_leaves(function(*wide_args, **wide_kwargs))
                if isinstance(item, torch.Tensor)
            ]
        except Exception:
            wide = []
        return (
            list(zip(tensors, wide)) if len(wide) == len(tensors) else [(tensor, None) for tensor in tensors]
        )

    def _note(self, before: Any, tensor: torch.Tensor) -> None:
        if (
            tensor.dtype in (torch.int64, torch.uint64)
            and tensor.numel()
            and tensor.double().abs().max() >= 2**31
        ):
            self.beyond = "integers beyond 32 bits"
        if not tensor.is_floating_point() and tensor.dtype != torch.bool:
            given = [
                item
                for item in tree_leaves(before)
                if isinstance(item, torch.Tensor) and item.is_floating_point()
            ]
            if any(not (item.isfinite().all() and _fits(item, tensor.dtype)) for item in given):
                self.beyond = "floats that no integer holds"

    def _move(self, tensor: torch.Tensor) -> None:
        unit = torch.finfo(_NARROWEST.get(tensor.dtype, tensor.dtype)).eps
        finite = tensor[tensor.isfinite()].abs()
        if not finite.numel():
            return
        noise = (torch.rand(tensor.shape, generator=self.generator) - 0.5).to(tensor.dtype) * UNITS * unit
        moved = tensor + noise * (tensor.abs() + finite.max() / 8)
        try:
            tensor.copy_(moved)
        except RuntimeError:
            # torch does not write to an expanded array.
            return


def _repeats(item: Any) -> bool:
    """Return True if ``item`` may be an index with duplicates, for which the result of a write is undefined."""
    is_index = isinstance(item, torch.Tensor) and item.dtype in (
        torch.int64,
        torch.int32,
        torch.int16,
        torch.int8,
    )
    return is_index and item.unique().numel() < item.numel()


def _copied(item: Any) -> Any:
    return item.clone() if isinstance(item, torch.Tensor) else item


def _widened(item: Any) -> Any:
    wide = isinstance(item, torch.Tensor) and item.is_floating_point()
    return (
        item.double()
        if wide
        else torch.float64
        if isinstance(item, torch.dtype) and item.is_floating_point
        else item
    )


def _is_exact(tensor: torch.Tensor, exact: torch.Tensor) -> bool:
    narrow = exact.to(_NARROWEST.get(tensor.dtype, tensor.dtype)).double()
    return tensor.shape == exact.shape and bool(
        torch.equal(tensor.double(), exact.double()) and torch.equal(narrow, exact.double())
    )


def _fits(item: torch.Tensor, dtype: torch.dtype) -> bool:
    if dtype.is_complex or dtype == torch.bool or not item.numel():
        return True
    bounds = torch.iinfo(dtype if dtype != torch.int64 else torch.int32)
    return bool((item.double() > bounds.min - 1).all() and (item.double() < bounds.max + 1).all())


def unstable(run: Callable[[], Any], differs: Callable[[Any, Any], bool]) -> str:
    """Return why the outcome of ``run`` is undefined or depends on rounding; an empty string if it does not."""
    steady = run()
    for seed in range(3):
        jitter = Jitter(seed)
        try:
            with jitter:
                moved = run()
        except Exception as problem:
            return f"with larger rounding errors: {type(problem).__name__}"
        if jitter.beyond:
            return jitter.beyond
        if differs(moved, steady):
            return "rounding decides"
    return ""
