"""State of torch outside of tensors during a recording: settings, modes, autocast, clocks, the compiler."""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.util
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import ModuleType
from typing import Any, TypeVar

import torch
from torch.backends import ContextProp

from ...errors import TracingError
from ...forwarding import forward
from ...recording.code.ownership import skip_patch_frames, user_of
from ...recording.patches import Patch, PatchSet, Session, note_call, replace_call_anywhere
from ...recording.patches.settings import SETTINGS, assumed, refused
from ...recording.state.places import Draw
from ...trees import iterate_structure, map_structure
from .basics import tensors as kinds
from .basics.names import is_in_place, written_arguments
from .compat import (
    AUTOCAST_DEVICES,
    count_dispatch_modes,
    count_function_modes,
    default_device,
    deterministic_warns,
    function_mode_at,
    is_any_autocast_enabled,
    is_deterministic,
    pop_dispatch_mode,
    pop_function_mode,
    print_options,
    push_dispatch_mode,
    push_function_mode,
)
from .generators import default_generators
from .memory.copies import elements_of
from .trace import Trace

_Stack = tuple[Callable[[], int], Callable[[], Any], Callable[[Any], None]]
_STACKS: tuple[_Stack, ...] = (
    (count_function_modes, pop_function_mode, push_function_mode),
    (count_dispatch_modes, pop_dispatch_mode, push_dispatch_mode),
)


@contextmanager
def pop_new_modes() -> Iterator[None]:
    """At the end of the block, pop the modes that were pushed inside of it.

    A generator function that is never finished may have left some active.
    """
    heights = [height() for height, _, _ in _STACKS]
    try:
        yield
    finally:
        for (height, pop, _), before in zip(_STACKS, heights):
            while height() > before:
                pop()


def is_listening(mode: Any) -> bool:
    return any(function_mode_at(place) is mode for place in range(count_function_modes()))


@contextmanager
def without_modes(*classes: type) -> Iterator[None]:
    if not (count_function_modes() or count_dispatch_modes()):
        with pop_new_modes():
            yield
        return
    # torch can only push and pop the innermost mode, so all are popped and the others pushed again.
    stacks = [[pop() for _ in range(height())][::-1] for height, pop, _ in _STACKS]
    try:
        _refill([[mode for mode in stack if not isinstance(mode, classes)] for stack in stacks])
        with pop_new_modes():
            yield
    finally:
        _refill(stacks)


def _refill(stacks: list[list[Any]]) -> None:
    for (height, pop, push), modes in zip(_STACKS, stacks):
        while height():
            pop()
        for mode in modes:
            push(mode)


# Autocast leaves float64 alone.
_CAST = (torch.float32, torch.float16, torch.bfloat16)
Cast = Callable[[Any], Any]


def device_under_autocast(capture: Trace, operands: list[torch.Tensor]) -> str:
    if not is_any_autocast_enabled():
        return ""
    for operand in operands:
        capture.guard_fact_if_varying("device", operand)
    devices = {operand.device.type for operand in operands} or {"cpu"}
    # torch prefers the autocast of an accelerator, as for a scalar on the CPU beside a tensor on a GPU.
    enabled = [kind for kind in AUTOCAST_DEVICES if kind in devices and torch.is_autocast_enabled(kind)]
    return enabled[-1] if enabled else ""


def record_cast(
    capture: Trace,
    function: Any,
    name: str,
    key: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    device: str,
) -> Any:
    def recorded(cast: Cast) -> Any:
        with torch.autocast(device, enabled=False):
            with capture:
                cast_args, cast_kwargs = map_structure(cast, (args, kwargs))
            return capture.record_call(function, name, key, cast_args, cast_kwargs)

    if is_in_place(key) or kwargs.get("out") is not None or written_arguments(key) or key in kinds.DETACHING:
        # Autocast does not change calls that write.
        return recorded(_unchanged)
    # Every trial must draw the same random numbers, for example those of dropout.
    rewind = _random_state_restorer()
    expected = capture.run(function, args, kwargs)
    go_on = _random_state_restorer()
    for cast in (_unchanged, _to(torch.get_autocast_dtype(device)), _to(torch.float32)):
        rewind()
        if _returns_same(capture, function, map_structure(cast, (args, kwargs)), device, expected):
            rewind()
            return recorded(cast)
    rewind()
    # Its kernels, including the casts, are recorded one by one.
    result = forward(function, *args, **kwargs)
    go_on()
    return result


def _random_state_restorer() -> Callable[[], None]:
    states = [(generator, generator.get_state()) for generator in default_generators()]

    def rewind() -> None:
        for generator, state in states:
            generator.set_state(state)

    return rewind


def _unchanged(item: Any) -> Any:
    return item


def _to(dtype: torch.dtype) -> Cast:
    return lambda item: (
        item.to(dtype)
        if isinstance(item, torch.Tensor) and item.dtype in _CAST and item.dtype != dtype
        else item
    )


def _returns_same(capture: Trace, function: Any, arguments: Any, device: str, expected: Any) -> bool:
    args, kwargs = arguments
    with torch.autocast(device, enabled=False):
        try:
            found = capture.run(function, args, kwargs)
        # The operands have different dtypes.
        except RuntimeError:
            return False
    return _bits(found) == _bits(expected)


def _bits(result: Any) -> list[Any]:
    return [
        (item.dtype, tuple(item.shape), elements_of(item)) if isinstance(item, torch.Tensor) else item
        for item in iterate_structure((result,))
    ]


def _context_property(patch: Patch, patches: PatchSet, original: Any) -> Any:
    def read(prop: Any, module: Any, owner: Any) -> Any:
        if (sessions := patches.here()) and user_of(sys._getframe(1)) is not None:
            name = f"{getattr(module, '__name__', '')}.{prop.getter.__name__}"
            for session in sessions:
                session.assume(name, name, prop.getter)
        return original(prop, module, owner)

    return read


def _started(session: Session, *args: Any, **kwargs: Any) -> None:
    session.trace.has_started_threads = True


def _autocast_made(
    session: Session, context: Any, device_type: Any, dtype: Any = None, *args: Any, **kwargs: Any
) -> None:
    # Without a dtype, the context takes the one that is set for the device.
    if dtype is None:
        name = "get_autocast_dtype"
        session.assume(name, (name, device_type), functools.partial(torch.get_autocast_dtype, device_type))


SETTING_READS: tuple[Patch, ...] = (
    *SETTINGS,
    *assumed({
        torch: (
            "is_grad_enabled",
            "is_inference_mode_enabled",
            "are_deterministic_algorithms_enabled",
            "is_deterministic_algorithms_warn_only_enabled",
            "get_deterministic_debug_mode",
            "get_float32_matmul_precision",
            "get_num_threads",
            "get_num_interop_threads",
            "is_warn_always_enabled",
            "is_anomaly_enabled",
            "is_anomaly_check_nan_enabled",
            "get_autocast_dtype",
            "get_autocast_cpu_dtype",
            "get_autocast_gpu_dtype",
        ),
        torch.backends.cuda: (
            "math_sdp_enabled", "flash_sdp_enabled", "mem_efficient_sdp_enabled", "cudnn_sdp_enabled"),
        torch.backends.mha: ("get_fastpath_enabled",),
    }),
    *refused({torch: ("initial_seed",), torch.random: ("initial_seed",)}),
    Patch(torch.autocast, "__init__", note_call, _autocast_made),
    Patch(ContextProp, "__get__", _context_property, _started),
    # A recording sees only the calls of its own thread, so it notes that others were started.
    Patch(threading.Thread, "start", note_call, _started),
    Patch(ThreadPoolExecutor, "submit", note_call, _started),
)  # fmt: skip


def _set_device(before: Any) -> None:
    # ``pop_new_modes`` pops the mode of the device.
    default_device.device_context = before


def _autocast() -> list[tuple[bool, torch.dtype]]:
    return [(torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)) for kind in AUTOCAST_DEVICES]


def _set_autocast(before: list[tuple[bool, torch.dtype]]) -> None:
    for kind, (is_enabled, dtype) in zip(AUTOCAST_DEVICES, before):
        torch.set_autocast_enabled(kind, is_enabled)
        torch.set_autocast_dtype(kind, dtype)
    # A context that was entered and never left would keep the casted weights for the rest of the process.
    if not any(is_enabled for is_enabled, _ in before):
        torch.autocast_increment_nesting()
        while torch.autocast_decrement_nesting() > 0:
            pass
        torch.clear_autocast_cache()


def _set_deterministic(before: bool) -> None:
    torch.use_deterministic_algorithms(before, warn_only=deterministic_warns())


def _set_deterministic_warnings(before: bool) -> None:
    torch.use_deterministic_algorithms(is_deterministic(), warn_only=before)


# Maps the name of a setting in messages to functions that read it and set it.
_SETTINGS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "the grad mode": (torch.is_grad_enabled, torch.set_grad_enabled),
    "the default dtype": (torch.get_default_dtype, torch.set_default_dtype),
    "the default device": (functools.partial(getattr, default_device, "device_context", None), _set_device),
    "deterministic algorithms": (is_deterministic, _set_deterministic),
    "warnings of deterministic algorithms": (deterministic_warns, _set_deterministic_warnings),
    "autocast": (_autocast, _set_autocast),
    "the precision of matrix products": (
        torch.get_float32_matmul_precision,
        torch.set_float32_matmul_precision,
    ),
}


def _set_print_options(before: dict[str, Any]) -> None:
    torch.set_printoptions(**before)


# Functions that read and set what is taken to affect no result. Changes are undone without an error.
_SILENT: tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...] = (
    (print_options, _set_print_options),
    (torch.get_num_threads, torch.set_num_threads),
    (torch.is_warn_always_enabled, torch.set_warn_always),
    (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
)


@contextmanager
def restore_settings(name: str) -> Iterator[None]:
    """Restore the settings in ``_SETTINGS`` and ``_SILENT`` after the block.

    Raise ``TracingError`` if a block that did not raise has left one of ``_SETTINGS`` changed.
    """
    before = {what: read() for what, (read, _) in _SETTINGS.items()}
    silent = [read() for read, _ in _SILENT]
    changed: list[str] = []
    try:
        yield
    finally:
        for what, (read, write) in _SETTINGS.items():
            if read() != before[what]:
                changed.append(what)
                write(before[what])
        for item, (read, write) in zip(silent, _SILENT):
            if read() != item:
                write(item)
    if changed:
        raise TracingError(
            f"{name} changes {' and '.join(changed)} of torch and leaves it so, which calls of a graph would "
            "not do; use the context manager (torch.no_grad() and the like), or change it outside of the "
            "compiled function"
        )


_CLOCKS = tuple(
    name + end
    for name in ("time", "perf_counter", "monotonic", "process_time", "thread_time")
    for end in ("", "_ns")
)


def _read(name: str, session: Session, clock: Callable[[], Any]) -> Any:
    is_users = (
        session.is_active_here() and id(skip_patch_frames(sys._getframe(1)).f_globals) in session.trace.spaces
    )
    return session.trace.host_draws.read_number(Draw(f"time.{name}", clock), name) if is_users else clock()


CLOCKS = tuple(Patch(time, name, replace_call_anywhere, functools.partial(_read, name)) for name in _CLOCKS)


_COMPILER = "torch._dynamo"
Result = TypeVar("Result")


class CompilerWanted(BaseException):
    """Signal that the function is about to load torch's compiler.

    It is not an ``Exception``, so that ``except Exception`` does not catch it.
    """


class _CompilerImportHook(importlib.abc.MetaPathFinder):
    """Import hook that raises ``CompilerWanted`` if the thread that made it imports torch's compiler."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if fullname == _COMPILER and threading.get_ident() == self._thread:
            raise CompilerWanted
        return None


def is_loaded() -> bool:
    return _COMPILER in sys.modules


def with_compiler_if_wanted(record: Callable[[], Result]) -> Result:
    """Return ``record()``, called again with torch's compiler loaded if it raises ``CompilerWanted``."""
    try:
        with _watched():
            return record()
    except CompilerWanted:
        _refuse_to_load()
        importlib.import_module(_COMPILER)
    return record()


def _refuse_to_load() -> None:
    if (
        "tensorflow" in sys.modules
        and "triton" not in sys.modules
        and importlib.util.find_spec("triton") is not None
    ):
        raise TracingError(
            "the function uses torch's compiler (torch.compile, torch.cond, an optimizer, ...), which loads "
            "triton, and that ends a process in which TensorFlow has been loaded before; write `import "
            "torch._dynamo` above `import tensorflow`"
        )


@contextmanager
def _watched() -> Iterator[None]:
    if is_loaded():
        yield
        return
    watch = _CompilerImportHook()
    sys.meta_path.insert(0, watch)
    try:
        yield
    finally:
        sys.meta_path.remove(watch)
