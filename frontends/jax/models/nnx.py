"""Objects of ``flax.nnx``: modules, optimizers, random key streams, and single variables."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from typing import Any

import jax

from ....errors import TracingError


class VariableModel:
    """Base of models that consist of named variables, which are assigned to.

    item: the object itself.
    variables: variables of the model's library by name.
    """

    changes = True

    def __init__(self, item: Any, variables: Mapping[str, Any]) -> None:
        self.item, self._variables = item, dict(variables)

    def leave_out(self, known: Set[int]) -> None:
        self._variables = {
            name: variable for name, variable in self._variables.items() if id(variable) not in known
        }

    def owner_of(self, name: str) -> Any:
        return self._variables[name]


class ImmutableModel:
    """Base of models that are traced as copies with other arrays. They have no variables to share."""

    changes = False

    def __init__(self, item: Any) -> None:
        self.item = item

    def leave_out(self, known: Set[int]) -> None: ...

    def owner_of(self, name: str) -> Any:
        return self.item

    def put(self, name: str, array: Any) -> None: ...


# Attributes that store the trace in which an object was created, by version of flax.
_STATES = ("_pytree__state", "_object__state")


class NnxModel(VariableModel):
    """Model of an nnx object: the variables reachable from it that hold one JAX array.

    A variable with several paths is named by the first. ``traced`` raises :class:`TracingError` if
    anything but an nnx object is assigned to an attribute inside of the block.
    """

    def __init__(self, item: Any) -> None:
        super().__init__(item, dict(variables_of(item)))

    def arrays(self) -> dict[str, Any]:
        return {name: value_of(variable) for name, variable in self._variables.items()}

    def put(self, name: str, array: Any) -> None:
        set_value(self._variables[name], array)

    def is_trained(self, name: str) -> bool:
        from flax import nnx

        return isinstance(self._variables[name], nnx.Param)

    def parts(self) -> list[Any]:
        return [*nodes_of(self.item), *self._variables.values()]

    @contextmanager
    def traced(self, arrays: Mapping[str, Any]) -> Iterator[tuple[Any, Callable[[], dict[str, Any]]]]:
        nodes, variables = nodes_of(self.item), self._variables
        states = [next(getattr(node, name) for name in _STATES if hasattr(node, name)) for node in nodes]
        owners = [*states, *variables.values()]
        attributes, traces = [dict(vars(node)) for node in nodes], [owner._trace_state for owner in owners]
        raw = [
            variable._raw_value if hasattr(variable, "_raw_value") else variable.raw_value
            for variable in variables.values()
        ]
        # flax allows changes only in the trace that created the object, so it is moved to the current trace.
        try:
            for owner in owners:
                object.__setattr__(owner, "_trace_state", type(traces[0])())
            for name, variable in variables.items():
                _set_raw(variable, arrays[name])
            yield self.item, self.arrays
            _refuse_changes(nodes, attributes)
        finally:
            for node, before in zip(nodes, attributes):
                vars(node).clear()
                vars(node).update(before)
            for owner, state in zip(owners, traces):
                object.__setattr__(owner, "_trace_state", state)
            for variable, array in zip(variables.values(), raw):
                _set_raw(variable, array)


def _set_raw(variable: Any, array: Any) -> None:
    # Assignment by flax would check in which trace the variable was created.
    object.__setattr__(variable, "_raw_value" if hasattr(variable, "_raw_value") else "raw_value", array)


def _refuse_changes(nodes: list[Any], attributes: list[dict[str, Any]]) -> None:
    """Raise :class:`TracingError` if anything but an nnx object was assigned to an attribute of a node.

    ``attributes`` are the attributes of each node before the call. Variables that ``sow`` adds are
    ignored.
    """
    for node, before in zip(nodes, attributes):
        for name, item in vars(node).items():
            if (
                not is_nnx(item)
                and not name.startswith(("_pytree__", "_object__"))
                and not _is_same(before.get(name, node), item)
            ):
                raise TracingError(
                    f"the attribute {name} of a {type(node).__name__} is assigned to while it is traced: a "
                    "graph keeps what is in "
                    "variables of nnx alone. Hold it in an nnx.Variable"
                )


def _is_same(before: Any, item: Any) -> bool:
    if before is item:
        return True
    # Transformations of flax replace containers by equal ones.
    (old, was), (new, now) = (jax.tree_util.tree_flatten(one, is_leaf=is_nnx) for one in (before, item))
    return was == now and all(a is b for a, b in zip(old, new))


def is_nnx(item: Any) -> bool:
    nnx = sys.modules.get("flax.nnx")
    # Without an import by the user there can be no objects of flax, and an import takes long.
    return nnx is not None and isinstance(item, _classes(nnx)) and not isinstance(item, type)


def is_nnx_module(item: Any) -> bool:
    nnx = sys.modules.get("flax.nnx")
    return nnx is not None and isinstance(item, nnx.Module)


def _classes(nnx: Any) -> tuple[type, ...]:
    return (nnx.Pytree if hasattr(nnx, "Pytree") else nnx.Object, nnx.Variable)


def nodes_of(item: Any) -> list[Any]:
    from flax import nnx

    return [node for _, node in nnx.iter_graph(item) if isinstance(node, _classes(nnx)[0])]


def variables_of(item: Any) -> Iterator[tuple[str, Any]]:
    """Yield dotted path and variable for each variable that holds one JAX array, sorted by path."""
    from flax import nnx

    found = [(path, node) for path, node in nnx.iter_graph(item) if isinstance(node, nnx.Variable)]
    # Paths mix ints and strings, which Python cannot compare with each other.
    for path, variable in sorted(
        found, key=lambda pair: tuple((isinstance(key, str), key) for key in pair[0])
    ):
        if isinstance(value_of(variable), jax.Array):
            yield ".".join(map(str, path)), variable


def value_of(variable: Any) -> Any:
    return variable.get_value() if hasattr(variable, "get_value") else variable.value


def set_value(variable: Any, array: Any) -> None:
    if hasattr(type(variable), "set_value"):
        variable.set_value(array)
    # Before flax 0.11.
    else:
        variable.value = array
