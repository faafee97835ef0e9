"""Every integer argument of every torch sample as a size: the graph guards it, or serves other numbers.

The samples have literal numbers. Here one after the other depends on the size of an additional array, and
calls with other sizes must return what torch returns for the other number.
"""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402
from graph_compiler.errors import GraphCompilerError, InternalError, InvalidGraph  # noqa: E402
from graph_compiler.trees import iterate_structure, map_structure  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402
from tests.support.samples import Sample, made  # noqa: E402

from .test_samples import CALLED, SAMPLES  # noqa: E402

RECORDED, OTHERS = 3, (4, 2)
WITH_NUMBERS = {
    CALLED[place]: sample
    for place, (_, sample) in enumerate(SAMPLES)
    if any(type(item) is int for item in iterate_structure((sample.args, sample.kwargs)))
}
# Sample -> number of the argument -> why another number is not compared.
LEFT_OUT: dict[str, dict[int, str]] = {
    "linear_algebra-cond of singular 1-p=1": {0: "singular values of a singular matrix are rounding errors"},
    "normalisation-_fused_rms_norm-small": {0: "torch takes a shape that the array does not have"},
    "normalisation-_weight_norm 2": {0: "torch counts the axis -1 in a way of its own"},
    "pooling-adaptive_max_pool2d": {0: "NumPy reshapes no array without elements to an unknown size"},
    "resampling-grid_sampler": {0: "torch returns uninitialised memory for a mode that there is not"},
    "recurrent-lstm-{'layers': 2, 'both': True, 'first': True}": {
        0: "torch ignores the weights of more layers"
    },
    "searching-topk 4": {0: "no elements of an array without axes"},
}


class _Changed:
    """A call of a sample with one integer, which has the number ``place``, increased by ``by``."""

    def __init__(self, sample: Sample, place: int) -> None:
        self.sample, self.place = sample, place

    def __call__(self, like: Any, args: Any, kwargs: Any) -> Any:
        by, count = like.shape[0] - RECORDED, -1

        def changed(item: Any) -> Any:
            nonlocal count
            count += type(item) is int
            return item + by if type(item) is int and count == self.place else item

        args, kwargs = map_structure(changed, (args, kwargs))
        return self.sample.function(*args, **kwargs)


# torch warns of slow paths, which depend on the number.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_another_number(name: str) -> None:
    sample = WITH_NUMBERS[name]
    numbers = [item for item in iterate_structure((sample.args, sample.kwargs)) if type(item) is int]
    for place in range(len(numbers)):
        if place in LEFT_OUT.get(name, ()):
            continue
        call = _Changed(sample, place)
        expected = {count: _result(call, sample, count) for count in (RECORDED, *OTHERS)}
        try:
            graph = graph_compiler.compile(
                call, to="numpy", source="torch", args=_arguments(sample, RECORDED)
            )
        except GraphCompilerError as problem:
            assert not isinstance(problem, (InternalError, InvalidGraph)), problem
            continue
        for count, right in expected.items():
            # torch refuses the other number.
            if not isinstance(right, Exception):
                assert_same(graph(*_arguments(sample, count)), right)


def _arguments(sample: Sample, count: int) -> tuple[Any, Any, Any]:
    return torch.zeros(count), made(sample.args), made(sample.kwargs, seed=1)


def _result(call: _Changed, sample: Sample, count: int) -> Any:
    try:
        return call(*_arguments(sample, count))
    except (RuntimeError, IndexError, ValueError, TypeError) as problem:
        return problem


def test_what_is_left_out_exists() -> None:
    assert LEFT_OUT.keys() <= WITH_NUMBERS.keys()
