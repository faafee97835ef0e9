"""Higher-order operators: ``torch.cond``, ``while_loop``, ``scan`` and ``map`` become nodes with regions.

If a backward pass inside of the function goes through an operator, the next attempt unrolls it, because the
pass needs tensors that the calls inside save.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeGuard

import torch
from torch.utils import _pytree as pytree

from ....errors import TracingError
from ....ir.node import pairs_of
from ....ops.registry import ArraySpec
from ....recording.code.ownership import package_of
from ....recording.control_flow.loops import is_recomputed, recomputing_iterations
from ....recording.patches.patch import Replacement, replaced
from ....recording.recorder import LengthAsked
from ....sizes import Size, apply, hint_of
from ..compat import HigherOrderOperator, without_function_mode
from ..settings import is_loaded
from ..sizes import expression_of
from . import unrolled
from .regions import BlockArgument, BlockRecorder
from .unrecorded import guard_equal, shape_of
from .unrolled import found

if TYPE_CHECKING:
    from .running import RunningTrace


_CALL = "torch.associative_scan"
# Primes, so that the number of pairs is told from other sizes in the arguments of kernels.
_LENGTHS = (
    61,
    67,
    71,
    73,
    79,
    83,
    89,
    97,
)


def scan_replacement(capture: RunningTrace, original: Callable[..., Any]) -> Callable[..., Any]:
    # An enclosing recording may have replaced the function already.
    original = getattr(original, "__wrapped__", original)

    def scan(
        operator: Callable[..., Any],
        leaves: Sequence[Any],
        dim: int = 0,
        additional_inputs: Sequence[Any] = (),
    ) -> list[Any]:
        if not _is_torchs(operator) or _CALL in capture.by_kernel.names:
            return prefixes(operator, leaves, dim, additional_inputs)
        users = operator.keywords["combine_fn"]
        # torch calls a replaced function directly, while for an operator it pops the mode first.
        with without_function_mode():
            return _recorded(
                capture, original, users, lambda *items: operator(*items, *additional_inputs), leaves, dim
            )

    scan.__wrapped__ = original  # type: ignore[attr-defined]
    return scan


def _is_torchs(operator: Any) -> TypeGuard[functools.partial[Any]]:
    return isinstance(operator, functools.partial) and operator.func.__name__ == "wrap_combine_fn_flat"


def pointwise(capture: RunningTrace, args: Any) -> Any:
    """Record an associative scan along axis 0 whose function combines two elements without that axis."""
    combine, leaves, additional = args
    in_dims = (*[0] * (2 * len(leaves)), *[None] * len(additional))

    def operator(*items: Any) -> Any:
        return torch.vmap(combine, in_dims=in_dims)(*items, *additional)

    if _CALL in capture.by_kernel.names:
        return prefixes(operator, leaves)
    original = found("torch._higher_order_ops.associative_scan", "generic_associative_scan").__wrapped__
    return _recorded(capture, original, combine, operator, leaves, 0)


def _recorded(
    capture: RunningTrace,
    original: Callable[..., Any],
    users: Any,
    operator: Callable[..., Any],
    leaves: Sequence[Any],
    axis: int,
) -> list[Any]:
    """Record an associative scan along ``axis`` of ``leaves``, and return the prefixes.

    ``operator`` combines pairs of elements, and ``users`` is the user's function that it calls.
    """
    before, capture.call = capture.call, _CALL
    since = capture.recorder.savepoint()
    try:
        blocks = BlockRecorder(capture, _CALL, (users,))
        values = [capture.value(leaf) for leaf in leaves]
        guard_equal(capture, [capture.size(value, axis) for value in values])
        combine = blocks.block(
            "combine",
            lambda *items: pytree.tree_leaves(operator(*items)),
            _pairs(capture, leaves, values, axis),
            of_pairs=True,
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
            made: list[Any] = original(
                lambda *items: pytree.tree_leaves(operator(*items)), list(leaves), axis
            )
            return made

    return blocks.add(
        "associative_scan",
        values,
        [combine],
        run,
        ["prefixes"] * len(values),
        sequences=len(values),
        axis=axis,
    )


def _pairs(
    capture: RunningTrace, leaves: Sequence[Any], values: Sequence[Any], axis: int
) -> list[BlockArgument]:
    taken = {hint_of(size) for value in (*values, *capture.recorder.graph.inputs) for size in value.shape}
    count = next(length for length in _LENGTHS if length not in taken)
    sequences = [("", ArraySpec(shape_of(capture, value), value.dtype)) for value in values]
    pairs = pairs_of(sequences, axis, count)
    places = [place % leaves[0].shape[axis] for place in range(count)]
    arrays = [capture.quietly(_taken, leaf, axis, places) for leaf in (*leaves, *leaves)]
    return [BlockArgument(value.name, array, value.shape, value=value) for value, array in zip(pairs, arrays)]


def _taken(leaf: torch.Tensor, axis: int, places: list[int]) -> torch.Tensor:
    return leaf.index_select(axis, torch.tensor(places, device=leaf.device))


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


# ------------------------------------------------------------------------------------- unrolled operators
def prefixes(
    operator: Callable[..., Any], leaves: Sequence[Any], dim: int = 0, additional_inputs: Sequence[Any] = ()
) -> list[Any]:
    """Compute an associative scan of ``leaves`` along ``dim`` by doubling, and return the prefixes."""
    count = leaves[0].shape[dim]
    # Arrays of up to twice the recorded length fit.
    steps = (2 * hint_of(expression_of(count)) - 1).bit_length()
    # This adds a guard. It is never True while recording.
    if count > 2**steps:
        raise TracingError(f"associative_scan over {count} elements takes more than {steps} steps")
    positions = torch.arange(count, device=leaves[0].device)
    # After ``k`` iterations each element is combined with the ``2**k - 1`` elements before it. Iterations
    # that reach beyond the beginning change nothing.
    for step in (2**number for number in range(steps)):
        reached = [_along(positions >= step, dim, leaf.ndim) for leaf in leaves]
        before = [
            _differentiable_where(mask, torch.roll(leaf, step, dim)) for mask, leaf in zip(reached, leaves)
        ]
        after = [_differentiable_where(mask, leaf) for mask, leaf in zip(reached, leaves)]
        combined = pytree.tree_leaves(operator(*before, *after, *additional_inputs))
        leaves = [torch.where(mask, new, leaf) for mask, leaf, new in zip(reached, leaves, combined)]
    return list(leaves)


def _differentiable_where(mask: Any, leaf: Any) -> Any:
    # Where ``mask`` is False, unrelated elements are combined, and 0 times an infinite gradient would be NaN.
    return torch.where(mask, leaf, leaf.detach()) if leaf.is_floating_point() or leaf.is_complex() else leaf


def _along(mask: Any, dim: int, ndim: int) -> Any:
    return mask.reshape([-1 if axis == dim else 1 for axis in range(ndim)])


# These check their operands before a mode sees the call, and refuse nested containers, which torch's compiler
# would have flattened.
_CHECKING = (("torch._higher_order_ops.cond", "CondOp"),)
_SCANS = "torch._higher_order_ops.associative_scan"


@contextmanager
def without_compilation(capture: RunningTrace) -> Iterator[None]:
    places: list[Replacement] = [
        (cls, "__call__", HigherOrderOperator.__call__) for place in _CHECKING if (cls := found(*place))
    ]
    if theirs := found(_SCANS, "generic_associative_scan"):
        places.append(
            (importlib.import_module(_SCANS), "generic_associative_scan", scan_replacement(capture, theirs))
        )
    # ``set_stance`` exists since torch 2.6.
    is_used = is_loaded() and hasattr(torch.compiler, "set_stance")
    with torch.compiler.set_stance("force_eager") if is_used else nullcontext(), replaced(places):
        yield


def _cond(capture: RunningTrace, args: Any) -> Any:
    predicate, *branches, operands = args
    # A predicate that no input affects selects the same branch at each call.
    if not capture.recorder.varies(capture.value(predicate)):
        return unrolled.cond(capture, args)
    blocks = BlockRecorder(capture, "torch.cond", map(_users, branches))
    with capture:
        chosen = _truth(predicate)
    then, otherwise = (
        blocks.block(name, lambda branch=branch: branch(*operands), may_write=True)
        for name, branch in zip(("then", "otherwise"), branches)
    )
    blocks.same("one branch", then.specs, otherwise.specs)
    names = ["branch"] * len(then.specs)
    return blocks.add(
        "branch", [capture.value(chosen)], [otherwise, then], lambda mode: unrolled.cond(mode, args), names
    )


def _while_loop(capture: RunningTrace, args: Any) -> Any:
    goes_on, body, carried, additional = args
    blocks = BlockRecorder(capture, "torch.while_loop", (_users(goes_on), _users(body)))
    operands, given = zip(*(blocks.operand(item, copied=True) for item in carried))
    condition = blocks.block("condition", lambda *state: _truth(goes_on(*state, *additional)), given)
    step = blocks.block("body", lambda *state: body(*state, *additional), given, may_write=True)
    blocks.same("a step", step.specs, [(value.dtype, value.spec.hints) for value in operands])
    names = [item.name for item in given]
    return blocks.add(
        "while_loop",
        operands,
        [condition, step],
        lambda mode: unrolled.while_loop(mode, args),
        names,
        carried=len(operands),
        most=None,
    )


def _truth(answer: Any) -> Any:
    if not isinstance(answer, torch.Tensor):
        return torch.tensor(answer)
    answer = answer.reshape(()) if answer.ndim else answer
    return answer if answer.dtype == torch.bool else answer != 0


def _scan(capture: RunningTrace, args: Any) -> Any:
    combine, carried, arrays = args[:3]
    return _rows(capture, "torch.scan", combine, carried, arrays, lambda mode: unrolled.scan(mode, args))


def _map(capture: RunningTrace, args: Any) -> Any:
    inner, arrays, additional = args
    return _rows(
        capture, "torch.map", inner, (), arrays, lambda mode: unrolled.map_rows(mode, args), additional
    )


def _rows(
    capture: RunningTrace,
    call: str,
    function: Any,
    carried: Any,
    arrays: Any,
    run: Callable[[Any], Any],
    additional: Any = (),
) -> Any:
    blocks, checkpoint = BlockRecorder(capture, call, (_users(function),)), is_recomputed()
    state, sequences = [blocks.operand(item) for item in carried], [blocks.row(array) for array in arrays]
    length = guard_equal(capture, [capture.size(value, 0) for value, _ in sequences])
    has_rows = apply("gt", length, 0)
    if isinstance(has_rows, Size):
        # torch raises for arrays without rows.
        capture.decide(has_rows)
    given = [item for _, item in (*state, *sequences)]
    with recomputing_iterations(False):
        step = blocks.block("body", lambda *items: function(*items, *additional), given)
    count = len(state)
    blocks.same("a step", step.specs[:count], [(value.dtype, value.spec.hints) for value, _ in state])
    names = [*(item.name for _, item in state), *["outputs"] * (len(step.specs) - count)]
    operands = [value for value, _ in (*state, *sequences)]
    params = {"carried": count, "sequences": len(sequences), "length": length, "checkpoint": checkpoint}
    return blocks.add("scan", operands, [step], run, names, **params)


def _users(function: Any) -> Any:
    if isinstance(function, functools.partial):
        return tuple(map(_users, filter(callable, (*function.args, *function.keywords.values()))))
    if package_of(getattr(function, "__module__", "")) == "torch" and getattr(function, "__closure__", None):
        return tuple(map(_users, filter(callable, (cell.cell_contents for cell in function.__closure__))))
    return function


def _operator(
    name: str, record: Callable[[RunningTrace, Any], Any]
) -> Callable[[RunningTrace, Any, Any, Any], Any]:
    def answer(capture: RunningTrace, function: Any, args: Any, kwargs: Any) -> Any:
        is_open = capture.call in capture.by_kernel.names
        return unrolled.UNROLLED[name](capture, args) if is_open else record(capture, args)

    return answer


_RECORDED = {"cond": _cond, "while_loop": _while_loop, "scan": _scan, "map_impl": _map}
OPERATORS: dict[str, Callable[[RunningTrace, Any, Any, Any], Any]] = {
    **{name: _operator(name, record) for name, record in _RECORDED.items()},
    "associative_scan": lambda capture, function, args, kwargs: pointwise(capture, args),
    "flex_attention": unrolled.flex_attention,
}
