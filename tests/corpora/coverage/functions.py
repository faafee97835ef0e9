"""Corpora of the public functions of TensorFlow and of ``keras.ops``, compared with TensorFlow.

Values, dtypes and shapes are compared at the recorded sizes and at others, gradients in torch and JAX.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any

import numpy as np

import graph_compiler
from tests.support.tolerance import tolerance

from .judging import assert_same_distribution
from .outcome import RIGHT, Skipped

KERAS = "keras.ops."
# A limit of JAX, see docs/limits.md.
_NO_REVERSE = "Reverse-mode differentiation does not work for lax.while_loop"


@functools.cache
def samples() -> dict[str, list[Any]]:
    """Return the samples of each function by its full name."""
    from tests.frontends.tensorflow import functions

    modules = [module.name for module in pkgutil.iter_modules(functions.__path__)]
    tables = [importlib.import_module(f"{functions.__name__}.{name}") for name in modules]
    return {name: calls for table in tables for name, calls in getattr(table, "SAMPLES", {}).items()}


def names(*, of_keras: bool) -> list[str]:
    """Return the names of the cases, ``function#number``: those of ``keras.ops``, or all others."""
    return [
        f"{name}#{place}"
        for name, calls in samples().items()
        if name.startswith(KERAS) == of_keras
        for place in range(len(calls))
    ]


MODULES = (
    "tf.math", "tf.math.special", "tf.bitwise", "tf.linalg", "tf.signal", "tf.image", "tf.nn", "tf.random", "tf.random.experimental", "tf",
    "tnp", "tnp.random", "keras.ops",
)  # fmt: skip


def public_names() -> dict[int, list[str]]:
    """Map the ``id`` of each public function of ``MODULES`` to all names that it has there. Classes and
    modules are left out.
    """
    found: dict[int, list[str]] = {}
    for module in MODULES:
        for name in dir(public(module)):
            item = getattr(public(module), name)
            if (
                not name.startswith("_")
                and callable(item)
                and not isinstance(item, type)
                and not inspect.ismodule(item)
            ):
                found.setdefault(id(item), []).append(f"{module}.{name}")
    return found


def group_of(name: str) -> str:
    return name.partition("#")[0]


def public(name: str) -> Any:
    """Return the object with a dotted name; ``tnp`` stands for ``tf.experimental.numpy``."""
    import keras
    import tensorflow as tf

    roots = {"tf": tf, "tnp": tf.experimental.numpy, "keras": keras}
    first, *rest = name.split(".")
    return functools.reduce(getattr, rest, roots[first])


def judge(name: str, target: str) -> dict[str, Any]:
    """Assert that a graph gives what TensorFlow gives, with the recorded arrays and with others.

    Successive targets of the same case share one recording. Raise ``Skipped`` if TensorFlow cannot compute
    the case.
    """
    function, _, place = name.partition("#")
    recorded = _latest.pop(name, None)
    _latest.clear()
    facts, _latest[name] = judged(function, int(place), target, recorded)
    return facts


_latest: dict[str, Any] = {}


def judged(name: str, place: int, target: str, recorded: Any = None) -> tuple[dict[str, Any], Any]:
    """Return (facts, a graph for further targets) for a case; ``recorded`` is such a graph of an earlier
    target.
    """
    from tests.frontends.tensorflow.test_samples import as_tensorflow, check

    call = samples()[name][place]
    function = call.function(public(name))
    given = [as_tensorflow(call.arrays(at)) for at in range(2)]
    expected = [_in_tensorflow(function, args) for args in given]
    if recorded is None:
        graph = _compiled(function, target, given[0])
    else:
        graph = recorded.to(target)
    # The copy is made before other sizes are recorded.
    fresh = graph.to(target)
    if call.drawn:
        _check_draws(graph, function, given[0], target)
        return {}, fresh
    variants = check(graph, target, list(zip(given, expected, strict=True)))
    if call.gradients and target in ("torch", "jax"):
        for args in given:
            _check_gradients(graph, function, args, target)
    return {"other": RIGHT, "variants": variants}, fresh


def _compiled(function: Callable[..., Any], target: str, args: list[Any]) -> Any:
    try:
        return graph_compiler.compile(function, to=target, source="tensorflow", args=tuple(args))
    except (TypeError, ValueError):
        # This raises ``Skipped`` if TensorFlow itself cannot trace the function.
        _in_tensorflow(tf_function(function), args)
        raise


def tf_function(function: Callable[..., Any]) -> Any:
    import tensorflow as tf

    return tf.function(function)


def _in_tensorflow(function: Callable[..., Any], args: list[Any]) -> Any:
    try:
        return function(*args)
    except Exception as problem:
        raise Skipped(f"tensorflow: {type(problem).__name__}: {problem}") from problem


def _check_draws(graph: Any, function: Callable[..., Any], args: list[Any], target: str) -> None:
    from tests.frontends.tensorflow.test_samples import plain

    assert_same_distribution(lambda: graph(*plain(args, target)), lambda: function(*args))


def _check_gradients(graph: Any, function: Callable[..., Any], args: list[Any], target: str) -> None:
    """Assert that the gradients of all float arguments are those of TensorFlow.

    Skip the comparison if TensorFlow has no gradient, if one of its gradients is not finite, or if the
    target has no reverse mode for the function.
    """
    import tensorflow as tf

    from tests.frontends.tensorflow import test_sample_gradients as gradients

    found = function(*args)
    if (
        not any(map(gradients.is_float, args))
        or any(item is None for item in tf.nest.flatten(found))
        or not gradients.results(found)
    ):
        return
    try:
        expected = gradients.by_tensorflow(function, args)
    except Exception:
        # TensorFlow has no gradient of it.
        return
    if not all(np.isfinite(item).all() for item in expected):
        return
    try:
        actual = gradients.TARGETS[target](graph, args)
    except ValueError as problem:
        if _NO_REVERSE in str(problem):
            return
        raise
    for place, (found, wanted) in enumerate(zip(actual, expected, strict=True)):
        relative, absolute = tolerance("float32")
        np.testing.assert_allclose(
            found, wanted, rtol=10 * relative, atol=10 * absolute, err_msg=f"gradient {place}"
        )
