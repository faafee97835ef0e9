"""Samples of Keras layers: the layer, the arrays of the recorded call, and those of another call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tests.support.kernels import run

Shape = tuple[int, ...]
Call = Callable[..., Any]


@dataclass(frozen=True)
class Array:
    """Description of a random array.

    shape, other: shapes in the recorded call and in the other one.
    least, most: bounds of the elements; booleans are True for positive numbers.
    """

    shape: Shape
    other: Shape
    least: float = -2.0
    most: float = 2.0
    dtype: str = "float32"

    def drawn(self, random: np.random.Generator, other: bool) -> Any:
        """Return a tensor of the shape ``other`` or ``shape``."""
        drawn = random.uniform(self.least, self.most, self.other if other else self.shape)
        return tf.constant(drawn > 0 if self.dtype == "bool" else drawn.astype(self.dtype))


@dataclass(frozen=True)
class LayerSample:
    """A layer and its calls.

    make: returns a layer that is not built.
    call: ``call(layer, *arrays)`` calls it.
    """

    make: Callable[[], Any]
    inputs: tuple[Array, ...]
    call: Call

    def arrays(self, other: bool = False) -> list[Any]:
        """Return the same random arguments at each call."""
        random = np.random.default_rng(5 + other)
        return [one.drawn(random, other) for one in self.inputs]

    def made(self) -> Any:
        """Return a layer that is built and has random weights."""
        return self.made_of(self.make())

    def made_of(self, layer: Any) -> Any:
        """Build ``layer`` by a call, randomise its weights in place, and return it."""
        run(partial(self.call, layer), *self.arrays())
        fill_weights(layer)
        return layer


def fill_weights(layer: Any, least: float = 0.2, most: float = 1.0) -> None:
    """Set every float weight to random elements with absolute values from ``least`` to ``most``, so that each
    has an effect.

    Variances and scales stay positive.
    """
    random = np.random.default_rng(1)
    for weight in layer.weights:
        if "float" in str(weight.dtype) and "seed_generator" not in weight.path:
            weight.assign(random.uniform(least, most, weight.shape) * _sign(random, weight))


def _sign(random: np.random.Generator, weight: Any) -> Any:
    return (
        1.0
        if "variance" in weight.path or "gamma" in weight.path
        else random.choice([-1.0, 1.0], weight.shape)
    )


def plainly(layer: Any, *arrays: Any, **options: Any) -> Any:
    return layer(*arrays, **options)


def listed(layer: Any, *arrays: Any, **options: Any) -> Any:
    """Call the layer with a list of the arrays."""
    return layer(list(arrays), **options)


def samples(
    name: str,
    inputs: Iterable[Array],
    *options: dict[str, Any],
    call: Call = plainly,
    training: tuple[bool, ...] = (),
    **given: Any,
) -> Iterator[tuple[str, LayerSample]]:
    """Yield (name, sample) of ``keras.layers.<name>`` for each dict of options, in each mode of ``training``
    if there are any.

    given: further arguments of the call.
    """
    for each in options or ({},):
        for mode in training or (None,):
            said = {**given, **({} if mode is None else {"training": mode})}
            yield (
                _text(name, each, said),
                LayerSample(
                    partial(_made, getattr(keras.layers, name), each),
                    _inputs(inputs, each),
                    partial(call, **said),
                ),
            )


def _inputs(inputs: Iterable[Array], options: dict[str, Any]) -> tuple[Array, ...]:
    """Return the inputs, in float64 if the layer computes in float64."""
    is_wide = options.get("dtype") == "float64"
    return tuple(
        replace(one, dtype="float64") if is_wide and one.dtype == "float32" else one for one in inputs
    )


def _made(cls: Any, options: dict[str, Any]) -> Any:
    return cls(**{name: _fresh(item) for name, item in options.items()})


def _fresh(item: Any) -> Any:
    """Return a copy of each layer in the options, because a layer is built only once."""
    if isinstance(item, list):
        return list(map(_fresh, item))
    return type(item).from_config(item.get_config()) if isinstance(item, keras.Layer) else item


def _text(name: str, options: dict[str, Any], given: dict[str, Any]) -> str:
    words = [f"{key}={_word(item)}" for key, item in options.items()]
    called = f"({', '.join(f'{key}={item}' for key, item in given.items())})" if given else ""
    return f"{name}({', '.join(words)}){called}"[:150]


def _word(item: Any) -> str:
    if isinstance(item, list):
        return f"[{', '.join(map(_word, item))}]"
    return type(item).__name__ if isinstance(item, keras.Layer) else str(getattr(item, "__name__", item))


def named(prefix: str, **made: LayerSample) -> Iterator[tuple[str, LayerSample]]:
    """Yield samples under names that begin with ``prefix``."""
    return ((f"{prefix}: {name.replace('_', ' ')}", sample) for name, sample in made.items())
