"""Comparison of the graph of a Keras function with Keras: results, variables after the call, and gradients."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

import graph_compiler
from graph_compiler.errors import GradientRefused
from tests.corpora.coverage.judging import assert_metadata
from tests.support.compare import arrays, assert_no_further, assert_same, to_numpy
from tests.support.kernels import run
from tests.support.tolerance import NARROWER, tolerance

from .layer_sample import LayerSample

Function = Callable[..., Any]
REFUSED = "refused"


@dataclass(frozen=True)
class Observed:
    """What Keras computes in a call.

    left: values of the variables after the call, by path.
    gradients: gradients of a weighted sum of the results, by number of the input and path of the variable;
        None if there are none.
    """

    result: Any
    left: dict[str, Any]
    gradients: dict[str, Any] | None


def judge(
    function: Function,
    variables: Sequence[Any],
    calls: Sequence[Sequence[Any]],
    to: str,
    gradients: bool = True,
    computed_in: str = "float32",
    exactly: Callable[[], tuple[Function, Sequence[Any]]] | None = None,
    is_relative_to_largest: bool = False,
) -> dict[str, Any]:
    """Record the first of ``calls``, and assert that the graph agrees with Keras for all of them.

    Return the number of variants, and ``{"gradients": "refused"}`` in addition if the graph refuses to
    differentiate.

    variables: variables that the function reads and writes; they are restored after each call.
    computed_in: the least precise dtype inside the function.
    exactly: returns the function and its variables in float64. A result beyond the table of tolerances
        must then be no further from float64 than a small multiple of Keras' own error.
    is_relative_to_largest: compare each element relative to the largest of its array.
    """
    gradients = gradients and to in GRADIENTS
    expected = [observed(function, variables, call, gradients) for call in calls]
    graph = graph_compiler.compile(function, to=to, args=list(calls[0]), source="tensorflow")
    assert_names(graph, variables)
    facts: dict[str, Any] = {}
    relative = tolerance(_held(computed_in, to))[0]
    # By chance one result may be rounded well at each step, and the other badly: over recurrent layers of
    # bfloat16 and random inputs, the errors of the gradients of kernels are 0.4 to 2.9 times those of Keras.
    factor, factor_of_gradients = (4.0, 4.0) if "16" in computed_in else (2.0, 3.0)
    for call, right in zip(calls, expected):
        exact = functools.cache(partial(_exact, exactly, call, gradients))
        with kept(variables):
            result = graph(*map(plain, call))
            if is_relative_to_largest:
                assert_metadata(result, right.result)
                assert_close(arrays(result), arrays(right.result), relative)
            else:
                _assert_right(result, right.result, partial(_results, exact), factor)
            assert_same(_as_held(values_of(variables), to), _as_held(right.left, to))
        if gradients and right.gradients is not None:
            try:
                found = GRADIENTS[to](graph, call)
            except GradientRefused:
                # A refused gradient is allowed, a wrong one is not.
                facts["gradients"] = REFUSED
            else:
                _assert_gradients(
                    found,
                    trained_of(graph, right.gradients),
                    relative,
                    partial(_gradients, exact),
                    factor_of_gradients,
                )
    return {"variants": len(graph.variants), **facts}


def _held(dtype: str, to: str) -> str:
    """Return the dtype that a target uses for ``dtype``: a 32-bit one in JAX without x64."""
    import jax

    return NARROWER.get(dtype, dtype) if to == "jax" and not jax.config.jax_enable_x64 else dtype


def _as_held(values: dict[str, Any], to: str) -> dict[str, Any]:
    """Return the values in the dtypes that the target uses, because it computes a float64 variable in
    float32.
    """
    return {name: tf.cast(value, _held(value.dtype.name, to)) for name, value in values.items()}


def trained_of(graph: Any, gradients: Mapping[str, Any]) -> dict[str, Any]:
    """Return the gradients of the inputs and of the parameters that the graph trains."""
    trained = graph.trained
    return {name: array for name, array in gradients.items() if name.isdigit() or name in trained}


def assert_names(graph: Any, variables: Sequence[Any]) -> None:
    """Assert that parameters have the paths of variables as names, and that the graph trains those that Keras
    trains.
    """
    names = named(variables)
    assert set(graph.parameters) <= names.keys(), (
        f"names {sorted(graph.parameters.keys() - names.keys())} are no paths of variables"
    )
    trained = {name for name, variable in names.items() if variable.trainable} & set(graph.parameters)
    assert graph.trained == trained, f"trained: {sorted(graph.trained ^ trained)}"


def judge_layer(
    sample: LayerSample, layer: Any, to: str, is_relative_to_largest: bool = False
) -> dict[str, Any]:
    """Compare a sample of a layer at the recorded sizes and at others; return what :func:`judge` does."""
    calls = [sample.arrays(), sample.arrays(other=True)]

    def exactly() -> tuple[Function, list[Any]]:
        other = sample.made_of(in_doubles(type(layer), layer.get_config()))
        for one, given in zip(other.variables, layer.variables, strict=True):
            one.assign(given.value)
            one._path = given.path
        return partial(sample.call, other), variables_of(other)

    computed_in = least_precise(layer)
    return judge(
        lambda *arrays: sample.call(layer, *arrays),
        variables_of(layer),
        calls,
        to,
        computed_in=computed_in,
        exactly=exactly,
        is_relative_to_largest=is_relative_to_largest,
    )


# ---------------------------------------------------------------------------------------------- comparisons
def _assert_right(found: Any, wanted: Any, exact: Callable[[], dict[Any, Any]], factor: float) -> None:
    """Assert agreement within the table of tolerances, or an error of at most ``factor`` times that of Keras."""
    try:
        assert_same(found, wanted)
    except AssertionError as problem:
        assert_metadata(found, wanted)
        reference = _near(exact, arrays(wanted), problem)
        assert_no_further(
            {name: arrays(found)[name] for name in reference}, arrays(wanted), reference, factor=factor
        )


def _assert_gradients(
    found: dict[str, Any],
    wanted: dict[str, Any],
    relative: float,
    exact: Callable[[], dict[str, Any]],
    factor: float,
) -> None:
    """Assert that each element differs by at most ``relative`` of the largest in its array, or that the error
    is at most ``factor`` times that of Keras.
    """
    try:
        assert_close(found, wanted, relative, "gradient of ")
    except AssertionError as problem:
        given = {name: array for name, array in wanted.items() if array is not None}
        reference = _near(exact, given, problem)
        assert_close(found, dict.fromkeys(wanted.keys() - given.keys()), relative, "gradient of ")
        assert_no_further(
            *({name: gradients[name] for name in given} for gradients in (found, given, reference)),
            factor=factor,
        )


def _near(
    exact: Callable[[], dict[Any, Any]], wanted: Mapping[Any, Any], problem: AssertionError
) -> dict[Any, Any]:
    """Return what ``exact`` computes in float64. Raise ``problem`` if it raises, or differs by more than 20
    %, as random numbers do.
    """
    try:
        given = exact()
        found = {name: given[name] for name in wanted}
        error, size = (
            sum(float(np.square(to_numpy(array).astype(np.float64) - part).sum()) for array, part in parts)
            for parts in (
                zip(found.values(), map(to_numpy, wanted.values())),
                zip(wanted.values(), [0.0] * len(wanted)),
            )
        )
        assert error <= 0.04 * size
    except Exception as other:
        raise problem from other
    return found


def assert_close(found: Mapping[Any, Any], right: Mapping[Any, Any], relative: float, what: str = "") -> None:
    """Assert that each element differs by at most ``relative`` of the largest in its array; None counts as
    zero.

    Sums in another order have errors in proportion to their terms. The bound is at least 1e-2 of that of
    the largest array, because the error of a gradient that is zero in theory comes from the other arrays.
    """
    largest = {name: _largest(array) for name, array in right.items()}
    least = 1e-2 * max(largest.values(), default=0.0)
    for name, array in right.items():
        wanted, got = (np.zeros(()) if item is None else to_numpy(item) for item in (array, found.get(name)))
        assert array is None or found.get(name) is None or got.shape == wanted.shape, (
            f"{what}{name}: shape {got.shape}, expected {wanted.shape}"
        )
        allowed = relative * max(largest[name], least)
        difference = np.subtract(got, wanted, dtype=np.result_type(got, wanted, np.float64))
        # The comparison is false for NaN too. The slower one below accepts equal NaN and describes the
        # difference.
        if not np.abs(difference).max(initial=0.0) <= allowed:
            np.testing.assert_allclose(
                got, np.broadcast_to(wanted, got.shape), rtol=0, atol=allowed, err_msg=f"{what}{name}"
            )


def _largest(array: Any) -> float:
    numbers = np.zeros(()) if array is None else to_numpy(array)
    numbers = np.abs(numbers if numbers.dtype == np.float64 else numbers.astype(np.float64))
    largest = float(numbers.max(initial=0.0))
    return largest if np.isfinite(largest) else float(numbers.max(initial=0.0, where=np.isfinite(numbers)))


# ---------------------------------------------------------------------------------------------- in float64
def _exact(
    exactly: Callable[[], tuple[Function, Sequence[Any]]] | None, call: Sequence[Any], gradients: bool
) -> Any:
    if exactly is None:
        raise LookupError("nothing is computed in float64")
    return observed(
        *exactly(),
        [tf.cast(item, tf.float64) if item.dtype.is_floating else item for item in call],
        gradients,
    )


def _results(exact: Callable[[], Observed]) -> dict[Any, Any]:
    return arrays(exact().result)


def _gradients(exact: Callable[[], Observed]) -> dict[Any, Any]:
    return exact().gradients or {}


def in_doubles(cls: Any, config: Any) -> Any:
    """Return a layer of this class and configuration in which all layers compute in float64."""
    return cls.from_config(_in_doubles(config))


def exactly(model: Any, **options: Any) -> Callable[[], tuple[Function, Sequence[Any]]]:
    """Return a function that creates the model in float64, with the same values, for :func:`judge`."""

    def made() -> tuple[Function, Sequence[Any]]:
        other = in_doubles(type(model), model.get_config())
        for one, given in zip(other.variables, model.variables, strict=True):
            one.assign(given)
            one._path = given.path
        return partial(other, **options), other.variables

    return made


def _in_doubles(config: Any) -> Any:
    if isinstance(config, list):
        return list(map(_in_doubles, config))
    if isinstance(config, dict):
        return {key: "float64" if key == "dtype" else _in_doubles(item) for key, item in config.items()}
    return config


def plain(item: Any) -> Any:
    """Return the NumPy array of a tensor, or the tensor itself for bfloat16, which NumPy lacks."""
    return item if item.dtype == tf.bfloat16 else item.numpy()


def variables_of(layer: Any) -> list[Any]:
    """Return the variables of a layer and the states of recurrent layers, which ``variables`` lacks."""
    states = (
        state for one in layer._flatten_layers() for state in tf.nest.flatten(getattr(one, "states", None))
    )
    return list({id(one): one for one in (*layer.variables, *states) if one is not None}.values())


def least_precise(layer: Any) -> str:
    """Return the least precise float dtype in which the layer or a layer inside computes."""
    found = {str(one.compute_dtype) for one in layer._flatten_layers()}
    return max(
        (dtype for dtype in found if "float" in dtype),
        key=lambda dtype: tolerance(dtype)[0],
        default="float32",
    )


# ---------------------------------------------------------------------------------------------- by TensorFlow
def named(variables: Sequence[Any]) -> dict[str, Any]:
    """Return variables by path, with a number appended if several have the same."""
    found: dict[str, Any] = {}
    for variable in variables:
        count = sum(other.path == variable.path for other in found.values())
        found[f"{variable.path}_{count}" if count else variable.path] = variable
    return found


def values_of(variables: Sequence[Any]) -> dict[str, Any]:
    """Return copies of the values of variables by path."""
    return {name: tf.identity(variable.value) for name, variable in named(variables).items()}


@contextmanager
def kept(variables: Sequence[Any]) -> Iterator[None]:
    """Restore the values of the variables after the block."""
    before = values_of(variables)
    try:
        yield
    finally:
        for name, variable in named(variables).items():
            variable.assign(before[name])


def observed(
    function: Function, variables: Sequence[Any], call: Sequence[Any], gradients: bool = True
) -> Observed:
    """Return what TensorFlow computes in a call, and restore the variables."""
    with kept(variables), tf.GradientTape() as tape:
        for array in call:
            tape.watch(array)
        try:
            result = run(function, *call)
        except tf.errors.UnimplementedError:
            # XLA compiles the loop, but cannot keep the lists that its gradient needs.
            gradients = False
            with tape.stop_recording():
                result = run(function, *call)
        left, total = (
            values_of(variables),
            total_of(result, lambda array, weights: tf.reduce_sum(tf.cast(array, tf.float32) * weights)),
        )
    trained = {name: variable.value for name, variable in named(variables).items() if variable.trainable}
    inputs = {str(place): array for place, array in enumerate(call) if array.dtype.is_floating}
    if total is None or not gradients:
        return Observed(result, left, None)
    try:
        found = tape.gradient(total, {**inputs, **trained})
    except (LookupError, tf.errors.InvalidArgumentError, tf.errors.UnimplementedError):
        # TensorFlow has no gradient of an operation in it.
        return Observed(result, left, None)
    return Observed(result, left, {name: _dense(gradient) for name, gradient in found.items()})


def _dense(gradient: Any) -> Any:
    return gradient if gradient is None else tf.convert_to_tensor(gradient)


def total_of(result: Any, of_one: Callable[[Any, Any], Any]) -> Any:
    """Return the sum of ``of_one(array, weights)`` over all float arrays of a result, or None if there is
    none.
    """
    parts = [
        of_one(array, _weights(array)) for array in arrays(result).values() if "float" in str(array.dtype)
    ]
    return sum(parts[1:], parts[0]) if parts else None


def _weights(array: Any) -> Any:
    """Return a different weight for each element, because the gradient of a plain sum may be zero (after a
    softmax).
    """
    return np.cos(np.arange(1.0, 1 + int(np.prod(array.shape)))).reshape(tuple(array.shape)).astype("float32")


# ---------------------------------------------------------------------------------------------- by targets
def by_torch(graph: Any, call: Sequence[Any]) -> dict[str, Any]:
    """Return the gradients of the weighted sum of the results, by torch."""
    import torch

    trained = graph.trained
    leaves = {
        name: array.detach().clone().requires_grad_(name in trained)
        for name, array in graph.parameters.items()
    }
    given = [torch.from_numpy(array.numpy().copy()) for array in call]
    given = [array.requires_grad_() if array.is_floating_point() else array for array in given]
    result, _ = graph._functional(leaves, tuple(given), {}, None)
    total = total_of(result, lambda array, weights: (array.float() * torch.from_numpy(weights)).sum())
    if total.requires_grad:
        total.backward()
    return {
        **{str(place): array.grad for place, array in enumerate(given)},
        **{name: leaf.grad for name, leaf in leaves.items()},
    }


def by_jax(graph: Any, call: Sequence[Any]) -> dict[str, Any]:
    """Return the gradients of the weighted sum of the results, by JAX."""
    import jax
    import jax.numpy as jnp

    plain = [jnp.asarray(array.numpy()) for array in call]
    inputs = {
        str(place): array for place, array in enumerate(plain) if jnp.issubdtype(array.dtype, jnp.floating)
    }
    parameters, names = graph.parameters, graph.trained
    trained = {name: array for name, array in parameters.items() if name in names}

    def total(trained: Mapping[str, Any], inputs: Mapping[str, Any]) -> Any:
        given = [inputs.get(str(place), array) for place, array in enumerate(plain)]
        result, _ = graph._functional({**parameters, **trained}, tuple(given), {}, None)
        return total_of(result, lambda array, weights: (array.astype("float32") * weights).sum())

    gradient = jax.grad(total, (0, 1))
    # Operation by operation this takes twice the time.
    weights, others = jax.jit(gradient)(trained, inputs)
    return {**others, **weights}


def by_tensorflow(graph: Any, call: Sequence[Any]) -> dict[str, Any]:
    """Return the gradients of the weighted sum of the results, by TensorFlow."""
    parameters, names = graph.parameters, graph.trained
    trained = {name: tf.convert_to_tensor(array) for name, array in parameters.items() if name in names}
    inputs = {str(place): array for place, array in enumerate(call) if array.dtype.is_floating}
    with tf.GradientTape() as tape:
        tape.watch([trained, inputs])
        result, _ = graph._functional({**parameters, **trained}, tuple(call), {}, None)
        total = total_of(result, lambda array, weights: tf.reduce_sum(tf.cast(array, tf.float32) * weights))
    return {name: _dense(gradient) for name, gradient in tape.gradient(total, {**inputs, **trained}).items()}


GRADIENTS = {"torch": by_torch, "jax": by_jax, "tensorflow": by_tensorflow}
