"""Whether the graph of a function of Keras computes what Keras does: results, variables afterwards, and gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

import graph_compiler
from graph_compiler.errors import GradientRefused

from ..support.compare import arrays, assert_no_further, assert_same, to_numpy
from ..support.tolerance import tolerance
from .layer_sample import LayerSample

Function = Callable[..., Any]
REFUSED = "refused"


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
    computed_in: str = "float32",
    exactly: Callable[[], tuple[Function, Sequence[Any]]] | None = None,
) -> dict[str, Any]:
    """Records the first of the ``calls`` and compares all of them; the number of recordings, and whether gradients are refused.

    ``jitted``: in JAX, by ``jax.jit``; ``computed_in`` is the least precise type that is inside, and ``exactly`` gives the function and its
    variables in one that is more precise: gradients are as near to those as Keras' own, where they are not as near to Keras' as the table of
    tolerances says.
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
    facts: dict[str, Any] = {}
    for call, right in zip(calls, expected):
        with kept(variables):
            result = graph(*map(_plain, call))
            if jitted and gradients:  # a whole network in training, where rounding grows from layer to layer
                assert_close(arrays(result), arrays(right.result), 3e-3)
                assert_close(values_of(variables), right.left, 3e-3)
            else:
                assert_same(result, right.result)
                assert_same(values_of(variables), right.left)
        if gradients and to in _GRADIENTS and right.gradients is not None:
            wanted = {name: array for name, array in right.gradients.items() if name.isdigit() or name in graph.trained}
            try:
                found = _GRADIENTS[to](graph, call, jitted)
            except GradientRefused:  # never wrong
                facts["gradients"] = REFUSED
            else:
                _assert_gradients(found, wanted, 3e-3 if jitted else tolerance(computed_in)[0], lambda call=call: _gradients(exactly, call))
    return {"variants": len(graph.variants), **facts}


def judge_layer(sample: LayerSample, layer: Any, to: str) -> dict[str, Any]:
    """A sample of a layer, called as it is recorded and otherwise."""
    calls, least = [sample.arrays(), sample.arrays(other=True)], least_precise(layer)

    def exactly() -> tuple[Function, list[Any]]:
        other = sample.made_of(in_floats(type(layer), layer.get_config()))
        for one, given in zip(other.variables, layer.variables, strict=True):
            one.assign(given.value)
            one._path = given.path
        return partial(sample.call, other), variables_of(other)

    return judge(
        lambda *arrays: sample.call(layer, *arrays),
        variables_of(layer),
        calls,
        to,
        computed_in=least,
        exactly=exactly if "16" in least else None,
    )


def in_floats(cls: Any, config: Any) -> Any:
    """A layer of this class and configuration that computes in float32, and so do the layers inside of it."""
    return cls.from_config(_in_floats(config))


def _in_floats(config: Any) -> Any:
    if isinstance(config, list):
        return list(map(_in_floats, config))
    if isinstance(config, dict):
        return {key: "float32" if key == "dtype" else _in_floats(item) for key, item in config.items()}
    return config


def _gradients(exactly: Callable[[], tuple[Function, Sequence[Any]]] | None, call: Sequence[Any]) -> dict[str, Any] | None:
    return None if exactly is None else observed(*exactly(), call).gradients


def _assert_gradients(found: dict[str, Any], wanted: dict[str, Any], relative: float, exact: Callable[[], dict[str, Any] | None]) -> None:
    try:
        assert_close(found, wanted, relative, "gradient of ")
    except AssertionError:
        reference = exact()
        if reference is None:
            raise
        given = {name: array for name, array in wanted.items() if array is not None}
        assert_close(found, dict.fromkeys(wanted.keys() - given.keys()), relative, "gradient of ")
        assert_no_further(*({name: gradients[name] for name in given} for gradients in (found, wanted, reference)))


def _plain(item: Any) -> Any:
    """bfloat16 has no array of numpy."""
    return item if item.dtype == tf.bfloat16 else item.numpy()


def assert_close(found: Mapping[Any, Any], right: Mapping[Any, Any], relative: float, what: str = "") -> None:
    """Each element differs by no more than ``relative`` of the largest in its array: sums in another order round as their terms do.

    The unit of an array that is nothing but rounding beside the others (a gradient that is zero in theory) is taken from the others.
    """
    least = 1e-3 * max((_largest(array) for array in right.values()), default=0.0)
    for name, array in right.items():
        wanted, got = (np.zeros(()) if item is None else to_numpy(item) for item in (array, found.get(name)))
        assert array is None or found.get(name) is None or got.shape == wanted.shape, (
            f"{what}{name}: shape {got.shape}, expected {wanted.shape}"
        )
        allowed = relative * max(_largest(array), least)
        np.testing.assert_allclose(got, np.broadcast_to(wanted, got.shape), rtol=0, atol=allowed, err_msg=f"{what}{name}")


def _largest(array: Any) -> float:
    numbers = np.zeros(()) if array is None else np.abs(to_numpy(array).astype(np.float64))
    return float(numbers.max(initial=0.0, where=np.isfinite(numbers)))


def variables_of(layer: Any) -> list[Any]:
    """The variables of a layer, and the states that recurrent ones keep, which Keras does not count among them."""
    states = (state for one in layer._flatten_layers() for state in tf.nest.flatten(getattr(one, "states", None)))
    return list({id(one): one for one in (*layer.variables, *states) if one is not None}.values())


def least_precise(layer: Any) -> str:
    """The type with the fewest digits that a layer, or one inside of it, computes in."""
    found = {str(one.compute_dtype) for one in layer._flatten_layers()}
    return max((dtype for dtype in found if "float" in dtype), key=lambda dtype: tolerance(dtype)[0], default="float32")


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
def _by_torch(graph: Any, call: Sequence[Any], jitted: bool) -> dict[str, Any]:
    import torch

    leaves = {name: array.detach().clone().requires_grad_(name in graph.trained) for name, array in graph.parameters.items()}
    given = [torch.from_numpy(array.numpy().copy()) for array in call]
    given = [array.requires_grad_() if array.is_floating_point() else array for array in given]
    result, _ = graph.purely(leaves, tuple(given), {}, None)
    total = total_of(result, lambda array: array.float().square().sum())
    if total.requires_grad:
        total.backward()
    return {**{str(place): array.grad for place, array in enumerate(given)}, **{name: leaf.grad for name, leaf in leaves.items()}}


def _by_jax(graph: Any, call: Sequence[Any], jitted: bool) -> dict[str, Any]:
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


_GRADIENTS = {"torch": _by_torch, "jax": _by_jax}
