"""The arguments of a call: which objects are arrays, which are opened, and what the arrays are called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ...errors import TracingError
from ...naming import legal
from ...trees import Path, Tree, paths, static_paths
from .sizes import is_symbolic


def is_array(item: Any) -> bool:
    """Whether this is an array of any framework; numpy's scalars count as Python's."""
    if isinstance(item, (torch.Tensor, np.ndarray)):
        return True
    if isinstance(item, (np.generic, type)) or is_symbolic(item):  # a symbolic number that is asked for an attribute becomes a guard
        return False
    cls = type(item)  # where Python looks for such methods, too
    return (hasattr(cls, "__dlpack__") or hasattr(cls, "__array__")) and hasattr(item, "dtype") and hasattr(item, "shape")


def opens(item: Any) -> bool:
    """Whether a plain object may be taken apart into its attributes: not modules, generators or devices."""
    return not isinstance(item, (torch.nn.Module, torch.Generator, torch.device, torch.dtype))


def to_tensor(item: Any) -> torch.Tensor:
    """An array of any framework as a tensor; numpy arrays share their memory, those of frameworks whose arrays never change do not.

    ``TracingError`` for a sparse one.
    """
    if isinstance(item, torch.Tensor):
        return _dense(item)
    if not isinstance(item, np.ndarray):
        return torch.from_dlpack(item).clone() if hasattr(item, "__dlpack__") else torch.from_numpy(np.array(item))
    return torch.from_numpy(item if item.flags.writeable else item.copy())


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.layout is not torch.strided:
        raise TracingError(
            f"an argument is a tensor of the layout {tensor.layout}, and a graph takes dense arrays; pass tensor.to_dense(), or its indices and values"
        )
    return tensor


def input_names(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], tree: Tree) -> list[str]:
    """A name for every array in the arguments: the parameter's name, with the keys inside of containers."""
    positional = _positional_names(function, len(args))
    return [_name(path, positional) for path in paths(tree)]


def given_objects(function: Callable[..., Any], args: tuple[Any, ...], tree: Tree) -> list[tuple[str, Any]]:
    """The modules, functions and other objects in the arguments that are not taken apart, by name."""
    positional = _positional_names(function, len(args))
    return [
        (_name(path, positional), item)
        for path, item in static_paths(tree)
        if len(path) > 1 and (callable(item) or hasattr(item, "__dict__"))
    ]


def _name(path: Path, positional: list[str]) -> str:
    where, first, *rest = path
    head = positional[first] if where == 0 else str(first)
    return legal("_".join([head, *map(str, rest)]))


def _positional_names(function: Callable[..., Any], count: int) -> list[str]:
    called = function.forward if isinstance(function, torch.nn.Module) else function
    try:
        parameters = list(inspect.signature(called).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "arg")
    return names[:count] + [f"{rest}_{i}" for i in range(count - len(names))]
