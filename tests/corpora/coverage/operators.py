"""Corpus of torch's operator samples (OpInfo): the first five of each operator, and the inputs that torch
rejects.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

import graph_compiler
from graph_compiler.trees import map_structure

from .judging import assert_metadata, assert_right, assert_same_distribution
from .outcome import Skipped
from .wrong_calls import Call, good_call

SAMPLES = 5
GOOD_SAMPLES = 100
UNINITIALISED = ("empty", "new_empty", "empty_like", "empty_strided", "empty_permuted", "new_empty_strided")
_WIDER = {
    **dict.fromkeys((torch.float16, torch.bfloat16, torch.float32), torch.float64),
    torch.complex64: torch.complex128,
}


@functools.cache
def database() -> dict[str, Any]:
    """Return torch's operators by name and variant, changed so that random operators give other numbers at
    each call.
    """
    from torch.testing._internal import common_methods_invocations as database

    # Random operators are wrapped to draw the same numbers at each call; here they shall draw, and be judged
    # by their distribution.
    database.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)
    return {f"{op.name}.{op.variant_test_name}".rstrip("."): op for op in database.op_db}


def names() -> list[str]:
    return list(database())


def error_names() -> list[str]:
    """Return the operators for which torch lists invalid inputs."""
    return [name for name, op in database().items() if op.error_inputs_func is not None]


def dtype_of(op: Any) -> torch.dtype:
    """Return float32, or the first dtype that the operator supports on a CPU; raise ``Skipped`` if there is
    none.
    """
    known = op.supported_dtypes("cpu")
    if not known:
        raise Skipped("torch has it on no CPU")
    return torch.float32 if torch.float32 in known else sorted(known, key=str)[0]


@contextlib.contextmanager
def _seeded(seed: int) -> Iterator[None]:
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(seed)
        yield


def _copied(structure: Any, change: Callable[[torch.Tensor], torch.Tensor] = torch.Tensor.clone) -> Any:
    return map_structure(
        lambda item: change(item.detach()) if isinstance(item, torch.Tensor) else item, structure
    )


def _widened(structure: Any) -> Any:
    widened = _copied(structure, lambda tensor: tensor.to(_WIDER.get(tensor.dtype, tensor.dtype)))
    return map_structure(
        lambda item: _WIDER.get(item, item) if isinstance(item, torch.dtype) else item, widened
    )


def judge(name: str, target: str) -> dict[str, Any]:
    """Assert that every sample gives in the target what it gives in torch."""
    return judge_in(name, dtype_of(database()[name]), target)


def judge_in(name: str, dtype: torch.dtype, target: str) -> dict[str, Any]:
    """Do what :func:`judge` does with arrays of ``dtype``."""
    op = database()[name]
    with _seeded(0):
        samples = list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=False), SAMPLES))
    for place, sample in enumerate(samples):
        try:
            _judge_sample(op, (sample.input, *sample.args), sample.kwargs, target)
        except (AssertionError, Exception) as problem:
            problem.args = (f"sample {place}: {problem}", *problem.args[1:])
            raise
    return {"samples": len(samples)}


def _judge_sample(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], target: str) -> None:
    expected = _in_torch(op, args, kwargs, seed=1)
    graph = graph_compiler.compile(
        op.op, to=target, source="torch", args=_copied(args), kwargs=_copied(kwargs)
    )

    def run() -> Any:
        return graph(*_copied(args), **_copied(kwargs))

    if op.name in UNINITIALISED:
        assert_metadata(run(), expected)
    elif _is_random(op, args, kwargs):
        seeds = itertools.count(2)
        assert_same_distribution(run, lambda: _in_torch(op, args, kwargs, next(seeds)))
    else:
        with _seeded(1):
            actual = run()
        assert_right(actual, expected, lambda: op.op(*_widened(args), **_widened(kwargs)))


def _in_torch(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], seed: int) -> Any:
    with _seeded(seed):
        try:
            return op.op(*_copied(args), **_copied(kwargs))
        except Exception as problem:
            raise Skipped(f"torch: {type(problem).__name__}: {problem}") from problem


def _is_random(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return True if the call advances torch's generator."""
    with _seeded(7):
        before = torch.get_rng_state()
        op.op(*_copied(args), **_copied(kwargs))
        return not torch.equal(before, torch.get_rng_state())


def judge_errors(name: str, target: str) -> dict[str, Any]:
    """Assert that the target rejects each input that torch rejects.

    If possible, the graph is recorded with a valid call of the same signature first, so that the invalid
    call meets an existing variant.
    """
    op = database()[name]
    accepted, facts = [], {"inputs": 0, "recorded_with_good": 0}
    for place, bad in enumerate(_refused(op)):
        good = good_call(bad, partial(_samples_of, op), lambda call: not _raises(lambda: _call(op.op, call)))
        facts["inputs"] += 1
        facts["recorded_with_good"] += good is not None
        graph = _recorded(op, good, target)
        if not _raises(
            lambda graph=graph, bad=bad: _call(
                graph or graph_compiler.compile(op.op, to=target, source="torch"), bad
            )
        ):
            accepted.append(place)
    if not facts["inputs"]:
        raise Skipped("torch refuses none of them")
    assert not accepted, f"accepted inputs {accepted} of {facts['inputs']}"
    return facts


def _refused(op: Any) -> list[Call]:
    """Return the listed inputs that torch rejects in the forward pass on this machine."""
    with _seeded(0):
        samples = [given.sample_input for given in op.error_inputs("cpu")]
    calls = [((sample.input, *sample.args), sample.kwargs) for sample in samples]
    return [call for call in calls if _raises(lambda call=call: _call(op.op, call))]


def _samples_of(op: Any, dtype: torch.dtype) -> Iterator[Call]:
    if dtype in op.supported_dtypes("cpu"):
        with _seeded(0):
            samples = list(
                itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=False), GOOD_SAMPLES)
            )
        yield from (((sample.input, *sample.args), sample.kwargs) for sample in samples)


def _recorded(op: Any, good: Call | None, target: str) -> Any:
    """Return a graph recorded with the call ``good``; None if ``good`` is None or its graph raises."""
    if good is None:
        return None
    graph = graph_compiler.compile(op.op, to=target, source="torch")
    return None if _raises(lambda: _call(graph, good)) else graph


def _call(function: Callable[..., Any], call: Call) -> Any:
    return function(*_copied(call[0]), **_copied(call[1]))


def _raises(call: Callable[[], Any]) -> bool:
    with _seeded(1):
        try:
            call()
        except Exception:
            return True
    return False
