"""The device of these tests: ``cuda``, or the value of ``GRAPH_COMPILER_TEST_DEVICE`` (``cpu`` to try the
tests themselves).
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import pytest

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")

DEVICE = os.environ.get("GRAPH_COMPILER_TEST_DEVICE", "cuda")
IS_GPU = DEVICE.startswith("cuda")
# The name of the platform in JAX.
PLATFORM = "gpu" if IS_GPU else "cpu"
if IS_GPU and not torch.cuda.is_available():
    # This skips every module that imports this one.
    pytest.skip("needs a GPU", allow_module_level=True)
needs_cuda = pytest.mark.skipif(not IS_GPU, reason="needs CUDA itself")
needs_jax = pytest.mark.skipif(
    IS_GPU and jax.default_backend() != "gpu",
    reason="JAX has no GPU: set JAX_PLATFORMS=cuda,cpu and XLA_PYTHON_CLIENT_PREALLOCATE=false",
)


def moved(tree: Any, device: str = DEVICE) -> Any:
    """Return the structure with its tensors on the device. Tensors that require a gradient are leaves."""

    def move(item: Any) -> Any:
        return (
            item.detach().to(device).requires_grad_(item.requires_grad)
            if isinstance(item, torch.Tensor)
            else item
        )

    return torch.utils._pytree.tree_map(move, tree)


def places(tree: Any) -> set[str]:
    """Return the device types of the tensors in a structure."""
    return {
        item.device.type for item in torch.utils._pytree.tree_leaves(tree) if isinstance(item, torch.Tensor)
    }


def report(name: str, **numbers: float) -> None:
    """Print measured numbers as a line of JSON, which ``pytest -rP`` shows."""
    sys.stdout.write(
        json.dumps({"name": name, **{key: float(f"{value:.3g}") for key, value in numbers.items()}}) + "\n"
    )


def wait() -> None:
    """Wait until the GPU is idle."""
    if IS_GPU:
        torch.cuda.synchronize()


__all__ = ["DEVICE", "IS_GPU", "PLATFORM", "moved", "needs_cuda", "needs_jax", "places", "report", "wait"]
