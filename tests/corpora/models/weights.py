"""Weights with which every parameter and input of a randomly initialised model affects its outputs.

Fresh models hide mistakes: with zero biases, unit scales, closed gates and nearly uniform attention a
wrong conversion gives right outputs.
"""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor, nn

CODEBOOKS = ("embed", "embed_avg", "embed_sum", "codebook")
NOT_SCALED = (
    "embed",
    "pos",
    "codebook",
    "latent",
    "bias_table",
    "rel_",
    "a_log",
    "scale",
    "gamma",
    "anchor",
    "prototype",
)


# ---------------------------------------------------------------------------------------------- random state
@contextlib.contextmanager
def _python_and_numpy_seeded(seed: int) -> Iterator[None]:
    states = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed)
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])


@contextlib.contextmanager
def _deterministic() -> Iterator[None]:
    """Use deterministic algorithms, and fill uninitialised memory with NaN so that a read of it is noticed."""
    was, warned = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    filled = torch.utils.deterministic.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    try:
        yield
    finally:
        torch.utils.deterministic.fill_uninitialized_memory = filled
        torch.use_deterministic_algorithms(was, warn_only=warned)


@contextlib.contextmanager
def _float32_by_default() -> Iterator[None]:
    dtype = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        yield
    finally:
        torch.set_default_dtype(dtype)


@contextlib.contextmanager
def isolated(seed: int) -> Iterator[None]:
    """Run the block with seeded generators of torch, Python and NumPy, float32 by default and deterministic
    algorithms; restore all of it afterwards.
    """
    with (
        torch.random.fork_rng(devices=[]),
        _python_and_numpy_seeded(seed),
        _deterministic(),
        _float32_by_default(),
    ):
        torch.manual_seed(seed)
        yield


# ---------------------------------------------------------------------------------------------- no constants
def _settle_parameter(weight: Tensor, generator: torch.Generator) -> None:
    if not bool(torch.isfinite(weight).all()):
        weight.copy_(torch.randn(weight.shape, generator=generator) * 0.05)
    elif weight.numel() == 1 and float(weight) == 0:
        # This is a gate that starts closed.
        weight.fill_(0.5)
    elif weight.numel() > 1 and bool((weight == weight.reshape(-1)[0]).all()):
        weight.add_((torch.randn(weight.shape, generator=generator) * 0.05).to(weight.dtype))


def _settle_buffer(name: str, buffer: Tensor, generator: torch.Generator) -> None:
    if name == "running_mean":
        buffer.add_((torch.randn(buffer.shape, generator=generator) * 0.05).to(buffer.dtype))
    elif name == "running_var":
        buffer.mul_((torch.rand(buffer.shape, generator=generator) * 0.4 + 0.8).to(buffer.dtype))
    elif name in CODEBOOKS and buffer.dim() >= 2 and float(buffer.std()) == 0:
        buffer.copy_(torch.randn(buffer.shape, generator=generator).to(buffer.dtype))
    elif bool(torch.isnan(buffer).any()):
        buffer.copy_((torch.randn(buffer.shape, generator=generator) * 0.05).to(buffer.dtype))


@torch.no_grad()
def settle(model: nn.Module, seed: int) -> None:
    """Randomise parameters and statistics that are constant, zero gates, and elements that are not finite, in
    place.
    """
    generator = torch.Generator().manual_seed(seed + 12345)
    done: set[int] = set()
    for weight in model.parameters():
        if weight.is_floating_point() and weight.numel() and weight.data_ptr() not in done:
            done.add(weight.data_ptr())
            _settle_parameter(weight, generator)
    for name, buffer in model.named_buffers():
        if buffer.is_floating_point() and buffer.numel() and buffer.data_ptr() not in done:
            _settle_buffer(name.rsplit(".", 1)[-1], buffer, generator)


# ------------------------------------------------------------------------------------------ signals that last
def _is_zero_centred_norm(owner: nn.Module, name: str, weight: Tensor) -> bool:
    named = weight.dim() == 1 and name == "weight" and "Norm" in type(owner).__name__ and weight.numel() > 1
    return named and float(weight.mean()) < 0.3 and float(weight.std()) < 0.1


def _is_table(owner: nn.Module, path: str, name: str) -> bool:
    parent = path.lower().rsplit(".", 2)[-1]
    return isinstance(owner, nn.Embedding) or any(
        word in parent or word in name.lower() for word in NOT_SCALED
    )


def _fan_in(owner: nn.Module, name: str, weight: Tensor) -> float:
    # This is the transposed linear layer of transformers.
    if type(owner).__name__ == "Conv1D":
        return weight.shape[0]
    if isinstance(owner, nn.modules.conv._ConvTransposeNd):
        return float(weight.shape[0] * weight[0, 0].numel() / max(1, owner.stride[0] ** (weight.dim() - 2)))
    if weight.dim() == 2 or "Conv" in type(owner).__name__ or name in ("original1", "weight_v"):
        return weight.numel() / weight.shape[0]
    return max(weight.shape[-2:])


def _scale_length(weight: Tensor) -> None:
    """Scale the row lengths of a weight norm to a mean of 1."""
    mean = float(weight.abs().mean())
    if 0 < mean < 1:
        weight.mul_(1 / mean)


def _scale_matrix(owner: nn.Module, name: str, weight: Tensor) -> None:
    deviation, wanted = float(weight.std()), 1 / math.sqrt(max(_fan_in(owner, name, weight), 1))
    if 0 < deviation < wanted:
        weight.mul_(wanted / deviation)


def _scale_weight(owner: nn.Module, path: str, name: str, weight: Tensor) -> None:
    if _is_zero_centred_norm(owner, name, weight):
        weight.add_(1 - float(weight.mean()))
    elif weight.dim() < 2 or weight.numel() < 4 or _is_table(owner, path, name):
        return
    elif name in ("original0", "weight_g"):
        _scale_length(weight)
    else:
        _scale_matrix(owner, name, weight)


def _owned(model: nn.Module) -> dict[int, tuple[nn.Module, str, str, Tensor]]:
    """Map the ``id`` of each parameter to (module, path, name in the module, parameter). A shared parameter
    occurs once.
    """
    owners: dict[int, tuple[nn.Module, str, str, Tensor]] = {}
    for path, module in model.named_modules():
        for name, weight in module.named_parameters(recurse=False):
            owners.setdefault(id(weight), (module, f"{path}.{name}", name, weight))
    return owners


@torch.no_grad()
def scale_weights(model: nn.Module) -> None:
    """Scale weight matrices in place to a standard deviation of at least 1/sqrt(fan in), so that signals do
    not vanish.

    Most models initialise them with 0.02.
    """
    for owner, path, name, weight in _owned(model).values():
        if weight.is_floating_point():
            _scale_weight(owner, path, name, weight)


def _batch_norms(model: nn.Module) -> list[nn.modules.batchnorm._BatchNorm]:
    kind = nn.modules.batchnorm._BatchNorm
    return [
        module for module in model.modules() if isinstance(module, kind) and module.running_mean is not None
    ]


@torch.no_grad()
def calibrate(model: nn.Module, run: Callable[[], object]) -> None:
    """Set the statistics of every batch norm to those of one call of ``run``."""
    norms = _batch_norms(model)
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.train()
        norm.momentum = 1.0
    if norms:
        run()
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
        norm.eval()
