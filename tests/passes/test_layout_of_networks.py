"""Tests of the channels-last layout in networks: convolutions and the operations after them change layout,
with equal results.
"""

from __future__ import annotations

import collections
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

pytest.importorskip("torch")
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import graph_compiler
from graph_compiler.backends import numpy as numpy_backend
from graph_compiler.codegen import load, write
from graph_compiler.ir import Builder, Graph, verify
from graph_compiler.ir.node import Value
from graph_compiler.ops import ArraySpec, all_ops
from graph_compiler.ops.axes import ROWS
from graph_compiler.ops.convolution import to_first, to_last
from graph_compiler.passes import conv1x1_to_linear, cse, dce, decompose, kernel_layout, layout
from graph_compiler.trees import Branch, Leaf
from tests.corpora.models import small

PREFERS = ("conv", "conv_transpose", "max_pool", "avg_pool")
WHOLE = (None, None, 1)
SIDE = ((1, 1), (1, 1))


# ---------------------------------------------------------------------------------------------- helpers
def graph_of(write_it: Callable[..., Any], *shapes: Sequence[int], dtype: str = "float32") -> Graph:
    graph = Graph("f", "canonical")
    build = Builder(graph)
    made = write_it(
        build,
        *(build.input(f"x{place}", ArraySpec(tuple(shape), dtype)) for place, shape in enumerate(shapes)),
    )
    graph.outputs = list(made) if isinstance(made, (list, tuple)) else [made]
    return verify(graph)


def in_last(graph: Graph) -> Graph:
    moved, _ = layout(graph, PREFERS)
    simple, _ = cse(verify(moved))
    return verify(dce(simple)[0])


def permutations(graph: Graph) -> int:
    return sum(node.op == "permute_dims" for node in graph.nodes)


def run(graph: Graph, *arrays: Any, backend: Any = numpy_backend) -> list[Any]:
    count = len(graph.outputs)
    graph = decompose(
        graph.derive(output_tree=Branch(tuple, tuple(range(count)), (Leaf(),) * count)), backend.rows
    )[0]
    return list(load(write(graph, backend.dialect, "A graph."))(*arrays))


def assert_same(graph: Graph, *calls: tuple[np.ndarray, ...]) -> Graph:
    """Assert that the graph after the pass has equal results in equal shapes, and return it."""
    expected = [run(graph, *arrays) for arrays in calls]
    moved = in_last(graph)
    assert [value.dtype for value in moved.outputs] == [value.dtype for value in graph.outputs]
    for arrays, results in zip(calls, expected):
        for found, wanted in zip(run(moved, *arrays), results, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    return moved


def image(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.1, 0.9, shape).astype(np.float32)


def convolved(build: Builder, x: Value) -> Any:
    """Append a pooling of single elements, which changes nothing and which the target prefers with channels
    last.
    """
    return build.max_pool(
        x,
        kernel=(1,) * (x.ndim - 2),
        strides=(1,) * (x.ndim - 2),
        padding=((0, 0),) * (x.ndim - 2),
        dilation=(1,) * (x.ndim - 2),
    )


# ---------------------------------------------------------------------------------------------- rows
BINARY = [
    name
    for name, row in ROWS.items()
    if row.carriers == "broadcast" and all_ops()[name].inputs == ("x1", "x2")
]
UNARY = [
    name
    for name, row in ROWS.items()
    if row.carriers == "broadcast" and all_ops()[name].inputs == ("x",) and name != "astype"
]
CASES: dict[str, Callable[[Builder, Any], Any]] = {
    "astype": lambda b, x: b.astype(x, dtype="float64"),
    "where": lambda b, x: b.where(b.greater(x, 0.5), x, 0.0),
    "prelu": lambda b, x: b.prelu(x, b.full(shape=(4, 1, 1), fill_value=0.5, dtype="float32")),
    "clip": lambda b, x: b.clip(x, 0.3, None),
    "sum": lambda b, x: b.sum(x, axis=(2, 3)),
    "sum, kept": lambda b, x: b.sum(x, axis=1, keepdims=True),
    "mean": lambda b, x: b.mean(x, axis=2),
    "mean of all": lambda b, x: b.mean(x),
    "max over examples": lambda b, x: b.max(x, axis=0),
    "argmax": lambda b, x: b.argmax(x, axis=1),
    "argmax of all": lambda b, x: b.argmax(x),
    "softmax": lambda b, x: b.softmax(x, axis=1),
    "glu": lambda b, x: b.glu(x, axis=1),
    "cummax": lambda b, x: b.cummax(x, axis=3),
    "split": lambda b, x: b.split(x, sizes=(1, 3), axis=1),
    "roll": lambda b, x: b.roll(x, shift=(1, 2), axis=(1, 3)),
    "flip": lambda b, x: b.flip(x, axis=(2,)),
    "normalize": lambda b, x: b.normalize(x, axis=(1,), epsilon=1e-6),
    "group_norm": lambda b, x: b.group_norm(x, groups=2, epsilon=1e-5),
    "instance_norm": lambda b, x: b.instance_norm(x, epsilon=1e-5),
    "pad": lambda b, x: b.pad(x, padding=((0, 0), (0, 0), (1, 2), (0, 3))),
    "tile": lambda b, x: b.tile(x, repetitions=(1, 2, 1, 3)),
    "broadcast_to": lambda b, x: b.broadcast_to(
        b.mean(x, axis=(2, 3), keepdims=True), shape=(*x.shape[:2], 5, 7)
    ),
    "getitem": lambda b, x: b.getitem(x, key=(WHOLE, (1, None, 2), (0, -1, 1))),
    "getitem, one": lambda b, x: b.getitem(x, key=(WHOLE, WHOLE, 0)),
    "getitem, one channel": lambda b, x: b.getitem(x, key=(WHOLE, 1)),
    "getitem, one example": lambda b, x: b.getitem(x, key=(0,)),
    "getitem, new axis": lambda b, x: b.getitem(x, key=(WHOLE, None)),
    "reshape, flattened": lambda b, x: b.reshape(x, shape=(x.shape[0], x.shape[1], x.shape[2] * x.shape[3])),
    "reshape, all": lambda b, x: b.reshape(x, shape=(x.shape[0], x.shape[1] * x.shape[2] * x.shape[3])),
    "reshape, dropped": lambda b, x: b.reshape(b.mean(x, axis=(2, 3), keepdims=True), shape=x.shape[:2]),
    "reshape, parted channels": lambda b, x: b.reshape(
        x, shape=(x.shape[0], 2, x.shape[1] // 2, *x.shape[2:])
    ),
    "concat": lambda b, x: b.concat(x, b.exp(x), axis=1),
    "interpolate": lambda b, x: b.interpolate(x, size=(7, 9), method="linear"),
    "adaptive_avg_pool": lambda b, x: b.adaptive_avg_pool(x, size=(3, 2)),
    "avg_pool": lambda b, x: b.avg_pool(
        x, kernel=(2, 3), strides=(2, 1), padding=SIDE, ceil_mode=True, count_include_pad=False
    ),
    "max_pool": lambda b, x: b.max_pool(x, kernel=(2, 2), strides=(2, 2), padding=SIDE, dilation=(2, 1)),
    "other layouts": lambda b, x: b.permute_dims(x, axes=(1, 0, 3, 2)),
    "what has no row": lambda b, x: b.sort(x, axis=1),
}


@pytest.mark.parametrize("name", CASES)
def test_rows(name: str) -> None:
    graph = graph_of(lambda b, x: CASES[name](b, convolved(b, x)), (2, 4, 5, 6))
    assert_same(graph, (image(2, 4, 5, 6),), (image(3, 4, 7, 8),))


OF_INTEGERS, OF_BOOLS = ("bitwise_", "gcd", "lcm"), ("logical_",)
NEEDED = {
    "threshold": {"threshold": 0.5, "value": 0.0},
    "polygamma": {"n": 1},
    "orthogonal_polynomial": {"kind": "hermite_h"},
}


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_rows_of_one_element_at_a_time(name: str) -> None:
    count = 1 + (name in BINARY)
    dtype = "int32" if name.startswith(OF_INTEGERS) else "bool" if name.startswith(OF_BOOLS) else "float32"

    def write_it(b: Builder, *arrays: Value) -> Any:
        operands = [
            b.astype(b.multiply(convolved(b, x), 9.0 if dtype == "int32" else 1.0), dtype=dtype)
            for x in arrays
        ]
        return getattr(b, name)(*operands, **NEEDED.get(name, {}))

    moved = assert_same(
        graph_of(write_it, *[(2, 3, 4, 5)] * count),
        tuple(image(2, 3, 4, 5, seed=place) for place in range(count)),
    )
    outputs = len(moved.outputs)
    assert permutations(moved) == count + outputs


SHAPES = (
    (3, 1, 1),
    (1, 3, 1, 1),
    (5, 6),
    (3, 5, 6),
    (2, 3, 5, 6),
    (2, 1, 5, 6),
    (1, 3, 1, 6),
    (6,),
    (1,),
    (),
    (2, 3, 1, 1),
    (5, 1),
)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("wanted", [False, True])
def test_operands_are_broadcast_as_before(shape: tuple[int, ...], wanted: bool) -> None:
    def write_it(b: Builder, x: Value, other: Value) -> Any:
        total = b.add(
            b.multiply(convolved(b, x), other), b.full(shape=(3, 1, 1), fill_value=2.0, dtype="float32")
        )
        return convolved(b, total) if wanted else total

    assert_same(graph_of(write_it, (2, 3, 5, 6), shape), (image(2, 3, 5, 6), image(*shape, seed=1)))


def test_vectors_over_channels_are_not_permuted() -> None:
    def write_it(b: Builder, x: Value, vector: Value) -> Any:
        return b.multiply(convolved(b, x), b.reshape(vector, shape=(1, vector.shape[0], 1, 1)))

    moved = assert_same(graph_of(write_it, (2, 3, 5, 6), (3,)), (image(2, 3, 5, 6), image(3, seed=1)))
    assert collections.Counter(node.op for node in moved.nodes) == {
        "permute_dims": 2,
        "max_pool": 1,
        "multiply": 1,
    }


# ---------------------------------------------------------------------------------------------- permutations
def test_the_permutations_of_the_user_cancel() -> None:
    def write_it(b: Builder, x: Value) -> Any:
        last = b.permute_dims(convolved(b, x), axes=to_last(4))
        return b.add(
            convolved(b, x), b.permute_dims(b.layer_norm(last, axis=(3,), epsilon=1e-5), axes=to_first(4))
        )

    moved = assert_same(graph_of(write_it, (2, 3, 5, 6)), (image(2, 3, 5, 6),))
    assert permutations(moved) == 2


def test_tokens_of_patches_are_not_permuted() -> None:
    def write_it(b: Builder, x: Value) -> Any:
        patches = b.reshape(convolved(b, x), shape=(x.shape[0], x.shape[1], x.shape[2] * x.shape[3]))
        tokens = b.gelu(b.permute_dims(patches, axes=(0, 2, 1)))
        back = b.reshape(b.permute_dims(tokens, axes=(0, 2, 1)), shape=x.shape)
        return convolved(b, b.cumulative_sum(back, axis=3))

    moved = assert_same(graph_of(write_it, (2, 3, 5, 6)), (image(2, 3, 5, 6),))
    assert permutations(moved) == 2


def test_graphs_without_such_operations_stay() -> None:
    graph = graph_of(lambda b, x: b.exp(b.permute_dims(x, axes=to_first(4))), (2, 3, 5, 6))
    assert layout(graph, PREFERS) == (graph, False)


def test_pointwise_convolutions_are_products() -> None:
    options = {"padding": ((0, 0), (0, 0)), "dilation": (1, 1), "groups": 1}

    def write_it(b: Builder, x: Value) -> Any:
        weight = b.full(shape=(5, 3, 1, 1), fill_value=0.5, dtype="float32")
        vector = b.arange(stop=5, dtype="float32")
        return b.conv(x, weight, vector, strides=(2, 1), **options)

    graph = graph_of(write_it, (2, 3, 5, 6))
    found, changed = conv1x1_to_linear(in_last(graph))
    assert changed
    assert [node.op for node in verify(found).nodes if node.op in ("conv", "linear")] == ["linear"]
    np.testing.assert_allclose(run(found, image(2, 3, 5, 6))[0], run(graph, image(2, 3, 5, 6))[0], rtol=1e-5)
    assert conv1x1_to_linear(graph) == (graph, False)


@pytest.mark.parametrize(("size", "operation"), [(3, "conv_channels_last"), (1, "matmul")])
def test_weights_that_were_permuted_are_taken_as_they_are(size: int, operation: str) -> None:
    def write_it(b: Builder, x: Value) -> Any:
        bias, kernel = b.arange(stop=4, dtype="float32"), b.arange(stop=size * size * 12, dtype="float32")
        weight = b.permute_dims(b.reshape(kernel, shape=(size, size, 3, 4)), axes=(3, 2, 0, 1))
        return b.conv(
            x,
            weight,
            bias,
            strides=(2, 1),
            padding=((0, 0), (0, 0)),
            dilation=(1, 1),
            groups=1,
            layout="channels_last",
        )

    graph = graph_of(write_it, (2, 5, 6, 3))
    found, changed = kernel_layout(graph)
    assert changed
    found = verify(dce(conv1x1_to_linear(found)[0])[0])
    assert permutations(found) == 0 and operation in {node.op for node in found.nodes}
    np.testing.assert_allclose(
        run(decompose(found, numpy_backend.rows)[0], image(2, 5, 6, 3))[0],
        run(graph, image(2, 5, 6, 3))[0],
        rtol=1e-5,
    )
    assert kernel_layout(found) == (found, False)


def of_keras() -> Any:
    layers = pytest.importorskip("keras").layers
    separated = [
        layers.DepthwiseConv2D(3, padding="same"),
        layers.SeparableConv2D(4, 2),
        layers.DepthwiseConv2D(2, depth_multiplier=2),
    ]
    pooled = [layers.BatchNormalization(), layers.MaxPooling2D(2), layers.Conv2D(6, 1, activation="relu")]
    return pytest.importorskip("keras").Sequential(
        [layers.Conv2D(4, 3, strides=2, padding="same"), *separated, *pooled]
    )


def of_flax() -> Any:
    nnx = pytest.importorskip("flax.nnx")
    rngs = nnx.Rngs(0)
    separated = [
        nnx.Conv(4, 8, (3, 3), feature_group_count=4, rngs=rngs),
        nnx.relu,
        nnx.Conv(8, 6, (1, 1), rngs=rngs),
    ]
    return nnx.Sequential(nnx.Conv(3, 4, (3, 3), strides=2, rngs=rngs), *separated)


@pytest.mark.parametrize(("made", "to"), [(of_keras, "jax"), (of_flax, "tensorflow")])
def test_layers_with_the_channels_last_are_written_without_permutations(made: Any, to: str) -> None:
    model = made()
    expected = np.asarray(model(image(5, 12, 14, 3)))
    graph = graph_compiler.compile(model, to=to, args=(image(2, 12, 14, 3),))
    program = graph.source[graph.source.rindex("def ") :]
    assert not any(word in program for word in ("transpose", "permute", "moveaxis", ".T"))
    np.testing.assert_allclose(np.asarray(graph(image(5, 12, 14, 3))), expected, rtol=1e-4, atol=1e-5)


# -------------------------------------------------------------------------------------------- random networks
def _conv(draw: Any, b: Builder, x: Any) -> Any:
    groups = draw(st.sampled_from([1, 1, 2, 4]))
    kernel, stride, dilation = (
        draw(st.sampled_from([1, 3])),
        draw(st.sampled_from([1, 1, 2])),
        draw(st.sampled_from([1, 1, 2])),
    )
    weight = b.multiply(b.ones(shape=(4, 4 // groups, kernel, kernel), dtype="float32"), 0.3)
    weight = b.add(weight, b.reshape(b.arange(stop=4, dtype="float32"), shape=(4, 1, 1, 1)))
    reach = dilation * (kernel - 1)
    return b.conv(
        x, weight, strides=(stride,) * 2, padding=((reach, 1),) * 2, dilation=(dilation,) * 2, groups=groups
    )


def _channel_vector(draw: Any, b: Builder, x: Any) -> Any:
    vector = b.arange(start=1, stop=5, dtype="float32")
    shape = draw(st.sampled_from([(4, 1, 1), (1, 4, 1, 1)]))
    return getattr(b, draw(st.sampled_from(["add", "multiply", "divide"])))(x, b.reshape(vector, shape=shape))


def _normalised(draw: Any, b: Builder, x: Any) -> Any:
    if draw(st.booleans()):
        return b.group_norm(x, groups=2, epsilon=0.1)
    ones, ramp = b.ones(shape=(4,), dtype="float32"), b.arange(start=1, stop=5, dtype="float32")
    return b.batch_norm(x, ones, ramp, ramp, ones, epsilon=1e-3)


def _in_last(draw: Any, b: Builder, x: Any) -> Any:
    last = b.permute_dims(x, axes=to_last(4))
    changed = (
        b.softmax(last, axis=3)
        if draw(st.booleans())
        else b.multiply(last, b.arange(stop=4, dtype="float32"))
    )
    return b.permute_dims(changed, axes=to_first(4))


def _tokens(draw: Any, b: Builder, x: Any) -> Any:
    flat = b.reshape(x, shape=(x.shape[0], x.shape[1], x.shape[2] * x.shape[3]))
    tokens = b.permute_dims(flat, axes=(0, 2, 1)) if draw(st.booleans()) else flat
    changed = b.tanh(tokens)
    changed = changed if tokens is flat else b.permute_dims(changed, axes=(0, 2, 1))
    return b.reshape(changed, shape=x.shape)


STEPS: tuple[Callable[[Any, Builder, Any], Any], ...] = (
    _conv,
    _channel_vector,
    _normalised,
    _in_last,
    _tokens,
    lambda draw, b, x: getattr(b, draw(st.sampled_from(["relu", "tanh", "sigmoid", "square"])))(x),
    lambda draw, b, x: b.multiply(x, b.sigmoid(b.mean(x, axis=(2, 3), keepdims=True))),
    lambda draw, b, x: b.subtract(x, b.mean(x, axis=draw(st.sampled_from([1, 2, (0, 3)])), keepdims=True)),
    lambda draw, b, x: b.concat(*b.split(x, sizes=(1, 3), axis=1)[::-1], axis=1),
    lambda draw, b, x: b.pad(
        x, padding=((0, 0), (0, 0), (1, 0), (0, 2)), mode=draw(st.sampled_from(["constant", "edge"]))
    ),
    lambda draw, b, x: b.max_pool(x, kernel=(2, 2), strides=(1, 1), padding=SIDE, dilation=(1, 1)),
    lambda draw, b, x: b.avg_pool(x, kernel=(3, 2), strides=(1, 1), padding=SIDE),
    lambda draw, b, x: b.interpolate(x, size=(6, 5), method="nearest"),
    lambda draw, b, x: b.flip(x, axis=draw(st.sampled_from([1, 2, 3]))),
    lambda draw, b, x: b.sort(x, axis=1),
)


def random_network(draw: Any, b: Builder, x: Value) -> list[Any]:
    """Return random operations on values of four channels; some join values, and up to three values are
    returned.
    """
    values: list[Any] = [x]
    for _ in range(draw(st.integers(2, 9))):
        chosen = draw(st.sampled_from(values[-3:]))
        made = draw(st.sampled_from(STEPS))(draw, b, chosen)
        values.append(made)
        if draw(st.booleans()) and made.shape == chosen.shape:
            values.append(b.add(made, chosen))
    outputs = [values[-1], *draw(st.lists(st.sampled_from(values[1:]), max_size=2))]
    return [b.mean(value, axis=(2, 3)) if draw(st.booleans()) else value for value in outputs]


@settings(max_examples=80, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.data())
def test_random_networks_give_the_same(data: st.DataObject) -> None:
    graph = graph_of(lambda b, x: random_network(data.draw, b, x), (2, 4, 6, 5))
    assert_same(graph, (image(2, 4, 6, 5),), (image(1, 4, 9, 8),))


# ---------------------------------------------------------------------------------------------- models
class Network(nn.Module):
    """A network with every kind of convolution that residual networks use, and with pooling, normalisation,
    gates and a head.
    """

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm, self.group = nn.BatchNorm2d(8), nn.GroupNorm(2, 8)
        self.wide, self.narrow = nn.Conv2d(8, 16, 1), nn.Conv2d(16, 8, 1)
        self.by_channel = nn.Conv2d(16, 16, 3, padding=1, groups=16)
        self.grouped = nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=2)
        self.up = nn.ConvTranspose2d(8, 8, 2, stride=2)
        self.last = nn.LayerNorm(8)
        self.scale = nn.Parameter(torch.full((8, 1, 1), 0.5))
        self.head = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = F.max_pool2d(F.relu(self.norm(self.stem(x))), 3, 2, 1)
        y = self.narrow(F.gelu(self.by_channel(self.wide(x))))
        x = x + self.scale * y * torch.sigmoid(y.mean((2, 3), keepdim=True))
        x = x + self.last(self.group(self.grouped(x)).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        x = F.avg_pool2d(F.pad(self.up(x), (0, 1, 1, 0)), 2)
        x = F.interpolate(torch.cat([x[:, :4], x[:, 4:] * 2], 1), scale_factor=2, mode="bilinear")
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1)), x


@pytest.fixture(scope="module")
def network() -> Network:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        made = Network().eval()
        made.norm.running_mean.uniform_(-1, 1)
        made.norm.running_var.uniform_(0.5, 2)
    return made


IMAGES = torch.linspace(-1, 1, 2 * 3 * 24 * 20).sin().reshape(2, 3, 24, 20)
OTHERS = torch.linspace(-1, 1, 3 * 3 * 18 * 26).cos().reshape(3, 3, 18, 26)


@pytest.mark.parametrize(
    ("kernel", "stride", "padding"),
    [((4, 4), (4, 4), 0), ((3, 2), (3, 2), 1), ((3, 3), (2, 2), (0, 2)), ((5, 1), (5, 1), (3, 0))],
)
def test_patches(kernel: tuple[int, int], stride: tuple[int, int], padding: int | tuple[int, int]) -> None:
    """The weight is larger than all windows together, as in a vision transformer: adjacent, overlapping, and
    truncated windows.
    """
    layer = nn.Conv2d(3, 200, kernel, stride, padding).requires_grad_(False)
    graph = graph_compiler.compile(
        lambda x: layer(x).flatten(2).transpose(1, 2), args=(IMAGES[:1],), to="jax"
    )
    for images in (IMAGES[:1], OTHERS[:2, :, :11, :13]):
        np.testing.assert_allclose(graph(images), layer(images).flatten(2).transpose(1, 2), atol=1e-5)


@pytest.mark.parametrize(("to", "expected"), [("jax", 2), ("tensorflow", 2), ("numpy", 2)])
def test_a_network_is_permuted_at_its_edges(network: Network, to: str, expected: int) -> None:
    """Only the image and the features are permuted for channels last; for channels first, only the user's two
    permutations remain.
    """
    pytest.importorskip(to)
    graph = graph_compiler.transpile(network, source="torch", to=to, args=(IMAGES,))
    assert permutations(graph.variants[0].graph) == expected
    for images in (IMAGES, OTHERS):
        found, wanted = graph(images), network(images)
        assert len(graph.variants) == 1
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(np.asarray(one), other.detach().numpy(), rtol=1e-3, atol=1e-4)
    assert {name: tuple(array.shape) for name, array in graph.parameters.items()} == {
        name: tuple(array.shape)
        for name, array in network.state_dict().items()
        if name != "norm.num_batches_tracked"
    }


def test_sizes_of_arrays_that_were_moved_are_read_where_they_are() -> None:
    """A broadcast batch of one has the sizes of a result that exists only with channels last."""
    pytest.importorskip("tensorflow")
    weight = torch.ones(1, 1, 3, 3) / 9

    def function(x: Any, y: Any) -> Any:
        first, second = torch.conv2d(x, weight), torch.conv2d(y, weight)
        difference, product, is_small = second - first, first * second, first < 0.5
        difference[is_small] = second[is_small]
        return (product * first / (difference + 2.0)).sum(dim=[1, 2, 3])

    graph = graph_compiler.compile(
        function, args=(torch.rand(1, 1, 5, 6), torch.rand(1, 1, 5, 6)), to="tensorflow"
    )
    x, y = torch.rand(1, 1, 6, 4), torch.rand(1, 1, 6, 4)
    np.testing.assert_allclose(graph(x, y), function(x, y), rtol=1e-5)


def test_gradients_are_those_of_the_source(network: Network) -> None:
    jax = pytest.importorskip("jax")
    graph = graph_compiler.transpile(network, source="torch", to="jax", args=(IMAGES,))

    def loss(parameters: Any, images: Any) -> Any:
        scores, features = graph.functional(parameters, images)
        return (scores**2).sum() + (features**2).mean()

    images = jax.numpy.asarray(OTHERS.numpy())
    found, of_images = jax.jit(jax.grad(loss, argnums=(0, 1)))(dict(graph.parameters), images)
    given = OTHERS.clone().requires_grad_()
    scores, features = network(given)
    wanted = torch.autograd.grad((scores**2).sum() + (features**2).mean(), [given, *network.parameters()])
    np.testing.assert_allclose(np.asarray(of_images), wanted[0], rtol=1e-2, atol=1e-4)
    for (name, _), gradient in zip(network.named_parameters(), wanted[1:], strict=True):
        np.testing.assert_allclose(
            np.asarray(found[name]),
            gradient,
            rtol=1e-2,
            atol=1e-3 * gradient.abs().max().item(),
            err_msg=name,
        )


@pytest.mark.parametrize(("to", "expected"), [("jax", 1), ("tensorflow", 1), ("numpy", 0)])
def test_a_residual_network_is_permuted_where_images_come_in(to: str, expected: int) -> None:
    pytest.importorskip(to)
    pytest.importorskip("transformers")
    case = small.BY_NAME["resnet"].load()
    graph = graph_compiler.transpile(case.model, source="torch", to=to, kwargs=case.inputs)
    assert permutations(graph.variants[0].graph) == expected


# ------------------------------------------------------------------ pooling and convolution of single targets
WINDOWS = {"kernel": (3, 2), "strides": (2, 1), "padding": ((1, 1), (1, 0))}


@pytest.mark.parametrize("layout", ["channels_first", "channels_last"])
@pytest.mark.parametrize("options", [{}, {"ceil_mode": True}, {"dilation": (2, 1)}], ids=str)
def test_pooling_in_tensorflow_keeps_what_is_no_number(layout: str, options: dict[str, Any]) -> None:
    """TensorFlow's kernels ignore NaN and return the lowest finite number for minus infinity."""
    tf = pytest.importorskip("tensorflow")
    prelude = importlib.import_module("graph_compiler.backends.tensorflow.prelude")
    x = torch.linspace(-3, 3, 2 * 4 * 7 * 6).sin().reshape(2, 4, 7, 6)
    x[0, 0, 1, 1], x[0, 1], x[1, 2, 3, 3], x[1, 3, :, 2] = torch.nan, -torch.inf, torch.inf, -torch.inf
    wanted = torch.max_pool2d(F.pad(x, (1, 0, 0, 0), value=-torch.inf), (3, 2), (2, 1), (1, 0), **options)
    given = tf.constant(x.numpy() if layout == "channels_first" else x.permute(0, 2, 3, 1).numpy())
    found = prelude.max_pool(given, **WINDOWS, **options, layout=layout).numpy()
    np.testing.assert_array_equal(
        found if layout == "channels_first" else found.transpose(0, 3, 1, 2), wanted.numpy()
    )


@pytest.mark.parametrize("lead", [(), (2,), (2, 3)], ids=str)
@pytest.mark.parametrize("target", ["numpy", "jax"])
def test_dilated_pooling_takes_any_leading_axes(target: str, lead: tuple[int, ...]) -> None:
    pytest.importorskip(target)
    backend = importlib.import_module(f"graph_compiler.backends.{target}")
    options = {"kernel": (3, 2), "strides": (2, 2), "padding": ((1, 1), (0, 0))}
    results = {}
    for order, shape in (("channels_first", (*lead, 4, 9, 8)), ("channels_last", (*lead, 9, 8, 4))):
        graph = graph_of(
            lambda b, x, order=order: b.max_pool(x, **options, dilation=(2, 1), ceil_mode=True, layout=order),
            shape,
        )
        x = image(*lead, 4, 9, 8)
        x = x if order == "channels_first" else np.moveaxis(x, -3, -1)
        (results[order],) = run(graph, backend.target.convert(x), backend=backend)
    np.testing.assert_array_equal(np.moveaxis(results["channels_last"], -1, -3), results["channels_first"])


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("batch", [0, 2])
@pytest.mark.parametrize("name", ["max_pool", "avg_pool"])
def test_gradients_of_pooling_in_tensorflow(name: str, batch: int, rank: int) -> None:
    """An empty batch is included, for which TensorFlow's own kernel aborts the process."""
    tf = pytest.importorskip("tensorflow")
    prelude = importlib.import_module("graph_compiler.backends.tensorflow.prelude")
    x = torch.linspace(-40, 40, batch * 3 * 7**rank).sin().reshape(batch, 3, *(7,) * rank).requires_grad_()
    wanted = torch.autograd.grad((getattr(F, f"{name}{rank}d")(x, 3, 2, 1) ** 2).sum(), x)[0] if batch else x
    given = tf.constant(x.detach().permute(to_last(rank + 2)).numpy())

    @tf.function
    def gradient(array: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(array)
            pooled = getattr(prelude, name)(
                array, (3,) * rank, (2,) * rank, ((1, 1),) * rank, layout="channels_last"
            )
            total = tf.reduce_sum(pooled**2)
        return tape.gradient(total, array)

    np.testing.assert_allclose(
        gradient(given).numpy().transpose(to_first(rank + 2)), wanted.detach(), rtol=1e-4, atol=1e-5
    )


SHAPES_OF_CONVOLUTIONS = (
    # A depthwise convolution.
    ((2, 6, 9, 8), (6, 1, 3, 2), 6, (2, 1), (1, 2)),
    # Two outputs for each channel.
    ((2, 6, 9, 8), (12, 1, 3, 3), 6, (1, 1), (1, 1)),
    # The weight is larger than all windows.
    ((1, 3, 5, 4), (40, 3, 3, 3), 1, (2, 2), (1, 1)),
    ((1, 3, 9), (40, 3, 3), 1, (2,), (2,)),
    ((3, 4, 4, 5, 4), (4, 1, 2, 2, 2), 4, (1, 1, 1), (1, 2, 1)),
)


@pytest.mark.parametrize("target", ["jax", "numpy", "tensorflow"])
@pytest.mark.parametrize(("shape", "kernel", "groups", "strides", "dilation"), SHAPES_OF_CONVOLUTIONS)
def test_convolutions_of_every_kind(
    shape: tuple[int, ...],
    kernel: tuple[int, ...],
    groups: int,
    strides: tuple[int, ...],
    dilation: tuple[int, ...],
    target: str,
) -> None:
    pytest.importorskip(target)
    generator = torch.Generator().manual_seed(0)
    x, weight, bias = (torch.randn(size, generator=generator) for size in (shape, kernel, kernel[:1]))
    rank = len(shape) - 2
    function = (F.conv1d, F.conv2d, F.conv3d)[rank - 1]
    graph = graph_compiler.transpile(
        lambda a, w, b: function(a, w, b, strides, 1, dilation, groups),
        source="torch",
        to=target,
        args=(x, weight, bias),
    )
    np.testing.assert_allclose(
        np.asarray(graph(x, weight, bias)),
        function(x, weight, bias, strides, 1, dilation, groups),
        rtol=1e-4,
        atol=1e-5,
    )
    empty = x[:0]
    assert graph(empty, weight, bias).shape == tuple(
        function(empty, weight, bias, strides, 1, dilation, groups).shape
    )


def test_gradients_of_convolutions_that_jax_writes_otherwise() -> None:
    jax = pytest.importorskip("jax")
    for shape, kernel, groups, strides, dilation in SHAPES_OF_CONVOLUTIONS[:3]:
        generator = torch.Generator().manual_seed(1)
        x, weight = (torch.randn(size, generator=generator, requires_grad=True) for size in (shape, kernel))

        def squares(a: Tensor, w: Tensor) -> Tensor:
            return (F.conv2d(a, w, None, strides, 1, dilation, groups) ** 2).sum()  # noqa: B023

        graph = graph_compiler.transpile(squares, source="torch", to="jax", args=(x, weight))
        found = jax.jit(jax.grad(lambda a, w: graph.functional({}, a, w), argnums=(0, 1)))(  # noqa: B023
            x.detach().numpy(), weight.detach().numpy()
        )
        for one, other in zip(found, torch.autograd.grad(squares(x, weight), (x, weight)), strict=True):
            np.testing.assert_allclose(np.asarray(one), other, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("groups", [1, 4])
def test_jax_exports_convolutions_with_a_symbolic_batch(groups: int) -> None:
    """JAX cannot compare a symbolic batch size with numbers."""
    jax = pytest.importorskip("jax")
    exporting = importlib.import_module("jax.export")
    layer = nn.Conv2d(4, 4, 3, groups=groups).requires_grad_(False)
    graph = graph_compiler.transpile(layer, source="torch", to="jax", args=(torch.ones(2, 4, 4, 3),))
    (batch,) = exporting.symbolic_shape("b")
    images = jax.ShapeDtypeStruct((batch, 4, 4, 3), jax.numpy.float32)
    exported = exporting.export(jax.jit(graph.functional))(dict(graph.parameters), images)
    given = torch.linspace(-1, 1, 3 * 4 * 12).reshape(3, 4, 4, 3)
    np.testing.assert_allclose(
        np.asarray(exported.call(dict(graph.parameters), given.numpy())), layer(given), rtol=1e-4, atol=1e-5
    )
