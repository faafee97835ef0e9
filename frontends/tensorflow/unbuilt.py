"""Models of Keras that are built when they are first called, while they are traced."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import keras


@contextmanager
def built_or_as_before(layers: Iterable[Any]) -> Iterator[None]:
    """Where the block raises, each ``keras.Sequential`` that could not be built has the layers that it had.

    Keras has put an input of the sizes of this tracing before them, and would refuse to build the model with other ones.
    """
    before = [(model, model._layers) for model in layers if isinstance(model, keras.Sequential) and not model.built]
    try:
        yield
    except Exception:
        for model, held in before:
            if not model.built:
                model._layers = held
        raise
