"""Tests of the table of a graph, with numbers that are published or counted by hand."""

from __future__ import annotations

import io
from typing import Any

import pytest

import graph_compiler
from graph_compiler.visualise.summary import format_count

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

nn = torch.nn


def ones(*shape: int) -> Any:
    return torch.ones(*shape)


# Each row: function, shapes of its arguments, multiply-adds counted by hand.
COUNTED = {
    "matmul": (lambda x, y: x @ y, [(5, 3, 4), (4, 6)], 5 * 3 * 4 * 6),
    "matmul of vectors": (lambda x, y: x @ y, [(7,), (7,)], 7),
    "matmul broadcast": (lambda x, y: x @ y, [(2, 1, 3, 4), (5, 4, 6)], 2 * 5 * 3 * 4 * 6),
    "linear": (F.linear, [(2, 3, 4), (5, 4), (5,)], 2 * 3 * 4 * 5),
    "bilinear": (F.bilinear, [(2, 3), (2, 4), (5, 3, 4)], 2 * 3 * 4 * 5),
    "addmm": (torch.addmm, [(2, 5), (2, 3), (3, 5)], 2 * 3 * 5),
    "conv1d": (F.conv1d, [(2, 3, 10), (4, 3, 3)], 2 * 4 * 8 * 3 * 3),
    "conv2d, strides and padding": (lambda x, w: F.conv2d(x, w, stride=2, padding=1), [(2, 3, 8, 8), (6, 3, 3, 3)], 2 * 6 * 4 * 4 * 27),
    "conv2d of groups": (lambda x, w: F.conv2d(x, w, groups=4), [(1, 4, 5, 5), (8, 1, 3, 3)], 8 * 3 * 3 * 9),
    "conv3d": (F.conv3d, [(1, 2, 4, 4, 4), (3, 2, 2, 2, 2)], 3 * 27 * 16),
    "transposed conv": (lambda x, w: F.conv_transpose2d(x, w, stride=2), [(2, 3, 4, 4), (3, 5, 2, 2)], 2 * 3 * 16 * 5 * 4),
    "attention": (F.scaled_dot_product_attention, [(2, 4, 6, 8), (2, 4, 9, 8), (2, 4, 9, 5)], 2 * 4 * 6 * 9 * (8 + 5)),
    "einsum": (lambda x, y: torch.einsum("bij,bjk->bik", x, y), [(2, 3, 4), (2, 4, 5)], 2 * 3 * 4 * 5),
    "einsum of three": (lambda x, y, z: torch.einsum("ij,jk,kl->il", x, y, z), [(2, 3), (3, 4), (4, 5)], 2 * 3 * 4 + 2 * 4 * 5),
    "einsum with dots": (lambda x, y: torch.einsum("...ij,jk->...ik", x, y), [(7, 2, 3, 4), (4, 5)], 7 * 2 * 3 * 4 * 5),
    "einsum broadcast": (lambda x, y: torch.einsum("ij,jk->ik", x, y), [(2, 3), (1, 4)], 2 * 3 * 4),
    "einsum over nothing": (lambda x, y: torch.einsum("ij,jk->ik", x, y), [(2, 0), (0, 4)], 0),
    "tensordot": (lambda x, y: torch.tensordot(x, y, 2), [(2, 3, 4), (3, 4, 5)], 2 * 3 * 4 * 5),
    "vecdot": (torch.linalg.vecdot, [(3, 4), (3, 4)], 12),
    "multi_dot": (lambda *given: torch.linalg.multi_dot(given), [(10, 100), (100, 5), (5, 50)], 7500),
    "multi_dot, the other order": (lambda *given: torch.linalg.multi_dot(given), [(50,), (50, 5), (5, 100)], 50 * 5 + 5 * 100),
    "elementwise": (lambda x: F.softmax(x * 2 + 1, -1).sum(), [(3, 4)], 0),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTED)
def test_multiply_adds_counted_by_hand(name: str) -> None:
    function, shapes, expected = COUNTED[name]
    graph = graph_compiler.compile(function, args=tuple(ones(*shape) for shape in shapes))
    assert graph.summary().total.multiply_adds == expected


@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize(
    ("layer", "shape", "expected"),
    [
        (nn.LSTM(3, 5), (7, 2, 3), 7 * 2 * 4 * 5 * (3 + 5)),
        (nn.LSTM(3, 5, proj_size=2), (7, 2, 3), 7 * 2 * (4 * 5 * (3 + 2) + 2 * 5)),
        (nn.GRU(3, 5, bidirectional=True, bias=False), (7, 2, 3), 2 * 7 * 2 * 3 * 5 * (3 + 5)),
        (nn.RNN(5, 5, num_layers=2, batch_first=True), (2, 7, 5), 2 * 7 * 2 * 5 * (5 + 5)),
    ],
    ids=lambda item: type(item).__name__ if isinstance(item, nn.Module) else "",
)
def test_multiply_adds_of_recurrent_layers(layer: Any, shape: tuple[int, ...], expected: int) -> None:
    assert graph_compiler.compile(layer, args=(ones(*shape),)).summary().total.multiply_adds == expected


def test_multiply_adds_of_an_associative_scan() -> None:
    """Eight matrices need eleven products: four of neighbours, then the prefixes of these four, then three at
    even places.
    """
    from torch._higher_order_ops.associative_scan import associative_scan

    def products(x: Any) -> Any:
        return associative_scan(torch.matmul, x, 0, combine_mode="generic")

    assert (
        graph_compiler.compile(products, to="numpy", args=(ones(8, 2, 2),)).summary().total.multiply_adds
        == 11 * 2 * 2 * 2
    )


def test_multiply_adds_of_the_source_frameworks() -> None:
    jax = pytest.importorskip("jax")
    numpy = pytest.importorskip("numpy")

    def in_jax(x: Any, w: Any) -> Any:
        return (
            jax.lax.conv(x, w, (1, 1), "VALID").sum()
            + jax.numpy.einsum("nchw,kchw->nk", x[..., :3, :3], w).mean()
        )

    x, w = numpy.ones((2, 3, 5, 5), "float32"), numpy.ones((4, 3, 3, 3), "float32")
    assert graph_compiler.compile(
        in_jax, source="jax", args=(jax.numpy.asarray(x), jax.numpy.asarray(w))
    ).summary().total.multiply_adds == (2 * 4 * 9 * 27 + 2 * 4 * 27)
    assert (
        graph_compiler.compile(lambda a: numpy.dot(a, a.T), source="numpy", args=(w[0, 0],))
        .summary()
        .total.multiply_adds
        == 27
    )


class Net(nn.Module):  # type: ignore[misc,name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.ModuleList([nn.Sequential(nn.Linear(4, 4), nn.ReLU()), nn.BatchNorm1d(4)])
        self.head, self.lent, self.unused = nn.Linear(4, 2), nn.Linear(4, 4, bias=False), nn.Linear(9, 9)

    def forward(self, x: Any) -> Any:
        x = self.body[1](self.body[0](self.body[0](x)))
        return self.head(x), F.linear(x, self.lent.weight)


@pytest.fixture(scope="module")
def net() -> Any:
    return graph_compiler.transpile(Net().eval(), to="numpy", args=(ones(3, 4),))


def test_rows_tell_of_each_module(net: Any) -> None:
    rows = {row.path: row for row in net.summary().rows}
    assert list(rows) == ["", "body", "body.0", "body.0.0", "body.0.1", "body.1", "head"]
    assert [row.kind for row in rows.values()] == [
        "Net",
        "ModuleList",
        "Sequential",
        "Linear",
        "ReLU",
        "BatchNorm1d",
        "Linear",
    ]
    assert (
        rows["body.0"].operations == 4
        and rows["body.0"].multiply_adds == 2 * 3 * 4 * 4
        and rows["body.0"].parameters == 20
    )
    assert rows["body.1"].outputs == ("float32[3, 4]",) and rows["head"].outputs == ("float32[3, 2]",)
    assert rows[""].outputs == ("float32[3, 2]", "float32[3, 4]")
    assert (rows["body.1"].parameters, rows["body.1"].trained) == (4 * 4, 2 * 4)
    assert rows[""].parameters == 20 + 16 + 10 + 16 and rows[""].trained == rows[""].parameters - 8
    assert rows[""].multiply_adds == 2 * 48 + 3 * 4 * 2 + 3 * 4 * 4
    assert sum(row.operations for row in net.summary().rows if row.depth == 0) == len(
        net.variants[0].graph.nodes
    )
    assert net.summary().to_dicts()[0]["path"] == ""


@pytest.mark.parametrize("to", ["jax", "numpy"])
def test_modules_of_jax_are_told_by_their_parameters(to: str) -> None:
    jax, nnx = pytest.importorskip("jax"), pytest.importorskip("flax.nnx")

    class Block(nnx.Module):  # type: ignore[misc,name-defined]
        def __init__(self, rngs: Any) -> None:
            self.up, self.norm = nnx.Linear(3, 4, rngs=rngs), nnx.LayerNorm(4, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            return jax.nn.relu(self.norm(self.up(x)))

    class Stack(nnx.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            rngs = nnx.Rngs(0)
            self.block, self.head = Block(rngs), nnx.Linear(4, 2, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            return self.head(self.block(x))

    graph = graph_compiler.compile(Stack(), to=to, args=(jax.numpy.ones((5, 3)),))
    rows = {row.path: row for row in graph.summary().rows}
    assert set(rows) == {"", "block", "block.up", "block.norm", "head"}
    assert (rows["head"].kind, rows["block"].parameters, rows["head"].outputs) == (
        "Linear",
        16 + 8,
        ("float32[5, 2]",),
    )
    assert (rows["block.up"].multiply_adds, rows["head"].multiply_adds, rows[""].multiply_adds) == (
        60,
        40,
        100,
    )


def test_the_table_is_text_and_a_table_of_rich(net: Any) -> None:
    text = str(net.summary(depth=1))
    assert (
        "body.0" not in text and "  head" in text and "torch, written for numpy, with x float32[3, 4]" in text
    )
    assert repr(net.summary()) == str(net.summary()) and "    0 " in str(net.summary())
    assert "<table>" in net.summary()._repr_html_()
    rich = pytest.importorskip("rich.console")
    console = rich.Console(width=120, record=True, file=io.StringIO())
    console.print(net.summary())
    assert "BatchNorm1d" in console.export_text()


def test_a_loaded_graph_is_counted_too(net: Any, tmp_path: Any) -> None:
    net.save(tmp_path / "net.zip")
    found, expected = graph_compiler.load(tmp_path / "net.zip").summary().total, net.summary().total
    assert (found.multiply_adds, found.parameters, found.trained, found.operations) == (
        expected.multiply_adds, expected.parameters, expected.trained, expected.operations,
    )  # fmt: skip


def test_options_that_are_none_are_refused(net: Any) -> None:
    with pytest.raises(graph_compiler.errors.InvalidOption, match="variants 0 to 0"):
        net.summary(variant=1)
    with pytest.raises(graph_compiler.errors.InvalidOption, match="depth="):
        net.summary(depth=-1)
    with pytest.raises(graph_compiler.errors.NotTraced):
        graph_compiler.compile(lambda x: x).summary()


def test_resnet_18_as_torchvision_publishes_it() -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.ResNetConfig(
        layer_type="basic",
        hidden_sizes=[64, 128, 256, 512],
        depths=[2, 2, 2, 2],
        embedding_size=64,
        num_labels=1000,
    )
    model = transformers.ResNetForImageClassification(config).eval()
    total = graph_compiler.compile(model, args=(ones(1, 3, 224, 224),)).summary().total
    # The numbers are those of ResNet18_Weights in torchvision; its 1.814 GFLOPS are multiply-adds.
    assert total.trained == 11_689_512
    assert total.multiply_adds == 1_814_073_344


def test_what_blocks_do_counts_as_often_as_they_are_run() -> None:
    """The trip count of a ``while`` loop is unknown."""
    jax = pytest.importorskip("jax")

    def scanned(x: Any, w: Any) -> Any:
        return jax.lax.scan(lambda h, row: (h @ w + row, None), x[0], x)[0]

    def chosen(x: Any, w: Any) -> Any:
        return jax.lax.cond(x.sum() > 0, lambda: x @ w, lambda: x)

    def until(x: Any, w: Any) -> Any:
        return jax.lax.while_loop(lambda y: y.sum() < 5, lambda y: y @ w + 1, x)

    given = (jax.numpy.ones((5, 3)), jax.numpy.ones((3, 3)))
    totals = [
        graph_compiler.compile(function, to="numpy", args=given).summary().total
        for function in (scanned, chosen, until)
    ]
    assert [total.multiply_adds for total in totals] == [5 * 3 * 3, 5 * 3 * 3, None]
    graph = graph_compiler.compile(scanned, to="numpy", args=given)
    assert graph.summary().total.operations == sum(graph.program.count_operations().values())
    assert f"{graph.summary().total.operations} operations" in graph.explain()


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (9_999, "9,999"),
        (10_000, "10 k"),
        (52_340, "52.3 k"),
        (999_999, "1 M"),
        (12_300_000, "12.3 M"),
        (2_000_000_000_000, "2 T"),
        (1_234_000_000_000_000, "1230 T"),
    ],
)
def test_counts_have_three_digits_and_a_unit(number: int, text: str) -> None:
    assert format_count(number) == text
