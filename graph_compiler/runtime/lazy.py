"""A function that is compiled at its first call."""

from __future__ import annotations

from typing import Any

from ..errors import NotTraced
from .graph import Graph


class LazyGraph(Graph):
    """A graph without variants yet: the first call records one, with that call's arguments.

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
        if name in _NEED_A_VARIANT and not self._variants:
            if self._refused:
                raise NotTraced(f"{self.name} has no {name}, for nothing of it is recorded: its last call was refused. explain() says why")
            raise NotTraced(f"{self.name} has not been called yet, so it has no {name}; call it once, or compile it with args=")
        return super().__getattribute__(name)

    def __repr__(self) -> str:
        return super().__repr__() if self._variants else f"<lazy graph of {self.name}, not called yet>"


_NEED_A_VARIANT = frozenset({
    "source", "parameters", "constants", "guards", "to_networkx", "functional", "verify", "save", "to", "list_missing",
    "function_frequencies", "state", "trained", "as_module", "train", "eval", "show", "summary",
})  # fmt: skip
