"""Modules of ``flax.linen`` that are bound to variables."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ....errors import TracingError
from .nnx import ImmutableModel
from .trees import named_leaves, with_leaves

# The collection that flax trains.
TRAINED = "params"


class LinenModel(ImmutableModel):
    """Model of a bound module of ``flax.linen``, with arrays named ``collection.path``.

    A call may change its mutable collections. ``traced`` raises :class:`TracingError` if the call draws
    random numbers from the keys that the module is bound to.
    """

    def arrays(self) -> dict[str, Any]:
        return named_leaves(self.item.variables)

    def put(self, name: str, array: Any) -> None:
        collection, *path = name.split(".")
        held: Any = self.item.scope._mutable_collection(collection)
        for key in path[:-1]:
            held = held[key]
        held[path[-1]] = array

    def is_trained(self, name: str) -> bool:
        return name.partition(".")[0] == TRAINED

    def parts(self) -> list[Any]:
        return [self.item]

    @contextmanager
    def traced(self, arrays: Mapping[str, Any]) -> Iterator[tuple[Any, Callable[[], dict[str, Any]]]]:
        module, variables = self.item.unbind()
        scope = self.item.scope
        twin = module.bind(with_leaves(variables, arrays), rngs=dict(scope.rngs), mutable=scope.mutable)
        yield twin, lambda: {**arrays, **named_leaves(twin.variables)}
        # Scans add counters of their own, so only the names of the bound keys are checked.
        if any(twin.scope.rng_counters.get(name) for name in scope.rngs):
            raise TracingError(
                f"a bound {type(module).__name__} draws random numbers from the keys that it is bound to, "
                "others at each call: "
                "give the key to a function of your own, which calls module.apply(variables, x, rngs={...}), "
                "and name its variables by "
                "parameters="
            )


def is_bound(item: Any) -> bool:
    # Without an import by the user there can be no objects of flax, and an import takes long.
    linen = sys.modules.get("flax.linen")
    return linen is not None and isinstance(item, linen.Module) and item.scope is not None
