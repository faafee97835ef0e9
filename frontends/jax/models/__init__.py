"""Models that a function refers to: names of their arrays, and how to replace these while tracing.

A model is either an object whose variables are assigned to (``flax.nnx``, Keras), or an immutable one that
is rebuilt with other arrays (a module of ``equinox`` or any other pytree, a bound module of
``flax.linen``, the arguments that ``parameters=`` names).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import AbstractContextManager
from typing import Any, Protocol

from .keras import KerasModel, is_keras, layers_of
from .linen import LinenModel, is_bound
from .nnx import NnxModel, is_nnx, nodes_of
from .trees import ArgumentModel, TreeModel, is_bound_call, is_tree

Held = Callable[[], Mapping[str, Any]]


class Model(Protocol):
    """Protocol of a model. Names of its arrays are their paths inside of it, joined by ``.``.

    item: the object itself.
    changes: True if ``traced`` replaces arrays in the object itself, False if it does so in a copy or not
        at all.
    """

    item: Any
    changes: bool

    def leave_out(self, known: Set[int]) -> None:
        """Drop the variables whose ids are in ``known``, because they belong to another model.

        Models without variables drop nothing.
        """

    def arrays(self) -> dict[str, Any]:
        """Return the current arrays by name."""

    def owner_of(self, name: str) -> Any:
        """Return the object that holds the array: its variable, or the model if it has no variables."""

    def put(self, name: str, array: Any) -> None:
        """Replace the array at ``name``.

        Most immutable models ignore the call; a bound linen module replaces arrays of mutable collections.
        """

    def is_trained(self, name: str) -> bool:
        """Return True if the model's library trains the array (not statistics, counters and keys)."""

    def parts(self) -> list[Any]:
        """Return the objects that the model consists of and to which others may refer, including itself."""

    def traced(self, arrays: Mapping[str, Any]) -> AbstractContextManager[tuple[Any, Held]]:
        """Replace the arrays of the model by ``arrays`` inside of the block.

        Yield the object to use instead (itself or a copy), and a function that returns its current arrays.
        """


# The first entry that fits an object is used.
_KINDS: tuple[tuple[Callable[[Any], bool], Callable[[Any], Model]], ...] = (
    (is_nnx, NnxModel),
    (is_keras, KerasModel),
    (is_bound, LinenModel),
    (is_bound_call, ArgumentModel),
    (is_tree, TreeModel),
)


def model_of(item: Any) -> Model | None:
    """Return the model that wraps ``item``, or None.

    >>> model_of(3), model_of([])
    (None, None)
    """
    return next((made(item) for fits, made in _KINDS if fits(item)), None)


def is_model(item: Any) -> bool:
    return is_nnx(item) or is_keras(item) or is_bound(item)


def settings_of(item: Any) -> Iterator[tuple[Any, str]]:
    """Yield part and attribute name for each attribute of a model that may determine what it computes.

    Of Keras objects these are the public attributes and ``_trainable``, of nnx objects all. Other models
    have none.
    """
    parts = nodes_of(item) if is_nnx(item) else layers_of(item) if is_keras(item) else []
    # Keras stores in private attributes what has been called.
    for part in parts:
        yield from (
            (part, name) for name in vars(part) if name[:1] != "_" or name == "_trainable" or is_nnx(part)
        )
