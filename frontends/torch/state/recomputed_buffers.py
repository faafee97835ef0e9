"""Recomputes non-persistent buffers of modules on the device ``meta``, which no checkpoint contains.

A way to recompute them is accepted only if it determines every element: it runs twice, on copies of the
module with different elements and different random numbers, and must return the same.
"""

from __future__ import annotations

import functools
import inspect
import logging
import operator
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

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
    """Return the buffers among `keys` that an initializer or the constructor of `module` determines.

    First is ``_init_weights`` of the module and of `ancestors`, the modules that contain it, innermost
    first; then come the module's own initializers, such as ``reset_parameters``, and last its constructor.
    The first that determines a buffer is used; other buffers are left out.
    """
    wanted = tuple(keys)
    found: dict[str, torch.Tensor] = {}
    for way in (*_initialisers(module, ancestors), lambda number: _buffers_of_new_instance(module, wanted)):
        if missing := [key for key in wanted if key not in found]:
            found.update(_determined_buffers(module, way, missing))
    return found


def _determined_buffers(
    module: torch.nn.Module, way: Callable[[int], Buffers], keys: Iterable[str]
) -> dict[str, torch.Tensor]:
    """Return those buffers among `keys` that are the same in two runs of `way`.

    The runs begin with different contents of the buffers and different random numbers. Return an empty
    dict if `way` raises.
    """
    runs = []
    for number in (0, 1):
        with _seeded_on_cpu(number):
            try:
                runs.append(way(number))
            # The code is the user's and runs on a copy that has no weights, so it may raise anything.
            except Exception as problem:
                log.debug("the buffers of %s: %s", type(module).__name__, problem)
                return {}
    first, second = ({key: _cast_like(run.get(key), module._buffers[key]) for key in keys} for run in runs)
    return {
        key: one
        for key, one in first.items()
        if one is not None and (other := second[key]) is not None and torch.equal(one, other)
    }


@contextmanager
def _seeded_on_cpu(seed: int) -> Iterator[None]:
    """Create arrays on the CPU and seed all random generators inside of the ``with`` block.

    The device and the generators are restored afterwards.
    """
    python, numpy = random.getstate(), np.random.get_state()
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad(), torch.device("cpu"):
            torch.manual_seed(seed)
            random.seed(seed)
            np.random.seed(seed)
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)


def _cast_like(made: Any, wanted: Any) -> torch.Tensor | None:
    """Cast `made` to the dtype of the buffer `wanted`, as ``Module.to`` would have done.

    Return None if `made` is not a tensor or is on ``meta``, or if the shapes or kinds of dtype differ.
    """
    if not isinstance(made, torch.Tensor) or made.is_meta or made.shape != wanted.shape:
        return None
    if made.dtype != wanted.dtype and not (made.is_floating_point() and wanted.is_floating_point()):
        return None
    return made.detach().to(wanted.dtype)


# ------------------------------------------------------------------------------------- initialisers
def _initialisers(module: torch.nn.Module, ancestors: Iterable[Any]) -> Iterator[Callable[[int], Buffers]]:
    """Yield functions that run one initializer on a copy of `module` and return the buffers of the copy.

    Their argument is the number with which the copy's buffers are filled.
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
    initialise(copy)
    return {key: tensor for key, tensor in copy._buffers.items() if tensor is not None}


def _empty_copy(module: torch.nn.Module, number: int) -> torch.nn.Module:
    """Copy a module with parameters on ``meta``, so that initializers of weights do nothing.

    Non-persistent buffers are on the CPU and filled with `number`; the others are on ``meta``.
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
    """Return the buffers `keys` of a new instance of the class of `module`, and log how it was constructed.

    Return an empty dict if a constructor argument is not an attribute of the module, if the module is
    large, or if the instance differs from it. Buffers that were written to after the constructor are left
    out.
    """
    arguments = _arguments_of(module)
    if arguments is None or sum(parameter.numel() for parameter in module.parameters()) > _LARGEST:
        return {}
    made = type(module)(**arguments)
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
    """Return the constructor's arguments, read from attributes of the same names, perhaps with an underscore.

    Return None if an argument has no such attribute, or if the constructor has ``*args`` or ``**kwargs``.
    """
    found = {}
    for name, parameter in list(inspect.signature(type(module).__init__).parameters.items())[1:]:
        # They only say where and how arrays are made, and the buffers are cast afterwards.
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
    """Return True if `made` has the class, array shapes and attributes of `module`.

    Attributes that only `module` has are ignored.
    """
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
