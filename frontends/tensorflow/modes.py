"""The mode that layers of Keras are called in where a call does not say ``training=``: that of predictions,
until a module of a graph is put into training.
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
    """Of one function: ``training`` is None as long as nobody has asked for a mode."""

    training: bool | None = None

    @contextmanager
    def being(self, training: bool) -> Iterator[None]:
        """Inside of the block it is this one."""
        before, self.training = self.training, training
        try:
            yield
        finally:
            self.training = before

    def fact(self, layers: Iterable[Any]) -> EnvironmentGuard:
        """Return the guard that the mode is as now.

        Keras' own layers compute alike whether or not predictions were asked for.
        """
        what = "the mode of training that layers of Keras are called in"
        if not self.training and not any(map(_may_tell_modes_apart, layers)):
            return EnvironmentGuard("not {}.training", (self,), what)
        return EnvironmentGuard("{}.training is {}", (self, self.training), what)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Inside of the block the outermost calls of layers in this thread have this mode, unless they say
        one.
        """
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
    """Return True if a layer of the user's may compute another thing for ``training=None`` than for
    ``training=False``.
    """
    if type(layer).__module__.startswith("keras."):
        return False
    asked = inspect.signature(type(layer).call).parameters.get("training")
    return asked is not None and asked.default is not False


_modes: weakref.WeakKeyDictionary[Any, Mode] = weakref.WeakKeyDictionary()


def mode_of(function: Any) -> Mode:
    """The mode of a function, or of the object whose method it is: the same one for all recordings of it."""
    owner = getattr(function, "__self__", function)
    try:
        return _modes.setdefault(owner, Mode())
    except TypeError:  # which nothing refers to weakly
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
