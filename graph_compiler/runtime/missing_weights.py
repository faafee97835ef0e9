"""Weights of models on the device ``meta``: calls raise ``WeightsMissing`` until the weights are loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..contracts import Weights
from ..errors import WeightsMissing
from ..recording.lock import recording_lock
from .variant import Variant

# Maximum number of names in a message.
_SHOWN = 5


def missing_names(weights: Weights | None, names: Iterable[str]) -> list[str]:
    return [] if weights is None else weights.without_elements(names)


def missing_weights(variant: Variant) -> list[str]:
    return missing_names(*_weights_of(variant))


def _weights_of(variant: Variant) -> tuple[Any, Iterable[str]]:
    written = (effect.target for effect in variant.graph.effects if effect.kind == "buffer")
    return variant.recording and variant.recording.weights, dict.fromkeys(
        (*variant.graph.parameters, *written)
    )


def require_weights(variants: Iterable[Variant]) -> None:
    """Raise ``WeightsMissing`` if a variant held back by :func:`gate_until_loaded` still lacks weights."""
    for variant in variants:
        # ``gate_until_loaded`` sets an attribute of the instance, which hides the method.
        if isinstance(vars(variant).get("attempt"), _WeightsGate):
            # While another thread records, missing weights are replaced by zeros, so wait for it.
            with recording_lock:
                require_loaded(variant.graph.name, *_weights_of(variant))


def require_loaded(name: str, weights: Any, names: Iterable[str]) -> None:
    if missing := missing_names(weights, names):
        _raise_missing(name, missing)


def _raise_missing(name: str, names: list[str]) -> None:
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    raise WeightsMissing(
        f"{name} was recorded with its model on the device meta, and its weights are missing: {shown}. Give "
        "them with graph.load_weights(source), a safetensors file, a folder of such files or a dict of "
        "arrays by their names in the model"
    )


def gate_until_loaded(variant: Variant) -> None:
    """Make ``variant.attempt`` raise ``WeightsMissing`` until the variant has its weights."""
    if (variant.graph.parameters or variant.graph.effects) and missing_weights(variant):
        variant.attempt = _WeightsGate(variant)  # type: ignore[method-assign]


@dataclass(frozen=True)
class _WeightsGate:
    variant: Variant

    def __call__(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        require_weights([self.variant])
        vars(self.variant).pop("attempt", None)
        return self.variant.attempt(args, kwargs)
