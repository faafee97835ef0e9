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
    """Training mode of one function.

    training: True for training, False for prediction, None until a mode is set.
    """

    training: bool | None = None

    @contextmanager
    def using(self, training: bool) -> Iterator[None]:
        before, self.training = self.training, training
        try:
            yield
        finally:
            self.training = before

    def guard(self, layers: Iterable[Any]) -> EnvironmentGuard:
        """Return a guard on the current mode.

        In prediction, layers of Keras itself compute the same for None and False. So both satisfy the
        guard, unless one of ``layers`` may distinguish them.
        """
        what = "the mode of training that layers of Keras are called in"
        if not self.training and not any(map(_may_tell_modes_apart, layers)):
            return EnvironmentGuard("not {}.training", (self,), what)
        return EnvironmentGuard("{}.training is {}", (self, self.training), what)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Make this the training mode of layers that this thread calls without ``training=`` in this context.

        Nothing changes if the mode is None.
        """
        if self.training is None:
            yield
            return
        # Keras has no default for the mode that a thread could set, so its method is replaced for a while.
        original = keras.Layer._get_call_context
        keras.Layer._get_call_context = _in_mode(original, self.training)
        try:
            yield
        finally:
            keras.Layer._get_call_context = original


def _may_tell_modes_apart(layer: Any) -> bool:
    """Return True if ``layer`` has a class of the user's whose ``call`` may treat None and False differently.

    That is so if ``call`` has a parameter ``training`` whose default is not False.
    """
    if type(layer).__module__.startswith("keras."):
        return False
    asked = inspect.signature(type(layer).call).parameters.get("training")
    return asked is not None and asked.default is not False


_modes: weakref.WeakKeyDictionary[Any, Mode] = weakref.WeakKeyDictionary()


def mode_of(function: Any) -> Mode:
    """Return the mode of a function, which all its recordings and all methods of one object share.

    An owner that does not support weak references gets a new mode at each call.
    """
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
            # A layer inside of another one gets the mode from that.
            and context.entry_layer is layer
            and getattr(context, "training", None) is None
        ):
            context.training = training
        return context

    return context_of
