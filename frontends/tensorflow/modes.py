"""The mode that layers of Keras are called in where a call does not say ``training=``: that of predictions, until a module of a graph is
put into training."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import keras

from ...tracing.environment.conjunction import EnvironmentGuard


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

    def fact(self) -> EnvironmentGuard:
        """That it is as now."""
        return EnvironmentGuard("{}.training is {}", (self, self.training), "the mode of training that layers of Keras are called in")

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Inside of the block the outermost calls of layers in this thread have this mode, unless they say one."""
        if self.training is None:
            yield
            return
        original = keras.Layer._get_call_context
        keras.Layer._get_call_context = _in_mode(original, self.training)
        try:
            yield
        finally:
            keras.Layer._get_call_context = original


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
        if threading.get_ident() == thread and context.entry_layer is layer and getattr(context, "training", None) is None:
            context.training = training
        return context

    return context_of
