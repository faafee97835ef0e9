"""Arrays of the models that a function is or refers to, which are parameters of its graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import jax

from ... import contracts
from ...recording import Reached
from ...recording.reachability.walk import replaceable_parts, replacing_parts
from .array_access import own
from .models import Model, is_nnx_module, model_of, nodes_of

# Attributes that train() and eval() of nnx modules set.
_MODES = ("deterministic", "use_running_average")


class _LiveModelArrays(contracts.Live):
    """Callable that returns the current arrays of models by name."""

    def __init__(
        self, names: Iterable[str], owners: Mapping[str, tuple[Any, str]], models: Mapping[str, Model]
    ) -> None:
        self._names = list(names)
        self._models = {
            name: models[name]
            for name in dict.fromkeys(name.removesuffix(owners[name][1]) for name in self._names)
        }

    def __call__(self) -> dict[str, Any]:
        held = {
            f"{prefix}{name}": array
            for prefix, model in self._models.items()
            for name, array in model.arrays().items()
        }
        return {name: held[name] for name in self._names}


class JaxWeights(contracts.Weights):
    """Arrays of the models that a function is or refers to, by name."""

    def __init__(self, function: Any, reach: Reached, named: Mapping[int, str]) -> None:
        self.function, self._places = function, replaceable_parts(reach)
        names = {**{id(item): name for name, item, _ in self._places}, **named}
        self._models = dict(_named_models(_model_called(function), reach.found(), names))
        self._owners = {
            f"{prefix}{name}": (model, name)
            for prefix, model in self._models.items()
            for name in model.arrays()
        }

    @property
    def models(self) -> list[Model]:
        return list(self._models.values())

    def arrays(self) -> dict[str, Any]:
        return {
            f"{prefix}{name}": array
            for prefix, model in self._models.items()
            for name, array in model.arrays().items()
        }

    @contextmanager
    def called_with(self, arrays: Mapping[str, Any]) -> Iterator[tuple[Any, Callable[[], dict[str, Any]]]]:
        """Yield the callable with ``arrays`` in its models, and a function that returns their current arrays.

        Models that are changed in place have their own arrays again after the block.
        """
        with ExitStack() as stack:
            held, replacements = {}, {}
            for prefix, model in self._models.items():
                given = {name: arrays[prefix + name] for name in model.arrays()}
                replacement, held[prefix] = stack.enter_context(model.traced(given))
                replacements.update({id(model.item): replacement} if replacement is not model.item else {})
            stack.enter_context(replacing_parts(self._places, replacements))
            yield (
                _replaced_callable(self.function, replacements),
                lambda: {
                    f"{prefix}{name}": array for prefix, now in held.items() for name, array in now().items()
                },
            )

    def add(self, name: str, model: Model) -> str:
        """Return the prefix of the names of ``model``, which is registered first if it is new."""
        prefix = next((prefix for prefix, known in self._models.items() if known.item is model.item), None)
        if prefix is None:
            prefix = _unused_prefix(name, set(self._models))
            self._models[prefix] = model
            self._owners.update({f"{prefix}{short}": (model, short) for short in model.arrays()})
        return prefix

    def live(self, names: Iterable[str]) -> _LiveModelArrays:
        return _LiveModelArrays(names, self._owners, self._models)

    def buffers(self) -> list[Any]:
        return []

    def owner_of(self, name: str) -> Any:
        model, short = self._owners[name]
        return model.owner_of(short)

    def rebind(self, name: str, array: Any) -> None:
        model, short = self._owners[name]
        model.put(short, array)

    def set_elements(self, name: str, elements: Any, rebound: bool) -> Any:
        made = own(elements, self._held(name).dtype)
        self.rebind(name, made)
        return made

    def _held(self, name: str) -> Any:
        model, short = self._owners[name]
        return model.arrays()[short]

    @contextmanager
    def holding(self, values: Mapping[str, Any]) -> Iterator[None]:
        before = {name: self._held(name) for name in values}
        try:
            for name, array in values.items():
                self.rebind(name, array if isinstance(array, jax.Array) else jax.numpy.asarray(array))
            yield
        finally:
            for name, array in before.items():
                self.rebind(name, array)

    def is_trained(self, name: str) -> bool:
        model, short = self._owners[name]
        return model.is_trained(short)

    def _modules(self) -> list[Any]:
        return [model.item for model in self.models if is_nnx_module(model.item)]

    @property
    def has_modes(self) -> bool:
        return bool(self._modules())

    def is_training(self) -> bool:
        modes = [
            vars(part)[name]
            for module in self._modules()
            for part in nodes_of(module)
            for name in _MODES
            if name in vars(part)
        ]
        # A layer whose statistics are frozen may be part of a model in training.
        return not (modes and all(modes))

    def set_training(self, mode: bool) -> None:
        for module in self._modules():
            (module.train if mode else module.eval)()

    @contextmanager
    def in_mode(self, mode: bool) -> Iterator[None]:
        parts = [part for module in self._modules() for part in nodes_of(module)]
        before = [(part, name, vars(part)[name]) for part in parts for name in _MODES if name in vars(part)]
        try:
            # flax allows changes of a module only in the trace that created it.
            with jax.core.eval_context():
                self.set_training(mode)
            yield
        finally:
            for part, name, held in before:
                vars(part)[name] = held


def _model_called(function: Any) -> Any:
    """Return the model that ``function`` is, is a method of, or wraps; or else the innermost function."""
    while model_of(function) is None:
        owner = getattr(function, "__self__", None)
        inner = (
            owner
            if owner is not None and model_of(owner) is not None
            else getattr(function, "__wrapped__", None)
        )
        if inner is None:
            break
        function = inner
    return function


def _replaced_callable(function: Any, replacements: Mapping[int, Any]) -> Any:
    if id(function) in replacements:
        return replacements[id(function)]
    owner = getattr(function, "__self__", None)
    return getattr(replacements[id(owner)], function.__name__) if id(owner) in replacements else function


def _named_models(
    called: Any, others: Iterable[Any], names: Mapping[int, str]
) -> Iterator[tuple[str, Model]]:
    """Yield ``(prefix of names, model)`` for the models whose arrays can be replaced, ``called`` first."""
    found = {id(item): model for item in (called, *others) if (model := model_of(item)) is not None}
    inside = {id(part) for model in found.values() for part in model.parts() if part is not model.item}
    known: set[int] = set()
    prefixes: set[str] = set()
    # Larger models come first, so that an array of two models is named by its path in the larger one.
    for item, model in sorted(
        found.items(), key=lambda pair: (pair[1].item is not called, pair[0] in inside)
    ):
        # A copy can replace an immutable model only where a name refers to it.
        if item not in names and not (model.item is called or model.changes):
            continue
        model.leave_out(known)
        known.update(map(id, model.parts()))
        name = names.get(item) or type(model.item).__name__.lower()
        prefix = "" if model.item is called else _unused_prefix(name, prefixes)
        prefixes.add(prefix)
        yield prefix, model


def _unused_prefix(name: str, known: set[str]) -> str:
    numbered = (f"{name}_{number}." for number in range(1, len(known) + 2))
    return f"{name}." if f"{name}." not in known else next(one for one in numbered if one not in known)
