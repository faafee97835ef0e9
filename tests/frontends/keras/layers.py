"""All samples of Keras layers, by name."""

from __future__ import annotations

from itertools import chain

from .layer_sample import LayerSample
from .samples import attention, convolutions, core, merging, normalisation, pooling, preprocessing, recurrent

MODULES = (core, merging, convolutions, pooling, normalisation, recurrent, attention, preprocessing)
NAMED = list(chain.from_iterable(module.SAMPLES for module in MODULES))


def _unique(named: list[tuple[str, LayerSample]]) -> dict[str, LayerSample]:
    """Return the samples by name, with a number appended to equal names."""
    found: dict[str, LayerSample] = {}
    for name, sample in named:
        count = sum(other.partition(" #")[0] == name for other in found)
        found[f"{name} #{count + 1}" if count else name] = sample
    return found


SAMPLES = _unique(NAMED)
