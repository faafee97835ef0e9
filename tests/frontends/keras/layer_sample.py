"""What a sample of a Keras layer is: the layer, the arrays of the call that is recorded, and those of another
call.
"""

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
    """The shapes of an argument in the recorded call and in the other one; elements are drawn between
    ``least`` and ``most``.
    """

    shape: Shape
    other: Shape
    least: float = -2.0
    most: float = 2.0
    dtype: str = "float32"

    def drawn(self, random: np.random.Generator, other: bool) -> Any:
        """A tensor."""
        drawn = random.uniform(self.least, self.most, self.other if other else self.shape)
        return tf.constant(drawn > 0 if self.dtype == "bool" else drawn.astype(self.dtype))


@dataclass(frozen=True)
class LayerSample:
    """``make()`` gives a layer that is not built, ``call(layer, *arrays)`` calls it."""

    make: Callable[[], Any]
    inputs: tuple[Array, ...]
    call: Call

    def arrays(self, other: bool = False) -> list[Any]:
        """The arguments, the same at each call."""
        random = np.random.default_rng(5 + other)
        return [one.drawn(random, other) for one in self.inputs]

    def made(self) -> Any:
        """The layer, built, with weights that are all different."""
        return self.made_of(self.make())

    def made_of(self, layer: Any) -> Any:
        """A layer of the sample, built as above."""
        run(partial(self.call, layer), *self.arrays())
        fill_weights(layer)
        return layer


def fill_weights(layer: Any, least: float = 0.2, most: float = 1.0) -> None:
    """Gives every weight of floats elements between these, so that none is neutral; statistics stay legal."""
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
    """The layer called with the arrays one by one."""
    return layer(*arrays, **options)


def listed(layer: Any, *arrays: Any, **options: Any) -> Any:
    """The layer called with a list of the arrays."""
    return layer(list(arrays), **options)


def samples(
    name: str,
    inputs: Iterable[Array],
    *options: dict[str, Any],
    call: Call = plainly,
    training: tuple[bool, ...] = (),
    **given: Any,
) -> Iterator[tuple[str, LayerSample]]:
    """A sample of ``keras.layers.<name>`` for each dict of options (and mode, where ``training`` names some),
    called with what is ``given``.
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
    """A layer that computes in float64 is given such arrays."""
    is_wide = options.get("dtype") == "float64"
    return tuple(
        replace(one, dtype="float64") if is_wide and one.dtype == "float32" else one for one in inputs
    )


def _made(cls: Any, options: dict[str, Any]) -> Any:
    return cls(**{name: _fresh(item) for name, item in options.items()})


def _fresh(item: Any) -> Any:
    """A layer among the options that no other sample has built."""
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
    """Samples with names of their own, behind that of the layer."""
    return ((f"{prefix}: {name.replace('_', ' ')}", sample) for name, sample in made.items())
