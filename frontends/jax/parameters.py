"""Where a model written in ``flax.nnx`` keeps its arrays, and what they are called; a plain function has none."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import jax

from .keeping import own

_MODES = ("deterministic", "use_running_average")  # attributes that nnx's train() and eval() set


class Weights:
    """The variables of an ``nnx.Module`` that is called, or whose method is, by their paths (``layers.0.kernel``)."""

    def __init__(self, function: Any) -> None:
        self.function, self.module = function, module_of(function)
        self._variables: dict[str, Any] = dict(variables_of(self.module)) if self.module is not None else {}

    def arrays(self) -> dict[str, Any]:
        """The arrays of the moment."""
        return {name: held(variable) for name, variable in self._variables.items()}

    def called_with(self, arrays: Mapping[str, Any]) -> tuple[Any, Callable[[], dict[str, Any]]]:
        """The callable with other arrays in its module's variables, and what gives those that they hold then."""
        if self.module is None:
            return self.function, dict
        from flax import nnx

        definition, state = nnx.split(self.module)
        flat = [(path, variable.replace(arrays[_dotted(path)])) for path, variable in nnx.to_flat_state(state)]
        module = nnx.merge(definition, nnx.from_flat_state(flat))
        called = module if self.function is self.module else getattr(module, self.function.__name__)
        return called, lambda: {name: held(variable) for name, variable in variables_of(module)}

    def live(self, names: Iterable[str]) -> Callable[[], dict[str, Any]]:
        """A function that gives the arrays that the module holds under these names at the moment."""
        wanted = {name: self._variables[name] for name in names}
        return lambda: {name: held(variable) for name, variable in wanted.items()}

    def buffers(self) -> list[Any]:
        """JAX arrays are not written to."""
        return []

    def owner_of(self, name: str) -> Any:
        """The variable."""
        return self._variables[name]

    def rebind(self, name: str, array: Any) -> None:
        """Puts another array into a variable."""
        put(self._variables[name], array)

    def leave(self, name: str, elements: Any, rebound: bool) -> Any:
        """Puts an array of other elements into a variable; the array that is there then."""
        made = own(elements, held(self._variables[name]).dtype)
        self.rebind(name, made)
        return made

    @contextmanager
    def holding(self, values: Mapping[str, Any]) -> Iterator[None]:
        """Inside of the block these variables hold other arrays."""
        before = {name: held(self._variables[name]) for name in values}
        try:
            for name, array in values.items():
                self.rebind(name, array if isinstance(array, jax.Array) else jax.numpy.asarray(array))
            yield
        finally:
            for name, array in before.items():
                self.rebind(name, array)

    def is_trained(self, name: str) -> bool:
        """Whether it is an ``nnx.Param``."""
        from flax import nnx

        return isinstance(self._variables[name], nnx.Param)

    def set_training(self, mode: bool) -> None:
        """``module.train()`` or ``module.eval()``."""
        if self.module is not None:
            (self.module.train if mode else self.module.eval)()

    @contextmanager
    def in_mode(self, mode: bool) -> Iterator[None]:
        """Inside of the block the module and its parts are in this mode; afterwards each is in its own."""
        before = [(part, name, vars(part)[name]) for part in _parts(self.module) for name in _MODES if name in vars(part)]
        try:
            self.set_training(mode)
            yield
        finally:
            for part, name, held in before:
                setattr(part, name, held)


def _parts(module: Any) -> list[Any]:
    if module is None:
        return []
    from flax import nnx

    parts = nnx.iter_modules(module) if hasattr(nnx, "iter_modules") else module.iter_modules()  # a method before flax 0.12
    return [part for _, part in parts]


def is_module(item: Any) -> bool:
    """Whether this is an ``nnx.Module``."""
    nnx = sys.modules.get("flax.nnx")
    return nnx is not None and isinstance(item, nnx.Module)


def module_of(function: Any) -> Any:
    """The ``nnx.Module`` that is called, or whose method is; None of another callable."""
    return next((item for item in (function, getattr(function, "__self__", None)) if is_module(item)), None)


def modules_of(module: Any) -> list[Any]:
    """A module and all inside of it."""
    from flax import nnx

    return [item for _, item in nnx.iter_graph(module) if isinstance(item, nnx.Module)]


def variables_of(module: Any) -> Iterator[tuple[str, Any]]:
    """Name and variable of a module; one that stands in several places once."""
    from flax import nnx

    for path, _ in nnx.to_flat_state(nnx.state(module)):
        holder = module
        for key in path:
            holder = getattr(holder, key) if isinstance(key, str) and hasattr(holder, key) else holder[key]
        yield _dotted(path), holder


def _dotted(path: Iterable[Any]) -> str:
    return ".".join(map(str, path))


def held(variable: Any) -> Any:
    """The array of a variable."""
    return variable.get_value() if hasattr(variable, "get_value") else variable.value


def put(variable: Any, array: Any) -> None:
    """Gives a variable another array."""
    if hasattr(type(variable), "set_value"):
        variable.set_value(array)
    else:  # before flax 0.11
        variable.value = array
