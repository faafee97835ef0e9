"""A graph as a ``torch.nn.Module``."""

from __future__ import annotations

from typing import Any

import torch


class GraphModule(torch.nn.Module):
    """Calls a graph; its parameters and buffers are the graph's own tensors, under the original names."""

    def __init__(self, graph: Any) -> None:
        super().__init__()
        self.__dict__["_graph"] = graph
        self._changing: tuple[int, tuple[str, ...]] = (0, ())  # number of variants, names of the buffers that these write to
        for name, tensor in graph.parameters.items():
            holder, last = self._place(name)
            if isinstance(tensor, torch.nn.Parameter):
                holder.register_parameter(last, tensor)
            else:
                holder.register_buffer(last, tensor)

    def _place(self, name: str) -> tuple[torch.nn.Module, str]:
        *path, last = name.split(".")
        holder: torch.nn.Module = self
        for part in path:
            if part not in holder._modules:
                holder.add_module(part, torch.nn.Module())
            holder = holder.get_submodule(part)
        return holder, last

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The graph's result; the buffers are then those that the call has made."""
        result = self._graph(*args, **kwargs)
        if self._changing[0] != len(self._graph.variants):
            self._changing = (len(self._graph.variants), tuple(self._graph.state))
        if self._changing[1]:
            held = self._graph.parameters
            for name in self._changing[1]:
                holder, last = self._place(name)
                holder._buffers[last] = held[name]
        return result

    def _apply(self, function: Any, recurse: bool = True) -> GraphModule:
        """``double``, ``cuda`` and their kin, which put new buffers in the place of the graph's."""
        super()._apply(function, recurse)
        for name, buffer in self.named_buffers():
            for variant in self._graph.variants:
                variant.store(name, buffer)
        return self

    def train(self, mode: bool = True) -> GraphModule:
        """Sets the mode of the original too: the graph records it anew where the mode matters."""
        self._graph.train(mode)
        return super().train(mode)


def as_module(graph: Any) -> torch.nn.Module:
    """See :meth:`graph_compiler.Graph.as_module`."""
    return GraphModule(graph)
