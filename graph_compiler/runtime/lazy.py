"""``LazyGraph``: a graph that is recorded at its first call."""

from __future__ import annotations

import copy
import importlib
import sys
from dataclasses import replace
from typing import Any

from ..errors import InvalidFile, NotSerialisable, NotTraced
from .graph import Graph


class LazyGraph(Graph):
    """Graph that its first call records. Decorators and ``compile`` without ``args`` return it.

    Before the first call, properties such as ``source`` raise ``NotTraced``.

    >>> import torch, graph_compiler
    >>> @graph_compiler.compile
    ... def double(x):
    ...     return x * 2
    >>> double
    <lazy graph of double, not called yet>
    >>> double(torch.ones(2))
    tensor([2., 2.])
    """

    def __getattribute__(self, name: str) -> Any:
        # These names exist on the class, so ``__getattr__`` would not be called for them.
        if name in _NEED_A_VARIANT and not self._variants:
            if self._refused:
                raise NotTraced(
                    f"{self.name} has no {name}, for nothing of it is recorded: its last call was refused. "
                    "explain() says why"
                )
            raise NotTraced(
                f"{self.name} has not been called yet, so it has no {name}; call it once, or compile it with "
                "args="
            )
        return super().__getattribute__(name)

    def __reduce__(self) -> Any:
        """Pickle an uncalled graph by its qualified name, or raise ``NotSerialisable`` if it has none."""
        if self._variants:
            return super().__reduce__()
        function = self.pipeline.function
        module, name = str(getattr(function, "__module__", "")), str(getattr(function, "__qualname__", ""))
        if module not in sys.modules or getattr(sys.modules[module], name, None) is not self:
            raise NotSerialisable(
                f"{self.name} has not been called yet, so that there is nothing of it to pickle; call it "
                "once, or compile it with args="
            )
        return graph_at, (module, name)

    def __copy__(self) -> Any:
        return super().__copy__() if self._variants else self._by(self.pipeline)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Return a lazy graph of a deep copy of the original; once called, a copy without original."""
        if self._variants:
            return super().__copy__()
        made = memo[id(self)] = self._by(
            replace(self.pipeline, function=copy.deepcopy(self.pipeline.function, memo))
        )
        return made

    def __repr__(self) -> str:
        return super().__repr__() if self._variants else f"<lazy graph of {self.name}, not called yet>"


def graph_at(module: str, name: str) -> Graph:
    """Return the graph at a qualified name, for pickles of lazy graphs.

    Raise ``InvalidFile`` if the object there is no graph.
    """
    found = getattr(importlib.import_module(module), name)
    if not isinstance(found, Graph):
        raise InvalidFile(f"{module}.{name} is no graph")
    return found


_NEED_A_VARIANT = frozenset({
    "source", "parameters", "constants", "guards", "to_networkx", "functional", "verify", "save", "to",
    "list_missing", "function_frequencies", "state", "trained", "_differentiable", "frozen", "as_module",
    "train", "eval", "show", "summary",
})  # fmt: skip
