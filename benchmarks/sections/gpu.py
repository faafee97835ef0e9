"""Graphs of a BERT on a GPU, in torch and JAX, against the model itself.

JAX has the GPU if ``JAX_PLATFORMS=cuda`` is set. Without a GPU nothing is measured.
"""

from __future__ import annotations

import importlib
from typing import Any

import torch

from ..measure import Call, interleave, ratio
from ..results import Results
from ..settings import Settings
from .training import a_batch, classifier, compare

SHAPES = ((1, 32), (32, 128))
DTYPES = (torch.float32, torch.bfloat16)


def _bert(dtype: torch.dtype, layers: int) -> torch.nn.Module:
    transformers = importlib.import_module("transformers")
    torch.manual_seed(0)
    made: torch.nn.Module = (
        transformers.BertModel(transformers.BertConfig(num_hidden_layers=layers)).eval().to("cuda", dtype)
    )
    return made


def _waiting(function: Any, tokens: Any) -> Call:
    """Return a call that ends when the GPU has finished."""

    def call() -> Any:
        # Calls return before the GPU has finished. JAX waits for an array, torch for the device.
        result = function(input_ids=tokens)[0]
        return (
            result.block_until_ready() if hasattr(result, "block_until_ready") else torch.cuda.synchronize()
        )

    return call


def _calls(model: torch.nn.Module, tokens: torch.Tensor) -> dict[str, Call]:
    compiler, jnp = importlib.import_module("graph_compiler"), importlib.import_module("jax.numpy")
    given = {"input_ids": tokens}
    compiled = {"kwargs": given, "return_backend_compiled_fn": True}
    return {
        "eager": _waiting(model, tokens),
        "ours": _waiting(compiler.compile(model, kwargs=given), tokens),
        "torch.compile": _waiting(torch.compile(model), tokens),
        "ours, compiled": _waiting(compiler.compile(model, **compiled), tokens),
        "ours, jax": _waiting(
            compiler.transpile(model, to="jax", **compiled), jnp.asarray(tokens.cpu().numpy())
        ),
    }


def run(settings: Settings) -> Results:
    results = Results("gpu")
    if not torch.cuda.is_available():
        return results
    for dtype in DTYPES:
        for shape in SHAPES:
            case = f"BERT, {str(dtype).removeprefix('torch.')}, {shape[0]} x {shape[1]}"
            with results.surviving(case, "calls"), torch.no_grad():
                calls = _calls(
                    _bert(dtype, 2 if settings.quick else 12), torch.randint(0, 30000, shape, device="cuda")
                )
                samples = interleave(calls, rounds=2 * settings.few_rounds, batch=settings.batch)
                results.add_samples(case, "call", samples)
                results.add_figure(case, "call against eager", ratio(samples, "ours", "eager"), "x")
                results.add_figure(
                    case,
                    "compiled call against torch.compile",
                    ratio(samples, "ours, compiled", "torch.compile"),
                    "x",
                )
    inputs, target = a_batch()
    given = {name: tensor.cuda() for name, tensor in inputs.items()}, target.cuda()
    compare(results, "BERT, 6 layers, training", classifier(settings.quick).cuda(), given, settings)
    return results
