"""One function traced by TensorFlow for each set of shapes, called with the tensors of its arguments alone."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import tensorflow as tf

from ...trees import Tree, flatten, unflatten
from ..compiled_shapes import CompiledShapes
from .unchecked import NotTraced

_NUMBERS = (bool, int, float, complex)


class _Traced(NamedTuple):
    concrete: Any
    form: Tree
    leaves: int


class ConcreteFunctions:
    """Cache of traces of ``function``, found by the shapes and dtypes of its arguments and the values of those that are no tensors.

    A ``tf.function`` finds a trace by all of its arguments, which takes longer than a small model where the weights are arguments. Here the
    shapes of weights, which arrive in dicts, are known to stay.
    """

    def __init__(
        self, function: Callable[..., Any], shapes: CompiledShapes, options: dict[str, Any], extra: Callable[[], list[Any]]
    ) -> None:
        self._function, self._shapes, self._options, self._extra = function, shapes, options, extra
        self._traced: dict[Hashable, _Traced] = {}

    def __call__(self, *args: Any) -> tuple[Any, list[Any]]:
        """Return the result, and the tensors that ``extra`` added to the trace. Raise ``NewShape`` as ``CompiledShapes.note`` does."""
        key, tensors = _parts(args)
        traced = self._traced.get(key)
        if traced is None:
            self._shapes.note(args)
            traced = self._traced[key] = self._trace(args, tensors)
        # Its public call binds arguments to names, one by one.
        results = traced.concrete._call_flat(tensors, traced.concrete.captured_inputs)
        return unflatten(traced.form, results[: traced.leaves]), results[traced.leaves :]

    def _trace(self, args: tuple[Any, ...], tensors: list[Any]) -> _Traced:
        forms: list[tuple[Tree, int]] = []

        @functools.wraps(self._function)
        def flat(*given: Any) -> list[Any]:
            leaves, form = flatten(self._function(*_with_tensors(args, given)), tf.is_tensor)
            forms.append((form, len(leaves)))
            return [*leaves, *self._extra()]

        del flat.__wrapped__  # whose signature has other arguments
        concrete = tf.function(flat, autograph=False, **self._options).get_concrete_function(*tensors)
        return _Traced(concrete, *forms[-1])


def _parts(args: tuple[Any, ...]) -> tuple[Hashable, list[Any]]:
    key: list[Any] = []
    tensors: list[Any] = []
    for arg in args:
        if isinstance(arg, dict):
            key.append((*arg, *(item.ref() for item in arg.values() if isinstance(item, tf.Variable))))
            tensors += [item for item in arg.values() if not isinstance(item, tf.Variable)]
        elif isinstance(arg, tf.Variable):
            key.append(arg.ref())
        elif isinstance(arg, tf.Tensor):
            key.append((arg.shape, arg.dtype))
            tensors.append(arg)
        elif tf.is_tensor(arg):
            raise NotTraced(f"an argument of it is a {type(arg).__name__}")
        else:
            # 0.0 equals -0.0, and NaN equals nothing
            key.append((type(arg), repr(arg) if isinstance(arg, _NUMBERS) else arg))
    return tuple(key), tensors


def _with_tensors(args: tuple[Any, ...], given: tuple[Any, ...]) -> list[Any]:
    """Return the arguments with other tensors; variables are captured by the trace."""
    tensors = iter(given)

    def replaced(item: Any) -> Any:
        return next(tensors) if isinstance(item, tf.Tensor) else item

    return [{name: replaced(item) for name, item in arg.items()} if isinstance(arg, dict) else replaced(arg) for arg in args]
