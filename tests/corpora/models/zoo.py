"""The zoo: tiny, randomly initialised models of transformers (``zoo.jsonl``), timm and torchvision
(``vision.jsonl``).

Each line contains a shrunken configuration, valid inputs, and inputs of other shapes.

    for entry in zoo.entries():
        model, inputs, other_inputs = zoo.load(entry)  # other_inputs is None if the entry has no second shape
        outputs = zoo.run(model, entry, inputs)        # name -> tensor
"""

from __future__ import annotations

import copy
import importlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Union

import torch
from torch import Tensor, nn

from .torchvision_operators import ensure_torchvision
from .weights import calibrate, isolated, scale_weights, settle

FOLDER = Path(__file__).parent
FILES = ("zoo.jsonl", "vision.jsonl")

Entry = Mapping[str, Any]
Spec = Mapping[str, Any]
Inputs = dict[str, Union[Tensor, list[Tensor]]]


def entries(files: Iterable[str] = FILES) -> list[dict[str, Any]]:
    lines = (line for name in files for line in (FOLDER / name).read_text(encoding="utf-8").splitlines())
    return [json.loads(line) for line in lines if line.strip()]


def entry_named(name: str) -> dict[str, Any]:
    """Return the entry with the id ``name``; raise ``StopIteration`` if there is none."""
    return next(entry for entry in entries() if entry["id"] == name)


# ---------------------------------------------------------------------------------------------- inputs
def _randint(spec: Spec, dtype: torch.dtype, generator: torch.Generator) -> Tensor:
    made = torch.randint(spec["low"], spec["high"], spec["shape"], generator=generator, dtype=dtype)
    # Placeholder tokens along the last axis.
    for start, length, value in spec.get("set", ()):
        made[..., start : start + length] = value
    return made


def _arange(spec: Spec, dtype: torch.dtype) -> Tensor:
    return torch.arange(spec["shape"][-1], dtype=dtype).expand(spec["shape"]).contiguous()


KINDS: dict[str, Callable[[Spec, torch.dtype, torch.Generator], Tensor]] = {
    "values": lambda spec, dtype, _: torch.tensor(spec["values"], dtype=dtype).reshape(spec["shape"]),
    "ones": lambda spec, dtype, _: torch.ones(spec["shape"], dtype=dtype),
    "zeros": lambda spec, dtype, _: torch.zeros(spec["shape"], dtype=dtype),
    "full": lambda spec, dtype, _: torch.full(spec["shape"], spec["value"], dtype=dtype),
    "arange": lambda spec, dtype, _: _arange(spec, dtype),
    "randint": _randint,
    "randn": lambda spec, dtype, g: (
        torch.randn(spec["shape"], generator=g).mul_(spec.get("scale", 1.0)).to(dtype)
    ),
    "rand": lambda spec, dtype, g: (
        torch.rand(spec["shape"], generator=g).mul_(spec.get("scale", 1.0)).to(dtype)
    ),
}


def _tensor(spec: Spec, generator: torch.Generator) -> Tensor:
    return KINDS[spec["kind"]](spec, getattr(torch, spec.get("dtype", "float32")), generator)


def make_inputs(specs: Mapping[str, Any], seed: int = 0) -> Inputs:
    """Return tensors for the specifications of an entry's "inputs" or "alt_inputs"."""
    made: Inputs = {}
    for place, (name, spec) in enumerate(specs.items(), start=1):
        generator = torch.Generator().manual_seed((seed * 1000003 + 7919 * place) & 0x7FFFFFFF)
        made[name] = (
            [_tensor(one, generator) for one in spec] if isinstance(spec, list) else _tensor(spec, generator)
        )
    return made


def _swap_unique(ids: Tensor) -> Tensor:
    flat = ids.reshape(-1)
    _, where, counts = flat.unique(return_inverse=True, return_counts=True)
    places = (counts[where] == 1).nonzero()[:, 0]
    flat[places] = flat[places.flip(0)]
    return flat.reshape(ids.shape)


def other_contents(specs: Mapping[str, Any], seed: int = 5) -> Inputs:
    """Return inputs of the same shapes with other elements.

    Fixed token ids are only reordered, and those that occur several times (placeholders) stay in place.
    """
    made = make_inputs(specs, seed)
    for name, spec in specs.items():
        ids = made[name]
        if isinstance(ids, Tensor) and name.endswith("input_ids") and spec["kind"] == "values":
            made[name] = _swap_unique(ids)
    return made


# ---------------------------------------------------------------------------------------------- models
def _find_class(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module or "transformers"), attribute)


def make_config(entry: Entry) -> Any:
    return _find_class(entry["config_cls"])(**copy.deepcopy(entry["config"]))


def _from_transformers(entry: Entry) -> Any:
    return _find_class(entry.get("cls_path") or entry["cls"])(make_config(entry))


def _from_timm(entry: Entry) -> Any:
    timm = importlib.import_module("timm")
    return timm.create_model(entry["name"], pretrained=False, **copy.deepcopy(entry["kwargs"]))


def _from_torchvision(entry: Entry) -> Any:
    models = importlib.import_module("torchvision.models")
    return models.get_model(entry["name"], weights=None, **copy.deepcopy(entry["kwargs"]))


SOURCES: dict[str, Callable[[Entry], Any]] = {
    "transformers": _from_transformers,
    "timm": _from_timm,
    "torchvision": _from_torchvision,
}


def load(entry: Entry, seed: int = 0) -> tuple[nn.Module, Inputs, Inputs | None]:
    """Return the model in eval mode, its inputs, and inputs of other shapes or None.

    They are the same in every process for the same seed.
    """
    ensure_torchvision()
    inputs = make_inputs(entry["inputs"], seed)
    other = entry.get("alt_inputs")
    with isolated(seed):
        model = SOURCES[entry.get("source", "transformers")](entry).eval()
        settle(model, seed)
        if entry.get("scale_weights"):
            scale_weights(model)
        model.requires_grad_(False)
        if entry.get("calibrate"):
            calibrate(model, lambda: call(model, entry, inputs))
    return model, inputs, None if other is None else make_inputs(other, seed + 1)


# ---------------------------------------------------------------------------------------------- running
def arguments(entry: Entry, inputs: Inputs) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the positional and keyword arguments for a call of the entry's model."""
    options = dict(entry.get("call", {}))
    return (tuple(inputs.values()), options) if entry.get("positional") else ((), {**inputs, **options})


@torch.no_grad()
def call(model: nn.Module, entry: Entry, inputs: Inputs) -> Any:
    """Return the model's own output object."""
    args, kwargs = arguments(entry, inputs)
    return model(*args, **kwargs)


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    items = value.items() if hasattr(value, "items") else enumerate(value)
    return ((str(key), child) for key, child in items)


def _is_container(value: Any) -> bool:
    return hasattr(value, "items") or isinstance(value, (list, tuple))


def _tensors(value: Any, path: str) -> Iterator[tuple[str, Tensor]]:
    if isinstance(value, Tensor):
        yield path, value
    elif _is_container(value):
        for key, child in _children(value):
            yield from _tensors(child, f"{path}.{key}" if path else key)


def flatten(output: Any, name: str = "output") -> dict[str, Tensor]:
    """Return the tensors of a model's output by path."""
    return dict(_tensors(output, "" if hasattr(output, "items") else name))


def run(model: nn.Module, entry: Entry, inputs: Inputs) -> dict[str, Tensor]:
    """Return the tensors of the model's output by path."""
    return flatten(call(model, entry, inputs))


def digest(flat: Mapping[str, Tensor]) -> list[tuple[str, list[int], float, float]]:
    """Return (name, shape, mean, mean of absolute values) of each tensor, to recognise the outputs of a run."""
    rows = []
    for name, tensor in flat.items():
        real = torch.nan_to_num(torch.view_as_real(tensor) if tensor.is_complex() else tensor).double()
        means = (float(real.mean()), float(real.abs().mean())) if real.numel() else (0.0, 0.0)
        rows.append((name, list(tensor.shape), *means))
    return rows
