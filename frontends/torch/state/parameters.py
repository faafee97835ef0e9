"""Parameters and buffers of modules: their names, holders and replacements, and recomputed buffers."""

from __future__ import annotations

import functools
import inspect
import itertools
import logging
import operator
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from .... import contracts
from ....errors import GuardFailed
from ....forwarding import forward
from ....recording.code.names import names_read
from ....recording.code.ownership import is_internal
from ....recording.environment_guards import conjunction
from ....recording.faults import is_fault
from ....recording.patches.host_random import host_state_seeded
from ....recording.reachability.libraries import is_self_contained
from ....recording.reachability.namespaces import ModuleNamespace
from ....recording.reachability.references import PLAIN, cell_is_filled, defaults_of, original_of
from ..basics.arguments import to_tensor
from ..basics.tensors import dtype_name, spec_of
from ..compat import jit_trace, no_torch_function, set_jit_trace
from ..memory.copies import Snapshot
from ..memory.watching import TensorWatch
from ..trace import Trace
from .array_access import own, write
from .reads import TrainingModes, reached_modules, versions_of

# ----------------------------------------------------------------------------------------- recomputed buffers
# Recomputes non-persistent buffers of modules on the device ``meta``, which no checkpoint contains.
#
# A way to recompute a buffer is accepted only if it determines every element: it runs twice, with different
# random numbers (and initializers on copies with different elements), and must return the same.

log = logging.getLogger("graph_compiler")

Buffers = Mapping[str, torch.Tensor]
_OWN_METHODS = ("reset_parameters", "reset_buffers", "init_non_persistent_buffers")
# A module with more elements than this is not built anew for the sake of a buffer.
_LARGEST = 1 << 26
_VALUES = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device)
_OF_MODULES = frozenset({*vars(torch.nn.Module()), "training"})


def recomputed(
    module: torch.nn.Module, keys: Iterable[str], ancestors: Iterable[Any]
) -> dict[str, torch.Tensor]:
    """Return those of the buffers ``keys`` that an initializer or the constructor could recompute."""
    wanted = tuple(keys)
    found: dict[str, torch.Tensor] = {}
    for way in (*_initialisers(module, ancestors), lambda number: _buffers_of_new_instance(module, wanted)):
        if missing := [key for key in wanted if key not in found]:
            found.update(_determined_buffers(module, way, missing))
    return found


def _determined_buffers(
    module: torch.nn.Module, way: Callable[[int], Buffers], keys: Iterable[str]
) -> dict[str, torch.Tensor]:
    """Return buffers among ``keys`` that have the same bits in two runs of ``way``."""
    runs = []
    for number in (0, 1):
        with _seeded_on_cpu(number):
            try:
                runs.append(way(number))
            # The code is the user's and runs on a copy that has no weights, so it may raise anything.
            except Exception as problem:
                if is_fault(problem):
                    raise
                log.debug("the buffers of %s: %s", type(module).__name__, problem)
                return {}
    first, second = ({key: _cast_like(run.get(key), module._buffers[key]) for key in keys} for run in runs)
    return {
        key: one
        for key, one in first.items()
        if one is not None and (other := second[key]) is not None and Snapshot(one).is_of(other)
    }


@contextmanager
def _seeded_on_cpu(seed: int) -> Iterator[None]:
    with (
        host_state_seeded(seed),
        torch.random.fork_rng(devices=[]),
        torch.no_grad(),
        torch.device("cpu"),
    ):
        # torch.manual_seed would seed all devices.
        torch.default_generator.manual_seed(seed)
        yield


def _cast_like(made: Any, wanted: Any) -> torch.Tensor | None:
    if not isinstance(made, torch.Tensor) or made.is_meta or made.shape != wanted.shape:
        return None
    if made.dtype != wanted.dtype and not (made.is_floating_point() and wanted.is_floating_point()):
        return None
    return made.detach().to(wanted.dtype)


# ------------------------------------------------------------------------------------- initializers
def _initialisers(module: torch.nn.Module, ancestors: Iterable[Any]) -> Iterator[Callable[[int], Buffers]]:
    """Yield functions that run one initializer on a copy of ``module`` and return the buffers of the copy.

    The argument fills the non-persistent buffers of the copy before the initializer runs.
    """
    for above in (module, *ancestors):
        # This method of models from transformers initializes a module that the model contains.
        if callable(getattr(above, "_init_weights", None)):
            yield functools.partial(_after, module, above._init_weights)
    for name in _OWN_METHODS:
        if callable(getattr(module, name, None)):
            yield functools.partial(_after, module, operator.methodcaller(name))


def _after(module: torch.nn.Module, initialise: Callable[[Any], Any], number: int) -> Buffers:
    copy = _empty_copy(module, number)
    forward(initialise, copy)
    return {key: tensor for key, tensor in copy._buffers.items() if tensor is not None}


def _empty_copy(module: torch.nn.Module, number: int) -> torch.nn.Module:
    """Copy a module with parameters on ``meta``, so that initializers of weights do nothing.

    Non-persistent buffers are filled with ``number``.
    """
    copy = object.__new__(type(module))
    vars(copy).update(vars(module))
    fleeting = module._non_persistent_buffers_set
    parameters = {
        key: tensor
        if tensor is None
        else torch.nn.Parameter(torch.empty_like(tensor, device="meta"), tensor.requires_grad)
        for key, tensor in module._parameters.items()
    }
    buffers = {
        key: tensor
        if tensor is None
        else torch.full_like(tensor, number, device="cpu" if key in fleeting else "meta")
        for key, tensor in module._buffers.items()
    }
    modules = {
        key: inner if inner is None else _empty_copy(inner, number) for key, inner in module._modules.items()
    }
    vars(copy).update(
        _parameters=parameters, _buffers=buffers, _modules=modules, _non_persistent_buffers_set=set(fleeting)
    )
    return copy


# ------------------------------------------------------------------------------------- constructors
def _buffers_of_new_instance(module: torch.nn.Module, keys: Iterable[str]) -> Buffers:
    """Return buffers among ``keys`` of a new instance of the class of ``module``."""
    arguments = _arguments_of(module)
    if arguments is None or sum(parameter.numel() for parameter in module.parameters()) > _LARGEST:
        return {}
    made = forward(type(module), **arguments)
    if not _is_like(made, module):
        return {}
    found = {key: made._buffers[key] for key in keys if made._buffers[key] is not None}
    # The constructor does not determine what was written to a buffer after it.
    unwritten = {
        key: tensor for key, tensor in found.items() if _version(module._buffers[key]) <= _version(tensor)
    }
    if unwritten:
        shown = ", ".join(f"{name}={value!r:.60}" for name, value in arguments.items())
        log.info(
            "%s of %s: recomputed by %s(%s)",
            ", ".join(unwritten),
            type(module).__name__,
            type(module).__name__,
            shown,
        )
    return unwritten


def _version(tensor: Any) -> int:
    version: int = tensor._version
    return version


def _arguments_of(module: torch.nn.Module) -> dict[str, Any] | None:
    """Return arguments for the constructor of ``module``, read from its attributes, or None."""
    found = {}
    for name, parameter in list(inspect.signature(type(module).__init__).parameters.items())[1:]:
        # These only say where and how arrays are made, and the buffers are cast afterwards.
        if name in ("device", "dtype") and parameter.default is None:
            continue
        held = next(
            (vars(module)[key] for key in (name, f"_{name}") if key in vars(module)), inspect.Parameter.empty
        )
        is_named = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        if held is inspect.Parameter.empty or not is_named:
            return None
        found[name] = held
    return found


def _is_like(made: torch.nn.Module, module: torch.nn.Module) -> bool:
    arrays = (
        {name: tensor.shape for name, tensor in (*one.named_parameters(), *one.named_buffers())}
        for one in (made, module)
    )
    if len({tuple(sorted(one.items())) for one in arrays}) != 1 or type(made) is not type(module):
        return False
    own = {name: item for name, item in vars(made).items() if name not in _OF_MODULES}
    return all(name in vars(module) and _is_same(item, vars(module)[name]) for name, item in own.items())


def _is_same(made: Any, held: Any) -> bool:
    if made is held:
        return True
    if type(made) is not type(held):
        return False
    if isinstance(made, (list, tuple)):
        return len(made) == len(held) and all(map(_is_same, made, held))
    if isinstance(made, dict):
        return made.keys() == held.keys() and all(_is_same(item, held[key]) for key, item in made.items())
    if isinstance(made, torch.Tensor):
        return made.shape == held.shape
    return isinstance(made, _VALUES) and bool(made == held)


# ------------------------------------------------------------------------------------------------- parameters
_NAME = torch.nn.Parameter.__name__


def guard_is_parameter(capture: Trace, spaces: Iterable[ModuleNamespace]) -> None:
    if any(_names_it(space) for space in spaces):
        capture.note_fact("is_parameter", capture.call_input_count)


def _names_it(space: ModuleNamespace) -> bool:
    names = {name for function in space.functions for name in names_read(function.__code__)}
    return _NAME in names or any(space.held.get(name) is torch.nn.Parameter for name in names)


# Called with ``map``, because a model has hundreds of weights, and each call of its graph looks at them.
_SHAPE, _DTYPE = torch.Tensor.shape.__get__, torch.Tensor.dtype.__get__


class LiveTensors(contracts.Live):
    """Callable that returns the tensors that modules currently hold under given names.

    A call may raise ``GuardFailed`` if a tensor was removed, or has another shape or dtype now.

    dicts: for each name, the dict that holds the tensor, or another object in a scripted module.
    is_counted: True if all of ``dicts`` are dicts.
    current: the tensors that were found last.
    """

    is_counted = True

    def __init__(self, holders: dict[str, tuple[dict[str, Any], str]]) -> None:
        self._holders = holders
        self.dicts = [held for held, _ in holders.values()]
        # Scripted modules hold their tensors in other objects than dicts.
        self.is_counted = all(isinstance(held, dict) for held in self.dicts)
        self.current = {name: held[key] for name, (held, key) in holders.items()}
        self._specs = {name: spec_of(tensor) for name, tensor in self.current.items()}
        self._layouts = self._layouts_now()

    def __call__(self) -> dict[str, Any]:
        if not self.is_counted or not self._is_fresh():
            self.refresh()
        return self.current

    def read(self) -> dict[str, Any]:
        return {name: held[key] for name, (held, key) in self._holders.items()}

    @functools.cached_property
    def _is_fresh(self) -> Callable[[], bool]:
        return conjunction([], versions_of, [self])

    def fits(self) -> bool:
        """Return True if all of ``current`` have the recorded shapes and dtypes.

        Assigning to the ``.data`` of a tensor, as ``Module.half`` does, changes these and replaces no tensor.
        """
        trace = jit_trace()
        if trace is None:
            return self._layouts_now() == self._layouts
        # The trace would record the reads.
        set_jit_trace(None)
        try:
            return self._layouts_now() == self._layouts
        finally:
            set_jit_trace(trace)

    def _layouts_now(self) -> tuple[list[torch.Size], list[torch.dtype]]:
        tensors = self.current.values()
        # Modes, such as that of a default device, would run code for each tensor.
        with no_torch_function():
            return [*map(_SHAPE, tensors)], [*map(_DTYPE, tensors)]

    def refresh(self) -> None:
        now = {name: _entry(held, key) for name, (held, key) in self._holders.items()}
        self._check(now)
        if any(tensor is not self.current[name] for name, tensor in now.items()):
            self.current = now

    def _check(self, tensors: Mapping[str, Any]) -> None:
        for name, tensor in tensors.items():
            if not isinstance(tensor, torch.Tensor) or spec_of(tensor) != self._specs[name]:
                raise GuardFailed(f"{name} was replaced by something of another shape or type")

    def watch(self, names: Iterable[str], whole: bool = False) -> TensorWatch:
        watched = {name: self.current[name] for name in names}
        self._check(watched)
        return TensorWatch(watched.values(), whole)


@dataclass(eq=False)
class ModulePaths:
    """Modules that a callable can reach, by path, such as ``encoder.layers.0``."""

    _paths: dict[int, tuple[torch.nn.Module, str]] = field(default_factory=dict)
    _inner: set[int] = field(default_factory=set)

    def __contains__(self, module: Any) -> bool:
        return id(module) in self._paths

    def __iter__(self) -> Iterator[torch.nn.Module]:
        for module, _ in self._paths.values():
            yield module

    def add(self, module: torch.nn.Module, path: str, is_inner: bool) -> None:
        self._paths.setdefault(id(module), (module, path))
        if is_inner:
            self._inner.add(id(module))

    def unused(self, prefix: str) -> str:
        known = {path for _, path in self._paths.values()}
        numbered = (f"{prefix}_{number}" for number in itertools.count(1))
        return prefix if prefix not in known else next(name for name in numbered if name not in known)

    def path_of(self, module: Any) -> str | None:
        entry = self._paths.get(id(module))
        return entry[1] if entry is not None and entry[0] is module else None

    def by_path(self) -> dict[str, torch.nn.Module]:
        return {path: module for module, path in self._paths.values()}

    @functools.cached_property
    def outermost(self) -> list[torch.nn.Module]:
        return [module for key, (module, _) in self._paths.items() if key not in self._inner]

    @functools.cached_property
    def modes(self) -> TrainingModes:
        return TrainingModes(self.outermost, [one for one in self if not is_internal(type(one).train)])


Place = tuple[dict[str, Any], str]


@dataclass(eq=False)
class WeightPlaces(contracts.Fillable):
    """Places where modules hold parameters and buffers, by weight name.

    A place is a dict, or another object in a scripted module, and a key in it.

    holders: the first place of each weight.
    owners: the module that has the first place of each weight.
    ties: name, first place and further place of tied weights, without further places in scripted modules.
    """

    modules: ModulePaths
    holders: dict[str, Place] = field(default_factory=dict)
    owners: dict[str, torch.nn.Module] = field(default_factory=dict)
    ties: list[tuple[str, Place, Place]] = field(default_factory=list)
    _other_names: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, holder: Any, key: str, owner: torch.nn.Module) -> None:
        self.holders[name] = (holder, key)
        self.owners[name] = owner

    def add_tied(self, name: str, other: str, holder: Any, key: str) -> None:
        self._other_names[other] = name
        first = self.holders[name]
        # A second path to the same dict is not a tie, and a scripted module has another object each time.
        if isinstance(holder, dict) and not (holder is first[0] and key == first[1]):
            self.ties.append((name, first, (holder, key)))

    def names(self) -> list[str]:
        return list(self.holders)

    def other_names(self) -> dict[str, str]:
        return self._other_names

    def array_of(self, name: str) -> Any:
        return _entry(*self.holders[name])

    def places_of(self, name: str) -> list[Place]:
        return [self.holders[name], *(other for tied, _, other in self.ties if tied == name)]

    def is_persistent(self, name: str) -> bool:
        return self.holders[name][1] not in getattr(self.owners[name], "_non_persistent_buffers_set", ())

    def without_elements(self, names: Iterable[str] | None = None) -> list[str]:
        wanted = self.holders if names is None else names
        return [
            name for name in wanted if isinstance(held := self.array_of(name), torch.Tensor) and held.is_meta
        ]

    def recomputed(self, names: Iterable[str]) -> dict[str, Any]:
        modules = self.modules.by_path()
        keys: dict[str, dict[str, str]] = {}
        for name in names:
            if not self.is_persistent(name):
                path, _, key = name.rpartition(".")
                keys.setdefault(path, {})[key] = name
        found: dict[str, Any] = {}
        for path, wanted in keys.items():
            above = [modules[outer] for outer in _outer_paths(path) if outer in modules]
            made = recomputed(self.owners[next(iter(wanted.values()))], wanted, above)
            found.update({wanted[key]: tensor for key, tensor in made.items()})
        return found

    def put(self, name: str, tensor: torch.Tensor) -> None:
        """Replace the weight ``name`` by ``tensor`` at its first place and at those in ``ties``."""
        old = self.array_of(name)
        if isinstance(old, torch.nn.Parameter):
            tensor = torch.nn.Parameter(tensor, requires_grad=old.requires_grad)
        # Libraries mark parameters by attributes.
        tensor.__dict__.update(vars(old))
        for holder, key in self.places_of(name):
            holder[key] = tensor

    def fill(self, name: str, array: Any) -> None:
        old = self.array_of(name)
        given = _stored(array, old.dtype) if hasattr(array, "memory") else to_tensor(array).detach()
        if old.is_meta:
            self.put(name, given.clone() if isinstance(array, (torch.Tensor, np.ndarray)) else given)
            return
        with torch.no_grad():
            old.copy_(given)


class TorchWeights(contracts.Weights):
    """Parameters and buffers reachable from a callable, by name, and the modules by path.

    given: further objects that are searched.
    are_none: True if nothing is given and :func:`is_self_contained` shows that the callable cannot reach
        weights, so that no search was made. False does not mean that there are weights.
    """

    def __init__(self, function: Any, given: Iterable[tuple[str, Any]] = ()) -> None:
        self.modules = ModulePaths()
        self.places = WeightPlaces(self.modules)
        self._names: dict[int, tuple[torch.Tensor, str]] = {}
        self.function = function
        self._held: set[int] = set()
        self.given = [item for _, item in given]
        self._roots: list[tuple[str, Any]] = []
        self.are_none = not self.given and is_self_contained(function)
        if not self.are_none:
            self._find(function, list(given))

    def _find(self, function: Any, given: list[tuple[str, Any]]) -> None:
        self._roots = [*_roots(function), *given]
        for prefix, module in (
            *_modules_of(function),
            *((name, item) for name, item in given if isinstance(item, torch.nn.Module)),
        ):
            self._add(prefix if module in self.modules else self.modules.unused(prefix), module)
        if not isinstance(function, torch.nn.Module):
            self._add_reached()

    def _add(self, prefix: str, root: torch.nn.Module) -> None:
        for path, module in root.named_modules(remove_duplicate=False):
            whole = ".".join(filter(None, (prefix, path)))
            self.modules.add(module, whole, is_inner=module is not root)
            for held in (module._parameters, module._buffers):
                self._held.add(id(held))
                for key, tensor in held.items():
                    if tensor is None:
                        continue
                    name = f"{whole}.{key}" if whole else key
                    if id(tensor) in self._names:
                        self.places.add_tied(self._names[id(tensor)][1], name, held, key)
                    else:
                        self._names[id(tensor)] = (tensor, name)
                        self.places.add(name, held, key, module)

    def add(self, name: str, module: torch.nn.Module) -> None:
        if module not in self.modules:
            self._add(self.modules.unused(name), module)

    def _add_reached(self) -> None:
        others = [
            (name, module)
            for name, module in reached_modules((self.function, *self.given))
            if module not in self.modules
        ]
        inside = {id(part) for _, module in others for part in module.modules() if part is not module}
        # The outer modules come first, so that weights have names like those in their ``state_dict``.
        for name, module in sorted(others, key=lambda pair: id(pair[1]) in inside):
            self.add(name, module)

    def named_again(self) -> None:
        self._names = {
            id(tensor): (tensor, name)
            for name in self.places.holders
            if (tensor := self.places.array_of(name)) is not None
        }

    # ------------------------------------------------------------------------------ names
    def name_of(self, tensor: torch.Tensor) -> str | None:
        entry = self._names.get(id(tensor))
        return entry[1] if entry is not None and entry[0] is tensor else None

    def holds(self, container: Any) -> bool:
        return id(container) in self._held

    def knows(self, name: str) -> bool:
        return name in self.places.holders

    def holder_of(self, name: str) -> Place:
        return self.places.holders[name]

    def owner_of(self, name: str) -> Any:
        return self.places.holders[name][0]

    def roots(self) -> list[tuple[str, Any]]:
        return self._roots

    # ------------------------------------------------------------------------------ arrays
    @property
    def fillable(self) -> contracts.Fillable:
        return self.places

    def live(self, names: Iterable[str]) -> LiveTensors:
        return LiveTensors({name: self.places.holders[name] for name in names})

    def rebind(self, name: str, tensor: torch.Tensor) -> None:
        holder, key = self.places.holders[name]
        holder[key] = tensor

    def set_elements(self, name: str, elements: Any, rebound: bool) -> torch.Tensor:
        holder, key = self.places.holders[name]
        held: torch.Tensor = _entry(holder, key)
        if not rebound:
            write(held, elements)
            return held
        holder[key] = made = own(elements, dtype_name(held.dtype))
        return made

    def buffers(self) -> list[torch.Tensor]:
        held = map(self.places.array_of, self.places.holders)
        return [
            tensor for tensor in held if tensor is not None and not isinstance(tensor, torch.nn.Parameter)
        ]

    def trained(self) -> list[torch.Tensor]:
        held = map(self.places.array_of, self.places.holders)
        return [tensor for tensor in held if isinstance(tensor, torch.nn.Parameter)]

    def is_trained(self, name: str) -> bool:
        return isinstance(self.places.array_of(name), torch.nn.Parameter)

    def is_frozen(self, name: str) -> bool:
        tensor = self.places.array_of(name)
        is_real = isinstance(tensor, torch.nn.Parameter) and (
            tensor.is_floating_point() or tensor.is_complex()
        )
        return bool(is_real and not tensor.requires_grad)

    def without_elements(self, names: Iterable[str] | None = None) -> list[str]:
        return self.places.without_elements(names)

    # ------------------------------------------------------------------------------ training mode
    @property
    def has_modes(self) -> bool:
        return bool(self.modules.outermost)

    def is_training(self) -> bool:
        return bool(getattr(self.function, "training", True))

    def set_training(self, mode: bool) -> None:
        for module in self.modules.outermost:
            module.train(mode)

    def in_mode(self, mode: bool) -> AbstractContextManager[None]:
        return self.modules.modes.inside(mode)


def _outer_paths(path: str) -> Iterator[str]:
    """Yield the paths of the modules that contain the module at ``path``, innermost first.

    >>> list(_outer_paths("encoder.layer.0"))
    ['encoder.layer', 'encoder', '']
    """
    while path:
        path = path.rpartition(".")[0]
        yield path


def _entry(holder: Any, key: str) -> Any:
    return holder.get(key) if isinstance(holder, dict) else dict(holder.items()).get(key)


def _stored(array: Any, dtype: torch.dtype) -> torch.Tensor:
    return torch.from_numpy(array.memory).view(dtype).reshape(array.shape)


def _modules_of(function: Any) -> Iterator[tuple[str, torch.nn.Module]]:
    if isinstance(function, torch.nn.Module):
        yield "", function
        yield from _compiled_parts(function)
        return
    for name, item in _referenced(function):
        if isinstance(item, torch.nn.Module):
            yield name, item


def _compiled_parts(root: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Module]]:
    """Yield the path and the original of each compiled module in an attribute of ``root`` or of a submodule.

    ``named_modules`` does not find them, because a compiled module is a graph and no ``torch.nn.Module``.
    """
    for path, module in root.named_modules():
        for name, item in vars(module).items():
            # Nearly all attributes are plain.
            if type(item) in PLAIN:
                continue
            if isinstance(original := original_of(item), torch.nn.Module) and original is not item:
                yield f"{path}.{name}".lstrip("."), original


def _referenced(function: Any) -> Iterator[tuple[str, Any]]:
    return ((name, original_of(item)) for name, item in _referenced_as_is(function))


def _referenced_as_is(function: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(function, functools.partial):
        yield from ((f"argument_{i}", item) for i, item in enumerate(function.args))
        yield from function.keywords.items()
        function = function.func
        if isinstance(function, torch.nn.Module):
            yield "function", function
    bound = getattr(function, "__self__", None)
    if bound is not None and not isinstance(bound, types.ModuleType):
        yield "", bound
        yield from (
            vars(bound).items()
            if hasattr(bound, "__dict__") and not isinstance(bound, torch.nn.Module)
            else ()
        )
    elif hasattr(function, "__dict__") and not isinstance(function, (types.FunctionType, types.MethodType)):
        yield from vars(function).items()
        function = type(function).__call__
    plain = inspect.unwrap(getattr(function, "__func__", function))
    if isinstance(plain, types.FunctionType):
        yield from _variables(plain)


def _roots(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield names and objects in which the state of ``function`` is searched for."""
    bound = getattr(function, "__self__", None)
    own = (
        function
        if not isinstance(function, (types.FunctionType, types.MethodType, types.BuiltinFunctionType))
        else bound
    )
    if own is not None and not isinstance(own, (types.ModuleType, type, functools.partial)):
        yield type(own).__name__, own
    yield from (
        (name, item) for name, item in _referenced(function) if not isinstance(item, (types.ModuleType, type))
    )


def _variables(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        # A recursive function is in its own closure, and a variable may not be assigned yet.
        if cell_is_filled(cell) and cell.cell_contents is not function:
            yield name, cell.cell_contents
    yield from (
        (name, function.__globals__[name])
        for name in function.__code__.co_names
        if name in function.__globals__
    )
    yield from defaults_of(function)
