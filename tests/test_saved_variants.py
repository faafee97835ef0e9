"""Files of graphs with several variants, and pickles and copies, which are made of such files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("jax")
hypothesis = pytest.importorskip("hypothesis")

from hypothesis import strategies  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.errors import InvalidFile  # noqa: E402

from .support.compare import assert_same  # noqa: E402


class Counting(torch.nn.Module):
    """Has captured arrays, one of them in every branch, weights, and a buffer that calls may write to."""

    def __init__(self, counts: bool) -> None:
        super().__init__()
        self.counts, self.table = counts, torch.arange(6.0)
        self.linear = torch.nn.Linear(3, 3)
        self.register_buffer("n", torch.zeros(()))

    def forward(self, x: Any, power: int = 1) -> Any:
        if self.counts:
            self.n += 1
        return self.linear(x) ** power + self.table[:3] + torch.tensor([1.0, 2.0, 3.0]).cos() + self.n


CALLS = strategies.lists(strategies.tuples(strategies.integers(1, 3), strategies.integers(1, 2)), min_size=1, max_size=4)


@hypothesis.settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(CALLS, strategies.booleans(), strategies.sampled_from(["torch", "jax", "numpy"]), strategies.sampled_from(["a.zip", "a"]))
def test_what_is_saved_can_be_loaded(tmp_path: Path, calls: list[tuple[int, int]], counts: bool, to: str, form: str) -> None:
    graph = graph_compiler.compile(Counting(counts).eval(), to=to)
    given = [(torch.ones((2,) * (rank - 1) + (3,)), power) for rank, power in calls]
    for args in given:
        graph.add_variant(args, {})  # the same call once more is the same variant once more
    graph.save(tmp_path / form)
    again = graph_compiler.load(tmp_path / form)
    assert len(again.variants) == len(calls)
    for args in given:
        assert_same(again(*args), graph(*args))
    assert_same(dict(again.state), dict(graph.state))


def test_what_could_not_be_loaded_is_not_saved(tmp_path: Path) -> None:
    graph = graph_compiler.compile(torch.nn.Linear(3, 2), args=(torch.ones(1, 3),))
    graph.save(tmp_path / "a.zip")
    before = (tmp_path / "a.zip").read_bytes()
    graph.variants[0].graph.nodes[0].op = "os.system"
    with pytest.raises(InvalidFile, match=r"Linear cannot be saved, for it could not be loaded again: .*os\.system.*Nothing was written"):
        graph.save(tmp_path / "a.zip")
    assert (tmp_path / "a.zip").read_bytes() == before


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_compiler.compile(torch.nn.Linear(3, 2), args=(torch.ones(1, 3),))
    graph.save(tmp_path / "a.zip")
    before = (tmp_path / "a.zip").read_bytes()

    def full(array: Any) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(graph.variants[0].target, "to_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        graph.save(tmp_path / "a.zip")
    assert (tmp_path / "a.zip").read_bytes() == before and len(list(tmp_path.iterdir())) == 1
