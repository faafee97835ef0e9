"""JAX's arrays, dtypes, random keys, transformations and compiler."""

from __future__ import annotations

import copy
import functools
import logging
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import core
from jax._src.array import ArrayImpl
from jax._src.interpreters.batching import BatchTrace, BatchTracer

from ...contracts import Target
from ...contracts.parallelism import guards_collected_from
from ...errors import CallMismatch, GuardFailed
from ...ir.graph import Guard
from ...ops.dtypes import KEYS, NARROWED
from ...recording.control_flow.regions import regions
from ...trees import flatten, unflatten
from ..common.compilers import check_compiler_options
from ..common.native import (
    INCONVERTIBLE,
    failure_text,
    is_plain,
    refuse_array,
    shows_as_nan,
    underlying_array,
    write_into,
)
from ..common.row_texts import SliceKeys
from .compiled import compiled, is_leaf, weak

# ----------------------------------------------------------------------------------------------- forward mode
# Recognition of functions that JAX cannot differentiate in forward mode.


def is_without_forward_mode(problem: Exception) -> bool:
    """Return True if ``problem`` says that a function with a ``jax.custom_vjp`` rule has no forward mode."""
    is_refused = (
        isinstance(problem, TypeError) and "forward-mode" in str(problem) and "custom_vjp" in str(problem)
    )
    return is_refused or (isinstance(problem, NotImplementedError) and "'custom_lin'" in str(problem))


# ---------------------------------------------------------------------------------------------------- waiting
# How often a result is polled, for about 0.2 ms, before it is waited for: a blocked thread wakes up late.
_POLLS = 1000
# Number of calls that are not polled for after one that took longer, because a thread that polls takes time
# from those that compute.
_UNPOLLED_CALLS = 100


class ResultWaiter:
    """Callable that waits for the results of one function."""

    def __init__(self) -> None:
        self._unpolled = 0

    def __call__(self, results: Iterable[Any]) -> None:
        # ``jax.block_until_ready`` takes results apart again, which costs a small model 10 microseconds.
        arrays = [array for array in results if isinstance(array, ArrayImpl)]
        if self._unpolled:
            self._unpolled -= 1
        elif arrays and not _becomes_ready(arrays[-1]):
            self._unpolled = _UNPOLLED_CALLS
        for array in arrays:
            array.block_until_ready()


def _becomes_ready(array: ArrayImpl) -> bool:
    is_ready = array.is_ready
    return any(is_ready() for _ in range(_POLLS))


# ----------------------------------------------------------------------------------------------- mapped calls
# Recognition of calls within ``jax.vmap``, where one call has one random key for all rows.


def is_batched_call(leaves: Iterable[Any]) -> bool:
    """Return True within ``jax.vmap``, unless among ``leaves`` only tangents are batched."""
    if not _inside_vmap():
        return False
    primals, tangents = [], []
    for leaf in leaves:
        while hasattr(leaf, "primal") and hasattr(leaf, "tangent"):
            tangents.append(leaf.tangent)
            leaf = leaf.primal
        primals.append(leaf)
    # ``jax.jacfwd`` batches only tangents.
    are_directions = any(isinstance(item, BatchTracer) for item in tangents)
    return any(isinstance(item, BatchTracer) for item in primals) or not are_directions


def _inside_vmap() -> bool:
    trace: Any = core.trace_ctx.trace
    while trace is not None and not isinstance(trace, BatchTrace):
        trace = getattr(trace, "parent_trace", None)
    return trace is not None


# ----------------------------------------------------------------------------------------------------- native
# DLPack's number for the device type CPU.
_CPU = 1
# XLA requires GPU arrays to be aligned to this many bytes. On a CPU it copies unaligned arrays itself.
_ALIGNMENT = 16


def over_dlpack(array: Any, is_copied: bool = False) -> Any:
    """Return ``array`` as a JAX array by DLPack, or None if this fails or would use another device.

    The result may share storage with ``array`` unless ``is_copied``.

    >>> import numpy as np
    >>> over_dlpack(np.arange(3, dtype="int32")).tolist()
    [0, 1, 2]
    >>> over_dlpack(np.arange(3, dtype="int32"), is_copied=True).tolist()
    [0, 1, 2]
    """
    # DLPack does not transfer a conjugation or sign that torch has only marked.
    plain = array.detach().resolve_conj().resolve_neg() if hasattr(array, "detach") else array
    try:
        kind, number = plain.__dlpack_device__()
        # An array on another device would move the computation there, or mix devices.
        if (kind != _CPU, number) != default_place():
            return None
        # A clone is aligned.
        if is_copied or kind != _CPU and plain.data_ptr() % _ALIGNMENT:
            plain = copy.copy(plain) if isinstance(plain, np.ndarray) else plain.clone()
        return jax.dlpack.from_dlpack(plain.contiguous() if hasattr(plain, "contiguous") else plain)
    # DLPack does not support all layouts and dtypes.
    except (
        AttributeError,
        BufferError,
        RuntimeError,
        TypeError,
        ValueError,
    ):
        return None


def default_place() -> tuple[bool, int]:
    chosen = jax.config.jax_default_device
    device = chosen if isinstance(chosen, jax.Device) else jax.local_devices(backend=chosen)[0]
    return device.platform != "cpu", device.id if device.platform == "cpu" else device.local_hardware_id


log = logging.getLogger("graph_compiler")
_said: set[str] = set()
# Raised by comparisons of the symbolic sizes of `jax.export`.
_UNDECIDED = (
    jax.errors if hasattr(jax.errors, "InconclusiveDimensionOperation") else jax.core
).InconclusiveDimensionOperation
_WIDER = "JAX has numbers of more than 32 bits only where jax_enable_x64 is set"
_DONATED = (
    "the graph's own parameters were donated: donate copies of them, "
    "jax.tree.map(jax.numpy.copy, dict(graph.parameters))"
)
_ONE_DEVICE = (
    "an argument lies on several devices, and the parameters on one: call the graph by "
    "parallel.Parallel(graph), or by "
    "parallel.shard(graph, mesh, rules)"
)
# Words of an error message, and the remedy.
_REMEDIES = (
    ("OverflowError", _WIDER),
    ("has been deleted", _DONATED),
    ("incompatible devices", _ONE_DEVICE),
)


def jax_dtype(dtype: str) -> str:
    """Return the name of the dtype that JAX uses for ``dtype``, which depends on ``jax_enable_x64``."""
    if jax.config.jax_enable_x64 or dtype not in NARROWED:
        return dtype
    if dtype not in _said:
        _said.add(dtype)
        log.info("JAX without jax_enable_x64 has no %s; %s is used", dtype, NARROWED[dtype])
    return NARROWED[dtype]


class JaxTarget(Target):
    name = "jax"
    a_key = "jax.random.key(0)"
    array_types: tuple[type, ...] = (type(jnp.zeros(())),)
    undecided_errors: tuple[type[Exception], ...] = (_UNDECIDED,)
    sorts_keys = True

    def __init__(self) -> None:
        self._key: Any = None
        self.of_slices = SliceKeys()
        # Concurrent calls must not draw the same key.
        self._splitting = threading.RLock()
        self._registered: set[type] = set()

    # ------------------------------------------------------------------------------ arrays
    def convert(self, array: Any) -> Any:
        if isinstance(array, jax.Array):
            return array
        # JAX computes asynchronously, so the caller could write to shared storage before JAX reads it.
        if getattr(array, "is_cuda", False) and (found := _over_dlpack(array, is_copied=True)) is not None:
            return found
        array = _as_numpy(underlying_array(array))
        return None if array is None else _as_jax(array)

    def adopt(self, array: Any) -> Any:
        found = None if isinstance(array, jax.Array) else _over_dlpack(array)
        return self.convert(array) if found is None else found

    def dtype(self, name: str) -> Any:
        if name in KEYS:
            return jax.random.key(0, impl=KEYS[name]).dtype
        try:
            return jnp.dtype(jax_dtype(name))
        except TypeError:
            return None

    def address(self, array: Any) -> int | None:
        is_known = isinstance(array, ArrayImpl) and not array.is_deleted() and array.platform() == "cpu"
        return array.unsafe_buffer_pointer() if is_known and len(array.devices()) == 1 else None

    def elements(self, array: Any) -> Any:
        return array.tolist()

    def on_host(self, array: Any) -> Any:
        return None if isinstance(array, jax.core.Tracer) or array.platform() != "cpu" else np.asarray(array)

    @property
    def how_to_enable_64_bit(self) -> str:
        return 'Call jax.config.update("jax_enable_x64", True) before'

    def records_gradients_of(self, given: Iterable[Any]) -> bool:
        return False

    def is_traced(self, item: Any) -> bool:
        return isinstance(item, jax.core.Tracer)

    def traced_number(self, item: Any, cls: type) -> Any:
        is_number = (
            self.is_traced(item)
            and item.ndim == 0
            and jnp.issubdtype(item.dtype, jnp.integer if cls is int else jnp.floating)
        )
        return weak(item) if is_number else None

    def to_numpy(self, array: Any) -> Any:
        if jax.dtypes.issubdtype(array.dtype, jax.dtypes.extended):
            # NumPy has no dtype for random keys.
            array = jax.random.key_data(array)
        # NumPy has no bfloat16 either. float32 holds all its values.
        return np.asarray(array.astype(jnp.float32) if array.dtype == jnp.bfloat16 else array)

    def to_bytes(self, array: Any) -> bytes:
        return np.asarray(array).tobytes()

    def from_bytes(self, data: np.ndarray[Any, Any], dtype: str, shape: tuple[int, ...]) -> Any:
        array = data.view(jnp.dtype(dtype)).reshape(shape)
        if jax_dtype(dtype) != dtype:
            return _as_jax(array)
        # The array outlives a surrounding trace, so it must not be a tracer.
        with jax.ensure_compile_time_eval():
            return jax.device_put(array)

    def is_signal(self, problem: Exception) -> bool:
        return is_without_forward_mode(problem)

    def copy(self, array: Any) -> Any:
        return array

    def write_back(self, array: Any, value: Any) -> None:
        write_into(array, self.to_numpy(value))

    # --------------------------------------------------------------------------- compiling and random numbers
    def compile(
        self,
        function: Callable[..., Any],
        options: dict[str, Any],
        static: tuple[int, ...] = (),
        text: str | None = None,
    ) -> Callable[..., Any]:
        check_compiler_options("jax.jit", jax.jit, options)
        return compiled(function, options, static, text, by_default=False)

    compiles_by_default = True
    folds_captured_arrays = True
    sorts_dicts = True

    @property
    def runs_asynchronously(self) -> Callable[[], bool]:
        # While JAX traces a function, or transforms it, the call becomes part of that.
        state_is_clean: Callable[[], bool] = core.trace_state_clean
        return state_is_clean

    def waiter(self) -> Callable[[Iterable[Any]], None]:
        return ResultWaiter()

    def compile_by_default(
        self, function: Callable[..., Any], static: tuple[int, ...] = (), text: str | None = None
    ) -> Callable[..., Any]:
        return compiled(function, {}, static, text, by_default=True)

    def untraced(self) -> AbstractContextManager[None]:
        # ``jax.ensure_compile_time_eval`` would fold constants in traces that start within it.
        outside: AbstractContextManager[None] = jax.core.eval_context()
        return outside

    def seed(self, number: int) -> None:
        # The key outlives a surrounding trace, so it must not be a tracer.
        with jax.ensure_compile_time_eval():
            self._key = jax.random.PRNGKey(number)

    def is_key(self, item: Any) -> bool:
        if not isinstance(item, (jax.Array, np.ndarray)):
            return False
        if jnp.issubdtype(item.dtype, jax.dtypes.prng_key):
            return item.ndim == 0
        # Keys of ``jax.random.PRNGKey`` are words, whose number depends on the generator.
        return item.dtype == jnp.uint32 and item.ndim == 1

    def next_key(self, leaves: Iterable[Any] = ()) -> Any:
        if draw := self.of_slices.next():
            return draw()
        if is_batched_call(leaves):
            raise CallMismatch(
                "this graph draws random numbers, and jax.vmap calls it once for all rows, which would all "
                "get the same numbers: call "
                "graph_compiler.transforms.vmap(graph, randomness='different'), or map "
                "graph.functional(parameters, ..., rng=key) over an "
                "array of keys as well (jax.random.split)"
            )
        with self._splitting:
            if self._key is None:
                self.seed(0)
            following, key = jax.random.split(self._key)
            # Storing the following key would let a tracer outlive its trace.
            if isinstance(key, jax.core.Tracer):
                raise CallMismatch(
                    "this graph draws random numbers, and JAX traces a function that calls it: call "
                    "graph.functional(parameters, ..., "
                    f"rng={self.a_key}), with another key at each call"
                )
            self._key = following
            return key

    def random_state_restorer(self, leaves: tuple[Any, ...]) -> Callable[[], None]:
        return lambda: None

    def register_classes(self, classes: Iterable[type]) -> None:
        for cls in classes:
            if cls not in self._registered and cls not in (tuple, list, dict) and not hasattr(cls, "_fields"):
                self._registered.add(cls)
                _register(cls)

    def require_guards(self, result: Any, checks: tuple[Any, ...], guards: tuple[Any, ...]) -> Any:
        traced, recording = [], regions()
        for check, guard in zip(checks, guards):
            if isinstance(check, jax.core.Tracer) and recording is not None:
                recording.expect(_as_expected(check, guard))
            elif isinstance(check, jax.core.Tracer):
                traced.append((_as_expected(check, guard), guard))
            else:
                guard.require(self.elements(check))
        if (collected := guards_collected_from(core.trace_ctx.trace)) is not None:
            collected.extend(traced)
            return result
        return invalidated_unless(result, *zip(*traced)) if traced else result

    def branch(
        self,
        checks: tuple[Any, ...],
        guards: tuple[Any, ...],
        run: Callable[[], Any],
        otherwise: Callable[[], Any],
    ) -> Any:
        holds = [_as_expected(check, guard) for check, guard in zip(checks, guards)]
        return jax.lax.cond(functools.reduce(jnp.logical_and, holds), run, otherwise)

    def refusal(self, problem: Exception) -> str | None:
        words = failure_text(
            problem, more=self.undecided_errors, but=(jax.errors.JAXTypeError, jax.errors.JAXIndexError)
        )
        if words is None:
            return None
        helps = [more for said, more in _REMEDIES if said in words]
        return "; ".join([words, *helps])


def _over_dlpack(array: Any, is_copied: bool = False) -> Any:
    # Attributes of a class of arrays are descriptors.
    if isinstance(array, type):
        return None
    dtype = str(getattr(array, "dtype", "")).rpartition(".")[2]
    return (
        over_dlpack(array, is_copied) if hasattr(array, "__dlpack__") and jax_dtype(dtype) == dtype else None
    )


def _as_numpy(array: Any) -> np.ndarray[Any, Any] | None:
    if isinstance(array, np.ndarray):
        return array.astype(array.dtype.newbyteorder("="), copy=False) if is_plain(array) else None
    if isinstance(array, type) or not hasattr(array, "__dlpack__"):
        return None
    try:
        # A nested tensor of torch raises when it is asked for its shape.
        if not all(hasattr(array, name) for name in ("dtype", "shape")):
            return None
        plain = array.detach().cpu().resolve_conj().resolve_neg() if hasattr(array, "detach") else array
        # NumPy has no bfloat16; the way over float32 is exact.
        return (
            np.asarray(plain.float()).astype(jnp.bfloat16)
            if str(plain.dtype) == "torch.bfloat16"
            else np.asarray(plain)
        )
    except INCONVERTIBLE as problem:
        refuse_array(array, "jax", problem)


def _as_jax(array: np.ndarray[Any, Any]) -> jax.Array:
    """Return a copy of ``array`` as a concrete JAX array, with the dtype that JAX uses.

    Raise ``GuardFailed`` for integers that overflow this dtype, and ``CallMismatch`` for an array that JAX
    rejects.
    """
    dtype = jax_dtype(str(array.dtype))
    if array.dtype.kind in "iu" and array.size and dtype != str(array.dtype):
        held = np.iinfo(dtype)
        if array.min() < held.min or array.max() > held.max:
            raise GuardFailed(
                f"an array of {array.dtype} has elements from {array.min()} to {array.max()}, and {_WIDER}"
            )
    try:
        # NumPy converts, because `jnp.array` would compile a conversion for every new shape.
        copied = np.array(array, dtype=jnp.dtype(dtype))
        made = jax.device_put(copied)
    except INCONVERTIBLE as problem:
        refuse_array(array, "jax", problem)
    if not isinstance(made, jax.core.Tracer):
        return made
    # The array may outlive a surrounding trace, so it must not be a tracer.
    with jax.ensure_compile_time_eval():
        return jax.device_put(copied)


def _register(cls: type) -> None:
    def take_apart(item: Any) -> tuple[list[Any], Any]:
        return flatten(item, is_leaf)

    def put_together(tree: Any, children: Any) -> Any:
        return unflatten(tree, children)

    try:
        jax.tree_util.register_pytree_node(cls, take_apart, put_together)
    # Other code may have registered the class already.
    except ValueError:
        log.debug("%s is a pytree already", cls.__name__)


def _as_expected(check: Any, guard: Guard) -> Any:
    """Return a 0-d boolean: True if ``check`` has the recorded elements of ``guard``, up to rounding.

    Raise ``GuardFailed`` if the shapes differ.
    """
    expected = np.asarray(guard.expected)
    if expected.shape != check.shape:
        raise GuardFailed(f"{guard.recorded()} and has the shape {check.shape} for this call")
    with np.errstate(all="ignore"):
        wanted = expected.astype(check.dtype)
    # A recorded value that the dtype of `check` cannot hold differs from every value of `check`.
    if not jnp.issubdtype(check.dtype, jnp.inexact):
        return jnp.all(check == wanted) & bool(np.all(wanted == expected))
    same = _is_same(jnp.real(check), jnp.real(wanted)) & _is_same(jnp.imag(check), jnp.imag(wanted))
    if not guard.rounding:
        return jnp.all(same)
    tolerance = guard.rounding * jnp.abs(wanted)
    near = (check != 0) & (jnp.abs(check - wanted) <= tolerance) & (tolerance < jnp.inf)
    return jnp.all(same | near)


def _is_same(check: Any, wanted: Any) -> Any:
    is_equal = (check == wanted) & (jnp.signbit(check) == jnp.signbit(wanted))
    return is_equal | (jnp.isnan(check) & jnp.isnan(wanted))


def invalidated_unless(result: Any, each: tuple[Any, ...], guards: tuple[Guard, ...]) -> Any:
    """Return ``result`` with numbers that become NaN or 0 at run time if one of ``guards`` fails.

    ``each`` has the outcomes of the guards. If NaN alone would not show a failure, a callback raises
    ``GuardFailed``, too.
    """
    leaves, tree = flatten(result, is_leaf)
    holds = functools.reduce(jnp.logical_and, each)
    # An array without elements shows nothing.
    dtypes = [leaf.dtype for leaf in leaves if 0 not in leaf.shape]
    if not shows_as_nan(tree, [jnp.issubdtype(dtype, jnp.inexact) for dtype in dtypes]):
        # XLA drops a callback that no element depends on. Random keys are not replaced.
        depends = shows_as_nan(tree, [True for dtype in dtypes if _has_zero(dtype)])
        holds = (_raised_unless if depends else _raised_by_effect)(
            holds, jnp.stack(each), functools.partial(_raise_unless, guards)
        )
    return unflatten(tree, [_poisoned(leaf, holds) for leaf in leaves])


def _raised_unless(holds: Any, each: Any, raising: Callable[[Any], Any]) -> Any:
    """Return ``holds`` by way of a host callback ``raising(each)`` for the case that it is False.

    Results must depend on the returned value, or XLA may drop the callback.
    """
    # An effect would take ``jax.jit`` off its fast path, so the callback is pure. Under ``vmap`` it may be
    # called in any case, with a batch, so ``raising`` checks ``each`` itself.
    called = functools.partial(
        jax.pure_callback, raising, jax.ShapeDtypeStruct((), bool), vmap_method="broadcast_all"
    )
    return jax.lax.cond(holds, lambda _: True, called, each)


def _raised_by_effect(holds: Any, each: Any, raising: Callable[[Any], Any]) -> Any:
    jax.lax.cond(holds, lambda _: None, lambda each: jax.debug.callback(raising, each), each)
    return holds


def _poisoned(leaf: Any, holds: Any) -> Any:
    if jnp.issubdtype(leaf.dtype, jnp.inexact):
        return _not_a_number(leaf, holds)
    return jnp.where(holds, leaf, jnp.zeros_like(leaf)) if _has_zero(leaf.dtype) else leaf


def _has_zero(dtype: Any) -> bool:
    return bool(jnp.issubdtype(dtype, jnp.number) or jnp.issubdtype(dtype, jnp.bool_))


@jax.custom_jvp
def _not_a_number(leaf: Any, holds: Any) -> Any:
    return jnp.where(holds, leaf, jnp.nan)


@_not_a_number.defjvp
def _tangent_not_a_number(primals: Any, tangents: Any) -> Any:
    leaf, holds = primals
    # `jnp.where` alone would have the derivative 0 if the guard fails, which looks valid.
    return _not_a_number(leaf, holds), tangents[0] * jnp.where(holds, 1, jnp.nan).astype(leaf.dtype)


def _raise_unless(guards: tuple[Guard, ...], each: Any) -> Any:
    holds = np.asarray(each)
    for place, guard in enumerate(guards):
        if not holds[..., place].all():
            raise GuardFailed(f"{guard.recorded()} and is not for this call")
    return holds.all(axis=-1)


target = JaxTarget()
