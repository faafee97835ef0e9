"""JAX as a place to run: its arrays and its compiler."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...errors import GuardFailed
from ...trees import flatten, unflatten
from .plain_results import jit_with_plain_results

log = logging.getLogger("graph_compiler")
_NARROWED = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}
_said: set[str] = set()


def jax_dtype(dtype: str) -> str:
    """The dtype that JAX uses for this one: without ``jax_enable_x64`` the 64-bit types become 32-bit ones."""
    if jax.config.jax_enable_x64 or dtype not in _NARROWED:
        return dtype
    if dtype not in _said:
        _said.add(dtype)
        log.info("JAX without jax_enable_x64 has no %s; %s is used", dtype, _NARROWED[dtype])
    return _NARROWED[dtype]


class JaxTarget:
    """See :class:`graph_compiler.runtime.target.Target`."""

    name = "jax"
    array_types: tuple[type, ...] = (type(jnp.zeros(())),)

    def __init__(self) -> None:
        self._key: Any = None
        self._registered: set[type] = set()

    # ------------------------------------------------------------------------------ arrays
    def convert(self, array: Any) -> Any:
        """JAX arrays as they are; numpy arrays and tensors copied, so that the caller may write to them while JAX still computes."""
        if isinstance(array, jax.Array):
            return array
        array = _as_numpy(array)
        return None if array is None else jnp.array(array, dtype=jax_dtype(str(array.dtype)))

    def adopt(self, array: Any) -> Any:
        """A weight as a JAX array that shares its memory (DLPack) where dtype and device allow."""
        if isinstance(array, jax.Array) or not hasattr(array, "__dlpack__"):
            return self.convert(array)
        plain = array.detach() if hasattr(array, "detach") else array
        if jax_dtype(str(plain.dtype).rpartition(".")[2]) != str(plain.dtype).rpartition(".")[2]:
            return self.convert(plain)
        try:
            return jax.dlpack.from_dlpack(plain.contiguous() if hasattr(plain, "contiguous") else plain)
        except (BufferError, RuntimeError, TypeError, ValueError):  # layouts and dtypes that DLPack does not carry
            return self.convert(plain)

    def dtype_text(self, dtype: str) -> str:
        """``dtypes["float32"]``."""
        return f"dtypes[{jax_dtype(dtype)!r}]"

    def dtypes(self) -> Any:
        """numpy dtypes by name, which ``array.dtype`` of a JAX array equals."""
        return _Dtypes()

    def elements(self, array: Any) -> Any:
        """``tolist``; waits for the array."""
        return array.tolist()

    def to_numpy(self, array: Any) -> Any:
        """The elements; bfloat16, which numpy lacks, as float32."""
        return np.asarray(array.astype(jnp.float32) if array.dtype == jnp.bfloat16 else array)

    def to_bytes(self, array: Any) -> bytes:
        """The elements as they lie in memory."""
        return np.asarray(array).tobytes()

    def from_bytes(self, data: bytes, dtype: str, shape: tuple[int, ...]) -> Any:
        """An array of these elements."""
        return jnp.array(np.frombuffer(data, dtype=jnp.dtype(dtype)).reshape(shape), dtype=jax_dtype(dtype))

    def copy(self, array: Any) -> Any:
        """JAX arrays never change."""
        return array

    def write_back(self, array: Any, value: Any) -> None:
        """In-place copy into a numpy array or a tensor; a JAX array cannot be written to."""
        if isinstance(array, jax.Array):
            raise GuardFailed(
                "the original function writes to its argument, but a JAX array cannot be written to; pass a numpy array or a tensor, or use graph.functional"
            )
        if isinstance(array, np.ndarray):
            array[...] = np.asarray(value)
        else:
            tensor = array.detach()  # shares the memory and the version counter
            tensor.copy_(tensor.new_tensor(self.to_numpy(value)))

    # ------------------------------------------------------------------------------ compiling and random numbers
    def compile(self, function: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
        """``jax.jit``; a function whose sizes depend on elements, which XLA cannot compile, runs as it is, and a log line says so."""
        compiled = jit_with_plain_results(function, options)
        chosen: list[Callable[..., Any]] = [compiled]

        def call(*args: Any) -> Any:
            try:
                return chosen[0](*args)
            except (jax.errors.ConcretizationTypeError, jax.errors.NonConcreteBooleanIndexError) as problem:
                if chosen[0] is function:
                    raise
                log.warning(
                    "%s is not compiled: a size in it depends on the elements of an array (%s)",
                    function.__name__,
                    str(problem).splitlines()[0],
                )
                chosen[0] = function
                return function(*args)

        return call

    def seed(self, number: int) -> None:
        """Restarts the sequence of keys that calls of graphs draw from."""
        self._key = jax.random.PRNGKey(number)

    def next_key(self) -> Any:
        """A fresh key: the sequence's key is split at each call."""
        if self._key is None:
            self.seed(0)
        self._key, key = jax.random.split(self._key)
        return key

    def register_classes(self, classes: Iterable[type]) -> None:
        """Containers of these classes become JAX pytrees, so that ``jax.jit`` and ``jax.grad`` pass them through."""
        for cls in classes:
            if cls not in self._registered and cls not in (tuple, list, dict) and not hasattr(cls, "_fields"):
                self._registered.add(cls)
                _register(cls)

    def checked(self, result: Any, checks: tuple[Any, ...], guards: tuple[Any, ...]) -> Any:
        """``result`` where the guards on elements hold. Inside of a transformation they cannot be looked at: then floats turn to NaN where one fails."""
        for check, guard in zip(checks, guards):
            if not isinstance(check, jax.core.Tracer):
                if check.tolist() != guard.expected:
                    raise GuardFailed(
                        f"elements handed to Python were {guard.expected!r} while recording and are {check.tolist()!r} now, read by {guard.origin}"
                    )
            else:
                result = _poisoned(result, jnp.all(check == jnp.asarray(guard.expected)))
        return result


class _Dtypes(dict[str, Any]):
    def __missing__(self, name: str) -> Any:
        self[name] = jnp.dtype(name)
        return self[name]


def _as_numpy(array: Any) -> np.ndarray[Any, Any] | None:
    if isinstance(array, np.ndarray):
        return array
    if not hasattr(array, "__dlpack__"):
        return None
    plain = array.detach().cpu().resolve_conj().resolve_neg() if hasattr(array, "detach") else array
    if str(plain.dtype) == "torch.bfloat16":  # numpy has no such type; the way over float32 is exact
        return np.asarray(plain.float()).astype(jnp.bfloat16)
    return np.asarray(plain)


def _register(cls: type) -> None:
    def take_apart(item: Any) -> tuple[list[Any], Any]:
        return flatten(item, _is_leaf)

    def put_together(tree: Any, children: Any) -> Any:
        return unflatten(tree, children)

    try:
        jax.tree_util.register_pytree_node(cls, take_apart, put_together)
    except ValueError:  # someone else has registered it
        log.debug("%s is a pytree already", cls.__name__)


def _is_leaf(item: Any) -> bool:
    return isinstance(item, (jax.Array, np.ndarray)) or hasattr(item, "aval") or type(item) is object


def _poisoned(result: Any, holds: Any) -> Any:
    def poison(leaf: Any) -> Any:
        return jnp.where(holds, leaf, jnp.nan) if jnp.issubdtype(jnp.result_type(leaf), jnp.inexact) else leaf

    return jax.tree.map(poison, result)


target = JaxTarget()
