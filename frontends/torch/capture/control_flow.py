"""torch's operators that take functions: ``torch.cond``, ``while_loop``, ``scan``, ``map`` are nodes that run blocks, ``flex_attention`` is
torch's own formula.

Both branches are recorded, and a body once, whatever is taken now: one recording serves all branches and numbers of steps. Where a backward
pass inside of the function goes through an operator, which needs the tensors that its calls keep aside, the next attempt writes it out
(:mod:`.written_out`).
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import torch

from ....sizes import Size, apply
from ....tracing.control_flow.scans import computing_again, is_computed_again
from ....tracing.probes.replaced import Place, replaced
from ....tracing.reach.origin import package_of
from ..compat import HigherOrderOperator
from ..process.compiler import is_loaded
from . import associative_scans, written_out
from .blocks import Blocks
from .opened import one_of
from .written_out import found

if TYPE_CHECKING:
    from .running import Running

# Operators that look at their operands before a mode sees them, and take none that are nested: torch's compiler would have taken these
# apart.
_CHECKING = (("torch._higher_order_ops.cond", "CondOp"),)
_SCANS = "torch._higher_order_ops.associative_scan"


@contextmanager
def in_eager(capture: Running) -> Iterator[None]:
    """Inside of the block ``torch.compile`` compiles nothing: what it would have hidden, these operators too, is run, and seen by
    ``capture``."""
    places: list[Place] = [(cls, "__call__", HigherOrderOperator.__call__) for place in _CHECKING if (cls := found(*place))]
    if theirs := found(_SCANS, "generic_associative_scan"):
        places.append((importlib.import_module(_SCANS), "generic_associative_scan", associative_scans.in_place_of(capture, theirs)))
    is_used = is_loaded() and hasattr(torch.compiler, "set_stance")  # since torch 2.6
    with torch.compiler.set_stance("force_eager") if is_used else nullcontext(), replaced(places):
        yield


def _cond(capture: Running, args: Any) -> Any:
    predicate, *branches, operands = args
    if not capture.recorder.varies(capture.value(predicate)):
        return written_out.cond(capture, args)
    blocks = Blocks(capture, "torch.cond", map(_users, branches))
    with capture:
        chosen = _truth(predicate)
    then, otherwise = (
        blocks.block(name, lambda branch=branch: branch(*operands), may_write=True) for name, branch in zip(("then", "otherwise"), branches)
    )
    blocks.same("one branch", then.specs, otherwise.specs)
    names = ["chosen"] * len(then.specs)
    return blocks.add("branch", [capture.value(chosen)], [otherwise, then], lambda mode: written_out.cond(mode, args), names)


def _while_loop(capture: Running, args: Any) -> Any:
    goes_on, body, carried, additional = args
    blocks = Blocks(capture, "torch.while_loop", (_users(goes_on), _users(body)))
    operands, given = zip(*(blocks.operand(item, copied=True) for item in carried))
    condition = blocks.block("condition", lambda *state: _truth(goes_on(*state, *additional)), given)
    step = blocks.block("body", lambda *state: body(*state, *additional), given, may_write=True)
    blocks.same("a step", step.specs, [(value.dtype, value.spec.hints) for value in operands])
    names = [item.name for item in given]
    return blocks.add(
        "while_loop", operands, [condition, step], lambda mode: written_out.while_loop(mode, args), names, carried=len(operands), most=None
    )


def _truth(answer: Any) -> Any:
    """One truth value as an array."""
    if not isinstance(answer, torch.Tensor):
        return torch.tensor(answer)
    answer = answer.reshape(()) if answer.ndim else answer
    return answer if answer.dtype == torch.bool else answer != 0


def _scan(capture: Running, args: Any) -> Any:
    combine, carried, arrays = args[:3]
    return _rows(capture, "torch.scan", combine, carried, arrays, lambda mode: written_out.scan(mode, args))


def _map(capture: Running, args: Any) -> Any:
    inner, arrays, additional = args
    return _rows(capture, "torch.map", inner, (), arrays, lambda mode: written_out.map_rows(mode, args), additional)


def _rows(capture: Running, call: str, function: Any, carried: Any, arrays: Any, run: Callable[[Any], Any], additional: Any = ()) -> Any:
    blocks, checkpoint = Blocks(capture, call, (_users(function),)), is_computed_again()
    state, sequences = [blocks.operand(item) for item in carried], [blocks.row(array) for array in arrays]
    length = one_of(capture, [capture.size(value, 0) for value, _ in sequences])
    has_rows = apply("gt", length, 0)
    if isinstance(has_rows, Size):
        capture.decide(has_rows)  # torch refuses arrays without rows
    given = [item for _, item in (*state, *sequences)]
    with computing_again(False):
        step = blocks.block("body", lambda *items: function(*items, *additional), given)
    count = len(state)
    blocks.same("a step", step.specs[:count], [(value.dtype, value.spec.hints) for value, _ in state])
    names = [*(item.name for _, item in state), *["outputs"] * (len(step.specs) - count)]
    operands = [value for value, _ in (*state, *sequences)]
    params = {"carried": count, "sequences": len(sequences), "length": length, "checkpoint": checkpoint}
    return blocks.add("scan", operands, [step], run, names, **params)


def _users(function: Any) -> Any:
    """The function of the user that torch has put into one of its own, which takes all operands flat."""
    if isinstance(function, functools.partial):
        return tuple(map(_users, filter(callable, (*function.args, *function.keywords.values()))))
    if package_of(getattr(function, "__module__", "")) == "torch" and getattr(function, "__closure__", None):
        return tuple(map(_users, filter(callable, (cell.cell_contents for cell in function.__closure__))))
    return function


def _operator(name: str, record: Callable[[Running, Any], Any]) -> Callable[[Running, Any, Any, Any], Any]:
    def answer(capture: Running, function: Any, args: Any, kwargs: Any) -> Any:
        is_open = capture.call in capture.by_kernel.names
        return written_out.WRITTEN_OUT[name](capture, args) if is_open else record(capture, args)

    return answer


_RECORDED = {"cond": _cond, "while_loop": _while_loop, "scan": _scan, "map_impl": _map}
OPERATORS: dict[str, Callable[[Running, Any, Any, Any], Any]] = {
    **{name: _operator(name, record) for name, record in _RECORDED.items()},
    "associative_scan": lambda capture, function, args, kwargs: associative_scans.pointwise(capture, args),
    "flex_attention": written_out.flex_attention,
}
