"""A graph as a ``torch.nn.Module``."""

from __future__ import annotations

from typing import Any

import torch


class GraphModule(torch.nn.Module):
    """Calls a graph; its parameters and buffers are the graph's own tensors, under the original names."""

    def __init__(self, graph: Any) -> None:
        super().__init__()
        self.__dict__["graph"] = graph
        for name, tensor in graph.parameters.items():
            *path, last = name.split(".")
            holder: torch.nn.Module = self
            for part in path:
                if part not in holder._modules:
                    holder.add_module(part, torch.nn.Module())
                holder = holder.get_submodule(part)
            if isinstance(tensor, torch.nn.Parameter):
                holder.register_parameter(last, tensor)
            else:
                holder.register_buffer(last, tensor)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The graph's result."""
        return self.graph(*args, **kwargs)

    def train(self, mode: bool = True) -> GraphModule:
        """Sets the mode of the original too: the graph records it anew where the mode matters."""
        self.graph.train(mode)
        return super().train(mode)


def as_module(graph: Any) -> torch.nn.Module:
    """See :meth:`graph_compiler.Graph.as_module`."""
    return GraphModule(graph)
