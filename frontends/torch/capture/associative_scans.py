"""``torch.associative_scan`` as one operation of any length.

torch's own algorithm halves the array until one element is left, and asks at every level whether its length is odd: a recording of it would
hold for one length. The user's function, which torch puts under ``vmap``, is recorded once instead, on as many pairs as no size says. What
it gives for a pair depends on no other pair, so that nothing that torch's code asks about their number matters; where a kernel needs the
number itself, the scan is written out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import torch
from torch.utils import _pytree as pytree

from ....errors import TracingError
from ....ir.pairs import pairs_of
from ....ops.registry import ArraySpec
from ....sizes import hint_of
from ....tracing.recorder import LengthAsked
from ..compat import without_function_mode
from ..numbers.sizes import expression_of
from .blocks import Blocks, Given
from .opened import one_of, shape_of
from .written_out import found

if TYPE_CHECKING:
    from .running import Running

_CALL = "torch.associative_scan"
_LENGTHS = (61, 67, 71, 73, 79, 83, 89, 97)  # numbers of pairs that a kernel's numbers are told from those of other sizes by


def in_place_of(capture: Running, original: Callable[..., Any]) -> Callable[..., Any]:
    """What takes the place of torch's ``generic_associative_scan(operator, leaves, dim, additional_inputs)``."""
    original = getattr(original, "__wrapped__", original)  # of a recording around this one

    def scan(operator: Callable[..., Any], leaves: Sequence[Any], dim: int = 0, additional_inputs: Sequence[Any] = ()) -> list[Any]:
        if not _is_torchs(operator) or _CALL in capture.by_kernel.names:
            return prefixes(operator, leaves, dim, additional_inputs)
        users = operator.keywords["combine_fn"]
        with without_function_mode():  # torch's code calls this, and not the mode, as it does for an operator
            return _recorded(capture, original, users, lambda *items: operator(*items, *additional_inputs), leaves, dim)

    scan.__wrapped__ = original  # type: ignore[attr-defined]
    return scan


def _is_torchs(operator: Any) -> TypeGuard[functools.partial[Any]]:
    """Whether the operator is the user's function under ``vmap``: other code that calls torch's helper may ask for the number of pairs."""
    return isinstance(operator, functools.partial) and operator.func.__name__ == "wrap_combine_fn_flat"


def pointwise(capture: Running, args: Any) -> Any:
    """torch's operator, whose function combines two elements without the first axis."""
    combine, leaves, additional = args
    in_dims = (*[0] * (2 * len(leaves)), *[None] * len(additional))

    def operator(*items: Any) -> Any:
        return torch.vmap(combine, in_dims=in_dims)(*items, *additional)

    if _CALL in capture.by_kernel.names:
        return prefixes(operator, leaves)
    original = found("torch._higher_order_ops.associative_scan", "generic_associative_scan").__wrapped__
    return _recorded(capture, original, combine, operator, leaves, 0)


def _recorded(
    capture: Running, original: Callable[..., Any], users: Any, operator: Callable[..., Any], leaves: Sequence[Any], axis: int
) -> list[Any]:
    """The node; ``operator`` combines many pairs along the axis."""
    before, capture.call = capture.call, _CALL
    since = capture.recorder.savepoint()
    try:
        blocks = Blocks(capture, _CALL, (users,))
        values = [capture.value(leaf) for leaf in leaves]
        one_of(capture, [capture.size(value, axis) for value in values])
        combine = blocks.block(
            "combine", lambda *items: pytree.tree_leaves(operator(*items)), _pairs(capture, leaves, values, axis), of_pairs=True
        )
    except LengthAsked:
        capture.recorder.give_up(since)
        return prefixes(operator, leaves, axis)
    finally:
        capture.call = before
    wanted = [(value.dtype, _without(value.spec.hints, axis)) for value in values]
    blocks.same("combine", [(dtype, _without(shape, axis)) for dtype, shape in combine.specs], wanted)

    def run(mode: Any) -> list[Any]:
        with mode:
            made: list[Any] = original(lambda *items: pytree.tree_leaves(operator(*items)), list(leaves), axis)
            return made

    return blocks.add("associative_scan", values, [combine], run, ["prefixes"] * len(values), sequences=len(values), axis=axis)


def _pairs(capture: Running, leaves: Sequence[Any], values: Sequence[Any], axis: int) -> list[Given]:
    """Pairs of elements, so many that nothing else has this size."""
    taken = {hint_of(size) for value in (*values, *capture.recorder.graph.inputs) for size in value.shape}
    count = next(length for length in _LENGTHS if length not in taken)
    sequences = [("", ArraySpec(shape_of(capture, value), value.dtype)) for value in values]
    pairs = pairs_of(sequences, axis, count)
    places = [place % leaves[0].shape[axis] for place in range(count)]
    arrays = [capture.quietly(_taken, leaf, axis, places) for leaf in (*leaves, *leaves)]
    return [Given(value.name, array, value.shape, value=value) for value, array in zip(pairs, arrays)]


def _taken(leaf: torch.Tensor, axis: int, places: list[int]) -> torch.Tensor:
    return leaf.index_select(axis, torch.tensor(places, device=leaf.device))


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


# ------------------------------------------------------------------------------------- written out
def prefixes(operator: Callable[..., Any], leaves: Sequence[Any], dim: int = 0, additional_inputs: Sequence[Any] = ()) -> list[Any]:
    """All prefixes by doubling; ``operator(*before, *leaves, *additional_inputs)`` combines arrays along ``dim``, all at once.

    After step ``k`` each element is combined with the ``2**k - 1`` before it. Steps that reach beyond the beginning change nothing, so a
    recording holds for all arrays that are no longer than it reaches.
    """
    count = leaves[0].shape[dim]
    steps = (2 * hint_of(expression_of(count)) - 1).bit_length()  # twice the length has room
    if count > 2**steps:  # a guard; never true of what is recorded
        raise TracingError(f"associative_scan over {count} elements takes more than {steps} steps")
    positions = torch.arange(count, device=leaves[0].device)
    for step in (2**number for number in range(steps)):
        reached = [_along(positions >= step, dim, leaf.ndim) for leaf in leaves]
        before = [_followed(mask, torch.roll(leaf, step, dim)) for mask, leaf in zip(reached, leaves)]
        after = [_followed(mask, leaf) for mask, leaf in zip(reached, leaves)]
        combined = pytree.tree_leaves(operator(*before, *after, *additional_inputs))
        leaves = [torch.where(mask, new, leaf) for mask, leaf, new in zip(reached, leaves, combined)]
    return list(leaves)


def _followed(mask: Any, leaf: Any) -> Any:
    """The same elements, with gradients where something comes of them: elsewhere strangers are combined, and 0 times an infinite slope is
    NaN."""
    return torch.where(mask, leaf, leaf.detach()) if leaf.is_floating_point() or leaf.is_complex() else leaf


def _along(mask: Any, dim: int, ndim: int) -> Any:
    return mask.reshape([-1 if axis == dim else 1 for axis in range(ndim)])
