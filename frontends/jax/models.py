"""Models that a function refers to: names of their arrays, and how to replace these while tracing.

Variables of ``flax.nnx`` and Keras are assigned to. Immutable models are rebuilt with other arrays: modules
of ``equinox`` and other pytrees, bound modules of ``flax.linen``, and the arguments that ``parameters=``
names.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

import jax

from ...errors import TracingError
from ...recording.patches.patch import Replacement
from ...recording.request import GivenArguments
from ...sizes import expression_of, is_symbolic
from ..common.input_checks import input_check
from .sizes import decided, hints

# ---------------------------------------------------------------------------------------------- called graphs
# Graphs that a function calls, as models: their weights are parameters of the function's graph.


class CalledGraph:
    """Model of a compiled graph that the function calls. ``traced`` replaces no arrays in it."""

    changes = False

    def __init__(self, graph: Any) -> None:
        self.item = graph

    def leave_out(self, known: Set[int]) -> None: ...

    def arrays(self) -> dict[str, Any]:
        return dict(self.item.parameters)

    def owner_of(self, name: str) -> Any:
        return self.item

    def put(self, name: str, array: Any) -> None:
        for variant in self.item.variants:
            if name in variant.graph.parameters:
                variant.objects.store(name, array)

    def is_trained(self, name: str) -> bool:
        return name in self.item.trained

    def parts(self) -> list[Any]:
        return [self.item]

    @contextmanager
    def traced(self, arrays: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
        yield self.item, self.arrays


# -------------------------------------------------------------------------------------------------------- nnx
# Objects of ``flax.nnx``: modules, optimizers, random key streams, and single variables.


class VariableModel:
    """Base of models whose arrays are in named variables that can be assigned to."""

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
    """Base of models that are traced as copies with other arrays."""

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
    """Model of an ``nnx`` object, with arrays named by the dotted paths of its variables."""

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
    """Yield ``(dotted path, variable)`` for the variables of an ``nnx`` object that hold a JAX array."""
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


# ------------------------------------------------------------------------------------------------------ trees
# Immutable pytrees of arrays: ``equinox`` modules, flax dataclasses, and arguments that are parameters.

_PLAIN = (
    dict,
    list,
    tuple,
    type,
    types.FunctionType,
    types.ModuleType,
    str,
    bytes,
    int,
    float,
    complex,
    type(None),
)
# Attributes under which a wrapper stores the model.
_WRAPPERS = ("__wrapped__", "__self__")


class TreeModel(ImmutableModel):
    """Model of a pytree, such as an ``equinox`` module. The pytree itself is not changed."""

    def __init__(self, item: Any) -> None:
        super().__init__(item)
        self._paths = _short_names(item)

    def arrays(self) -> dict[str, Any]:
        leaves = named_leaves(self.item)
        return {name: leaves[path] for name, path in self._paths.items()}

    def is_trained(self, name: str) -> bool:
        return bool(jax.numpy.issubdtype(self.arrays()[name].dtype, jax.numpy.inexact))

    def parts(self) -> list[Any]:
        return list(_parts(self.item))

    @contextmanager
    def traced(self, arrays: Mapping[str, Any]) -> Iterator[tuple[Any, Callable[[], Mapping[str, Any]]]]:
        yield (
            with_leaves(self.item, {self._paths[name]: array for name, array in arrays.items()}),
            lambda: arrays,
        )


class ArgumentModel(ImmutableModel):
    """Model of the arguments that a :class:`GivenArguments` binds, with arrays named by their paths."""

    def arrays(self) -> dict[str, Any]:
        return named_leaves(self._given())

    def is_trained(self, name: str) -> bool:
        collections = self._given()
        # In variables of flax, only the collection ``params`` is trained.
        is_flax = isinstance(collections, Mapping) and "params" in collections
        array = self.arrays()[name]
        return bool(jax.numpy.issubdtype(array.dtype, jax.numpy.inexact)) and (
            not is_flax or name.partition(".")[0] == "params"
        )

    def parts(self) -> list[Any]:
        return [self.item, *self.item.given.values()]

    @contextmanager
    def traced(self, arrays: Mapping[str, Any]) -> Iterator[tuple[Any, Callable[[], Mapping[str, Any]]]]:
        given = with_leaves(self._given(), arrays)
        yield (
            self.item.with_given(
                {next(iter(self.item.given)): given} if len(self.item.given) == 1 else given
            ),
            lambda: arrays,
        )

    def _given(self) -> Any:
        return next(iter(self.item.given.values())) if len(self.item.given) == 1 else self.item.given


def is_bound_call(item: Any) -> bool:
    return isinstance(item, GivenArguments)


def is_tree(item: Any) -> bool:
    if isinstance(item, (*_PLAIN, jax.Array, jax.core.Tracer)) or jax.tree_util.all_leaves([item]):
        return False
    return bool(named_leaves(item))


def named_leaves(item: Any) -> dict[str, Any]:
    """Return the JAX arrays of a pytree by names made of their dotted paths.

    >>> list(named_leaves({"layers": [jax.numpy.ones(2), 3]}))
    ['layers.0']
    """
    leaves, _ = _leaves_by_path(item)
    return {path: leaf for path, leaf in leaves.items() if isinstance(leaf, jax.Array)}


def with_leaves(item: Any, arrays: Mapping[str, Any]) -> Any:
    leaves, tree = _leaves_by_path(item)
    return jax.tree_util.tree_unflatten(tree, [arrays.get(path, leaf) for path, leaf in leaves.items()])


def _leaves_by_path(item: Any) -> tuple[dict[str, Any], Any]:
    paths, tree = jax.tree_util.tree_flatten_with_path(item)
    leaves: dict[str, Any] = {}
    for path, leaf in paths:
        leaves[_unused(_dotted_path(path), leaves)] = leaf
    return leaves, tree


def _unused(name: str, used: Mapping[str, Any]) -> str:
    # Keys may contain dots, so two paths may be written alike.
    while name in used:
        name += "_"
    return name


def _dotted_path(path: tuple[Any, ...]) -> str:
    return ".".join(
        # Keys of attributes, mappings and sequences store their name under different attributes.
        str(next(getattr(key, name) for name in ("name", "key", "idx") if hasattr(key, name)))
        for key in path
    )


def _short_names(item: Any) -> dict[str, str]:
    """Map short names of a pytree's JAX arrays to their paths.

    >>> _short_names((jax.numpy.ones(2), 3))
    {'0': '0'}
    """
    inner = next((found for name in _WRAPPERS if (found := getattr(item, name, None)) is not None), None)
    is_wrapper = (
        inner is not None
        and inner is not item
        and not isinstance(inner, _PLAIN)
        and not jax.tree_util.all_leaves([inner])
    )
    held = named_leaves(inner) if is_wrapper else {}
    # An array may be at several paths, each of which has a name.
    known: dict[int, list[str]] = {}
    for name, path in (_short_names(inner) if is_wrapper else {}).items():
        known.setdefault(id(held[path]), []).append(name)
    paths: dict[str, str] = {}
    for path, leaf in named_leaves(item).items():
        names = known.get(id(leaf))
        paths[_unused(names.pop(0) if names else path, paths)] = path
    return paths


def _parts(item: Any) -> Iterator[Any]:
    yield item
    # Everything but `item` itself counts as a leaf, so these are its direct children.
    children = jax.tree_util.tree_leaves(item, is_leaf=lambda part: part is not item)
    for child in children:
        if not jax.tree_util.all_leaves([child]):
            yield from _parts(child)


# ------------------------------------------------------------------------------------------------------ keras
# Models, layers, optimizers and metrics of Keras on its JAX backend.


class KerasModel(VariableModel):
    """Model of a Keras object, whose variables are named after their paths (``dense/kernel``)."""

    def __init__(self, item: Any) -> None:
        named: dict[str, Any] = {}
        for variable in item.variables:
            named[_unused_name(variable.path, named)] = variable
        super().__init__(item, named)

    def arrays(self) -> dict[str, Any]:
        return {name: _array(variable) for name, variable in self._variables.items()}

    def put(self, name: str, array: Any) -> None:
        self._variables[name].assign(array)

    def is_trained(self, name: str) -> bool:
        return bool(self._variables[name].trainable) and hasattr(self.item, "trainable_variables")

    def parts(self) -> list[Any]:
        return [*layers_of(self.item), *self._variables.values()]

    @contextmanager
    def traced(self, arrays: Mapping[str, Any]) -> Iterator[tuple[Any, Callable[[], dict[str, Any]]]]:
        before = self.arrays()
        try:
            for name, variable in self._variables.items():
                variable._value = arrays[name]
            yield self.item, self.arrays
        finally:
            for name, variable in self._variables.items():
                variable._value = before[name]


def _array(variable: Any) -> jax.Array:
    value: jax.Array = variable._value if variable._value is not None else variable.value
    return value


def _unused_name(name: str, known: Mapping[str, Any]) -> str:
    numbered = (f"{name}_{number}" for number in range(1, len(known) + 2))
    return name if name not in known else next(one for one in numbered if one not in known)


def _keras_on_jax() -> Any:
    keras = sys.modules.get("keras")
    # Without an import by the user there can be no objects of Keras, and an import takes long.
    if keras is None or not hasattr(keras, "Layer") or keras.backend.backend() != "jax":
        return None
    return keras


def is_keras(item: Any) -> bool:
    keras = _keras_on_jax()
    return keras is not None and isinstance(
        item, (keras.Layer, keras.optimizers.Optimizer, keras.metrics.Metric)
    )


def input_checks() -> list[Replacement]:
    keras = _keras_on_jax()
    return [] if keras is None else [input_check(keras, _is_unknown, _fixed_shape)]


def _is_unknown(array: Any, axis: int) -> bool:
    return is_symbolic(array.shape[axis])


def _fixed_shape(array: Any, axes: Sequence[int]) -> Sequence[int]:
    for axis in axes:
        decided(expression_of(array.shape[axis]))
    return hints(array.shape)


def layers_of(item: Any) -> list[Any]:
    return list(item._flatten_layers()) if hasattr(item, "_flatten_layers") else [item]


# ------------------------------------------------------------------------------------------------------ linen
# Modules of ``flax.linen`` that are bound to variables.

# The collection that flax trains.
TRAINED = "params"


class LinenModel(ImmutableModel):
    """Model of a bound module of ``flax.linen``, with arrays named ``collection.path``."""

    def arrays(self) -> dict[str, Any]:
        return named_leaves(self.item.variables)

    def put(self, name: str, array: Any) -> None:
        collection, _, path = name.partition(".")
        # Collections that flax does not let change are as immutable as the trees of other models.
        if not self.item.scope.is_mutable_collection(collection):
            return
        held: Any = self.item.scope._mutable_collection(collection)
        while True:
            key = next(key for key in held if f"{path}.".startswith(f"{key}."))
            if not isinstance(held[key], dict):
                break
            held, path = held[key], path[len(key) + 1 :]
        # Boxes with metadata and tuples are replaced as wholes.
        held[key] = with_leaves({key: held[key]}, {path: array})[key]

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


# ----------------------------------------------------------------------------------------- dispatch of models
Held = Callable[[], Mapping[str, Any]]


class Model(Protocol):
    """Protocol of a model, an object with named arrays.

    changes: True if ``traced`` replaces arrays in the object itself.
    """

    item: Any
    changes: bool

    def leave_out(self, known: Set[int]) -> None:
        """Drop the variables with ids in ``known``, which belong to another model."""

    def arrays(self) -> dict[str, Any]:
        """Return the current arrays by name."""

    def owner_of(self, name: str) -> Any:
        """Return the variable or model that holds the array ``name``."""

    def put(self, name: str, array: Any) -> None:
        """Replace the array ``name`` by ``array``, unless its place is immutable."""

    def is_trained(self, name: str) -> bool:
        """Return True if the array ``name`` is trained."""

    def parts(self) -> list[Any]:
        """Return the model's object and known objects inside of it, such as layers and variables."""

    def traced(self, arrays: Mapping[str, Any]) -> AbstractContextManager[tuple[Any, Held]]:
        """Return a context for tracing the model.

        It yields the object to call, and a function that returns the current arrays. A model that was changed
        in place has its own arrays again on exit.
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
    """Return a model that wraps ``item``, or None.

    >>> model_of(3), model_of([])
    (None, None)
    """
    return next((made(item) for fits, made in _KINDS if fits(item)), None)


def is_model(item: Any) -> bool:
    return is_nnx(item) or is_keras(item) or is_bound(item)


def settings_of(item: Any) -> Iterator[tuple[Any, str]]:
    """Yield ``(part, name)`` for attributes of an ``nnx`` or Keras object that may change its results."""
    parts = nodes_of(item) if is_nnx(item) else layers_of(item) if is_keras(item) else []
    private = {} if is_nnx(item) else {kind: _private_names_of_keras(kind) for kind in set(map(type, parts))}
    for part in parts:
        left_out = private.get(type(part), set())
        yield from ((part, name) for name in vars(part) if name == "_trainable" or name not in left_out)


def _private_names_of_keras(kind: type) -> set[str]:
    """Return the private names that Keras' own code uses in ``kind`` and its bases.

    Attributes of these names may change with each call.
    """
    own = (base for base in kind.__mro__ if base.__module__.partition(".")[0] == "keras")
    return set().union(*map(_private_names_in, own))


# Keras' own classes do not change, and their code takes long to walk.
@functools.cache
def _private_names_in(base: type) -> frozenset[str]:
    waiting: list[Any] = list(vars(base).values())
    found: set[str] = set()
    while waiting:
        item = waiting.pop()
        if isinstance(item, types.CodeType):
            found.update(name for name in item.co_names if name[:1] == "_")
            # The code of inner functions.
            waiting += item.co_consts
        elif isinstance(item, property):
            waiting += [item.fget, item.fset]
        elif isinstance(item, (types.FunctionType, staticmethod, classmethod)):
            function: Any = getattr(item, "__func__", item)
            waiting.append(inspect.unwrap(function).__code__)
    return frozenset(found)
