"""Recording, calls and gradients of the programs of the control-flow corpus in each target, compared with
JAX.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import graph_compiler
from tests.support.compare import assert_same, dtype_name, is_array, leaves, to_numpy
from tests.support.jitted import by_jit, jax_array
from tests.support.tolerance import tolerance

from .table import Program

TARGETS = ("jax", "numpy", "torch", "tensorflow")
Arguments = tuple[Any, ...]


# ------------------------------------------------------------------------------------- arguments
def as_jax(args: Arguments, dtype: str = "float32") -> Arguments:
    """Return the arguments as JAX arrays; float32 becomes ``dtype``."""
    return tuple(
        item if isinstance(item, jax.Array) else jax_array(item, dtype if item.dtype == "float32" else None)
        for item in args
    )


def calls_of(program: Program, dtype: str = "float32") -> list[Arguments]:
    return [as_jax(args, dtype) for args in program.calls]


def native(args: Arguments, to: str) -> Arguments:
    """Return the arguments as arrays of the target."""
    if to == "jax":
        return args
    if to == "tensorflow":
        tf = pytest.importorskip("tensorflow")
        return tuple(tf.constant(np.asarray(item)) for item in args)
    if to == "torch":
        torch = pytest.importorskip("torch")
        return tuple(torch.asarray(_writable(item)).to(getattr(torch, str(item.dtype))) for item in args)
    return tuple(np.asarray(item) for item in args)


def _writable(item: Any) -> Any:
    array = np.asarray(item)
    return np.array(array.astype(np.float32) if array.dtype.name == "bfloat16" else array)


def recorded(program: Program, to: str, args: Arguments) -> Any:
    return graph_compiler.compile(program.function, to=to, source="jax", args=args)


def results_of(program: Program, args: Arguments) -> Any:
    return by_jit(program.function, *args) if program.jits else program.function(*args)


# ------------------------------------------------------------------------------------- values
def check_values(program: Program, to: str, original: Program | None = None) -> Any:
    """Assert that each call gives what JAX gives, with one variant, and that results in NumPy are no views of
    arguments.

    The results are compared with those of ``original`` if that is given, which must fail if it is another
    program.
    """
    calls = calls_of(program)
    graph = recorded(program, to, calls[0])
    for args in calls:
        given = native(args, to)
        found = graph(*given)
        assert_same(found, results_of(original or program, args))
        if to == "numpy":
            shared = [
                item for item in leaves(found).values() if any(np.shares_memory(item, arg) for arg in given)
            ]
            assert not shared, "a result lies in the memory of an argument"
    assert len(graph.variants) == (len(calls) if program.by_size else 1), graph.explain()
    return graph


# ------------------------------------------------------------------------------------- compilers
def check_jit(program: Program, original: Program | None = None) -> None:
    """Assert that the graph gives the results of JAX inside ``jax.jit``, with one variant."""
    calls = calls_of(program)
    graph = recorded(program, "jax", calls[0])
    compiled = jax.jit(lambda *args: graph.functional(graph.parameters, *args))
    for args in calls:
        assert_same(compiled(*args), results_of(original or program, args))
    assert len(graph.variants) == 1, graph.explain()


def check_tf_function(program: Program, way: str, original: Program | None = None) -> None:
    """Assert that the graph gives the results of JAX inside ``tf.function``, with one variant.

    way: ``"XLA"``, ``"unknown sizes"`` (one trace with unknown sizes), or anything else for a trace per
        shape.
    """
    tf = pytest.importorskip("tensorflow")
    calls = calls_of(program)
    graph = recorded(program, "tensorflow", calls[0])
    signature = (
        [tf.TensorSpec([None] * item.ndim, str(item.dtype)) for item in calls[0]]
        if way == "unknown sizes"
        else None
    )
    traced = tf.function(
        lambda *args: graph.functional(graph.parameters, *args),
        input_signature=signature,
        jit_compile=way == "XLA",
        autograph=False,
    )
    for args in calls:
        assert_same(traced(*native(args, "tensorflow")), results_of(original or program, args))
    assert len(graph.variants) == 1, graph.explain()


def check_torch_compile(program: Program) -> None:
    """Assert that the graph gives the results of JAX under ``torch.compile`` with the backend ``eager``."""
    torch = pytest.importorskip("torch")
    calls = calls_of(program)
    graph = recorded(program, "torch", calls[0])
    compiled = torch.compile(graph, backend="eager")
    for args in calls:
        assert_same(compiled(*native(args, "torch")), results_of(program, args))


# ------------------------------------------------------------------------------------- gradients
def _floats(items: Any) -> list[int]:
    return [place for place, item in enumerate(items) if dtype_name(item) in ("float32", "float64")]


def weighted(result: Any) -> Any:
    """Return a weighted sum of all float arrays of a result of JAX or torch, each element with another
    weight.
    """
    arrays = [item for item in leaves(result).values() if is_array(item)]
    return sum((array * _weights(array)).sum() for array in (arrays[place] for place in _floats(arrays)))


def _weights(array: Any) -> Any:
    numbers = (
        np.cos(np.arange(1.0, 1 + int(np.prod(array.shape))))
        .reshape(tuple(array.shape))
        .astype(dtype_name(array))
    )
    return (
        pytest.importorskip("torch").tensor(numbers)
        if type(array).__module__.startswith("torch")
        else numbers
    )


def weighted_of_tensors(tf: Any, result: Any) -> Any:
    """Return the sum of :func:`weighted` for a result of TensorFlow, whose sizes may be unknown."""
    arrays = [item for item in tf.nest.flatten(result) if tf.is_tensor(item)]
    parts = [
        tf.reduce_sum(array * _cosines(tf, array)) for array in (arrays[place] for place in _floats(arrays))
    ]
    return sum(parts[1:], parts[0]) if parts else tf.constant(0.0)


def _cosines(tf: Any, array: Any) -> Any:
    return tf.reshape(tf.cos(tf.cast(tf.range(1, 1 + tf.size(array)), array.dtype)), tf.shape(array))


def _with(args: Arguments, places: list[int], items: Any) -> Arguments:
    changed = dict(zip(places, items))
    return tuple(changed.get(place, item) for place, item in enumerate(args))


def gradient_by_jax(
    function: Callable[..., Any], args: Arguments, mode: str
) -> Callable[[list[Any]], list[Any]]:
    """Return a function that computes the gradients of :func:`weighted` with respect to all float arguments,
    in ``mode``.
    """
    places = _floats(args)
    total = lambda items: weighted(function(*_with(args, places, items)))  # noqa: E731
    found: Callable[[list[Any]], list[Any]] = (jax.grad if mode == "reverse" else jax.jacfwd)(total)
    return found


def by_jax(function: Callable[..., Any], args: Arguments, mode: str) -> list[Any]:
    found = gradient_by_jax(function, args, mode)([args[place] for place in _floats(args)])
    return [np.asarray(item) for item in found]


def of_original(function: Callable[..., Any], args: Arguments, mode: str) -> list[Any]:
    """Return the reference gradients, computed by JAX as one program."""
    found = by_jit(gradient_by_jax(function, args, mode), [args[place] for place in _floats(args)])
    return [np.asarray(item) for item in found]


def by_torch(function: Callable[..., Any], args: Arguments, mode: str) -> list[Any]:
    """Return gradients by autograd; zeros if the result depends on no float argument."""
    torch = pytest.importorskip("torch")
    places, given = _floats(args), native(args, "torch")
    leaves_ = [given[place].requires_grad_() for place in places]
    total = weighted(function(*given))
    if not getattr(total, "requires_grad", False):
        return [np.zeros(item.shape) for item in leaves_]
    return [to_numpy(item) for item in torch.autograd.grad(total, leaves_, materialize_grads=True)]


def by_tape(function: Callable[..., Any], args: Arguments, mode: str) -> list[Any]:
    """Return gradients by a ``tf.GradientTape`` around the call."""
    tf = pytest.importorskip("tensorflow")
    places, given = _floats(args), native(args, "tensorflow")
    watched = [given[place] for place in places]
    return [item.numpy() for item in _tape(tf, function, given, watched)]


def _tape(tf: Any, function: Callable[..., Any], given: Arguments, watched: list[Any]) -> list[Any]:
    with tf.GradientTape() as tape:
        tape.watch(watched)
        total = tf.convert_to_tensor(weighted_of_tensors(tf, function(*given)))
    found = tape.gradient(total, watched, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    return [tf.convert_to_tensor(item) for item in found]


def by_tf_function(**options: Any) -> Callable[..., list[Any]]:
    """Return a function that computes gradients by a tape inside ``tf.function``.

    options: ``unknown`` for unknown sizes, ``xla`` to compile with XLA.
    """

    def taken(function: Callable[..., Any], args: Arguments, mode: str) -> list[Any]:
        tf = pytest.importorskip("tensorflow")
        places = _floats(args)

        def run(*given: Any) -> Any:
            return _tape(tf, function, given, [given[place] for place in places])

        signature = (
            [tf.TensorSpec([None] * item.ndim, str(item.dtype)) for item in args]
            if options.get("unknown")
            else None
        )
        traced = tf.function(
            run, input_signature=signature, jit_compile=options.get("xla", False), autograph=False
        )
        return [item.numpy() for item in traced(*native(args, "tensorflow"))]

    return taken


GRADIENTS: dict[str, tuple[str, Callable[..., list[Any]]]] = {
    "jax": ("jax", by_jax),
    "torch": ("torch", by_torch),
    "tape": ("tensorflow", by_tape),
    "tape in tf.function": ("tensorflow", by_tf_function()),
    "tape with unknown sizes": ("tensorflow", by_tf_function(unknown=True)),
    "tape in XLA": ("tensorflow", by_tf_function(xla=True)),
}


def check_gradients(program: Program, way: str, dtype: str, original: Program | None = None) -> None:
    """Assert that the gradients of each call are those of ``original``, by default the program in JAX."""
    to, taken = GRADIENTS[way]
    calls = calls_of(program, dtype)
    graph = recorded(program, to, calls[0])
    function = graph if way in ("tape", "torch") else lambda *args: graph.functional(graph.parameters, *args)
    relative, absolute = tolerance(dtype)
    for args in calls[:1] if program.by_size else calls:
        found, expected = (
            taken(function, args, program.gradient),
            of_original((original or program).function, args, program.gradient),
        )
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=10 * relative, atol=10 * absolute)
