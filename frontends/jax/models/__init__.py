"""Models within reach of a function: where each keeps its arrays, what these are called, and how it holds
others while the function is traced.

A model is either an object whose variables are assigned to (``flax.nnx``, Keras), or one that never changes
and is made again with other arrays (a module of ``equinox`` or any other pytree, a bound module of
``flax.linen``, the arguments that ``parameters=`` names).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import AbstractContextManager
from typing import Any, Protocol

from .keras import KerasModel, is_keras, layers_of
from .linen import LinenModel, is_bound
from .nnx import NnxModel, is_nnx, nodes_of
from .trees import BoundModel, TreeModel, is_bound_call, is_tree

Held = Callable[[], Mapping[str, Any]]


class Model(Protocol):
    """One model. The names of its arrays are their paths inside of it, joined by ``.``."""

    item: Any
    changes: (
        bool  # whether it is itself that holds tracers while it is traced, and no other object in its place
    )

    def leave_out(self, known: Set[int]) -> None:
        """Variables with these identities belong to another model."""

    def arrays(self) -> dict[str, Any]:
        """The arrays of the moment."""

    def owner_of(self, name: str) -> Any:
        """The object in which an array is replaced."""

    def put(self, name: str, array: Any) -> None:
        """Gives it another array, which a model that never changes is not asked for."""

    def is_trained(self, name: str) -> bool:
        """Whether the model's own library trains it: no statistics, counters and keys."""

    def parts(self) -> list[Any]:
        """The objects that it consists of and that others may refer to, itself among them."""

    def traced(self, arrays: Mapping[str, Any]) -> AbstractContextManager[tuple[Any, Held]]:
        """Inside of the block the model holds tracers. Gives the object to use in its place (itself or a
        copy), and a function that reads its arrays.
        """


# Of several rows that fit an object the first counts.
_KINDS: tuple[tuple[Callable[[Any], bool], Callable[[Any], Model]], ...] = (
    (is_nnx, NnxModel),
    (is_keras, KerasModel),
    (is_bound, LinenModel),
    (is_bound_call, BoundModel),
    (is_tree, TreeModel),
)


def model_of(item: Any) -> Model | None:
    """The model that an object is, or None.

    >>> model_of(3), model_of([])
    (None, None)
    """
    return next((made(item) for fits, made in _KINDS if fits(item)), None)


def is_model(item: Any) -> bool:
    return is_nnx(item) or is_keras(item) or is_bound(item)


def settings_of(item: Any) -> Iterator[tuple[Any, str]]:
    """The attributes of the parts of a model that say what it computes: part and name.

    Keras notes in private ones what has been called.
    """
    parts = nodes_of(item) if is_nnx(item) else layers_of(item) if is_keras(item) else []
    for part in parts:
        yield from (
            (part, name) for name in vars(part) if name[:1] != "_" or name == "_trainable" or is_nnx(part)
        )
