"""torch as a place to run: its arrays and its compiler."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from operator import is_
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils.checkpoint import _StopRecomputationError

from ...contracts import Target
from ...forwarding import forwards
from ...ir.graph import Graph
from ...passes import copy_overwritten
from ..common.arrays import INCONVERTIBLE, is_plain, refuse_array, words_of, write_into
from ..common.compilers import cache_folder, check_compiler_options, compiled_or_plain
from ..common.failures import told
from .assertions import asserted, is_tracing
from .devices import placed
from .following import Dynamo
from .forward_mode import is_without_derivative

# Operations whose row may give a view of the first tensor, or the tensor itself.
VIEWS = frozenset({
    "astype", "bitcast", "broadcast_to", "conj", "diagonal", "einsum", "getitem", "imag", "matrix_power", "pad", "permute_dims", "real",
    "refuse_gradient", "reshape", "sliding_window", "split", "stop_gradient", "unstack", "view_as_complex", "with_gradient",
})  # fmt: skip


def copy_aliased_outputs(graph: Graph) -> tuple[Graph, bool]:
    """What is written to arguments is whole until then. Results may share memory with arguments that nobody
    writes to, as those of torch itself do.
    """
    return copy_overwritten(graph, VIEWS)


class Standing:
    """Places in a module's dicts of parameters and buffers, by name, and the tensors that were put there."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self._dicts: list[Any] = []
        self._keys: list[Any] = []
        self._tensors: list[Any] = []

    def note(self, name: str, held: dict[str, Any], key: str) -> None:
        """What stands under this key now is what is to stand there."""
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
        """Whether another tensor stands in one of the places, or none: ``functional_call``, a parametrisation
        or an assignment took it away.
        """
        return not all(map(is_, map(dict.get, self._dicts, self._keys), self._tensors))


_INDUCTOR = "TORCHINDUCTOR_CACHE_DIR"


class TorchTarget(Target):
    """See :class:`graph_compiler.contracts.Target`."""

    name = "torch"
    a_key = "torch.Generator().manual_seed(0)"
    array_types: tuple[type, ...] = (torch.Tensor, torch.nn.Parameter)
    tracer = Dynamo()

    def convert(self, array: Any) -> Any:
        """Tensors as they are; arrays of others over DLPack or the buffer protocol, without copying where
        memory allows.
        """
        if isinstance(array, torch.Tensor):
            return array
        if isinstance(array, np.ndarray):
            return _from_numpy(array) if is_plain(array) else None
        array = words_of(array)
        if not (hasattr(array, "__dlpack__") and hasattr(array, "dtype")):
            return None
        try:
            return torch.from_dlpack(array)
        except (
            BufferError,
            RuntimeError,
            TypeError,
            ValueError,
        ):  # layouts and dtypes that DLPack does not carry
            return _from_numpy(np.asarray(array))

    def dtype(self, name: str) -> Any:
        return getattr(torch, name, None)

    def elements(self, array: torch.Tensor | float) -> Any:
        return array.tolist() if isinstance(array, torch.Tensor) else array

    def placed(self, function: Callable[..., Any], graph: Any, program: Any) -> Callable[..., Any]:
        return placed(function, graph, program)

    def compile(
        self,
        function: Callable[..., Any],
        options: dict[str, Any],
        static: tuple[int, ...] = (),
        text: str | None = None,
    ) -> Callable[..., Any]:
        """``torch.compile``; a function whose kernels its code generator cannot write runs as it is, and a
        log line says so.
        """
        check_compiler_options("torch.compile", torch.compile, options)
        if _INDUCTOR not in os.environ and (folder := cache_folder("inductor")) is not None:
            os.environ[_INDUCTOR] = (
                folder  # torch itself would name a folder of the system's temporary files there
            )
        return compiled_or_plain(
            torch.compile(function, **options), function, _reason_not_to_compile(), "torch.compile"
        )

    def register_classes(self, classes: Iterable[type]) -> None:
        """torch.compile looks into containers by itself."""

    def on_host(self, array: Any) -> Any:
        """Memory of a plain tensor on the CPU."""
        is_plain = type(array) in self.array_types and array.is_cpu and not torch.compiler.is_compiling()
        return (
            array.detach().numpy()
            if is_plain and not torch._C._functorch.is_functorch_wrapped_tensor(array)
            else None
        )

    def follows(self, given: Iterable[Any]) -> bool:
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
        return told(problem)

    def to_numpy(self, array: Any) -> Any:
        """The elements; bfloat16, which numpy lacks, as float32."""
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
        """In-place copy into a tensor or a numpy array; others cannot be written to."""
        if not isinstance(array, torch.Tensor):
            write_into(array, self.to_numpy(value))
        else:
            shared = value.untyped_storage().data_ptr() == array.untyped_storage().data_ptr()
            with torch.no_grad():
                array.copy_(
                    value.clone() if shared else value
                )  # torch copies nothing onto what it is read from

    def adopt(self, array: Any) -> Any:
        return self.convert(array)

    def untraced(self) -> AbstractContextManager[None]:
        return _disable_current_modes() if torch.compiler.is_compiling() else nullcontext()

    def seed(self, number: int) -> None:
        torch.manual_seed(number)

    def next_key(self, leaves: Iterable[Any] = ()) -> Any:
        return None

    def rewinding(self, leaves: tuple[Any, ...]) -> Callable[[], None]:
        """Puts back the default generators and those among the inputs."""
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

    def checked(self, result: Any, checks: tuple[Any, ...], guards: tuple[Any, ...]) -> Any:
        """``result``, where the guards on elements hold: under ``torch.vmap`` for each example, and as
        operations of a program that torch traces.
        """
        if is_tracing():
            return asserted(result, checks, guards)
        for check, guard in zip(checks, guards):
            for plain in _unwrapped(check):
                guard.require(self.elements(plain))
        return result


def _unwrapped(array: Any) -> Iterator[Any]:
    """What stands in the wrappers of ``torch.func``: the array itself, and of ``torch.vmap`` one for each
    example.
    """
    functorch = torch._C._functorch
    if not (isinstance(array, torch.Tensor) and functorch.is_functorch_wrapped_tensor(array)):
        yield array
        return
    inner = functorch.get_unwrapped(array)
    for example in (
        inner.movedim(functorch.maybe_get_bdim(array), 0) if functorch.is_batchedtensor(array) else (inner,)
    ):
        yield from _unwrapped(example)


def _reason_not_to_compile() -> Callable[[Exception], str | None]:
    """Why a call of a compiled function failed, where it was the compiler and nothing of the function has
    run.

    Where torch has split a function in two, the first part has run, and may have written to arrays, when the
    second one is compiled.
    """
    from torch._dynamo.exc import BackendCompilerFailed  # torch.compile has imported it
    from torch._dynamo.utils import counters

    splits = sum(counters["graph_break"].values())

    def reason(problem: Exception) -> str | None:
        is_whole = sum(counters["graph_break"].values()) == splits
        return "the compiler fails on it" if is_whole and isinstance(problem, BackendCompilerFailed) else None

    return reason


@forwards
def _from_numpy(array: np.ndarray[Any, Any]) -> torch.Tensor:
    """A tensor of a numpy array's memory, or of a copy where torch cannot use it."""
    if array.dtype.name == "bfloat16":
        return _from_numpy(array.view(np.int16)).view(torch.bfloat16)
    usable = array.flags.writeable and array.dtype.isnative and min(array.strides, default=0) >= 0
    try:
        return torch.from_numpy(array if usable else np.array(array, dtype=array.dtype.newbyteorder("=")))
    except INCONVERTIBLE as problem:
        refuse_array(array, "torch", problem)


target = TorchTarget()
