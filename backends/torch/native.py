"""torch as a runtime: arrays, devices, random state and compilation."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from operator import is_
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils.checkpoint import _StopRecomputationError

from ...contracts import Target
from ...errors import GuardFailed
from ...forwarding import forwards
from ...ir.graph import Graph, Guard
from ...ir.quotation import recorded
from ...passes import copy_overwritten
from ...recording import active
from ...trees import flatten, unflatten
from ..common.compilers import cache_folder, check_compiler_options, compiled_or_plain
from ..common.native import INCONVERTIBLE, failure_text, is_plain, refuse_array, underlying_array, write_into

# ---------------------------------------------------------------------------------------------------- devices
# Devices and autocast: new arrays are made on the device of the arguments, and autocast is disabled.

# Calls that make an array on the current default device.
_CREATES_ARRAY = re.compile(
    r"\btorch\."
    r"(arange|as_tensor|fft\.r?fftfreq|empty|eye|full|linspace|ones|rand\w*|tensor|tri[lu]_indices|zeros)\("
)
# The kinds of devices on which autocast may be enabled.
_AUTOCAST = ("cpu", "cuda")


def on_device_of_inputs(function: Callable[..., Any], graph: Graph, program: Any) -> Callable[..., Any]:
    """Return ``function``, wrapped if it has to use the device of its inputs or avoid autocast."""
    if graph.demands.casts_are_written:
        function = _without_autocast(function)
    leading = program.arguments
    if graph.dialect != "canonical" or not ("constants" in leading or _CREATES_ARRAY.search(program.source)):
        return function
    constants = leading.index("constants") if "constants" in leading else None

    @functools.wraps(function)
    def on_device(*given: Any) -> Any:
        device = _accelerator_of(given)
        if device is None:
            return function(*given)
        if constants is not None:
            given = (*given[:constants], _move_constants(given[constants], device), *given[constants + 1 :])
        with device:
            return function(*given)

    return on_device


def _without_autocast(function: Callable[..., Any]) -> Callable[..., Any]:
    # The source contains the casts that were made while recording.
    @functools.wraps(function)
    def exactly(*given: Any) -> Any:
        with contextlib.ExitStack() as off:
            for kind in _AUTOCAST:
                if torch.is_autocast_enabled(kind):
                    off.enter_context(torch.autocast(kind, enabled=False))
            return function(*given)

    return exactly


def _accelerator_of(given: Iterable[Any]) -> torch.device | None:
    """Return the device of the first tensor in ``given`` that is not on the CPU, or None.

    Of a mapping, only the first value is checked if no GPU is in use.
    """
    for item in given:
        held: Iterable[Any] = (item,)
        if isinstance(item, Mapping):
            # A look at each weight costs every call time.
            held = itertools.islice(item.values(), None if torch.cuda.is_initialized() else 1)
        for one in held:
            if isinstance(one, torch.Tensor) and not one.is_cpu:
                return one.device
    return None


def _move_constants(constants: Mapping[str, Any], device: torch.device) -> dict[str, Any]:
    return {
        name: array.to(device) if isinstance(array, torch.Tensor) else array
        for name, array in constants.items()
    }


# ----------------------------------------------------------------------------------------------- forward mode
# Operations without a derivative in torch, or with a wrong one in forward mode.


def _logcumsumexp(input: torch.Tensor, dim: int) -> torch.Tensor:
    """Compute ``torch.logcumsumexp`` of real numbers as a parallel prefix scan of ``logaddexp``."""
    rows, reach = input.movedim(dim, 0) if input.ndim else input.reshape(1), 1
    while reach < rows.shape[0]:
        rows = torch.cat([rows[:reach], torch.logaddexp(rows[reach:], rows[:-reach])])
        reach *= 2
    return rows.movedim(0, dim) if input.ndim else rows.reshape(())


# Functions whose derivative in forward mode is wrong.
WRONG_FORWARD_MODE = frozenset({"cholesky_inverse"})
# Functions with a wrong derivative in forward mode, and their replacements. Two reverse modes would be no
# remedy, because the second derivative of these functions is NaN. The forward mode of logcumsumexp loses
# values far below the largest.
FORWARD_MODE_REPLACEMENTS: dict[str, Callable[..., torch.Tensor]] = {"logcumsumexp": _logcumsumexp}
# Keywords of NumPy that torch accepts, and torch's own.
_KEYWORDS = {"a": "input", "x": "input", "axis": "dim"}


class CorrectForwardMode(TorchFunctionMode):
    """Context manager that replaces or refuses operations whose forward mode in torch is wrong.

    A refused operation raises ``NotImplementedError``.
    """

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name, given = getattr(function, "__name__", ""), kwargs or {}
        short = name.partition(".")[0]
        if (
            short in FORWARD_MODE_REPLACEMENTS
            and "out" not in given
            and not any(
                isinstance(item, torch.Tensor) and item.is_complex() for item in (*args, *given.values())
            )
        ):
            named = {_KEYWORDS.get(key, key): item for key, item in given.items()}
            return FORWARD_MODE_REPLACEMENTS[short](*args, **named)
        if short in WRONG_FORWARD_MODE or (name.startswith("scatter_reduce") and _is_product(args, given)):
            raise NotImplementedError(f"torch's forward mode of {name} is wrong")
        return function(*args, **given)


def _is_product(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return kwargs.get("reduce", args[4] if len(args) > 4 else None) == "prod"


def is_without_derivative(problem: Exception) -> bool:
    words = ("is not implemented", "set a forward gradient", "being transformed by a functorch transform")
    return isinstance(problem, NotImplementedError) or (
        isinstance(problem, RuntimeError) and any(word in str(problem) for word in words)
    )


# ----------------------------------------------------------------------------------------- guards on elements
# Guards on elements while torch traces a function.
#
# There are no concrete elements to check, so a guard becomes an operation of the traced program.

_FAKE, _PROXY = torch._C._TorchDispatchModeKey.FAKE, torch._C._TorchDispatchModeKey.PROXY


def is_tracing() -> bool:
    # This runs for each guard of each call, so a loop would be too slow.
    mode = torch._C._get_dispatch_mode
    is_traced: bool = (
        torch.compiler.is_compiling()
        or torch.jit.is_tracing()
        or mode(_PROXY) is not None
        or mode(_FAKE) is not None
    )
    return is_traced and not _is_recorded()


def _is_recorded() -> bool:
    return active.recording


_is_recorded._dynamo_marked_constant = True  # type: ignore[attr-defined]


def assert_guards(result: Any, checks: tuple[Any, ...], guards: tuple[Guard, ...]) -> Any:
    """Assert that ``checks`` have the elements that ``guards`` recorded, and return ``result``."""
    for check, guard in zip(checks, guards):
        # Python numbers can be checked at once, and torch guards its own symbols.
        if not isinstance(check, torch.Tensor):
            guard.require(check)
            continue
        holds, message = _matches_recorded(check, guard), _message(guard.expected, guard.origin)
        if torch.jit.is_tracing():
            result = _make_dependent(result, holds, message)
        else:
            torch._assert_async(holds, message)
    return result


def _message(expected: Any, origin: Any) -> str:
    return f"GuardFailed: {recorded(origin, expected)} and is not for this call"


# torch.compile cannot trace this text, so it evaluates the function while tracing.
_message._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _make_dependent(result: Any, holds: torch.Tensor, message: str) -> Any:
    # torch.jit.trace drops operations without used results, so all results depend on the assertion.
    kept = torch.ops.aten._functional_assert_async.msg(holds, message, torch.ones((), dtype=torch.bool))
    leaves, tree = flatten(result, torch.is_tensor)
    return unflatten(tree, [torch.where(kept, leaf, leaf) for leaf in leaves])


def _matches_recorded(check: torch.Tensor, guard: Guard) -> torch.Tensor:
    """Return a 0-d bool tensor that is True if ``check`` has the elements that ``guard`` recorded.

    Floats and complex numbers may differ by the relative error ``guard.rounding``. For another shape, raise
    ``GuardFailed`` or return False.
    """
    is_inexact = check.is_floating_point() or check.is_complex()
    # A recorded value that the dtype of `check` cannot hold differs from every value of `check`.
    if not (is_inexact or _can_hold(check.dtype, guard.expected)):
        return torch.zeros((), dtype=torch.bool, device=check.device)
    expected = torch.tensor(guard.expected, dtype=check.dtype, device=check.device)
    if check.ndim != expected.ndim or any(size != other for size, other in zip(check.shape, expected.shape)):
        raise GuardFailed(f"{guard.recorded()} and has the shape {tuple(check.shape)} for this call")
    if not is_inexact:
        return (check == expected).all()
    if check.is_complex():
        same = _is_same(check.real, expected.real) & _is_same(check.imag, expected.imag)
    else:
        same = _is_same(check, expected)
    if not guard.rounding:
        return same.all()
    tolerance = guard.rounding * expected.abs()
    near = (check != 0) & ((check - expected).abs() <= tolerance) & (tolerance < math.inf)
    return (same | near).all()


def _can_hold(dtype: torch.dtype, expected: Any) -> bool:
    recorded = np.asarray(expected)
    return bool((recorded.astype(str(dtype).removeprefix("torch.")) == recorded).all())


# torch.compile cannot trace this comparison, so it evaluates the function while tracing.
_can_hold._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _is_same(check: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    # NaN equals NaN, but 0.0 does not equal -0.0.
    is_equal = (check == expected) & (check.signbit() == expected.signbit())
    return is_equal | (check.isnan() & expected.isnan())


# ----------------------------------------------------------------------------------------- environment guards
# Guards that ``torch.compile`` cannot trace.
#
# An operation of the compiled program evaluates them whenever the program runs.

# Operators take only tensors and numbers, so checks are stored by number.
_checks: dict[int, Callable[[], None]] = {}
_numbers = itertools.count()


@torch.library.custom_op("graph_compiler::still_holds", mutates_args=())
def _still_holds(anchor: torch.Tensor, number: int) -> torch.Tensor:
    _checks[number]()
    return torch.ones((), dtype=torch.bool)


@_still_holds.register_fake
def _(anchor: torch.Tensor, number: int) -> torch.Tensor:
    return torch.ones((), dtype=torch.bool)


class DynamoTracer:
    is_tracing = staticmethod(torch.compiler.is_dynamo_compiling)

    def register_check(self, check: Callable[[], None]) -> int:
        number = next(_numbers)
        _checks[number] = check
        return number

    def require_when_run(self, number: int, leaves: tuple[Any, ...]) -> None:
        if torch.compiler.is_exporting():
            return
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        anchor = tensors[0].detach() if tensors else torch.empty(0)
        # The compiler drops operations without used results, so the result is asserted.
        torch._assert_async(
            torch.ops.graph_compiler.still_holds(anchor, number), "what the graph relies on has changed"
        )

    def graph_break(self, message: str) -> None:
        torch._dynamo.graph_break(message)

    def skip(self, functions: Iterable[Any]) -> None:
        from torch._C._dynamo.eval_frame import set_code_exec_strategy
        from torch._dynamo.types import FrameAction, FrameExecStrategy

        for function in functions:
            set_code_exec_strategy(function.__code__, FrameExecStrategy(FrameAction.SKIP, FrameAction.SKIP))


# ----------------------------------------------------------------------------------------------------- native
# Operations whose result ``passes/lowering/copies.py`` may treat as a view of the first tensor.
VIEWS = frozenset({
    "as_strided", "astype", "bitcast", "broadcast_to", "conj", "diagonal", "einsum", "getitem", "imag",
    "matrix_power", "pad", "permute_dims", "positive", "real", "refuse_gradient", "reshape", "sharding_hint",
    "sliding_window", "split", "stop_gradient", "unstack", "view_as_complex", "view_as_real", "with_gradient",
})  # fmt: skip


def copy_overwritable_values(graph: Graph) -> tuple[Graph, bool]:
    """Return ``graph`` with copies of what later writes could overwrite, and True if it was changed."""
    return copy_overwritten(graph, VIEWS)


class TensorSlots:
    """Record of where the tensors of a module are stored, to detect replaced tensors."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self._dicts: list[Any] = []
        self._keys: list[Any] = []
        self._tensors: list[Any] = []

    def note(self, name: str, held: dict[str, Any], key: str) -> None:
        """Store ``held[key]`` as the tensor ``name``, whose key must not change."""
        if name not in self._index:
            self._index[name] = len(self._tensors)
            for column, item in ((self._dicts, held), (self._keys, key), (self._tensors, None)):
                column.append(item)
        place = self._index[name]
        self._dicts[place], self._tensors[place] = held, held[key]

    @property
    def names(self) -> Iterable[str]:
        return self._index.keys()

    def changed(self) -> bool:
        return not all(map(is_, map(dict.get, self._dicts, self._keys), self._tensors))


_INDUCTOR_CACHE = "TORCHINDUCTOR_CACHE_DIR"


class TorchTarget(Target):
    name = "torch"
    a_key = "torch.Generator().manual_seed(0)"
    array_types: tuple[type, ...] = (torch.Tensor, torch.nn.Parameter)
    tracer = DynamoTracer()

    def convert(self, array: Any) -> Any:
        if isinstance(array, torch.Tensor):
            return array
        if isinstance(array, np.ndarray):
            return _from_numpy(array) if is_plain(array) else None
        array = underlying_array(array)
        # Attributes of a class of arrays are descriptors.
        if isinstance(array, type) or not (hasattr(array, "__dlpack__") and hasattr(array, "dtype")):
            return None
        # DLPack does not support all layouts and dtypes.
        try:
            return torch.from_dlpack(array)
        # A tracer of JAX has ``__dlpack__``, but no ``__dlpack_device__``.
        except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):
            return _from_numpy(_as_numpy(array))

    def dtype(self, name: str) -> Any:
        found = getattr(torch, name, None)
        return found if isinstance(found, torch.dtype) else None

    def elements(self, array: torch.Tensor | float) -> Any:
        return array.tolist() if isinstance(array, torch.Tensor) else array

    def on_device_of_inputs(
        self, function: Callable[..., Any], graph: Any, program: Any
    ) -> Callable[..., Any]:
        return on_device_of_inputs(function, graph, program)

    def compile(
        self,
        function: Callable[..., Any],
        options: dict[str, Any],
        static: tuple[int, ...] = (),
        text: str | None = None,
    ) -> Callable[..., Any]:
        check_compiler_options("torch.compile", torch.compile, options)
        if _INDUCTOR_CACHE not in os.environ and (folder := cache_folder("inductor")) is not None:
            # By default, torch uses a folder for temporary files.
            os.environ[_INDUCTOR_CACHE] = folder
        return compiled_or_plain(
            torch.compile(function, **options), function, _compiler_failure(), "torch.compile"
        )

    def register_classes(self, classes: Iterable[type]) -> None: ...

    def on_host(self, array: Any) -> Any:
        is_plain = type(array) in self.array_types and array.is_cpu and not torch.compiler.is_compiling()
        return (
            array.detach().numpy()
            if is_plain and not torch._C._functorch.is_functorch_wrapped_tensor(array)
            else None
        )

    def records_gradients_of(self, given: Iterable[Any]) -> bool:
        return torch.is_grad_enabled() and any(
            isinstance(item, torch.Tensor) and item.requires_grad for item in given
        )

    def is_traced(self, item: Any) -> bool:
        return isinstance(item, torch.Tensor) and is_tracing()

    def is_signal(self, problem: Exception) -> bool:
        if isinstance(problem, _StopRecomputationError):
            return True
        return torch._C._functorch.maybe_current_level() is not None and is_without_derivative(problem)

    def refusal(self, problem: Exception) -> str | None:
        return failure_text(problem)

    def to_numpy(self, array: Any) -> Any:
        plain = array.detach().cpu()
        return (
            (plain.float() if plain.dtype == torch.bfloat16 else plain).resolve_conj().resolve_neg().numpy()
        )

    def to_bytes(self, array: torch.Tensor) -> bytes:
        plain = array.detach().cpu().resolve_conj().resolve_neg().contiguous()
        return bytes(plain.reshape(-1).view(torch.uint8).numpy().tobytes())

    def from_bytes(self, data: np.ndarray[Any, Any], dtype: str, shape: tuple[int, ...]) -> torch.Tensor:
        return torch.from_numpy(data).view(getattr(torch, dtype)).reshape(shape)

    def copy(self, array: torch.Tensor) -> torch.Tensor:
        return array.clone()

    def write_back(self, array: Any, value: torch.Tensor) -> None:
        if not isinstance(array, torch.Tensor):
            write_into(array, self.to_numpy(value))
        else:
            shared = value.untyped_storage().data_ptr() == array.untyped_storage().data_ptr()
            with torch.no_grad():
                # torch cannot copy between overlapping memory.
                array.copy_(value.clone() if shared else value)

    def adopt(self, array: Any) -> Any:
        return self.convert(array)

    def untraced(self) -> AbstractContextManager[None]:
        return _disable_current_modes() if torch.compiler.is_compiling() else nullcontext()

    def seed(self, number: int) -> None:
        torch.manual_seed(number)

    def is_key(self, item: Any) -> bool:
        return isinstance(item, torch.Generator)

    def next_key(self, leaves: Iterable[Any] = ()) -> Any:
        return None

    def random_state_restorer(self, leaves: tuple[Any, ...]) -> Callable[[], None]:
        on_gpus = torch.cuda.default_generators if torch.cuda.is_initialized() else ()
        generators = [
            torch.default_generator,
            *on_gpus,
            *(leaf for leaf in leaves if isinstance(leaf, torch.Generator)),
        ]
        states = [(generator, generator.get_state()) for generator in generators]

        def rewind() -> None:
            for generator, before in states:
                generator.set_state(before)

        return rewind

    def require_guards(self, result: Any, checks: tuple[Any, ...], guards: tuple[Any, ...]) -> Any:
        if is_tracing():
            return assert_guards(result, checks, guards)
        for check, guard in zip(checks, guards):
            for plain in _unwrap(check):
                guard.require(self.elements(plain))
        return result


def _unwrap(array: Any) -> Iterator[Any]:
    """Yield the plain tensors inside the wrappers of ``torch.func``, or ``array`` itself if it has none."""
    functorch = torch._C._functorch
    if not (isinstance(array, torch.Tensor) and functorch.is_functorch_wrapped_tensor(array)):
        yield array
        return
    inner = functorch.get_unwrapped(array)
    for example in (
        inner.movedim(functorch.maybe_get_bdim(array), 0) if functorch.is_batchedtensor(array) else (inner,)
    ):
        yield from _unwrap(example)


def _compiler_failure() -> Callable[[Exception], str | None]:
    """Return a function that maps an exception to the reason to run a function uncompiled, or to None."""
    # This module is slow to import, and torch.compile has imported it already.
    from torch._dynamo.exc import BackendCompilerFailed
    from torch._dynamo.utils import counters

    splits = sum(counters["graph_break"].values())

    def reason(problem: Exception) -> str | None:
        # After a graph break, the first part has run, and may have written to arrays, when the second part
        # is compiled.
        is_whole = sum(counters["graph_break"].values()) == splits
        return "the compiler fails on it" if is_whole and isinstance(problem, BackendCompilerFailed) else None

    return reason


def _as_numpy(array: Any) -> np.ndarray[Any, Any]:
    try:
        return np.asarray(array)
    except INCONVERTIBLE as problem:
        refuse_array(array, "torch", problem)


@forwards
def _from_numpy(array: np.ndarray[Any, Any]) -> torch.Tensor:
    """Return a tensor with the elements of ``array``, which may share its memory."""
    # torch does not accept NumPy's bfloat16 (of ml_dtypes), which has the same bits.
    if array.dtype.name == "bfloat16":
        return _from_numpy(array.view(np.int16)).view(torch.bfloat16)
    usable = array.flags.writeable and array.dtype.isnative and min(array.strides, default=0) >= 0
    try:
        return torch.from_numpy(array if usable else np.array(array, dtype=array.dtype.newbyteorder("=")))
    except INCONVERTIBLE as problem:
        refuse_array(array, "torch", problem)


target = TorchTarget()
