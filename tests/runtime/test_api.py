"""Tests of ``compile``, ``unify`` and the methods and attributes of graphs."""

from __future__ import annotations

import copy
import types
from typing import Any

import pytest

torch = pytest.importorskip("torch")
jnp = pytest.importorskip("jax.numpy")

import jax  # noqa: E402
import numpy as np  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.errors import (  # noqa: E402
    CallMismatch,
    GuardFailed,
    InvalidFile,
    NotCompilable,
    NotTraced,
    UnsupportedOperation,
)
from tests.support.compare import assert_same, to_numpy  # noqa: E402

TARGETS = ("torch", "jax", "numpy", "tensorflow")


class Small(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))

    def forward(self, x: Any) -> Any:
        return self.layers(x).relu()


def numbers(array: Any) -> Any:
    return to_numpy(array).tolist()


# ------------------------------------------------------------------------------------- static arguments
@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize(
    "options",
    [
        {"static_argnums": 1},
        {"static_argnames": "how"},
        {"static_argnums": [-1]},
        {"static_argnames": ["how"]},
    ],
)
def test_one_variant_a_static_value(to: str, options: dict[str, Any]) -> None:
    graph = graph_compiler.compile(lambda x, how: x * how[0] if how[1] else x, to=to, **options)
    assert numbers(graph(torch.ones(1), (2, True))) == [2]
    assert numbers(graph(torch.ones(1), how=(3, True))) == [3]
    assert numbers(graph(torch.ones(1), (2, 1))) == [2] and numbers(graph(torch.ones(1), (2, 0))) == [1]
    assert len(graph.variants) == 4
    assert numbers(graph(torch.ones(3), (2, True))) == [2] * 3
    assert len(graph.variants) == 4 and graph.verify().runs


def test_static_arguments_are_no_arrays_and_equal_objects_are_the_same() -> None:
    class Setting:
        def __init__(self, factor: int) -> None:
            self.factor = factor

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Setting) and other.factor == self.factor

        def __hash__(self) -> int:
            return hash(self.factor)

    weight = torch.ones(2)
    graph = graph_compiler.compile(
        lambda x, setting, weight: x * setting.factor + weight,
        static_argnums=(1, 2),
        args=(torch.ones(2), Setting(2), weight),
    )
    assert numbers(graph(torch.ones(2), Setting(2), weight)) == [3, 3]
    assert len(graph.variants) == 1 and len(graph.variants[0].graph.inputs) == 1
    assert numbers(graph(torch.ones(2), Setting(3), weight)) == [4, 4]


class Sums:
    @graph_compiler.compile(static_argnums=-2)
    def from_the_end(self, x: Any, *others: Any) -> Any:
        return sum(others, x)

    @graph_compiler.compile(static_argnums=2)
    def from_the_start(self, x: Any, *others: Any) -> Any:
        return sum(others, x)


@pytest.mark.parametrize(
    ("made", "places"),
    [
        (lambda: graph_compiler.compile(lambda x, *others: sum(others, x), static_argnums=-2), (0, 1, 2)),
        (lambda: graph_compiler.compile(lambda *others: sum(others), static_argnums=[-2]), (0, 1, 2)),
        (lambda: graph_compiler.compile(lambda x, *others: sum(others, x), static_argnums=1), (1, 1, 1)),
        (lambda: Sums().from_the_end, (0, 1, 2)),
        (lambda: Sums().from_the_start, (1, 1, 1)),
    ],
)
def test_static_positions_of_further_arguments(made: Any, places: tuple[int, ...]) -> None:
    graph = made()
    for count, place in zip((2, 3, 4), places):
        args = [torch.full((2,), float(number)) for number in range(count)]
        assert torch.equal(graph(*args), sum(args))
        args[place] = args[place] + 1
        assert torch.equal(graph(*args), sum(args))
        assert [len(variant.graph.inputs) for variant in graph.variants[-2:]] == [count - 1] * 2


class Scaled:
    def __init__(self, factor: int) -> None:
        self.factor = factor

    @graph_compiler.compile(static_argnums=(0, 2))
    def by_position(self, x: Any, power: int) -> Any:
        return x**power * self.factor

    @graph_compiler.compile(static_argnames="self")
    def by_name(self, x: Any, power: int) -> Any:
        return x**power * self.factor


@pytest.mark.parametrize("name", ["by_position", "by_name"])
def test_self_may_be_named_as_static(name: str) -> None:
    x = torch.full((2,), 3.0)
    for factor in (2, 5):
        scaled = Scaled(factor)
        for power in (1, 2):
            assert torch.equal(getattr(scaled, name)(x, power), x**power * factor)
        scaled.factor = 7
        assert torch.equal(getattr(scaled, name)(x, 2), x**2 * 7)


def test_static_arguments_that_cannot_be() -> None:
    with pytest.raises(CallMismatch, match="cannot be hashed"):
        graph_compiler.compile(lambda x, how: x, static_argnums=1)(torch.ones(1), [2])
    with pytest.raises(CallMismatch, match="no argument 'who'; it has x, how"):
        graph_compiler.compile(lambda x, how: x, static_argnames="who")


@pytest.mark.parametrize("options", [{"static_argnames": "how"}, {"static_argnums": 3}])
def test_static_arguments_of_a_function_without_parameters(options: dict[str, Any]) -> None:
    with pytest.raises(CallMismatch, match=r"the function has no argument ('how'|3); it has none"):
        graph_compiler.compile(lambda: torch.ones(2), **options)
    # A class without a signature may take anything.
    graph_compiler.compile(dict, **options, source="torch")


# ------------------------------------------------------------------------------------- baking
@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize(
    "draw",
    [lambda x: x + torch.rand(3), lambda x: torch.rand(x.shape), lambda x: torch.empty(3).normal_()],
    ids=["used", "returned", "written"],
)
def test_generators_are_baked(draw: Any, to: str) -> None:
    graph = graph_compiler.compile(draw, to=to, include_generators=False, args=(torch.zeros(3),))
    first = numbers(graph(torch.zeros(3)))
    assert numbers(graph(torch.zeros(3))) == first and len(set(first)) == 3


def test_a_baked_generator_holds_for_its_size() -> None:
    graph = graph_compiler.compile(
        lambda x: x + torch.rand(x.shape[0]), include_generators=False, args=(torch.zeros(3),)
    )
    assert graph(torch.zeros(5)).shape == (5,) and len(graph.variants) == 2


@pytest.mark.parametrize("to", TARGETS)
def test_frozen_weights_are_constants(to: str) -> None:
    module = Small().eval()
    x = torch.randn(2, 3)
    graph, expected = graph_compiler.compile(module, to=to, freeze=True, args=(x,)), module(x)
    with torch.no_grad():
        module.layers[0].weight.zero_()
    assert not graph.parameters and graph.variants[0].constants
    torch.testing.assert_close(torch.tensor(numbers(graph(x))), expected)


def test_freezing_folds() -> None:
    weight = torch.nn.Linear(2, 2)
    frozen = graph_compiler.compile(
        lambda x: x @ (weight.weight.T * 2).exp(), freeze=True, args=(torch.ones(1, 2),)
    )
    assert sum(frozen.program.count_operations().values()) == 1


# ---------------------------------------------------------------------------------- a graph as something else
# tests/backends/tensorflow/test_target.py tests TensorFlow.
@pytest.mark.parametrize("to", ["torch", "jax", "numpy"])
def test_a_trainable_module(to: str) -> None:
    source = Small()
    graph = graph_compiler.transpile(source, to=to, args=(torch.randn(4, 3),))
    module = graph.as_module()
    x = torch.randn(4, 3)
    if to == "torch":
        assert dict(module.state_dict()).keys() == source.state_dict().keys()
        module(x).sum().backward()
        torch.optim.SGD(module.parameters(), 0.1).step()
        assert torch.equal(module.eval()(x), source(x))
        return
    if to == "numpy":
        assert sorted(module) == sorted(graph.parameters)
        before = int(module["layers.1.num_batches_tracked"])
        # The module shares the memory of ``source``.
        twin = copy.deepcopy(source)
        torch.testing.assert_close(torch.tensor(numbers(module(x))), twin(x))
        assert int(module["layers.1.num_batches_tracked"]) == before + 1
        assert_same(module["layers.1.running_mean"], twin.layers[1].running_mean)
        module.load_state_dict({"layers.0.weight": np.zeros_like(module["layers.0.weight"])})
        assert not module["layers.0.weight"].any() and bool(source.layers[0].weight.any())
        with pytest.raises(ValueError, match="not of shape"):
            module["layers.0.weight"] = np.zeros(2)
        return
    nnx = pytest.importorskip("flax.nnx")
    assert sorted(
        ".".join(map(str, path)) for path in nnx.to_flat_state(nnx.state(module, nnx.Param)).paths
    ) == sorted(dict(source.named_parameters()))
    before = int(module.layers.__dict__["1"].num_batches_tracked[...])
    gradient = nnx.grad(lambda module: (module(jnp.asarray(x.numpy())) ** 2).sum())(module)
    assert any(float(abs(leaf).sum()) > 0 for leaf in jax.tree.leaves(gradient))
    assert int(module.layers.__dict__["1"].num_batches_tracked[...]) == before + 1


@pytest.mark.parametrize(("function", "x"), [(torch.sin, torch.ones(2)), (jnp.sin, jnp.ones(2))])
def test_a_function_without_modules_has_no_training_mode(function: Any, x: Any) -> None:
    graph = graph_compiler.compile(function, args=(x,))
    for ask in (graph.train, graph.eval):
        with pytest.raises(NotTraced, match="there are no modules of an original whose mode could change"):
            ask()


def test_modes_of_modules_that_functions_refer_to_and_of_modules_of_functions() -> None:
    drop = torch.nn.Dropout(0.5)
    graph = graph_compiler.compile(lambda x: drop(x), args=(torch.ones(64),))  # noqa: PLW0108
    assert torch.equal(graph.eval()(torch.ones(64)), torch.ones(64)) and not drop.training
    module = graph_compiler.compile(torch.sin, args=(torch.ones(2),)).as_module()
    assert not module.eval().training and module.train().training
    assert_same(module(torch.ones(3)), torch.ones(3).sin())


def test_modes_of_modules_that_only_some_calls_pass() -> None:
    graph = graph_compiler.compile(
        lambda x, layer=None: x + 1 if layer is None else layer(x), args=(torch.ones(64),)
    )
    drop = torch.nn.Dropout(0.5)
    graph(torch.ones(64), drop)
    assert not graph.eval()(torch.ones(64), drop).eq(0).any() and not drop.training
    assert graph.train() is graph and drop.training


def test_to_another_framework_records_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_compiler.compile(lambda x: x.sum() + x.shape[0], args=(torch.ones(2),))
    monkeypatch.delattr("graph_compiler.frontends.torch.record")
    there = graph.to("jax")
    assert (
        float(there(jnp.ones(5)))
        == 10
        == float(graph(torch.ones(5)))
        == float(there.to("torch")(torch.ones(5)))
    )


def test_modes() -> None:
    module = Small().train()
    graph = graph_compiler.compile(module, args=(torch.randn(4, 3),))
    assert set(graph.state) == {
        "layers.1.running_mean",
        "layers.1.running_var",
        "layers.1.num_batches_tracked",
    }
    graph.eval()
    graph(torch.randn(4, 3))
    assert not module.training and len(graph.variants) == 2
    graph.train()(torch.randn(4, 3))
    assert module.training and len(graph.variants) == 2


def test_what_is_missing_is_listed() -> None:
    graph = graph_compiler.compile(lambda x: torch.linalg.ldl_factor(x)[0] + x.sum(), args=(torch.eye(3),))
    (problem,) = graph.list_missing("jax")
    assert problem.startswith("torch.linalg.ldl_factor: no row") and "test_api.py:" in problem
    with pytest.raises(UnsupportedOperation):
        graph.to("jax")


@pytest.mark.parametrize(
    ("name", "lack"),
    [
        ("program", "has no program"),
        ("source", "has no source"),
        ("parameters", "has no parameters"),
        ("functional", "cannot be called with weights"),
        ("verify", "cannot be verified"),
        ("save", "cannot be saved"),
        ("to", "cannot be written for another framework"),
        ("list_missing", "has no operations to list"),
        ("state", "has no state"),
        ("as_module", "cannot be made a module"),
        ("train", "has no training mode to set"),
        ("eval", "has no training mode to set"),
        ("show", "cannot be shown"),
        ("summary", "has no summary"),
        ("seed", "has no random numbers to seed"),
    ],
)
def test_a_lazy_graph_says_so(name: str, lack: str) -> None:
    how = "pass args= to transpile or compile, or call it once"
    with pytest.raises(NotTraced, match=f"^function has not been recorded yet, so it {lack}; {how}$"):
        getattr(graph_compiler.compile(lambda x: x), name)


def test_a_lazy_graph_whose_call_was_refused_says_why() -> None:
    graph = graph_compiler.transpile(lambda x: torch.linalg.ldl_factor(x)[0], to="jax")
    assert graph.explain() == "function: 0 variants"
    with pytest.raises(UnsupportedOperation):
        graph(torch.eye(3))
    with pytest.raises(NotTraced, match="its last call was refused"):
        graph.verify()
    assert (
        "refused: first call: UnsupportedOperation: " in graph.explain()
        and "torch.linalg.ldl_factor at" in graph.explain()
    )


def test_functional_says_what_comes_first() -> None:
    graph = graph_compiler.compile(torch.nn.Linear(3, 2), args=(torch.ones(1, 3),))
    with pytest.raises(CallMismatch, match=r"functional\(graph.parameters"):
        graph.functional(torch.ones(1, 3))


@pytest.mark.parametrize("to", ["torch", "jax", "numpy", "tensorflow"])
def test_functional_takes_weights_of_the_shapes_that_were_recorded(to: str) -> None:
    """Other shapes might be broadcast to a wrong result."""
    graph = graph_compiler.compile(torch.nn.LayerNorm(3), to=to, args=(torch.ones(2, 3),))
    narrow = {name: array[:1] for name, array in graph.parameters.items()}
    with pytest.raises(GuardFailed, match=r"the weight 'weight' has the shape \(1,\) and had \(3,\)"):
        graph.functional(narrow, torch.ones(4, 3))


# ---------------------------------------------------------------------------------- several, classes, modules
def test_a_class() -> None:
    class Scaled:
        def __init__(self, factor: int) -> None:
            self.factor, self.count = factor, 0

        def scale(self, x: Any) -> Any:
            return x * self.factor

        def twice(self, x: Any) -> Any:
            return self.scale(self.scale(x))

        def counted(self, x: Any) -> Any:
            self.count += 1
            return x * self.count

    compiled = graph_compiler.compile(Scaled)
    one, other = compiled(2), compiled(3)
    assert isinstance(one, Scaled) and isinstance(Scaled.__dict__["scale"], types.FunctionType)
    assert numbers(one.twice(torch.ones(1))) == [4] and numbers(other.twice(torch.ones(1))) == [9]
    one.factor = 5
    assert numbers(one.twice(torch.ones(1))) == [25] and len(one.twice.variants) == 2
    assert [numbers(one.counted(torch.ones(1))) for _ in range(3)] == [[1], [2], [3]] and one.count == 3
    with pytest.raises(NotCompilable, match="pass no args"):
        graph_compiler.compile(Scaled, args=())


@pytest.mark.parametrize("to", TARGETS)
def test_methods_of_a_class_share_the_state_of_its_objects(to: str) -> None:
    class Steps:
        def __init__(self) -> None:
            self.count, self.total = 0, torch.zeros(2)

        def step(self, x: Any) -> Any:
            self.count += 1
            self.total = self.total + x
            return self.total * self.count

        def read(self, x: Any) -> Any:
            return x * self.count + self.total

    one, original = graph_compiler.compile(Steps, to=to)(), Steps()
    for scale in (1.0, 2.0):
        assert numbers(one.step(torch.ones(2) * scale)) == numbers(original.step(torch.ones(2) * scale))
        assert numbers(one.read(torch.ones(2))) == numbers(original.read(torch.ones(2)))
    assert one.count == 2 and len(one.step.variants) == 1
    with pytest.raises(AttributeError):
        one.missing()


def test_what_only_torch_can_do_is_not_written_for_others(tmp_path: Any) -> None:
    layer = torch.nn.Linear(3, 2)
    weight = layer.weight.data

    def function(x: Any) -> Any:
        weight.add_(1)
        return layer(x)

    graph = graph_compiler.compile(function, args=(torch.ones(1, 3),))
    assert "memory that two of its arrays share" in graph.list_missing("jax")[0]
    with pytest.raises(UnsupportedOperation, match="memory that two of its arrays share"):
        graph.to("jax")
    with pytest.raises(InvalidFile, match="a file has no place for its state"):
        graph.save(tmp_path / "graph.zip")


def test_a_class_of_modules() -> None:
    compiled = graph_compiler.transpile(Small, to="jax")
    module = compiled().eval()
    x = torch.randn(2, 3)
    torch.testing.assert_close(torch.tensor(numbers(module(x))), Small.forward(module, x))


@pytest.mark.parametrize("to", TARGETS)
def test_a_python_module(to: str) -> None:
    einops = pytest.importorskip("einops")
    original = dict(vars(einops))
    compiled = graph_compiler.compile(einops, to=to)
    x = torch.arange(24.0).reshape(2, 3, 4)
    for call in (
        lambda e: e.rearrange(x, "a b c -> (a c) b"),
        lambda e: e.reduce(x, "a b c -> b", "sum"),
        lambda e: e.repeat(x, "a b c -> a b c d", d=2),
    ):
        assert numbers(call(compiled)) == numbers(call(einops))
    assert compiled.einops.rearrange is not einops.einops.rearrange and len(compiled.rearrange.variants) == 1
    assert {name: vars(einops)[name] for name in original} == original


@pytest.mark.parametrize("to", TARGETS)
def test_layers_of_a_python_module(to: str) -> None:
    """Classes are compiled like functions; members that cannot be called, that run after their call has
    returned, or that are imported from elsewhere stay unchanged.
    """
    module = types.ModuleType("layers")
    exec(
        """
import collections, enum, torch
class Scale(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = torch.nn.Parameter(torch.full((2,), factor))
    def forward(self, x):
        return x * self.factor
class Twice(Scale):
    def forward(self, x):
        return super().forward(super().forward(x))
class Add:
    def __call__(self, x):
        return x + 1
class Kind(enum.Enum):
    ONE = 1
class Halved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x / 2
    @staticmethod
    def backward(ctx, gradient):
        return gradient / 2
def scaled(x, kind=Kind.ONE):
    return Halved.apply(Scale(3.0)(x))
def parts(x):
    yield x
async def later(x):
    return x
async def streamed(x):
    yield x
Linear, Again = torch.nn.Linear, Twice
""",
        vars(module),
    )
    compiled, x = graph_compiler.compile(module, to=to), torch.ones(3, 2)
    twice = compiled.Twice(3.0)
    for result, expected in (
        (twice(x), 9),
        (compiled.Scale(4.0)(x), 4),
        (compiled.Add()(x), 2),
        (compiled.scaled(x), 1.5),
    ):
        assert type(result).__module__.partition(".")[0] == {"jax": "jaxlib"}.get(to, to)
        assert numbers(result) == [[expected] * 2] * 3
    assert (
        isinstance(twice, module.Twice)
        and compiled.Again is compiled.Twice
        and type(module.Twice(3.0)(x)) is torch.Tensor
    )
    kept = ("Kind", "Halved", "Linear", "parts", "later", "streamed")
    assert all(getattr(compiled, name) is getattr(module, name) for name in kept)


def test_a_class_of_the_framework() -> None:
    """Of all its methods only the call is compiled."""
    layer = graph_compiler.transpile(torch.nn.Linear, to="jax")(3, 2)
    x = torch.randn(4, 3)
    assert isinstance(layer(x), jax.Array) and layer.state_dict().keys() == {"weight", "bias"}
    torch.testing.assert_close(
        torch.tensor(numbers(layer(x))), torch.nn.functional.linear(x, layer.weight, layer.bias)
    )


def test_unify() -> None:
    unified = graph_compiler.unify(lambda x: torch.softmax(x, -1) + x.shape[0])
    results = [unified(torch.zeros(2, 2)), unified(jnp.zeros((2, 2))), unified(torch.zeros(3, 2))]
    assert [type(result).__module__.partition(".")[0] for result in results] == ["torch", "jaxlib", "torch"]
    assert [numbers(result)[0][0] for result in results] == [2.5, 2.5, 3.5]
    assert type(unified(np.zeros((2, 2), np.float32))) is np.ndarray and len(unified.graphs) == 3
    mixed = graph_compiler.unify(lambda x, y: x + y, source="torch")
    assert numbers(mixed(np.ones(1), torch.ones(1))) == [2] == numbers(
        mixed(torch.ones(1), np.float64(1))
    ) and list(mixed.graphs) == ["torch"]
    with pytest.raises(GuardFailed, match="jax and torch"):
        graph_compiler.unify(lambda x, y: x + y, source="torch")(torch.ones(1), jnp.ones(1))
