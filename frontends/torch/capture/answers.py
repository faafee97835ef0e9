"""Answers to calls by their bare names (:data:`ANSWERS`): symbols for sizes, guards on elements and more."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from numbers import Number
from typing import Any, NoReturn

import numpy as np
import torch

from ....errors import TracingError
from ....forwarding import forward
from ....sizes import Size, product
from ....trees import iterate_structure, map_structure
from .. import gradients as gradient_reads
from ..basics import tensors as kinds
from ..basics import tensors as reads
from ..basics.names import pure_key, row_key
from ..basics.tensors import integer_parameters, is_captured
from ..compat import no_modes, no_torch_function
from ..memory import layouts as reshaping
from ..memory.copies import deep_copy
from ..memory.memory import is_shared, stride
from ..memory.watching import layout_of
from ..numbers import read_numbers, refuse_random
from ..sizes import expression_of, numbers_of_sizes, own, plain
from .control_flow import OPERATORS
from .nodes import NAMES, foreach, record_data_assignment
from .regions import rows_of
from .running import RunningTrace

# -------------------------------------------------------------------------------------------- int64 detection
# Detection of int64 elements that do not fit into int32, for frameworks without 64-bit integers.

# Larger tensors are not inspected, because that would take too long.
_MOST_LOOKED_AT = 2**20
_ENDS = torch.iinfo(torch.int32)
# Results of these calls may contain whatever was in memory.
_UNWRITTEN = frozenset(
    {
        "empty",
        "empty_like",
        "empty_strided",
        "empty_permuted",
        "new",
        "new_empty",
        "new_empty_strided",
        "resize_",
        "resize_as_",
    }
)
# These calls may write to a part of the memory only. The rest may be uninitialized.
_IN_PARTS = frozenset(
    {
        "__setitem__",
        "copy_",
        "put_",
        "index_put_",
        "index_copy_",
        "index_add_",
        "index_fill_",
        "index_reduce_",
        "fill_diagonal_",
        "masked_fill_",
        "masked_scatter_",
    }
)


def introduces_int64(
    capture: RunningTrace, key: str, filled: Sequence[torch.Tensor], operands: Iterable[torch.Tensor]
) -> bool:
    """Return True if a call seems to introduce int64 elements outside of int32.

    They do not matter in a graph for torch, for which the result is False.
    """
    if capture.for_torch or key in _UNWRITTEN or key in _IN_PARTS or key.startswith("scatter"):
        return False
    if not any(exceeds_int32(tensor) for tensor in filled if not tensor._is_view()):
        return False
    others = [item for item in operands if all(item is not one for one in filled)]
    # The cast of an infinity or NaN to an integer depends on the framework, and models mask the result (T5
    # casts ``log(0)``).
    return not any(_has_nonfinite(item) or exceeds_int32(item) for item in others)


def exceeds_int32(tensor: torch.Tensor) -> bool:
    """Return True if ``tensor`` is known to have an int64 element outside of the range of int32.

    >>> exceeds_int32(torch.tensor([1, 2**31 - 1])), exceeds_int32(torch.tensor([1, -(2**40)]))
    (False, True)
    >>> exceeds_int32(torch.tensor(1e20))
    False
    """
    if (
        tensor.dtype is not torch.int64
        or tensor.layout is not torch.strided
        or not tensor.is_cpu
        or not 0 < tensor.numel() <= _MOST_LOOKED_AT
    ):
        return False
    # The tensors made here are not part of the recording.
    with no_modes():
        least, most = tensor.aminmax()
        return int(least) < _ENDS.min or int(most) > _ENDS.max


def _has_nonfinite(tensor: torch.Tensor) -> bool:
    with no_modes():
        return tensor.is_floating_point() and not bool(tensor.isfinite().all())


# ---------------------------------------------------------------------------------------------------- answers
_NUMBERS = (bool, int, float, complex)
# A graph that holds only for so many elements is hardly ever called again.
_MOST_ELEMENTS = 4096


def _size(capture: RunningTrace, function: Any, args: Any, kwargs: Any) -> Any:
    dim = args[1] if len(args) > 1 else kwargs.get("dim")
    sizes = capture.sizes_of(args[0])
    return torch.Size(sizes) if dim is None else sizes[dim]


def _data_type(capture: RunningTrace, function: Any, args: Any, kwargs: Any) -> Any:
    if capture.weights.name_of(args[0]) is not None:
        capture.value(args[0])
    return capture.run(function, args, kwargs)


def _numel(capture: RunningTrace, function: Any, args: Any, kwargs: Any) -> Any:
    value = capture.value(args[0])
    return capture.keys.number(
        product(capture.size(value, axis) for axis in range(value.ndim)), capture.decide
    )


def _nbytes(capture: RunningTrace, function: Any, args: Any, kwargs: Any) -> Any:
    count = _numel(capture, function, args, kwargs)
    return count * args[0].element_size()


def _is_same_size(capture: RunningTrace, function: Any, args: Any, kwargs: Any) -> bool:
    left, right = map(capture.sizes_of, (*args, *kwargs.values()))
    return bool(left == right)


def _len(capture: RunningTrace, function: Any, args: Any, kwargs: Any) -> Any:
    # A 0-d tensor has no length, for which torch raises its own error.
    length = forward(function, *args)
    size = capture.size(capture.value(args[0]), 0)
    return capture.decide(size) if isinstance(size, Size) else length


def elements(capture: RunningTrace, function: Any, args: Any, kwargs: Any) -> Any:
    """Run a call that returns elements as Python objects, and guard on the elements if they may vary."""
    tensor = args[0]
    value = capture.value(tensor)
    seen = capture.run(function, args, kwargs)
    if capture.recorder.varies(value):
        refuse_random(capture, value)
        where = capture.here()
        if tensor.numel() > _MOST_ELEMENTS:
            raise TracingError(
                f"{where}: {tensor.numel()} elements of a tensor are handed to Python, which would tie the "
                "graph to all of them; compute with the tensor instead"
            )
        # The tensor may be written to later, so the guard is on a copy made now.
        with capture:
            snapshot = tensor.detach().clone()
        with no_torch_function():
            capture.recorder.decide_value(capture.value(snapshot), capture.run(tensor.tolist, (), {}), where)
    return seen


def _read(capture: RunningTrace, function: Any, args: Any, kwargs: Any) -> Any:
    symbols = (
        read_numbers(capture, args[0], function.__name__)
        if capture.recorder.varies(capture.value(args[0]))
        else None
    )
    return elements(capture, function, args, kwargs) if symbols is None else symbols


def _integer(capture: RunningTrace, function: Any, args: Any, kwargs: Any) -> Any:
    # Python accepts no symbol from ``int(tensor)`` and ``tensor.__index__``.
    number = numbers_of_sizes(capture, capture.value(args[0]))
    return (
        elements(capture, function, args, kwargs)
        if number is None or isinstance(number, list)
        else int(number)
    )


def _truth(capture: RunningTrace, function: Any, args: Any, kwargs: Any) -> Any:
    tensor = args[0]
    if tensor.dtype == torch.bool and capture.loops.mark_condition(
        sys._getframe(1).f_back, tensor, answer := capture.run(function, args, kwargs)
    ):
        return answer
    if (
        tensor.dtype == torch.bool
        or tensor.numel() != 1
        or not capture.recorder.varies(capture.value(tensor))
    ):
        return elements(capture, function, args, kwargs)
    # A number that varies between calls gets a guard on whether it is 0 instead of on its value.
    with capture:
        return bool(tensor != 0)


def _comparison(capture: RunningTrace, function: Any, args: Any, kwargs: Any) -> Any:
    seen = capture.run(function, args, kwargs)
    # For the guard, the comparison is recorded as calls that return a tensor.
    with capture:
        answer = _QUESTIONS[capture.call.rpartition(".")[2]](*args, **kwargs)
    if answer is not None:
        refuse_random(capture, capture.value(answer))
        capture.recorder.decide_value(capture.value(answer), seen, capture.here())
    return seen


def _left_aligned(tensor: torch.Tensor, mask: torch.Tensor, *checked: Any) -> torch.Tensor:
    return (mask[:, 1:] <= mask[:, :-1]).all()


_QUESTIONS: dict[str, Callable[..., torch.Tensor | None]] = {
    "equal": lambda input, other: (
        torch.eq(input, other).all() if tuple(input.shape) == tuple(other.shape) else None
    ),
    "allclose": lambda *args, **kwargs: torch.isclose(*args, **kwargs).all(),
    "_nested_tensor_from_mask_left_aligned": _left_aligned,
}


def _contains(capture: RunningTrace, function: Any, args: Any, kwargs: Any) -> Any:
    tensor, element = args
    if not isinstance(element, (torch.Tensor, Number)):
        # torch's own method handles or refuses any other element.
        return forward(function, *args, **kwargs)
    with capture:
        return bool((element == tensor).any())


def _foreign(capture: RunningTrace, function: Any, args: Any, kwargs: Any) -> Any:
    if capture.recorder.varies(capture.value(args[0])):
        raise TracingError(
            f"{capture.here()}: {capture.call} hands the memory of a tensor that depends on the inputs to "
            "code that cannot be recorded, so its result would be baked in. Compute it with torch, or move "
            "this line out of the compiled function"
        )
    capture.exported.share(args[0], capture.here(), is_read=capture.call.rpartition(".")[2] != "data_ptr")
    return capture.run(function, args, kwargs)


def _as_tensor(capture: RunningTrace, function: Any, args: Any, kwargs: Any) -> Any:
    given = args[0] if args else next(iter(kwargs.values()))
    # ``torch.tensor`` makes a new tensor each time the graph runs.
    copies = isinstance(given, np.ndarray) and len(args) == 1 and kwargs.keys() <= {"dtype", "device"}
    name = "torch.tensor" if copies else capture.call
    made = capture.record_call(function, name, row_key(name), args, kwargs)
    if not isinstance(given, torch.Tensor) and is_shared(made):
        capture.exported.share(made, capture.here(), is_read=True)
    return made


def _contiguous(capture: RunningTrace, function: Any, args: Any, kwargs: Any) -> Any:
    capture.guard_fact_if_varying("layout", args[0])
    return capture.run(function, args, kwargs)


def _device(capture: RunningTrace, function: Any, args: Any, kwargs: Any) -> Any:
    # ``torch.device`` called with a string has no tensor.
    if not isinstance(args[0], torch.Tensor):
        return capture.run(function, args, kwargs)
    if is_captured(capture, args[0]):
        capture.gradients.guard_property(args[0], "device")
    else:
        capture.guard_fact_if_varying("device", args[0])
    return capture.run(function, args, kwargs)


def _register_hook(capture: RunningTrace, function: Any, args: Any, kwargs: Any) -> Any:
    handle = capture.run(function, args, kwargs)
    with capture:
        capture.rules.hook(args[0], args[1] if len(args) > 1 else kwargs["hook"], handle)
    return handle


def _text(capture: RunningTrace, function: Any, args: Any, kwargs: Any) -> Any:
    if capture.recorder.varies(capture.value(args[0])) and not capture.locator.in_message():
        elements(capture, torch.Tensor.tolist, args[:1], {})
    return capture.run(function, args, kwargs)


def _set(capture: RunningTrace, function: Any, args: Any, kwargs: Any) -> Any:
    if capture.call == "torch.Tensor.data.__set__":
        # ``module.to(dtype)`` assigns the same data if the module already has this dtype.
        if layout_of(args[0]) == layout_of(args[1]):
            return None
        return record_data_assignment(capture, *args)
    if is_captured(capture, args[0]):
        capture.gradients.add(args[0])
    if capture.call == "torch.Tensor.requires_grad.__set__":
        with capture:
            args[0].requires_grad_(args[1])
        return None
    return capture.run(function, args, kwargs)


def _grad_mode(capture: RunningTrace, function: Any, args: Any, kwargs: Any) -> Any:
    capture.history.mode_changed = True
    return forward(function, *args, **kwargs)


def _arithmetic(capture: RunningTrace, function: Any, args: Any, kwargs: Any) -> Any:
    return own(function(*map_structure(plain, args), **map_structure(plain, kwargs)))


def _l1_loss(capture: RunningTrace, function: Any, args: Any, kwargs: Any) -> Any:
    # torch 2.13 does not pass ``weight`` to function modes, so it is read from the function's frame.
    code = getattr(function, "__code__", None)
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code is not code:
        frame = frame.f_back
    weight = frame.f_locals.get("weight") if frame.f_code is code else None
    return capture.record_call(
        function, capture.call, "l1_loss", args, {**kwargs, **({} if weight is None else {"weight": weight})}
    )


def _new(capture: RunningTrace, function: Any, args: Any, kwargs: Any) -> Any:
    # ``x.new(size)`` makes an array of that size, but ``x.new((2, 3))`` one of these elements.
    if len(args) == 2 and isinstance(args[1], torch.Size):
        args = (args[0], *args[1])
    return capture.record_call(function, capture.call, "new", args, kwargs)


def guard_untracked_result(
    capture: RunningTrace, result: Any, operands: list[torch.Tensor], arguments: Any
) -> None:
    for item in iterate_structure(arguments):
        size = expression_of(item)
        if isinstance(size, Size):
            capture.decide(size)
    varying = any(capture.recorder.varies(capture.value(tensor)) for tensor in operands)
    if varying and any(isinstance(item, _NUMBERS) for item in iterate_structure((result,))):
        raise TracingError(
            f"{capture.here()}: {capture.call} gives Python {result!r:.80} of a tensor that depends on the "
            "inputs, and nothing is known of when this changes. Compute it from the tensor's shape or "
            "elements"
        )


def _unbind(capture: RunningTrace, function: Any, args: Any, kwargs: Any) -> Any:
    # Reading sizes replaces ``capture.call``.
    name = capture.call
    rows = rows_of(capture, args, sys._getframe(2))
    return capture.record_call(function, name, "unbind", args, kwargs) if rows is None else rows


def _batched(capture: RunningTrace, function: Any, args: Any, kwargs: Any) -> NoReturn:
    raise TracingError(
        f"{capture.here()}: tensors of torch's old vmap have no memory that could be followed (jacobian and "
        "hessian of torch.autograd.functional with "
        'strategy="forward-mode" and vectorize=True), so this cannot be recorded; use '
        "torch.func.jacfwd, torch.func.hessian or torch.vmap"
    )


ANSWERS: dict[str, Callable[[RunningTrace, Any, Any, Any], Any]] = {
    "shape": lambda capture, function, args, kwargs: torch.Size(capture.sizes_of(args[0])),
    "size": _size,
    **dict.fromkeys(("dtype", "is_floating_point", "is_complex", "element_size", "itemsize"), _data_type),
    "numel": _numel,
    "nelement": _numel,
    "nbytes": _nbytes,
    "is_same_size": _is_same_size,
    "__len__": _len,
    "stride": stride,
    reads.GRAD_MODE: _grad_mode,
    "__contains__": _contains,
    "__deepcopy__": deep_copy,
    "l1_loss": _l1_loss,
    "new": _new,
    "unbind": _unbind,
    "is_contiguous": _contiguous,
    **dict.fromkeys(gradient_reads.READS, gradient_reads.answer),
    **dict.fromkeys(reads.DEVICES, _device),
    "register_hook": _register_hook,
    "_add_batch_dim": _batched,
    "__set__": _set,
    **dict.fromkeys(reshaping.VIEWS, reshaping.reshape_in_place),
    **dict.fromkeys(reshaping.REFUSED, reshaping.refuse),
    **dict.fromkeys(("__format__", "__repr__", "__str__"), _text),
    **dict.fromkeys(reads.VALUES, elements),
    **dict.fromkeys(("__int__", "__index__"), _integer),
    **dict.fromkeys(reads.TRUTHS, _truth),
    **dict.fromkeys(reads.NUMBERS, _read),
    **dict.fromkeys(reads.SYMBOLIC, _arithmetic),
    **dict.fromkeys(reads.COMPARISONS, _comparison),
    **dict.fromkeys(reads.EXPORTING, _foreign),
    **dict.fromkeys(("as_tensor", "asarray"), _as_tensor),
    **OPERATORS,
    **dict.fromkeys(NAMES, foreach),
}


# ------------------------------------------------------------------------------------------ integer arguments
_WHOLE = frozenset({torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8})
# Names of the operand, and of the results, in calls that take sizes.
_ARRAYS = frozenset({"input", "self", "tensors", "out"})
Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def with_numbers(capture: RunningTrace, key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """Return arguments of a call with numbers for integer tensors where torch is known to take numbers."""

    def number(item: Any) -> Any:
        if not isinstance(item, torch.Tensor) or item.is_floating_point() or item.is_complex():
            return item
        if item.dtype == torch.bool:
            return item
        if item.ndim > (key == "tensor_split"):
            return item
        of_sizes = numbers_of_sizes(capture, capture.value(item))
        return elements(capture, torch.Tensor.tolist, (item,), {}) if of_sizes is None else of_sizes

    def bounds(item: Any) -> Any:
        return (
            slice(number(item.start), number(item.stop), number(item.step))
            if isinstance(item, slice)
            else item
        )

    if key in ("__getitem__", "__setitem__"):
        index = tuple(map(bounds, args[1])) if isinstance(args[1], tuple) else bounds(args[1])
        return (args[0], index, *args[2:]), kwargs
    if key in kinds.TAKES_SIZES:
        first = 0 if key in kinds.CREATES else 1
        return (*args[:first], *map_structure(number, args[first:])), {
            name: item if name in _ARRAYS else map_structure(number, item) for name, item in kwargs.items()
        }
    with no_torch_function():
        found = any(map(_may_be_number, iterate_structure((args, kwargs))))
    if not found:
        return args, kwargs
    wanted = integer_parameters(pure_key(key), capture.call.startswith("torch.Tensor."))
    plain = tuple(map_structure(number, item) if place in wanted else item for place, item in enumerate(args))
    return plain, {
        name: map_structure(number, item) if name in wanted else item for name, item in kwargs.items()
    }


def _may_be_number(item: Any) -> bool:
    return isinstance(item, torch.Tensor) and item.ndim == 0 and item.dtype in _WHOLE
