"""Tests of torch as a target of canonical graphs: from files, with keys, gradients, state, and arrays of
other frameworks.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.backends.torch import target  # noqa: E402
from graph_compiler.backends.torch.transforms import ComposingMode  # noqa: E402
from graph_compiler.errors import CallMismatch, GuardFailed, UnsupportedOperation  # noqa: E402
from graph_compiler.runtime.frameworks import backend_of  # noqa: E402
from tests.corpora.models import small  # noqa: E402
from tests.runtime.test_save_load import PROGRAMS, saved  # noqa: E402
from tests.support.canonical import through_canonical  # noqa: E402
from tests.support.compare import arrays, assert_no_further, assert_same  # noqa: E402
from tests.support.logs import logged  # noqa: E402
from tests.support.one_call import lowered  # noqa: E402

MODELS = tuple(small.BY_NAME)
TRAINED = ("bert", "llama", "vit", "resnet")


# ---------------------------------------------------------------------------------------------- from files
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_graph_written_for_jax_is_loaded_for_torch(name: str, tmp_path: Path) -> None:
    function, args, others = PROGRAMS[name]
    graph = graph_compiler.transpile(function, source="torch", to="jax", args=args)
    loaded = graph_compiler.load(saved(graph, tmp_path / "graph.zip"))
    for again in (graph_compiler.load(tmp_path / "graph.zip", to="torch"), loaded.to("torch")):
        for given in (args, others):
            assert_same(again(*given), function(*given))


def test_a_canonical_graph_of_torch_is_saved_and_loaded(tmp_path: Path) -> None:
    function, args, others = PROGRAMS["module"]
    path = saved(through_canonical(function, "torch", args), tmp_path / "graph")
    for to in ("torch", "jax"):
        assert_same(graph_compiler.load(path, to=to)(*others), function(*others))


def test_wide_types_that_jax_narrowed_are_wide_again(tmp_path: Path) -> None:
    table = torch.arange(5)

    def look_up(x: Any) -> Any:
        return x[table.flip(0)], table * 2

    path = saved(
        graph_compiler.transpile(look_up, to="jax", args=(torch.arange(5.0),)), tmp_path / "graph.zip"
    )
    x = torch.randn(5, 3, dtype=torch.float32)[:, 0]
    assert_same(graph_compiler.load(path, to="torch")(x), look_up(x))


# ---------------------------------------------------------------------------------------------- models
@pytest.mark.parametrize("name", MODELS)
def test_models_at_two_shapes(name: str) -> None:
    pytest.importorskip(small.BY_NAME[name].requires)
    case = small.BY_NAME[name].load()
    graph = through_canonical(case.model, "torch", kwargs={**case.inputs, **case.options})
    with torch.no_grad():
        for inputs in (case.inputs, case.other_inputs):
            assert_same(graph(**inputs, **case.options), case.model(**inputs, **case.options))
    assert len(graph.variants) == 1 or small.BY_NAME[name].retraces


def gradients(
    function: Any, weights: dict[str, Any], inputs: dict[str, Any], options: dict[str, Any]
) -> dict[str, Any]:
    """Return the gradient of each weight of a weighted sum over all float outputs."""
    outputs = [array for array in arrays(function(**inputs, **options)).values() if array.is_floating_point()]
    loss = sum(
        (array * torch.linspace(-1, 1, array.numel(), dtype=array.dtype).reshape(array.shape)).sum()
        for array in outputs
    )
    found = torch.autograd.grad(loss, list(weights.values()), allow_unused=True, materialize_grads=True)
    return dict(zip(weights, found, strict=True))


@pytest.mark.parametrize("name", TRAINED)
def test_gradients(name: str) -> None:
    """The weights are shared with the model, so both gradients are of the same tensors."""
    case = small.BY_NAME[name].load()
    graph = through_canonical(case.model, "torch", kwargs={**case.inputs, **case.options})
    weights = dict(case.model.named_parameters())
    exact = copy.deepcopy(case.model).double()
    doubled = {
        key: value.double() if value.is_floating_point() else value
        for key, value in case.other_inputs.items()
    }
    expected = gradients(case.model, weights, case.other_inputs, case.options)
    reference = gradients(exact, dict(exact.named_parameters()), doubled, case.options)
    assert_no_further(
        gradients(graph, weights, case.other_inputs, case.options), expected, reference, factor=4
    )


# ------------------------------------------------------------------------------------------ state and modules
def normalised() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Tanh())


def test_gradients_flow_through_the_statistics_of_a_batch() -> None:
    model, x = normalised(), torch.randn(6, 3, requires_grad=True)
    graph = through_canonical(copy.deepcopy(model), "torch", (torch.randn(5, 3),))
    ours, theirs = (
        torch.autograd.grad((function(x) * torch.arange(24.0).reshape(6, 4)).sum(), x)
        for function in (graph, model)
    )
    assert_same(ours, theirs)


def test_a_module_keeps_the_state_that_calls_change() -> None:
    model = normalised()
    module = through_canonical(copy.deepcopy(model), "torch", (torch.randn(5, 3),)).as_module()
    for _ in range(3):
        x = torch.randn(7, 3)
        assert_same(module(x), model(x))
    assert_same(dict(sorted(module.state_dict().items())), dict(sorted(model.state_dict().items())))
    assert {name for name, _ in module.named_parameters()} == {name for name, _ in model.named_parameters()}


def test_state_that_was_read_into_a_module_counts() -> None:
    model, other = normalised(), normalised()
    other(torch.randn(9, 3) + 4)
    module = through_canonical(copy.deepcopy(model), "torch", (torch.randn(5, 3),)).as_module()
    module.load_state_dict(other.state_dict())
    x = torch.randn(7, 3)
    assert_same(module(x), other(x))
    assert_same(dict(sorted(module.state_dict().items())), dict(sorted(other.state_dict().items())))


def test_a_module_in_another_precision() -> None:
    model = normalised()
    module = graph_compiler.compile(copy.deepcopy(model), args=(torch.randn(5, 3),)).as_module().double()
    model.double()
    for _ in range(2):
        x = torch.randn(7, 3, dtype=torch.float64)
        assert_same(module(x), model(x))
    assert_same(dict(sorted(module.state_dict().items())), dict(sorted(model.state_dict().items())))


# --------------------------------------------------------------------------------------------- random numbers
def noisy(x: Any) -> Any:
    return F.dropout(x, 0.5) + torch.rand_like(x)


def test_the_default_generator_decides() -> None:
    graph, x = through_canonical(noisy, "torch", (torch.ones(4),)), torch.ones(6)
    draws = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        draws.append(graph(x))
    assert_same(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])


def test_a_generator_is_a_key() -> None:
    graph, x = through_canonical(noisy, "torch", (torch.ones(4),)), torch.ones(6)
    draws = [graph.functional({}, x, rng=torch.Generator().manual_seed(seed)) for seed in (0, 0, 1)]
    assert_same(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])
    with pytest.raises(CallMismatch, match="rng"):
        graph.functional({}, x)


# --------------------------------------------------------------------------------- arrays of other frameworks
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "uint8", "bool", "complex64"])
def test_jax_and_numpy_arrays_are_taken(dtype: str) -> None:
    tensor = torch.tensor([0, 1, 2]).to(getattr(torch, dtype))
    array = jnp.array([0, 1, 2]).astype(dtype)
    for given in (
        array,
        np.asarray(array),
        np.asarray(array)[::-1][::-1],
        np.asarray(array)[::-1].copy()[::-1],
    ):
        assert_same(target.convert(given), tensor)


@pytest.mark.parametrize("to", ["numpy", "jax", "torch", "tensorflow"])
def test_classes_of_arrays_are_no_arrays(to: str) -> None:
    pytest.importorskip(to)
    target = backend_of(to).target
    for cls in (np.float32, np.ndarray, torch.Tensor, torch.nn.Parameter, type(jnp.ones(1))):
        assert target.convert(cls) is None and target.adopt(cls) is None


def test_other_byte_orders_are_taken() -> None:
    assert_same(target.convert(np.array([1, 2], ">f4")), torch.tensor([1.0, 2.0]))


def test_an_array_that_cannot_be_written_to_is_refused() -> None:
    graph = through_canonical(lambda x: x.add_(1), "torch", (torch.ones(2),))
    with pytest.raises(GuardFailed, match="cannot be written to"):
        graph(jnp.ones(2))


def test_memory_is_shared_where_it_can_be() -> None:
    array = np.zeros(3, np.float32)
    target.convert(array)[0] = 1
    assert array[0] == 1
    fixed = np.zeros(3, np.float32)
    fixed.flags.writeable = False
    target.convert(fixed)[0] = 1
    assert fixed[0] == 0


def test_an_empty_array_of_jax_is_taken() -> None:
    assert_same(target.convert(jnp.zeros((0, 3))), torch.zeros(0, 3))


# ------------------------------------------------------------------- rows for what no torch call is lifted to
X, Y = torch.linspace(-2, 3, 24).reshape(2, 3, 4), torch.linspace(1, 2, 3)
ROWS: dict[str, tuple[Any, tuple[Any, ...], Any]] = {
    "padding of one side": (
        lambda b, x, w: b.conv(x, w, strides=(2,), padding=((0, 2),), dilation=(1,)),
        (X, X[:, :, :2]),
        F.conv1d(F.pad(X, (0, 2)), X[:, :, :2], stride=2),
    ),
    "channels last": (
        lambda b, x, w: b.conv(x, w, strides=(1,), padding=((1, 1),), dilation=(1,), layout="channels_last"),
        (X.mT, X[:, :, :2]),
        F.conv1d(X, X[:, :, :2], padding=1).mT,
    ),
    "transposed, padding of one side": (
        lambda b, x, w, bias: b.conv_transpose(
            x, w, bias, strides=(2,), padding=((1, 0),), output_padding=(1,), dilation=(1,), layout="channels_first"
        ),
        (X, X[0, :, None, :3], Y[:1]),
        F.conv_transpose1d(X, X[0, :, None, :3], Y[:1], stride=2, output_padding=1)[..., 1:],
    ),
    "columns over one axis": (
        lambda b, x: b.im2col(x, kernel=(2,), strides=(1,), padding=((1, 0),), dilation=(2,)),
        (X,),
        F.unfold(F.pad(X, (1, 0))[:, :, None], (1, 2), dilation=(1, 2)),
    ),
    "back from columns over one axis": (
        lambda b, x: b.col2im(x, size=(4,), kernel=(2,), strides=(1,), padding=((1, 0),), dilation=(2,)),
        (X.reshape(2, 4, 3),),
        F.fold(X.reshape(2, 4, 3), (1, 5), (1, 2), dilation=(1, 2))[:, :, 0, 1:],
    ),
    "pooling behind three axes": (
        lambda b, x: b.max_pool_with_indices(x, kernel=(2,), strides=(2,), padding=((0, 0),), dilation=(1,)),
        (X.reshape(2, 3, 1, 4),),
        tuple(part.reshape(2, 3, 1, 2) for part in F.max_pool1d(X, 2, return_indices=True)),
    ),
    "pooling of bare axes": (lambda b, x: b.adaptive_avg_pool(x, size=(2, 2)), (X[0],), F.adaptive_avg_pool2d(X[:1], (2, 2))[0]),
    "pooling with padding of one side": (
        lambda b, x: b.max_pool(x, kernel=(2,), strides=(1,), padding=((0, 1),), dilation=(1,)),
        (X,),
        F.max_pool1d(F.pad(X, (0, 1), value=-10), 2, 1),
    ),
    "classes out of range": (
        lambda b, x: b.one_hot(x, num_classes=3, dtype="float32"),
        (torch.tensor([-1, 0, 3, 2]),),
        torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 0, 0], [0, 0, 1]]),
    ),
    "matrices that could be vectors": (
        lambda b, x, y: b.solve(x, y),
        (torch.eye(3).expand(3, 3, 3) * 2, torch.eye(3) + 1),
        ((torch.eye(3) + 1) / 2).expand(3, 3, 3),
    ),
    "transposed triangle": (
        lambda b, x, y: b.solve_triangular(x, y, upper=True, transpose=True),
        (torch.eye(3) + torch.ones(3, 3).triu(), Y[:, None]),
        torch.linalg.solve((torch.eye(3) + torch.ones(3, 3).triu()).mT, Y[:, None]),
    ),
    "product over several axes": (lambda b, x: b.prod(x, axis=(0, 2), keepdims=True), (X,), X.prod(2, keepdim=True).prod(0, keepdim=True)),
    "counts that keep axes": (lambda b, x: b.count_nonzero(x, axis=1, keepdims=True), (X,), torch.count_nonzero(X, 1)[:, None]),
    "wrapped around": (
        lambda b, x: b.pad(x, padding=((1, 0), (0, 0), (2, -1)), mode="wrap"),
        (X,),
        torch.cat([X[1:], X])[..., [1, 2, 0, 1, 2]],
    ),
    "strided from an offset": (
        lambda b, x: b.as_strided(b.getitem(x, key=(1,)), shape=(2, 2), strides=(4, 1), offset=1),
        (X,),
        torch.as_strided(X[1].clone(), (2, 2), (4, 1), 1),
    ),
    "a mask beside is_causal": (
        lambda b, x, m: b.scaled_dot_product_attention(x, x, x, m, is_causal=True),
        (X, torch.tensor([[False, True, True]] + [[True] * 3] * 2)),
        F.scaled_dot_product_attention(X, X, X, torch.tensor([[False, True, True]] + [[True] * 3] * 2) & torch.ones(3, 3).tril().bool()),
    ),
    "numbers where torch wants tensors": (
        lambda b, x: (b.maximum(x, 0.5), b.hypot(2.0, x), b.atan2(x, 1.0), b.clip(x, 0.0, b.multiply(x, 2.0)), b.isclose(x, 3.0)),
        (X,),
        (X.clamp(min=0.5), torch.hypot(torch.tensor(2.0), X), torch.atan(X), torch.clamp(X, torch.tensor(0.0), X * 2), X.isclose(torch.tensor(3.0))),
    ),
    "rows of several matrices": (
        lambda b, x, w, o: b.grouped_matmul(x, w, o),
        (X[0], X.mT, torch.tensor([1, 2])),
        torch.cat([X[0, :1] @ X[0].mT, X[0, 1:2] @ X[1].mT, torch.zeros(1, 3)]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_rows_that_no_call_of_torch_needs(name: str) -> None:
    build, args, expected = ROWS[name]
    assert_same(lowered(build, args), expected)


def test_what_torch_lacks_is_told() -> None:
    with pytest.raises(UnsupportedOperation, match="no cubic interpolation over 1 axes"):
        lowered(lambda b, x: b.interpolate(x, size=(4,), method="cubic"), (X,))
    with pytest.raises(UnsupportedOperation, match="no nearest interpolation over 1 axes with antialias"):
        lowered(lambda b, x: b.interpolate(x, size=(4,), method="nearest", antialias=True), (X,))
    with pytest.raises(UnsupportedOperation, match="no lanczos interpolation over 2 axes without antialias"):
        lowered(lambda b, x: b.interpolate(x, size=(4, 4), method="lanczos"), (X[None],))


# --------------------------------------------------------------------------------------- writes and gradients
def swaps_rows(x: Any) -> Any:
    x[[0, 1]] = x[[1, 0]]
    return x * 2


def writes_then_decides(x: Any) -> Any:
    x.mul_(3)
    return x.exp() if x.sum() > 0 else x.sin()


def writes_to_view(x: Any) -> Any:
    x[0].mul_(3)
    x.t()[1] = x[0, 0]
    return x.sin()


class Accumulates:
    def __init__(self) -> None:
        self.total, self.table = torch.zeros(3), torch.ones(2, 3)
        self.row = self.table[0]

    def __call__(self, x: Any) -> Any:
        self.total.add_(x[0] * 2)
        self.row.mul_(x[1])
        return self.total * x.sum() + self.table


def gradient_of_call(function: Any, numbers: Any, prepare: Any) -> list[Any]:
    given = torch.tensor(numbers, requires_grad=True)
    result = function(prepare(given))
    return [
        result,
        *torch.autograd.grad(
            (result * torch.linspace(1, 2, result.numel()).reshape(result.shape)).sum(), given
        ),
    ]


@pytest.mark.parametrize(
    "make", [lambda: swaps_rows, lambda: writes_then_decides, lambda: writes_to_view, Accumulates]
)
@pytest.mark.parametrize("prepare", [lambda x: x * 1, lambda x: (x * 1)[:2], lambda x: (x * 1).view(2, 3)])
def test_recording_leaves_the_history_of_what_is_written_to(make: Any, prepare: Any) -> None:
    original, graph = make(), graph_compiler.compile(make())
    for numbers in (
        [[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]],
        [[-1.0, -2.0, -3.0], [0.5, -1.0, 2.0]],
        [[2.0, 1.0, 0.0], [0.5, 1.0, 2.0]],
    ):
        assert_same(gradient_of_call(graph, numbers, prepare), gradient_of_call(original, numbers, prepare))


# -------------------------------------------------------------------------------- what its compiler cannot do
def _failing(module: Any, examples: Any) -> Any:
    raise NotImplementedError("no kernel for this")


def test_a_function_that_the_compiler_fails_on_runs_as_it_is() -> None:
    options = {"backend": _failing}
    graph = graph_compiler.compile(
        lambda x: x * 2 + 1, args=(torch.ones(3),), return_backend_compiled_fn=True, compile_options=options
    )
    with logged() as messages:
        assert_same([graph(torch.arange(4.0)) for _ in range(2)], [torch.arange(4.0) * 2 + 1] * 2)
    assert [("is not compiled" in message, "no kernel for this" in message) for message in messages] == [
        (True, True)
    ]


def test_nothing_runs_twice_where_the_compiler_fails_on_a_second_part() -> None:
    """The part before the graph break has already written to its argument."""
    compiled = []

    def second(module: Any, examples: Any) -> Any:
        compiled.append(module)
        return module.forward if len(compiled) == 1 else _failing(module, examples)

    def function(x: Any) -> Any:
        x.add_(1)
        torch._dynamo.graph_break()
        return x * 2

    call, x = target.compile(function, {"backend": second}), torch.zeros(2)
    with pytest.raises(Exception, match="no kernel"):
        call(x)
    assert x.tolist() == [1, 1]


@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
def test_second_derivatives_of_incomplete_gamma_functions(name: str) -> None:
    jax, special = pytest.importorskip("jax"), pytest.importorskip("scipy.special")

    def function(a: Any, x: Any) -> Any:
        return (a**2 * getattr(jax.scipy.special, name)(a, x)).sum()

    given = jnp.array([1.2, 0.7]), jnp.array([1.5, 0.5])
    graph = graph_compiler.transpile(function, source="jax", to="torch", args=given)
    point = torch.tensor([1.3, 0.4, 1.1, 2.5], requires_grad=True)

    def flat(point: Any) -> Any:
        return graph.functional(graph.parameters, point[:2], point[2:])

    (first,) = torch.autograd.grad(flat(point), point, create_graph=True)
    second = torch.stack([torch.autograd.grad(part, point, retain_graph=True)[0] for part in first])

    def exact(point: Any) -> Any:
        return (point[:2] ** 2 * getattr(special, name)(point[:2], point[2:])).sum()

    step, here = 1e-4, point.detach().numpy().astype("float64")
    units = np.eye(4) * step
    slopes = [(exact(here + one) - exact(here - one)) / (2 * step) for one in units]
    np.testing.assert_allclose(first.detach(), slopes, rtol=1e-3, atol=1e-5)
    curvatures = [
        [
            (exact(here + a + b) - exact(here + a - b) - exact(here - a + b) + exact(here - a - b))
            / (4 * step**2)
            for b in units
        ]
        for a in units
    ]
    np.testing.assert_allclose(second, curvatures, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(torch.func.grad(flat)(point.detach()), first.detach())


@pytest.mark.parametrize("function", [torch.rms_norm, F.rms_norm])
def test_a_composed_norm_takes_the_keywords_of_torch(function: Any) -> None:
    given = {"input": torch.randn(2, 3), "normalized_shape": (3,), "weight": torch.randn(3), "eps": 1e-3}
    with ComposingMode():
        found = function(**given)
    torch.testing.assert_close(found, function(**given))


_CLASSES = torch.tensor([0, 2, -100, 1, 2, 2])
_LOSSES: tuple[tuple[Any, Any, dict[str, Any]], ...] = (
    (F.mse_loss, torch.rand(6, 3), {}),
    (F.mse_loss, torch.rand(6, 3), {"weight": torch.rand(6, 3)}),
    (F.mse_loss, torch.rand(6, 3), {"reduction": "sum"}),
    (F.huber_loss, torch.rand(6, 3), {"delta": 0.3}),
    (F.smooth_l1_loss, torch.rand(6, 3), {"beta": 0.3}),
    (F.soft_margin_loss, torch.rand(6, 3).sub(0.5).sign(), {}),
    (F.binary_cross_entropy, torch.rand(6, 3), {"weight": torch.rand(6, 3)}),
    (F.nll_loss, _CLASSES, {}),
    (F.nll_loss, _CLASSES.clamp(0), {"weight": torch.rand(3), "ignore_index": 2, "reduction": "none"}),
    (F.cross_entropy, _CLASSES, {"weight": torch.rand(3), "label_smoothing": 0.1}),
    (F.cross_entropy, torch.rand(6, 3), {}),
    (F.cross_entropy, _CLASSES, {"reduction": "sum"}),
)


@pytest.mark.parametrize("row", _LOSSES, ids=lambda row: "-".join((row[0].__name__, *row[2])))
def test_composed_losses_are_those_of_torch(row: tuple[Any, Any, dict[str, Any]]) -> None:
    loss, target, options = row
    given = torch.rand(6, 3).requires_grad_()
    expected = loss(given, target, **options)
    with ComposingMode():
        found = loss(given, target, **options)
    torch.testing.assert_close(found, expected)
    gradients = [torch.autograd.grad(each.sum(), given)[0] for each in (found, expected)]
    torch.testing.assert_close(*gradients)
