"""Whether the graph of a function of Keras computes what Keras does: results, variables afterwards, and gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

import graph_compiler
from graph_compiler.errors import GradientRefused

from ..support.compare import arrays, assert_same, to_numpy

Function = Callable[..., Any]


@dataclass(frozen=True)
class Observed:
    """What a call gives, what the variables hold then, and the gradients of the sum of squares (by input, by path of the variable)."""

    result: Any
    left: dict[str, Any]
    gradients: dict[str, Any] | None


def judge(
    function: Function,
    variables: Sequence[Any],
    calls: Sequence[Sequence[Any]],
    to: str,
    gradients: bool = True,
    jitted: bool = False,
    half: bool = False,
) -> int:
    """Records the first of the ``calls`` and compares all of them; the number of recordings. ``jitted``: in JAX, by ``jax.jit``; ``half``: floats of
    16 bits are inside.
    """
    expected = [observed(function, variables, call, gradients) for call in calls]
    graph = graph_compiler.compile(
        function, to=to, args=list(calls[0]), source="tensorflow", return_backend_compiled_fn=jitted and to == "jax"
    )
    names = {variable.path for variable in variables}
    assert set(graph.parameters) <= names, f"names {sorted(set(graph.parameters) - names)} are no paths of variables"
    trained = {variable.path for variable in variables if variable.trainable} & set(graph.parameters) - set(
        graph.state
    )  # no optimizer trains what calls write to
    assert graph.trained == trained, f"trained: {sorted(graph.trained ^ trained)}"
    for call, right in zip(calls, expected):
        with kept(variables):
            result = graph(*map(_plain, call))
            if jitted and gradients:  # a whole network in training, where rounding grows from layer to layer
                assert_gradients(arrays(result), arrays(right.result), False)
                assert_gradients(values_of(variables), right.left, False)
            elif half:
                assert_near(arrays(result), arrays(right.result))
                assert_near(values_of(variables), right.left)
            else:
                assert_same(result, right.result)
                assert_same(values_of(variables), right.left)
        if gradients and to in _GRADIENTS and right.gradients is not None:
            with suppress(GradientRefused):  # never wrong
                wanted = {name: array for name, array in right.gradients.items() if name.isdigit() or name in graph.trained}
                assert_gradients(_GRADIENTS[to](graph, call, jitted), wanted, half or is_half(right.result))
    return len(graph.variants)


def _plain(item: Any) -> Any:
    """bfloat16 has no array of numpy."""
    return item if item.dtype == tf.bfloat16 else item.numpy()


def is_half(result: Any) -> bool:
    """Whether something is computed in floats of 16 bits."""
    return any(str(array.dtype).rpartition("float")[2].startswith("16") for array in arrays(result).values())


def assert_near(found: dict[str, Any], right: dict[str, Any]) -> None:
    """The same data types and, for as many floats of 16 bits as a model computes with, numbers that differ by little of the largest."""
    assert found.keys() == right.keys()
    for name, array in right.items():
        wanted, got = to_numpy(array).astype("float64"), to_numpy(found[name]).astype("float64")
        assert _name_of(found[name].dtype) == _name_of(array.dtype), name
        np.testing.assert_allclose(got, wanted, rtol=0.02, atol=0.02 * np.abs(wanted).max(initial=1e-3), err_msg=name)


def _name_of(dtype: Any) -> str:
    return str(getattr(dtype, "name", dtype)).rpartition(".")[2]


def assert_gradients(found: dict[str, Any], right: dict[str, Any], is_half: bool) -> None:
    """Sums in another order differ by the rounding of their largest terms; those of 16 bits are compared as a whole."""
    largest = max((float(np.abs(to_numpy(array)).max(initial=0.0)) for array in right.values() if array is not None), default=0.0)
    for name, array in right.items():
        wanted = 0.0 if array is None else to_numpy(array)
        got = 0.0 if found.get(name) is None else to_numpy(found[name])
        if is_half:
            assert np.linalg.norm(np.float64(got) - wanted) <= 0.1 * np.linalg.norm(np.float64(wanted)) + 1e-3 * largest, (
                f"gradient of {name}"
            )
        else:
            np.testing.assert_allclose(got, wanted, rtol=3e-3, atol=1e-5 * max(largest, 1.0), err_msg=f"gradient of {name}")


# ---------------------------------------------------------------------------------------------- by TensorFlow
def values_of(variables: Sequence[Any]) -> dict[str, Any]:
    """What variables hold."""
    return {variable.path: tf.identity(variable.value) for variable in variables}


@contextmanager
def kept(variables: Sequence[Any]) -> Iterator[None]:
    """Afterwards the variables are as before."""
    before = values_of(variables)
    try:
        yield
    finally:
        for variable in variables:
            variable.assign(before[variable.path])


def observed(function: Function, variables: Sequence[Any], call: Sequence[Any], gradients: bool = True) -> Observed:
    """What TensorFlow does."""
    with kept(variables), tf.GradientTape() as tape:
        for array in call:
            tape.watch(array)
        result = function(*call)
        left, total = values_of(variables), total_of(result, lambda array: tf.reduce_sum(tf.square(tf.cast(array, tf.float32))))
    trained = {variable.path: variable.value for variable in variables if variable.trainable}
    inputs = {str(place): array for place, array in enumerate(call) if array.dtype.is_floating}
    if total is None or not gradients:
        return Observed(result, left, None)
    try:
        found = tape.gradient(total, {**inputs, **trained})
    except LookupError:  # TensorFlow has none
        return Observed(result, left, None)
    return Observed(result, left, {name: _dense(gradient) for name, gradient in found.items()})


def _dense(gradient: Any) -> Any:
    return gradient if gradient is None else tf.convert_to_tensor(gradient)


def total_of(result: Any, of_one: Callable[[Any], Any]) -> Any:
    """The sum over all arrays of floats in a result; None where there are none."""
    parts = [of_one(array) for array in arrays(result).values() if "float" in str(array.dtype)]
    return sum(parts[1:], parts[0]) if parts else None


# ---------------------------------------------------------------------------------------------- by targets
def by_torch(graph: Any, call: Sequence[Any], jitted: bool) -> dict[str, Any]:
    """The gradients of the sum of squares, by torch."""
    import torch

    leaves = {name: array.detach().clone().requires_grad_(name in graph.trained) for name, array in graph.parameters.items()}
    given = [torch.from_numpy(array.numpy().copy()) for array in call]
    given = [array.requires_grad_() if array.is_floating_point() else array for array in given]
    result, _ = graph.purely(leaves, tuple(given), {}, None)
    total = total_of(result, lambda array: array.float().square().sum())
    if total.requires_grad:
        total.backward()
    return {**{str(place): array.grad for place, array in enumerate(given)}, **{name: leaf.grad for name, leaf in leaves.items()}}


def by_jax(graph: Any, call: Sequence[Any], jitted: bool) -> dict[str, Any]:
    """The same by JAX."""
    import jax
    import jax.numpy as jnp

    plain = [jnp.asarray(array.numpy()) for array in call]
    inputs = {str(place): array for place, array in enumerate(plain) if jnp.issubdtype(array.dtype, jnp.floating)}
    trained = {name: array for name, array in graph.parameters.items() if name in graph.trained}

    def total(trained: Mapping[str, Any], inputs: Mapping[str, Any]) -> Any:
        given = [inputs.get(str(place), array) for place, array in enumerate(plain)]
        result, _ = graph.purely({**graph.parameters, **trained}, tuple(given), {}, None)
        return total_of(result, lambda array: (array.astype("float32") ** 2).sum())

    gradient = jax.grad(total, (0, 1))
    weights, others = (jax.jit(gradient) if jitted else gradient)(trained, inputs)
    return {**others, **weights}


_GRADIENTS = {"torch": by_torch, "jax": by_jax}
