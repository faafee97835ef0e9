"""Tests of masks and ``nonzero`` under ``jax.jit``: arrays are padded to the largest possible size, and
padding does not affect results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.errors import UnsupportedOperation  # noqa: E402
from tests.support.compare import assert_same, to_numpy  # noqa: E402

Program = Callable[[Any, Any], Any]
PROGRAMS: dict[str, Program] = {}
PICKED: dict[str, Program] = {}
"""Programs that ask for a number of rows."""
UNKNOWN: dict[str, Program] = {}


def _into(table: dict[str, Program]) -> Callable[[Program], Program]:
    def add(program: Program) -> Program:
        table[program.__name__] = program
        return program

    return add


@_into(PROGRAMS)
def sums(x: Any, y: Any) -> Any:
    return x[x > 0].sum() + x[y > 1].sum(0) * x[y > 1].prod(0) + torch.masked_select(x, x > 0).pow(2).sum()


@_into(PROGRAMS)
def means(x: Any, y: Any) -> Any:
    return x[y < 2].mean(0) + x[x > 0].mean() + F.mse_loss(x[x > 0], x[x > 0] * 2)


@_into(PROGRAMS)
def counts(x: Any, y: Any) -> Any:
    kept = x[y > 1]
    return kept.sum() / kept.shape[0] + kept.numel() + (kept > 0).any() + (kept > -9).all() + (kept > 0).sum()


@_into(PROGRAMS)
def losses(x: Any, y: Any) -> Any:
    kept = y != 3
    return F.cross_entropy(x[kept], y[kept]) + F.cross_entropy(
        x[kept.nonzero()[:, 0]], y[kept], reduction="sum", label_smoothing=0.1
    )


@_into(PROGRAMS)
def elements_written(x: Any, y: Any) -> Any:
    out, kept = torch.zeros_like(x), x > 0
    out[kept] = torch.log(x[kept])
    return out


@_into(PROGRAMS)
def rows_written(x: Any, y: Any) -> Any:
    out, rows = x * 2, (y == 1).nonzero()[:, 0]
    out[rows] = torch.tanh(x[rows]) @ x.new_ones(x.shape[1], x.shape[1])
    return out.index_copy(0, rows, out[rows].softmax(-1))


@_into(PROGRAMS)
def rows_added(x: Any, y: Any) -> Any:
    rows = torch.where(y == 0)[0]
    out = torch.zeros_like(x).index_add_(0, rows, F.layer_norm(x[rows], (x.shape[1],)))
    out[y > 1] += x[y > 1].sum(-1, keepdim=True)
    return out.index_put_((rows,), x[rows] + 1, accumulate=True)


@_into(PROGRAMS)
def experts(x: Any, y: Any) -> Any:
    scores = x.softmax(-1)
    weights, chosen = scores.topk(2)
    out = torch.zeros_like(x)
    for expert in range(x.shape[1]):
        rows, which = torch.where(chosen == expert)
        out.index_add_(
            0, rows, F.gelu(x[rows].unsqueeze(1).flatten(1) * (expert + 1)) * weights[rows, which, None]
        )
    return out


@_into(PROGRAMS)
def filled_with_the_count(x: Any, y: Any) -> Any:
    return torch.full((2,), x[y > 1].shape[0]) + torch.zeros(2).fill_(x[x > 0].numel() * x.shape[1]) * x.sum()


@_into(PROGRAMS)
@graph_compiler.trace
def rows_of_each_step(x: Any, y: Any) -> Any:
    total = x.new_zeros(())
    for row in x:
        total = total + row[row > 0].sum() + row[row > -9].mean() + row[row > 0].numel()
    return total * x


@_into(PROGRAMS)
@graph_compiler.trace
def rows_in_a_branch(x: Any, y: Any) -> Any:
    if x.sum() > 0:
        found = x[x > 0].sum()
    else:
        found = x.sum() * 2
    return found + x.prod(1)


@_into(PICKED)
def first_and_last(x: Any, y: Any) -> Any:
    return x[x > 0][0] + x[y > 0][-1] * x[y > 0][-1, 2] + x[x > 0][..., -1]


@_into(PROGRAMS)
def infinite_slopes(x: Any, y: Any) -> Any:
    """If nothing is selected, the infinite derivative at the padding must not reach the gradient."""
    (places,) = torch.nonzero(x[:, 0] > 0, as_tuple=True)
    return x[x > 0].sqrt().sum() + (x[places, 0].log() * y[places]).sum()


@_into(PICKED)
def more_than_one(x: Any, y: Any) -> Any:
    kept = x[x > 0]
    return kept.sum() * 2 if kept.shape[0] > 1 else kept.sum()


@_into(UNKNOWN)
def returned(x: Any, y: Any) -> Any:
    return x[y > 1]


@_into(UNKNOWN)
def largest(x: Any, y: Any) -> Any:
    """torch raises if nothing is selected."""
    return x[y > 1].max()


@_into(UNKNOWN)
def by_one_truth(x: Any, y: Any) -> Any:
    """A mask without axes selects all or nothing."""
    return x[y.sum() > 3].sum()


@_into(UNKNOWN)
def accumulated(x: Any, y: Any) -> Any:
    return x[y > 1].cumsum(0).sum()


@_into(UNKNOWN)
def paired(x: Any, y: Any) -> Any:
    """The two dynamic sizes of a product are equal or different."""
    return (x[y > 1] @ x[y < 2].T).sum() + (x[y > 1] @ x[y > 1].T).sum()


def batch(rows: int, kind: str = "some") -> list[Any]:
    """Return rows of four numbers and a class for each, of which the masks select some, none or all
    (``kind``).
    """
    random = torch.Generator().manual_seed(rows)
    x, y = torch.randn(rows, 4, generator=random), torch.randint(0, 4, (rows,), generator=random)
    return (
        [x, y]
        if kind == "some"
        else [-x.abs(), torch.full_like(y, 3)]
        if kind == "none"
        else [x.abs(), torch.ones_like(y)]
    )


def arrays(given: list[Any]) -> list[Any]:
    return [jnp.asarray(to_numpy(item)) for item in given]


GIVEN = [batch(5), batch(9), batch(6, "none"), batch(7, "all"), batch(1)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_compiled(name: str) -> None:
    program = PROGRAMS[name]
    graph = graph_compiler.compile(program, args=batch(6), to="jax")
    pure = jax.jit(lambda *args: graph.functional({}, *args))
    slopes = jax.jit(jax.grad(lambda x, y: graph.functional({}, x, y).sum()))
    for given in GIVEN:
        assert_same(pure(*arrays(given)), program(*given))
        x = given[0].clone().requires_grad_()
        program(x, given[1]).sum().backward()
        assert_same(slopes(*arrays(given)), x.grad)
    assert len(graph.variants) == 1


@pytest.mark.parametrize("found", [(1, 1, 1, 0, 1), (1, 1, 1, 1, 1), (0, 0, 0, 0, 0)])
def test_the_last_of_the_rows_for_one_place_is_written(found: tuple[int, ...]) -> None:
    def written(y: Any, places: Any, rows: Any, mask: Any) -> Any:
        y[places[mask]] = rows[mask]
        return y

    def given(*found: int) -> list[Any]:
        return [
            np.zeros(3, "float32"),
            np.array([0, 1, 0, 2, 0]),
            np.arange(1, 6, dtype="float32"),
            np.array(found, bool),
        ]

    graph = graph_compiler.transpile(written, source="numpy", to="jax", args=given(1, 0, 1, 1, 0))
    assert_same(graph(*given(*found)), written(*given(*found)))
    assert len(graph.variants) == 1


@pytest.mark.parametrize("name", PICKED)
def test_rows_by_their_number_are_compiled(name: str) -> None:
    program = PICKED[name]
    graph = graph_compiler.compile(program, args=batch(6), to="jax")
    pure = jax.jit(lambda *args: graph.functional({}, *args))
    for given in (batch(5), batch(9), batch(7, "all")):
        assert_same(pure(*arrays(given)), program(*given))
    # NaN stands for the violated guard on the number of rows.
    assert np.isnan(np.asarray(pure(*arrays(batch(6, "none"))))).all()


def test_what_is_not_among_the_rows_is_recorded_again() -> None:
    graph = graph_compiler.compile(first_and_last, args=batch(6), to="jax")
    with pytest.raises(IndexError):
        graph(*arrays(batch(6, "none")))


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_needs_the_size_keeps_it(name: str) -> None:
    program = UNKNOWN[name]
    graph = graph_compiler.compile(program, args=batch(6), to="jax")
    assert any(node.op in ("boolean_mask", "nonzero") for node in graph.variants[0].graph.nodes)
    for given in GIVEN[:2]:
        assert_same(graph(*arrays(given)), program(*given))
    with pytest.raises((jax.errors.ConcretizationTypeError, jax.errors.NonConcreteBooleanIndexError)):
        jax.jit(lambda *args: graph.functional({}, *args))(*arrays(batch(6)))


@graph_compiler.trace
def sorted_in_a_loop(x: Any) -> Any:
    total = x.new_zeros(())
    for row in x:
        total = total + row[row > -9].sort()[0][0]
    return total


@graph_compiler.trace
def unique_in_a_branch(x: Any) -> Any:
    if x.sum() > -99:
        found = x.unique().sum()
    else:
        found = x.sum()
    return found


@graph_compiler.trace
def repeated_in_a_loop(x: Any) -> Any:
    total = x.new_zeros(())
    for row in x:
        total = total + row.repeat_interleave((row > 0) * 2).cumsum(0).sum()
    return total


IN_REGIONS = {
    "boolean_mask": sorted_in_a_loop,
    "unique_values": unique_in_a_branch,
    "repeat": repeated_in_a_loop,
}


@pytest.mark.parametrize("op", IN_REGIONS)
def test_what_needs_the_size_in_a_loop_or_branch_is_refused_where_it_stands(op: str) -> None:
    program, x, other = IN_REGIONS[op], batch(3)[0], batch(5)[0]
    with pytest.raises(
        UnsupportedOperation, match=rf"has to know all sizes(.|\n)*{op}, for .*test_padded_sizes\.py:\d+"
    ):
        graph_compiler.transpile(program, to="jax", args=(x,))
    assert_same(graph_compiler.transpile(program, to="numpy", args=(x,))(to_numpy(other)), program(other))
