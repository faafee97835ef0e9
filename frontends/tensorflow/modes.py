"""Training mode of Keras layers that are called without ``training=``.

It is that of predictions until a module of a graph is put into training.
"""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import keras

from ...recording.environment_guards.guards import EnvironmentGuard


@dataclass(eq=False)
class Mode:
    """Training mode of one function: ``training`` is None until a mode is set."""

    training: bool | None = None

    @contextmanager
    def using(self, training: bool) -> Iterator[None]:
        """Set the mode in this context."""
        before, self.training = self.training, training
        try:
            yield
        finally:
            self.training = before

    def guard(self, layers: Iterable[Any]) -> EnvironmentGuard:
        """Return a guard on the current mode.

        In prediction mode, layers of Keras itself compute the same for None and False, so both satisfy the
        guard if no layer of the user's distinguishes them.
        """
        what = "the mode of training that layers of Keras are called in"
        if not self.training and not any(map(_may_tell_modes_apart, layers)):
            return EnvironmentGuard("not {}.training", (self,), what)
        return EnvironmentGuard("{}.training is {}", (self, self.training), what)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Make this the default mode of outermost calls of layers on this thread in this context."""
        if self.training is None:
            yield
            return
        original = keras.Layer._get_call_context
        keras.Layer._get_call_context = _in_mode(original, self.training)
        try:
            yield
        finally:
            keras.Layer._get_call_context = original


def _may_tell_modes_apart(layer: Any) -> bool:
    """Return True if a layer of the user's may treat ``training=None`` and ``False`` differently."""
    if type(layer).__module__.startswith("keras."):
        return False
    asked = inspect.signature(type(layer).call).parameters.get("training")
    return asked is not None and asked.default is not False


_modes: weakref.WeakKeyDictionary[Any, Mode] = weakref.WeakKeyDictionary()


def mode_of(function: Any) -> Mode:
    """Return the mode of a function, shared by its recordings and by all methods of one object."""
    owner = getattr(function, "__self__", function)
    try:
        return _modes.setdefault(owner, Mode())
    # The owner does not support weak references.
    except TypeError:
        return Mode()


def _in_mode(original: Callable[[Any], Any], training: bool) -> Callable[[Any], Any]:
    thread = threading.get_ident()

    def context_of(layer: Any) -> Any:
        context = original(layer)
        if (
            threading.get_ident() == thread
            and context.entry_layer is layer
            and getattr(context, "training", None) is None
        ):
            context.training = training
        return context

    return context_of
