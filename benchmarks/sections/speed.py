"""Steady calls of the compiled graph: in JAX against torchax, and in TensorFlow against JAX.

The weights are arguments of the compiled functions, as they are when a model is trained. Inputs are arrays
of the framework.
"""

from __future__ import annotations

import copy
from functools import partial

import torch

from .. import cases, peers
from ..measure import Call, interleave, ratio
from ..results import Results
from ..settings import Settings
from .jitted import OURS, THEIRS, Options

TRANSFORMERS = (
    cases.BERT_BASE,
    cases.GPT2,
    cases.LLAMA_100M,
    cases.T5_SMALL,
    cases.VIT_BASE,
    cases.WHISPER_TINY,
    cases.CLIP_BASE,
    cases.MIXTRAL_SMALL,
    cases.LSTM,
)
CONVOLUTIONAL = (cases.RESNET_50, cases.CONVNEXT_TINY)
QUICK = (cases.T5_SMALL, cases.RESNET_50)
TENSORFLOW = "graph, tensorflow"


def _extracted(name: str, loaded: cases.small.Case, expected: list[object]) -> Call:
    given = {**loaded.inputs, **loaded.options}
    # torchax puts other weights into recurrent layers, so it gets a copy.
    model = copy.deepcopy(loaded.model) if name == THEIRS else loaded.model
    extracted = Options(loaded.options).bind(peers.JAX[name](model, given))
    function, arrays = peers.jitted(extracted), peers.to_jax(loaded.inputs)
    peers.assert_close(function(extracted.parameters, arrays), expected)
    return peers.synchronised(lambda: function(extracted.parameters, arrays))


def _in_tensorflow(loaded: cases.small.Case, expected: list[object]) -> Call:
    call = peers.finished(
        peers.compiled_call("tensorflow", loaded.model, {**loaded.inputs, **loaded.options})
    )
    peers.assert_close(call(), expected)  # type: ignore[arg-type]
    return call


def _measure(results: Results, case: cases.Case, settings: Settings) -> None:
    loaded = case.load()
    expected = peers.leaves(loaded.model(**loaded.inputs, **loaded.options))
    makers = {name: partial(_extracted, name, loaded, expected) for name in (OURS, THEIRS)}
    calls = results.attempt(case.name, {**makers, TENSORFLOW: partial(_in_tensorflow, loaded, expected)})
    # A call takes as long as a batch of other sections, so there are fewer rounds.
    samples = interleave(calls, rounds=settings.rounds // 3, batch=settings.batch)
    results.add_samples(case.name, "steady call", samples)
    kind = "convolutional" if case in CONVOLUTIONAL else "transformer"
    if {OURS, THEIRS} <= samples.keys():
        results.add_figure(case.name, f"steady against torchax, {kind}", ratio(samples, OURS, THEIRS), "x")
    if {OURS, TENSORFLOW} <= samples.keys():
        results.add_figure(case.name, "tf.function against jax.jit", ratio(samples, TENSORFLOW, OURS), "x")


@torch.no_grad()
def run(settings: Settings) -> Results:
    """Measure transformers and convolutional models, or one of each if ``quick``."""
    results = Results("speed")
    for case in QUICK if settings.quick else (*TRANSFORMERS, *CONVOLUTIONAL):
        _measure(results, case, settings)
    return results
