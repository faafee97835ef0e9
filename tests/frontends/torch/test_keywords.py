"""Test that the row of every torch function accepts all keywords of the function."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402
from graph_compiler.frontends.torch.lifting.driver import own_keywords  # noqa: E402
from graph_compiler.frontends.torch.lifting.table import rows  # noqa: E402

_STUBS = Path(torch.__file__).parent / "_C"
# These are handled before a row is called.
_DEALT_WITH = {"self", "out"}
# These do not affect elements. Rows that create arrays accept them; others never get them.
_SAYS_NOTHING = {
    "device", "generator", "layout", "memory_format", "names", "non_blocking", "pin_memory", "requires_grad",
}  # fmt: skip
_LEFT_OUT = {
    "out_dtype": "only CUDA's products take it",
    "tensor_indices_or_sections": "an array of places is handed on as a list, which has no such name",
}
_OF_MANY = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD


def _signatures() -> Iterator[tuple[str, set[str]]]:
    """Yield the name of each torch function and method with the parameters of one overload."""
    functions: list[Any] = ast.parse((_STUBS / "_VariableFunctions.pyi").read_text()).body
    classes = ast.parse((_STUBS / "__init__.pyi").read_text()).body
    functions += next(
        item.body for item in classes if isinstance(item, ast.ClassDef) and item.name == "TensorBase"
    )
    for item in functions:
        if isinstance(item, ast.FunctionDef) and not item.name.startswith("_"):
            yield item.name, {argument.arg for argument in (*item.args.args, *item.args.kwonlyargs)}


def _refused() -> Iterator[str]:
    for name, keywords in _signatures():
        row = rows.get(name)
        if row is None or any(
            parameter.kind in _OF_MANY for parameter in inspect.signature(row).parameters.values()
        ):
            continue
        given = own_keywords(row, dict.fromkeys(keywords - _DEALT_WITH - _SAYS_NOTHING - _LEFT_OUT.keys()))
        yield from (
            f"{name}({keyword}=)" for keyword in given if keyword not in inspect.signature(row).parameters
        )


@pytest.mark.skipif(not (_STUBS / "_VariableFunctions.pyi").exists(), reason="this torch comes without stubs")
def test_rows_take_every_keyword() -> None:
    assert not sorted(set(_refused()))


X = torch.arange(1.0, 17.0).reshape(4, 2, 2)


@pytest.mark.parametrize(
    ("function", "name", "keywords"),
    [
        (torch.pow, "input", {"exponent": 2.5}),
        (torch.det, "input", {}),
        (torch.linalg.inv, "A", {}),
        (torch.hsplit, "input", {"sections": 2}),
        (torch.vsplit, "input", {"indices": [1, 3]}),
        (torch.isin, "elements", {"test_element": 3.0}),
        (torch.sum, "x", {"axis": 1, "keepdims": True}),
    ],
)
def test_keywords_of_overloads(function: Any, name: str, keywords: dict[str, Any]) -> None:
    graph = graph_compiler.compile(lambda x: function(**{name: x}, **keywords), args=(X,), to="numpy")
    for x in (X, X.flip(0) * 0.5):
        found, expected = graph(x), function(x, **keywords)
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            torch.testing.assert_close(torch.as_tensor(one), other)


@pytest.mark.parametrize("to", ["torch", "jax", "numpy", "tensorflow"])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.unsqueeze(input=x, dim=0),
        lambda x: torch.reshape(shape=(1, 1), input=x),
        lambda x: torch.stack(tensors=[x, x * 2], dim=0),
        lambda x: torch.full((2,), x.to(torch.complex64) * 2j),
    ],
    ids=["unsqueeze", "reshape", "stack", "full"],
)
def test_operands_without_axes_stay_arrays(function: Any, to: str) -> None:
    pytest.importorskip(to)
    graph = graph_compiler.compile(function, args=(torch.tensor(3),), to=to)
    for x in (torch.tensor(3), torch.tensor(5)):
        found = graph(x if to == "torch" else x.numpy())
        assert np.array_equal(np.asarray(found), function(x).numpy())
    assert len(graph.variants) == 1, graph.explain()


@pytest.mark.parametrize("to", ["torch", "numpy"])
@pytest.mark.parametrize(
    "write",
    [
        lambda x: torch.neg_(input=x),
        lambda x: torch.square_(x=x),
        lambda x: torch.fill_(value=torch.tensor(2.0), input=x),
        lambda x: torch.xlogy_(other=x.detach() + 9, input=x),
        lambda x: torch.index_put_(values=x.sum(), indices=(torch.tensor([1]),), input=x),
        lambda x: torch._foreach_neg_(self=[x]),
        lambda x: torch._foreach_copy_(self=[x], src=[x + 1]),
        lambda x: torch._foreach_addcmul_(self=[x], tensor1=[x + 1], tensor2=[x]),
        lambda x: torch._foreach_mul_(self=[x], scalar=2.0),
        lambda x: torch._foreach_add_([x, x], scalars=[1.0, 2.0]),
        lambda x: torch._foreach_lerp_([x], weight=0.5, tensors1=[x * 3]),
        lambda x: torch._foreach_addcdiv_(scalars=[3.0], self=[x], tensor1=[x + 1], tensor2=[x]),
        lambda x: torch.ops.aten.neg_.default(self=x),
        lambda x: torch.nn.init.zeros_(tensor=x),
        lambda x: torch.nn.init.constant_(x, 2.0),
    ],
    ids=[
        "neg_", "square_", "fill_", "xlogy_", "index_put_", "foreach", "foreach copy_", "foreach addcmul_",
        "foreach scalar", "foreach scalars", "foreach weight", "foreach addcdiv_", "kernel", "init", "constant_",
    ],
)  # fmt: skip
def test_writes_to_an_array_given_by_keyword(write: Any, to: str) -> None:
    x, expected = torch.tensor([1.0, -2.0, 3.0]), torch.tensor([1.0, -2.0, 3.0])
    lazy = graph_compiler.compile(write, to=to)
    graph = graph_compiler.compile(write, args=(x,), to=to)
    assert torch.equal(x, expected)
    write(expected)
    for each in (graph, lazy):
        given = x.clone()
        each(given if to == "torch" else given.numpy())
        assert torch.equal(given, expected)


@pytest.mark.parametrize("to", ["torch", "numpy"])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.squeeze(input=x, dim=0),
        lambda x: torch.chunk(input=x, chunks=2, dim=1),
        lambda x: torch.unbind(input=x),
        lambda x: torch.unsqueeze(input=x, dim=0).shape[1] + x,
        lambda x: torch.numel(input=x) + x,
        lambda x: x + torch.is_floating_point(input=x),
        lambda x: x + torch.is_nonzero(input=x.sum()),
        lambda x: x + torch.get_device(input=x),
        lambda x: x + torch.is_same_size(input=x, other=x * 2),
        lambda x: x + torch.is_same_size(x, other=x[0]),
        lambda x: x + torch.equal(input=x, other=x * 1),
        lambda x: x + torch.equal(x, other=x[0]),
        lambda x: torch.where(input=x, condition=x > 2, other=-x),
        lambda x: torch.searchsorted(input=x * 2, sorted_sequence=x),
        lambda x: x + torch.arange(start=2, end=8),
        lambda x: x + torch.randint(low=5, high=6, size=(6,)),
    ],
    ids=[
        "squeeze", "chunk", "unbind", "unsqueeze", "numel", "is_floating_point", "is_nonzero", "get_device",
        "is_same_size", "is_same_size other", "equal", "equal other", "where", "searchsorted", "arange", "randint",
    ],
)  # fmt: skip
def test_operands_given_by_keyword(function: Any, to: str) -> None:
    graph = graph_compiler.compile(function, args=(torch.arange(6.0).reshape(1, 6),), to=to)
    x = torch.arange(1.0, 7.0).reshape(1, 6)
    found = graph(x if to == "torch" else x.numpy())
    assert all(torch.equal(torch.as_tensor(one), other) for one, other in zip(found, function(x)))


DEPRECATED: dict[str, Any] = {
    "add": lambda x: torch.add(x, 2, x * 3),
    "add_": lambda x: (x * 1).add_(-0.5, x),
    "sub": lambda x: x.sub(2, x + 1),
    "addcmul": lambda x: torch.addcmul(x, 0.5, x, x + 1),
    "addcdiv_": lambda x: (x * 1).addcdiv_(-0.1, x, x + 1),
    "addmm with one factor": lambda x: torch.addmm(2, x, x, x + 1),
    "addmm": lambda x: torch.addmm(2, x, 3, x, x + 1),
    "addmm_": lambda x: (x * 1).addmm_(2, 3, x, x + 1),
}


@pytest.mark.filterwarnings("ignore:This overload")
@pytest.mark.parametrize("to", ["torch", "numpy", "jax"])
@pytest.mark.parametrize("name", DEPRECATED)
def test_factors_in_deprecated_order(name: str, to: str) -> None:
    pytest.importorskip(to)
    function, x = DEPRECATED[name], torch.arange(9.0).reshape(3, 3) + 1
    found = graph_compiler.compile(function, args=(x,), to=to)(x if to == "torch" else x.numpy())
    np.testing.assert_allclose(np.asarray(found), function(x).numpy(), rtol=1e-6)


@pytest.mark.parametrize("to", ["torch", "numpy", "jax"])
@pytest.mark.parametrize("name", ["_foreach_maximum", "_foreach_minimum"])
def test_extremes_of_lists_and_a_number(name: str, to: str) -> None:
    pytest.importorskip(to)
    x = torch.tensor([1.0, 2.0, 3.0])

    def function(x: Any) -> Any:
        return getattr(torch, name)([x, -x], 1.5)

    found = graph_compiler.compile(function, args=(x,), to=to)(x if to == "torch" else x.numpy())
    for one, other in zip(found, function(x), strict=True):
        np.testing.assert_array_equal(np.asarray(one), other.numpy())


@pytest.mark.parametrize("to", ["torch", "numpy", "jax"])
@pytest.mark.parametrize(
    "write",
    [lambda t: t[:1].fill_(7), lambda t: t.detach().add_(1), lambda t: t.view(1, 2)[0, :1].mul_(3)],
    ids=["row", "detached", "view of a view"],
)
def test_sizes_in_a_tensor_that_a_view_writes_to(write: Any, to: str) -> None:
    pytest.importorskip(to)

    def function(x: Any) -> Any:
        sizes = torch.tensor([x.shape[0], 2])
        write(sizes)
        return x * sizes[0].item()

    graph = graph_compiler.compile(function, args=(torch.ones(3),), to=to)
    for x in (torch.ones(3), torch.ones(4)):
        found = graph(x if to == "torch" else x.numpy())
        np.testing.assert_array_equal(np.asarray(found), function(x).numpy())


@pytest.mark.parametrize("other", [1.0, [torch.ones(2)]], ids=["a number", "a list"])
@pytest.mark.parametrize("name", ["_foreach_maximum", "_foreach_minimum"])
def test_extremes_of_lists_share_gradients_of_ties(name: str, other: Any) -> None:
    function = getattr(torch, name)
    graph = graph_compiler.compile(lambda x: function([x * 1], other)[0].sum())
    x, expected = (torch.ones(2, requires_grad=True) for _ in range(2))
    graph(x).backward()
    function([expected * 1], other)[0].sum().backward()
    assert torch.equal(x.grad, expected.grad)


def test_a_kernel_of_the_user_that_is_called_add() -> None:
    @torch.library.custom_op("toy_factors::add", mutates_args=())
    def add(a: torch.Tensor, factor: float, b: torch.Tensor) -> torch.Tensor:
        return a + factor * b

    @add.register_fake
    def _(a: torch.Tensor, factor: float, b: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(a)

    graph = graph_compiler.compile(lambda x: torch.ops.toy_factors.add(x, 0.5, x), args=(torch.ones(2),))
    assert graph(torch.ones(3) * 2).tolist() == [3, 3, 3]
