"""Immutable pytrees of arrays: ``equinox`` modules, flax dataclasses, and arguments that are parameters."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import jax

from ....recording.request import GivenArguments
from .nnx import ImmutableModel

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
    """Model of an immutable pytree that is no builtin container, such as an ``equinox`` module.

    Its JAX arrays are parameters. NumPy arrays in it stay constants, as for ``jax.jit``.
    """

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
    """Model of the arguments that a :class:`GivenArguments` was given in advance.

    An argument may be a model or any pytree. If there are several, the names of arrays begin with the
    argument's.
    """

    def arrays(self) -> dict[str, Any]:
        return named_leaves(self._given())

    def is_trained(self, name: str) -> bool:
        """Return True for inexact arrays.

        In a mapping with a collection ``params`` (flax variables), return True only for arrays of that.
        """
        collections = self._given()
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
    """Return the JAX arrays of a pytree by their dotted paths.

    >>> list(named_leaves({"layers": [jax.numpy.ones(2), 3]}))
    ['layers.0']
    """
    paths, _ = jax.tree_util.tree_flatten_with_path(item)
    return {_dotted_path(path): leaf for path, leaf in paths if isinstance(leaf, jax.Array)}


def with_leaves(item: Any, arrays: Mapping[str, Any]) -> Any:
    paths, tree = jax.tree_util.tree_flatten_with_path(item)
    return jax.tree_util.tree_unflatten(tree, [arrays.get(_dotted_path(path), leaf) for path, leaf in paths])


def _dotted_path(path: tuple[Any, ...]) -> str:
    return ".".join(
        # Keys of attributes, mappings and sequences store their name under different attributes.
        str(next(getattr(key, name) for name in ("name", "key", "idx") if hasattr(key, name)))
        for key in path
    )


def _short_names(item: Any) -> dict[str, str]:
    """Map the names of a pytree's JAX arrays to their paths.

    If ``item`` wraps a model (``__wrapped__``, ``__self__``), an array of that model has its name in the
    model.

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
    known = {id(held[path]): name for name, path in _short_names(inner).items()} if is_wrapper else {}
    return {known.get(id(leaf), path): path for path, leaf in named_leaves(item).items()}


def _parts(item: Any) -> Iterator[Any]:
    yield item
    # Everything but `item` itself counts as a leaf, so these are its direct children.
    children = jax.tree_util.tree_leaves(item, is_leaf=lambda part: part is not item)
    for child in children:
        if not jax.tree_util.all_leaves([child]):
            yield from _parts(child)
