"""Tests of calls in other dtypes: the results have torch's dtypes in every target, with 64-bit types enabled
in JAX.

One sample of each function is called with some of the dtypes that torch accepts; which ones follows from
the sample's name, so that a family of functions covers all of them. Half precision may be as far from
float64 as torch itself is.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.selection import pairs

torch = pytest.importorskip("torch")

from graph_compiler.trees import iterate_structure, map_structure  # noqa: E402
from tests.support.canonical import through_canonical  # noqa: E402
from tests.support.compare import arrays, assert_no_further, assert_same, dtype_name, to_numpy  # noqa: E402
from tests.support.contexts import wide_types  # noqa: E402
from tests.support.samples import Array, Sample, made, quietly  # noqa: E402

from .limits import TARGETS, unsupported_dtypes  # noqa: E402
from .test_samples import SAMPLES  # noqa: E402

DTYPES = (
    "float64",
    "int64",
    "bfloat16",
    "complex64",
    "uint8",
    "float16",
    "bool",
    "complex128",
    "int32",
    "int8",
    "int16",
)
# Number of dtypes for each function. Other targets try two, because they compile nothing.
TRIED = {"jax": 1}


def tries(target: str) -> int:
    """Return the number of dtypes that each function is called with."""
    return TRIED.get(target, 2)


def one_of_each_function() -> dict[str, Sample]:
    """Return the first sample with float32 arrays of each function, by id."""
    found: dict[Any, tuple[str, Sample]] = {}
    for name, sample in SAMPLES:
        if (
            any(isinstance(item, Array) for item in iterate_structure(sample.args))
            and retyped(sample, "float64") != sample
        ):
            inner = tuple(item for item in sample.args if callable(item))
            found.setdefault((name.split("-")[0], sample.function, inner), (name, sample))
    return dict(found.values())


def retyped(sample: Sample, dtype: str) -> Sample:
    """Return the sample with its float32 arrays in another dtype."""

    def change(item: Any) -> Any:
        if not (isinstance(item, Array) and item.dtype == "float32"):
            return item
        if "float" in dtype or "complex" in dtype:
            return dataclasses.replace(item, dtype=dtype)
        kind = "distinct" if item.kind == "distinct" and dtype != "bool" else "integers"
        return dataclasses.replace(
            item, dtype=dtype, kind=kind, low=1 if item.kind == "positive" else item.low
        )

    return dataclasses.replace(
        sample,
        args=map_structure(change, sample.args),
        kwargs=map_structure(change, sample.kwargs),
        other=None,
    )


SLICE = one_of_each_function()


def taken(name: str) -> Iterator[tuple[str, Sample, Any]]:
    """Return (dtype, sample, torch's result) of the first dtypes that torch accepts, from one on that follows
    from the name.
    """
    start = zlib.crc32(name.encode()) % len(DTYPES)
    for dtype in itertools.islice(itertools.cycle(DTYPES), start, start + len(DTYPES)):
        sample = retyped(SLICE[name], dtype)
        expected = None
        # It does not matter if torch lacks this dtype.
        with contextlib.suppress(Exception):
            expected = quietly(sample.function, *made(sample.args), **made(sample.kwargs, seed=1))
        if expected is not None and not (
            dtype in ("float16", "bfloat16") and any(map(has_nan, arrays(expected).values()))
        ):
            yield dtype, sample, expected


def has_nan(array: Any) -> bool:
    """Return True if torch's result contains NaN, as that of ``matrix_exp`` in half precision."""
    return bool(torch.isnan(array).any())


def in_full_width(target: str) -> Any:
    """Return a context manager that enables 64-bit types in the target."""
    if target != "jax":
        return contextlib.nullcontext()
    return wide_types()


@pytest.mark.parametrize(("name", "target"), pairs(SLICE, TARGETS))
def test_dtypes(name: str, target: str) -> None:
    limits = unsupported_dtypes(target)
    for dtype, sample, expected in first_taken(name)[: tries(target)]:
        if (name, dtype) in limits:
            with pytest.raises(Exception) as caught:
                check(name, dtype, sample, expected, target)
            assert not isinstance(caught.value, AssertionError), "another number"
        else:
            check(name, dtype, sample, expected, target)


# The targets of a function run one after the other, so one entry is enough.
@functools.lru_cache(maxsize=1)
def first_taken(name: str) -> list[tuple[str, Sample, Any]]:
    """Return the entries of :func:`taken` that any target needs."""
    return list(itertools.islice(taken(name), 2))


@functools.lru_cache(maxsize=2)
def recorded(name: str, dtype: str) -> Any:
    """Return the lifted graph of a sample, from which the graph of each target is written."""
    sample = retyped(SLICE[name], dtype)
    return through_canonical(sample.function, "torch", made(sample.args), made(sample.kwargs, seed=1))


def check(name: str, dtype: str, sample: Sample, expected: Any, target: str) -> None:
    """Assert that the call gives torch's values in torch's dtypes."""
    args, kwargs = made(sample.args), made(sample.kwargs, seed=1)
    with in_full_width(target):
        graph = recorded(name, dtype) if target == "torch" else recorded(name, dtype).to(target)
        found = quietly(graph, *args, **kwargs)
        if any(
            item.dtype in HALF for item in iterate_structure((args, kwargs)) if isinstance(item, torch.Tensor)
        ):
            assert_same_or_no_further(found, expected, sample)
        else:
            assert_same(found, expected)


HALF = (torch.float16, torch.bfloat16)


def assert_same_or_no_further(found: Any, expected: Any, sample: Sample) -> None:
    """Assert that dtypes and shapes are torch's, and that the values are within the tolerances or no further
    from float64 than torch's.
    """
    assert {path: (dtype_name(item), tuple(item.shape)) for path, item in arrays(found).items()} == {
        path: (dtype_name(item), tuple(item.shape)) for path, item in arrays(expected).items()
    }
    try:
        assert_same(found, expected)
    except AssertionError:
        args, kwargs = (
            map_structure(doubled, made(part, seed)) for part, seed in ((sample.args, 0), (sample.kwargs, 1))
        )
        assert_no_further(found, expected, quietly(sample.function, *args, **kwargs), factor=4)


def doubled(item: Any) -> Any:
    return item.double() if isinstance(item, torch.Tensor) and item.is_floating_point() else item


@pytest.mark.parametrize("target", TARGETS)
def test_limits_name_calls_that_are_tried(target: str) -> None:
    tried = {
        (name, dtype)
        for name, _ in unsupported_dtypes(target)
        for dtype, _, _ in itertools.islice(taken(name), 2)
    }
    assert unsupported_dtypes(target).keys() <= tried


def test_all_types_are_tried() -> None:
    tried = {dtype for name in list(SLICE)[:60] for dtype, _, _ in itertools.islice(taken(name), 2)}
    assert tried == set(DTYPES)
    assert all(
        any(isinstance(item, Array) for item in iterate_structure(sample.args)) for sample in SLICE.values()
    )


@pytest.mark.parametrize("target", TARGETS)
def test_steps_between_narrow_tensors_are_of_the_wide_type(target: str) -> None:
    """These digits are beyond float32, so that the table of tolerances would not notice their loss."""

    def function(start: Any, end: Any) -> Any:
        return torch.linspace(start, end, 7, dtype=torch.float64)

    ends = torch.tensor(0.1), torch.tensor(0.7)
    with in_full_width(target):
        found = next(iter(arrays(through_canonical(function, target, ends)(*ends)).values()))
        assert dtype_name(found) == "float64"
        assert float(abs(to_numpy(found) - function(*ends).numpy()).max()) < 1e-14


@pytest.mark.filterwarnings("ignore:.* 64-bit floats:graph_compiler.errors.NarrowedNumbers")
@pytest.mark.filterwarnings("error")
def test_numbers_that_float32_does_not_hold_are_its_nearest_ones_in_jax() -> None:
    """JAX would warn of an overflow, and infinities would become NaN."""
    lowest = torch.finfo(torch.float64).min

    def function(x: Any) -> Any:
        return torch.softmax(x * 0 + lowest, 1), torch.where(x > 2.0, x, lowest)

    ones = torch.ones(3, 2, dtype=torch.float64)
    found = through_canonical(function, "jax", (ones,))(ones)
    halves, least = (to_numpy(array) for array in arrays(found).values())
    assert (halves == 0.5).all()
    assert (least == float(torch.finfo(torch.float32).min)).all()


@pytest.mark.filterwarnings("ignore:.* 64-bit floats:graph_compiler.errors.NarrowedNumbers")
def test_loops_begin_with_the_nearest_number_that_jax_has() -> None:
    highest = torch.finfo(torch.float64).max

    def function(x: Any) -> Any:
        least = x.new_full((x.shape[0],), highest)
        for column in x.T:
            least = torch.minimum(least, column)
        return least

    x = torch.full((2, 30), torch.inf, dtype=torch.float64)
    (found,) = arrays(through_canonical(function, "jax", (x,))(x)).values()
    assert (to_numpy(found) == float(torch.finfo(torch.float32).max)).all()
