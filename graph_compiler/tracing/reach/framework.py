"""The framework that a callable is written in, told by its class, its arguments, and what its code refers to."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ...errors import GraphCompilerError, SourceNotFound
from ...trees import iterate_structure
from ..definitions import place_of
from ..wrappers import wrapped_by
from .origin import package_of
from .refers import layers, named
from .spaces import entry_of, spaces_of

_EVERYWHERE = "numpy"  # its arrays are data for every framework, and its functions stand in the code of all
# Packages that tell a framework beside the one of its name.
_PACKAGES = {
    "jaxlib": "jax", "flax": "jax", "optax": "jax", "equinox": "jax", "haiku": "jax", "keras": "tensorflow",
    "transformers": "torch", "torchvision": "torch", "torchaudio": "torch", "timm": "torch",
}  # fmt: skip
_TRACKING = (
    "tensorflow.python.trackable.",
    "keras.src.utils.tracking",
)  # whose containers stand for the user's own, and tell of no framework


def framework_of(obj: Any, known: Sequence[str], call: tuple[Sequence[Any], Mapping[str, Any]] | None = None) -> str | None:
    """One of the ``known`` frameworks, or None: the one that class and code name, and of several, or where they name none, that of the
    arguments of a call.

    So a torch function may be recorded with JAX arrays, as it may be called with them.
    numpy counts last, and where there is a call only: a function that names it may well compute with the tensors that it is given.

    >>> import numpy as np
    >>> framework_of(lambda x: x + np.pi, ("torch", "numpy")), framework_of(lambda x: x + np.pi, ("torch", "numpy"), ((1.0,), {}))
    (None, 'numpy')
    """
    given = [framework for item in iterate_structure(call or ()) for framework in _of_class(type(item))]
    named = list(dict.fromkeys(_of_object(obj)))
    theirs = [framework for framework in named if framework in _PACKAGES.values()]
    found = [*named, *given] if len(theirs) == 1 else [*given, *named]
    first = next((framework for framework in found if framework in known and framework != _EVERYWHERE), None)
    return first or (_EVERYWHERE if call is not None and _EVERYWHERE in known and _EVERYWHERE in found else None)


@contextmanager
def telling_framework(obj: Any, written_in: str) -> Iterator[None]:
    """A ``TypeError`` of the block is a ``SourceNotFound`` where the callable is recorded as ``written_in`` one framework, and refers to
    another one alone."""
    try:
        yield
    except TypeError as problem:
        found = [framework for framework in _of_object(obj) if framework in _PACKAGES.values()]
        if isinstance(problem, GraphCompilerError) or not found or written_in in found:
            raise
        raise SourceNotFound(
            f"this is recorded as {written_in}, and refers to {found[0]} alone{place_of(obj)}: pass source={found[0]!r}; {problem}"
        ) from problem


def is_of_framework(cls: type) -> bool:
    """Whether a class is a framework's own, or of a library of models that is known here.

    >>> is_of_framework(dict)
    False
    """
    return _package(cls.__module__) in {*_PACKAGES.values(), _EVERYWHERE}


def _of_object(obj: Any) -> Iterator[str]:
    """Every package that a callable is of, or refers to, those of its class first; of a partial, those of its function and its
    arguments."""
    if isinstance(obj, functools.partial):
        for item in (*obj.args, *obj.keywords.values()):
            yield from _of_instance(item)
        yield from _of_object(obj.func)
        return
    yield from _of_class(type(obj))
    yield from _of_class(type(inspect.unwrap(obj)))  # a model behind jax.vmap
    owner = getattr(obj, "__self__", obj)
    yield from _of_class(type(owner))
    for item in (*_held(owner), *wrapped_by(obj)):
        yield from _of_instance(item)
    yield from _named(obj)


def _held(owner: Any) -> list[Any]:
    """What an object keeps, such as the model that its method calls."""
    return [] if isinstance(owner, types.FunctionType | types.ModuleType) else list(getattr(owner, "__dict__", {}).values())


def _of_class(cls: type) -> Iterator[str]:
    return (_package(base.__module__) for base in cls.__mro__)


def _of_instance(item: Any) -> Iterator[str]:
    return iter(()) if _is_tracking(item) else _of_class(type(item))


def _is_tracking(item: Any) -> bool:
    """Whether this is a list, tuple or dict that a framework has put in the place of the user's, to know what is in it."""
    return isinstance(item, (list, tuple, dict)) and str(type(item).__module__).startswith(_TRACKING)


def _package(module: Any) -> str:
    package = package_of(module)
    return _PACKAGES.get(package, package)


def _named(obj: Any) -> Iterator[str]:
    """The frameworks of what the code of a function refers to, and of the user's functions that it calls."""
    of_obj = [*layers(obj)]  # also of a framework's own function
    called = (function for space in spaces_of([entry_of(obj)]) for function in space.functions)
    for item in (item for function in dict.fromkeys((*of_obj, *called)) for item in named(function)):
        item = item.func if isinstance(item, functools.partial) else item
        if not _is_tracking(item):
            yield _package(item.__name__ if isinstance(item, types.ModuleType) else getattr(item, "__module__", None))
        yield from _of_class(item) if isinstance(item, type) else _of_instance(item)  # a model of a class of the user's
