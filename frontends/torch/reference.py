"""The original function as a reference: example inputs, runs without side effects, intermediate results."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from ...assumptions import fact_of
from ...errors import FrameworkNotInstalled
from ...forwarding import forward
from ...ir.graph import Graph
from ...ir.node import Value
from ...recording.faults import is_fault
from ...recording.lock import recording_lock
from ...trees import flatten, iterate_structure
from ..common import reference
from ..common.reference import Range, random_array
from .basics.arguments import is_array, opens, to_tensor
from .basics.names import name_of
from .basics.tensors import NUMBERS
from .generators import generators_restored
from .memory import memory as counted
from .memory.memory import SavedContents
from .state.parameters import TorchWeights
from .state.reads import restore_versions
from .state.state import ReachableState

# --------------------------------------------------------------------------------------------------- examples
# Example inputs of models that describe what they take, such as those of transformers.

# Seconds within which a hub must answer.
_SECONDS = 10


def pretrained(name: str) -> Any:
    """Load the pretrained model in the folder ``name``, or the hub's model of that name, in evaluation mode.

    Raise ``FrameworkNotInstalled`` if transformers is not installed.
    """
    try:
        import transformers
    except ModuleNotFoundError as problem:
        raise FrameworkNotInstalled(
            f"{name} is read by transformers, and {problem.name} is not installed here; install it with: pip "
            "install graph-compiler[huggingface]"
        ) from None
    _require_hub(name)
    config = transformers.AutoConfig.from_pretrained(name)
    named = (getattr(transformers, architecture, None) for architecture in config.architectures or ())
    model_class: Any = next(filter(None, named), transformers.AutoModel)
    return model_class.from_pretrained(name).eval()


def _require_hub(name: str) -> None:
    # Without this check, transformers would retry for half a minute.
    hub: Any = importlib.import_module("huggingface_hub")
    if (
        Path(name).exists()
        or hub.constants.HF_HUB_OFFLINE
        or isinstance(hub.try_to_load_from_cache(name, "config.json"), str)
    ):
        return
    try:
        hub.HfApi().model_info(name, timeout=_SECONDS)
    except hub.errors.HfHubHTTPError:
        # The hub has answered, and transformers reports the problem better.
        return
    # The class depends on the HTTP client that this version of the hub's library uses.
    except Exception as problem:
        raise OSError(
            f"{hub.constants.ENDPOINT} cannot be reached ({type(problem).__name__}: {problem}), and it is "
            "not cached"
        ) from problem


Inputs = dict[str, torch.Tensor]


def example_inputs(model: Any) -> Inputs | None:
    """Return keyword arguments with which a model of transformers was found to run, or None."""
    if not all(hasattr(model, name) for name in ("config", "dummy_inputs", "main_input_name", "forward")):
        return None
    accepted = inspect.signature(model.forward).parameters
    for candidate in _candidates(model):
        given = {name: tensor for name, tensor in candidate.items() if name in accepted}
        if given and _runs(model, given):
            return given
    return None


def _candidates(model: Any) -> Iterator[Inputs]:
    tokens: torch.Tensor = model.dummy_inputs.get("input_ids", torch.tensor([[7, 6, 1, 4, 2]]))
    beside: list[Inputs] = [{}]
    if getattr(model.config, "is_encoder_decoder", False):
        beside.insert(0, {"decoder_input_ids": tokens[:1]})
    for main in _main_inputs(model, tokens):
        for more in beside:
            yield {
                **main,
                **{name: tensor.expand(len(next(iter(main.values()))), -1) for name, tensor in more.items()},
            }


def _main_inputs(model: Any, tokens: torch.Tensor) -> Iterator[Inputs]:
    text = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
    if model.main_input_name == "input_ids":
        yield text
        yield from (
            {**{name: tensor[:1] for name, tensor in text.items()}, "pixel_values": image.to(_dtype(model))}
            for image in _images(model)
        )
    for make in _SIGNALS.get(model.main_input_name, ()):
        yield from ({model.main_input_name: signal.to(_dtype(model))} for signal in make(model))


def _images(model: Any) -> Iterator[torch.Tensor]:
    # Images of ImageNet, on which many models were trained, have the size 224.
    sizes = [_config_entry(model.config, "image_size"), 224]
    channels = _config_entry(model.config, "num_channels") or 3
    for size in dict.fromkeys(
        tuple(size) if isinstance(size, (list, tuple)) else (size, size) for size in sizes if size
    ):
        yield _noise(1, channels, *size)


def _sounds(model: Any) -> Iterator[torch.Tensor]:
    yield _noise(1, 4000)
    yield _noise(1, _config_entry(model.config, "audio_channels") or 1, 4000)


def _spectra(model: Any) -> Iterator[torch.Tensor]:
    bins = next((found for name in _BINS if (found := _config_entry(model.config, name))), 80)
    frames = _config_entry(model.config, "max_source_positions")
    # The encoder of Whisper halves the number of frames, and accepts no other number.
    yield _noise(1, bins, 2 * frames if frames else 128)
    # Audio spectrogram transformers take the frames before the bins.
    yield _noise(1, 128, bins)


def _noise(*shape: int) -> torch.Tensor:
    # A generator of its own makes the examples reproducible, and leaves torch's random state unchanged.
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


_BINS = (
    "num_mel_bins",
    "feature_size",
    "input_feat_per_channel",
    "feature_projection_input_dim",
    "input_channels",
)
_SIGNALS: dict[str, tuple[Callable[[Any], Iterator[torch.Tensor]], ...]] = {
    "pixel_values": (_images,),
    "input_values": (_sounds,),
    "input_features": (_spectra,),
}


def _config_entry(config: Any, name: str) -> Any:
    if getattr(config, name, None) is not None:
        return getattr(config, name)
    inner = (
        item for key, item in vars(config).items() if key.endswith("_config") and hasattr(item, "to_dict")
    )
    return next((found for item in inner if (found := _config_entry(item, name)) is not None), None)


def _dtype(model: Any) -> torch.dtype:
    return next((tensor.dtype for tensor in model.parameters() if tensor.is_floating_point()), torch.float32)


def _runs(model: Any, given: Inputs) -> bool:
    before = {name: buffer.clone() for name, buffer in model.named_buffers()}
    with generators_restored(), torch.no_grad():
        try:
            forward(model, **given)
        # A model may raise anything for inputs that it does not take.
        except Exception as problem:
            if is_fault(problem):
                raise
            return False
        finally:
            for name, buffer in model.named_buffers():
                if name in before and buffer.shape == before[name].shape:
                    buffer.copy_(before[name])
    return True


# -------------------------------------------------------------------------------------------------- reference
COPY = "torch.Tensor.clone"
RANDOM_STATE = ("torch.get_rng_state", "torch.set_rng_state")


def is_followed(owner: Any) -> bool:
    return isinstance(owner, (torch.nn.Module, torch.Tensor))


def leaves(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    return list(map(to_tensor, flatten((args, kwargs), is_array, opens)[0]))


def saved(array: torch.Tensor) -> Callable[[], None]:
    return SavedContents(array).restore


def watching(graph: Graph) -> Callable[[Sequence[torch.Tensor]], Callable[[], bool]] | None:
    return counted.watching(graph)


class _RangeOfTensor(tuple[float, float]):
    """Range for :func:`random_array`, with the device and the class of the tensor that is made from it.

    device: None for a tensor on ``meta``.
    """

    device: torch.device | None
    cls: type[torch.Tensor]


def ranges(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Range, ...]:
    return tuple(map(_range, leaves(args, kwargs)))


def _range(tensor: torch.Tensor) -> Range:
    tensor = tensor.detach()
    is_unordered = tensor.numel() == 0 or tensor.dtype.is_complex or tensor.is_meta
    bounds = () if is_unordered else tensor.double().aminmax()
    seen = _RangeOfTensor(bound.item() for bound in bounds) if bounds else _RangeOfTensor((0.0, 0.0))
    seen.device = None if tensor.is_meta else tensor.device
    seen.cls = type(tensor) if fact_of(tensor, "tensor_class") else torch.Tensor
    return seen


def fresh(shape: Sequence[int], dtype: str, seen: Range, seed: int) -> torch.Tensor:
    """Return the numbers of :func:`random_array` as a tensor of ``dtype``.

    >>> fresh((2,), "int64", (3.0, 3.0), seed=0)
    tensor([3, 3])
    """
    made = torch.from_numpy(np.asarray(random_array(shape, dtype, seen, seed)))
    made = made.to(getattr(seen, "device", None), getattr(torch, dtype))
    return made.as_subclass(getattr(seen, "cls", torch.Tensor))


def with_facts(array: torch.Tensor, facts: Mapping[str, Any]) -> torch.Tensor:
    """Set ``requires_grad`` of ``array`` in place if ``facts`` say that it is True, and return ``array``.

    >>> with_facts(torch.zeros(2), {"requires_grad": True}).requires_grad
    True
    """
    return array.requires_grad_() if facts.get("requires_grad") is True else array


def copied(leaves: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [leaf.detach().clone().requires_grad_(leaf.requires_grad) for leaf in leaves]


@contextmanager
def restoring_random_state() -> Iterator[None]:
    with recording_lock, generators_restored():
        yield


@contextmanager
def restoring_state(
    weights: TorchWeights, seed: int | None, state: ReachableState | None = None
) -> Iterator[None]:
    """Restore buffers, torch's default generators and the state of the function after the block.

    Seed the generators first unless ``seed`` is None.
    """
    state = state or ReachableState(weights)
    saved = [(tensor, tensor.detach().clone()) for tensor in weights.buffers()]
    with restore_versions(tensor for tensor, _ in saved):
        try:
            with recording_lock, generators_restored(seed):
                yield
        finally:
            state.restore()
            with torch.no_grad():
                for tensor, before in saved:
                    if not torch.equal(tensor, before):
                        tensor.copy_(before)


def to_numpy(array: Any) -> Any:
    plain = array.detach().cpu()
    # NumPy has no bfloat16, and torch does not export tensors with lazy conjugation or negation.
    return (plain.float() if plain.dtype == torch.bfloat16 else plain).resolve_conj().resolve_neg().numpy()


class _Observer(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, list[torch.Tensor]]] = []

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = forward(function, *args, **(kwargs or {}))
        tensors = [item for item in iterate_structure((result,)) if isinstance(item, torch.Tensor)]
        if tensors:
            self.seen.append((name_of(function), copied(tensors)))
        return result


def observe(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[tuple[str, list[torch.Tensor]]]:
    with _Observer() as observer:
        forward(function, *args, **kwargs)
    return observer.seen


def with_intermediates(graph: Graph) -> tuple[Graph, list[Value]]:
    return reference.with_intermediates(graph, COPY, lambda node: node.key not in NUMBERS)
