"""Variables that a function makes when it is called for the first time, as layers do: they are made outside of the trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf
from tensorflow.python.ops.resource_variable_ops import BaseResourceVariable, _UnreadVariable

from ...forwarding import forward
from ...tracing.probes import replaced
from .evaluation import computing


class Created:
    """How many variables were made inside of :meth:`counting`."""

    count = 0

    @contextmanager
    def counting(self, graph: Any, array_of: Callable[[Any], Any]) -> Iterator[None]:
        """Inside of the block variables start as their initial values are on the arrays of the call, which ``array_of`` tells."""
        original = BaseResourceVariable.__init__

        def made(variable: Any, *args: Any, **kwargs: Any) -> None:
            self.count += not isinstance(variable, _UnreadVariable)  # what an assignment returns is the variable that was assigned
            forward(original, variable, *args, **kwargs)

        def started(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
            initial = kwargs.get("initial_value")
            if getattr(initial, "graph", None) is not graph:
                return next_creator(**kwargs)
            array = array_of(initial)
            with computing():
                return next_creator(**{**kwargs, "initial_value": array})

        with replaced([(BaseResourceVariable, "__init__", made)]), tf.variable_creator_scope(started):
            yield
