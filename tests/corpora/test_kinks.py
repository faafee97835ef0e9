"""Tests of derivatives at kinks, bounds, ties and zeros: the first and second derivative are those of the
source framework in every target.

Differences are listed with reasons in ``tests/corpora/kinks/limits.py``. The list is strict: an entry that
is right must be removed.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import warnings
from typing import Any

import numpy as np
import pytest

import graph_compiler
from tests.support.contexts import wide_types
from tests.support.selection import is_drawn

from .kinks import Kink
from .kinks.derivatives import Found, in_jax, in_tensorflow, in_torch
from .kinks.limits import LIMITS

TARGETS = {"torch": ("jax", "tensorflow"), "jax": ("torch", "tensorflow"), "tensorflow": ("jax", "torch")}
ARRAYS = {
    "torch": ("torch", "tensor"),
    "jax": ("jax.numpy", "asarray"),
    "tensorflow": ("tensorflow", "constant"),
}
_IN_ONE_PROGRAM = 16


@functools.cache
def rows_of(source: str) -> dict[str, Kink]:
    """Return the rows of a source; an empty dict if it is not installed."""
    if importlib.util.find_spec(source) is None:
        return {}
    found: dict[str, Kink] = importlib.import_module(f"tests.corpora.kinks.{source}_rows").ROWS
    return found


CASES = [
    (source, name, to) for source, targets in TARGETS.items() for to in targets for name in rows_of(source)
]


@functools.cache
def graph_of(source: str, name: str) -> Any:
    """Return the recording of a row, from which the graph of each target is written."""
    row = rows_of(source)[name]
    module, name_of_array = ARRAYS[source]
    array = getattr(importlib.import_module(module), name_of_array)
    return graph_compiler.transpile(
        row.function, source=source, to=TARGETS[source][0], args=tuple(map(array, row.points))
    )


def functional(source: str, name: str, to: str) -> Any:
    """Return the row's function in a target."""
    graph = graph_of(source, name)
    graph = graph if to == TARGETS[source][0] else graph.to(to)
    return functools.partial(graph.functional, graph.parameters)


@functools.cache
def _selected_first(source: str) -> list[str]:
    """Return the names of the rows, sorted so that the selected ones are compiled in the same programs."""

    def is_selected(name: str) -> bool:
        cases = (f"{one}-{name}-{to}" for one, _, to in CASES if one == source)
        return any(is_drawn("tests/corpora/test_kinks.py::test_derivatives", case) for case in cases)

    return sorted(rows_of(source), key=is_selected, reverse=True)


@functools.cache
def of_chunk(source: str, to: str, number: int) -> list[Found]:
    """Return JAX's derivatives of a group of rows, of the original functions if ``to`` is the source."""
    names = _selected_first(source)[number * _IN_ONE_PROGRAM : (number + 1) * _IN_ONE_PROGRAM]
    rows = [rows_of(source)[name] for name in names]
    return in_jax(
        [row.function if to == source else functional(source, name, to) for name, row in zip(names, rows)],
        rows,
    )


@functools.cache
def found_in(source: str, name: str, to: str) -> Found:
    """Return the derivatives of a row in a framework."""
    row = rows_of(source)[name]
    if to == "jax":
        place = _selected_first(source).index(name)
        return of_chunk(source, to, place // _IN_ONE_PROGRAM)[place % _IN_ONE_PROGRAM]
    return {"torch": in_torch, "tensorflow": in_tensorflow}[to](
        row.function if to == source else functional(source, name, to), row
    )


def _same(found: Any, expected: Any, tolerance: float) -> bool:
    return bool(np.allclose(found, expected, rtol=tolerance, atol=10 * tolerance, equal_nan=True))


@pytest.mark.parametrize(("source", "name", "to"), CASES)
def test_derivatives(source: str, name: str, to: str) -> None:
    pytest.importorskip(to)
    tolerance = rows_of(source)[name].tolerance
    with wide_types(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (value, orders), (expected_value, expected_orders) = (
            found_in(source, name, to),
            found_in(source, name, source),
        )
    assert _same(value, expected_value, tolerance)
    wrong = {
        order: (found, expected)
        for order, (found, expected) in enumerate(zip(orders, expected_orders, strict=True), 1)
        if not all(_same(*pair, tolerance) for pair in zip(found, expected, strict=True))
    }
    listed = {order for order in (1, 2) if (source, name, to, order) in LIMITS}
    assert wrong.keys() == listed, "\n".join(
        f"order {order}:\nfound {found}\nexpected {expected}" for order, (found, expected) in wrong.items()
    )


def test_limits_name_rows() -> None:
    cases = set(CASES)
    installed = {source for source, _, _ in cases}
    assert not {case[:3] for case in LIMITS if case[0] in installed} - cases


def test_what_does_not_change_has_no_part_in_the_derivative() -> None:
    """An infinite derivative with respect to one argument must not be multiplied by the zero tangent of the
    other, also under ``jax.vmap``.
    """
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    x, y = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 0.0])
    graph = graph_compiler.transpile(torch.xlogy, to="jax", args=(x, y))
    slopes = jax.grad(lambda x, y: graph.functional({}, x, y).sum())
    rows = jax.vmap(slopes, (0, None))(np.stack([x.numpy()] * 3), y.numpy())
    for found in (slopes(x.numpy(), y.numpy()), *rows):
        np.testing.assert_array_equal(found, [-np.inf, 0.0])
